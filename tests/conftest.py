"""What all pytest tests share: which of them run, and where the libraries and programs that were built are."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A shell that starts the tests in the background lets them ignore Ctrl-C, and all that they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the tests of all programs, not only the core")
    parser.addoption("--long", action="store_true", help="run the tests marked long too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def built(path):
    """A path under build/; the test fails with the command that makes it where it is missing."""
    if not path.exists():
        pytest.fail(f"{path} is missing: run ./hakmem test once, or build it", pytrace=False)
    return path


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def library():
    """The library under test: HAKMEM_LIB, or what ./hakmem build left."""
    return built(Path(os.environ.get("HAKMEM_LIB") or ROOT / "build/release/libhakmem.so").resolve())


@pytest.fixture(scope="session")
def dl_library():
    """The variant for dlopen, from ./hakmem build."""
    return built(ROOT / "build/release/libhakmem-dl.so")


@pytest.fixture(scope="session")
def checked_library():
    """The library with its asserts on."""
    return built(ROOT / "build/checked/lib/libhakmem.so")


@pytest.fixture(scope="session")
def variant(library, dl_library):
    """variant("tls") or variant("pointer"): the library's file, and its environment; variant("tls@learning") is the one
    with asserts in that mode, whose learner is in haste."""

    def find(name):
        thread_local, _, mode = name.partition("@")
        if not mode:
            return (library if thread_local == "tls" else dl_library), {}
        file = "libhakmem.so" if thread_local == "tls" else "libhakmem-dl.so"
        return built(ROOT / "build/checked/lib" / file), {"HAKMEM_MODE": mode}

    return find


@pytest.fixture(scope="session")
def test_program():
    """test_program("misuse/double_free") is that program as CMake built it; flavour="checked" for another flavour's."""
    return lambda name, flavour="release": built(ROOT / "build" / flavour / "tests" / name)


@pytest.fixture(scope="session")
def tool():
    """tool("nm") is the program's path. A missing one fails the test: ./hakmem test installs what tests need."""

    def find(name):
        found = shutil.which(name)
        if not found:
            pytest.fail(f"{name} is missing (tests/packages.txt)", pytrace=False)
        return found

    return find


@pytest.fixture(scope="session")
def run():
    """Runs a command to its end with its output captured as text; an exit status other than `status` fails the test."""

    def call(*command, status=0, env=None, **settings):
        settings.setdefault("stdin", subprocess.DEVNULL)
        outcome = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=None if env is None else {**os.environ, **env}, **settings)
        assert status is None or outcome.returncode == status, (
            f"{command} ended with {outcome.returncode}, not {status}\n{outcome.stdout}\n{outcome.stderr}")
        return outcome

    return call
