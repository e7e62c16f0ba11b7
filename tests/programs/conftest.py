"""Which programs' tests run, what happens when a program is missing, and shared fixtures."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import under_hakmem  # noqa: E402  (found by the line above)

HERE = Path(__file__).resolve().parent


def pytest_addoption(parser):
    try:
        parser.addoption("--all", action="store_true", help="run the tests of all programs")
    except ValueError:
        pass  # tests/conftest.py has it


def pytest_configure(config):
    config.addinivalue_line("markers", "core: a program's test that every full run includes")
    config.addinivalue_line("markers", "learns: runs in mode learning too")
    config.addinivalue_line("markers", "timeout(seconds): for pytest-timeout, where it is installed")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all", default=False):
        return
    left_out = [item for item in items
                if HERE in Path(item.path).parents and not item.get_closest_marker("core")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("learns"):
        metafunc.parametrize("mode", ["default", "learning"], indirect=True)


@pytest.fixture(autouse=True)
def mode(request, monkeypatch):
    """What is marked `learns` runs in mode learning too, on the library with asserts, whose learner is in haste."""
    if getattr(request, "param", "default") != "default":
        monkeypatch.setenv("HAKMEM_LIB", str(under_hakmem.ROOT / "build/checked/lib/libhakmem.so"))
        monkeypatch.setenv("HAKMEM_OPTIONS", f"mode={request.param}")


@pytest.fixture(autouse=True)
def library_is_there(mode):
    """Nothing here means anything without the library."""
    if not under_hakmem.library().is_file():
        pytest.fail(f"{under_hakmem.library()} is missing: run ./hakmem build, or set HAKMEM_LIB",
                    pytrace=False)


@pytest.fixture
def need():
    """need("redis-server") gives the program's path; a missing one fails or skips the test."""

    def find(name, *others):
        for candidate in (name, *others):
            if under_hakmem.program(candidate):
                return shutil.which(str(candidate))
        message = f"{name} is missing (the package is in tests/programs/packages.txt)"
        if os.environ.get("HAKMEM_TEST_REQUIRE") == "1":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)

    return find


@pytest.fixture
def source():
    """source("load.lua") gives the path of a program kept in sources/."""
    return lambda name: HERE / "sources" / name


@pytest.fixture
def open_dir(monkeypatch):
    """A directory that other users can enter, with a copy of the library that they can read; it is the one used."""
    path = Path(tempfile.mkdtemp(prefix="hakmem-programs-"))
    path.chmod(0o755)
    try:
        copy = shutil.copy(under_hakmem.library(), path)
        monkeypatch.setenv("HAKMEM_LIB", copy)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
