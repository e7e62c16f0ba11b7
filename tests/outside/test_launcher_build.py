"""./hakmem build, and the building that run does by itself: when, with what, and what others see meanwhile."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def said_by(checkout, **settings):
    return checkout.call("run", "--", "true", env={"SAY_LOADED": "1"}, **settings).stderr_text.splitlines()[-1]


def compiler(path, script):
    """A compiler that is gcc after a shell script."""
    path.write_text(f'#!/bin/sh\n{script}\nexec gcc "$@"\n')
    path.chmod(0o755)
    return {"CC": str(path)}


def leftovers(checkout):
    return [path.name for path in checkout.release.glob(".new.*")]


def test_build_leaves_the_libraries(checkout, run, tool):
    checkout.call("build")
    for name in ("libhakmem.so", "libhakmem-dl.so"):
        dynamic = run(tool("readelf"), "-dW", checkout.release / name).stdout
        assert f"[{name}.1]" in dynamic and "NOW" in dynamic and "NODELETE" in dynamic
        assert (checkout.release / f"{name}.1").resolve() == checkout.release / name
    assert "hakmem_version" in run(tool("nm"), checkout.release / "libhakmem.a").stdout
    assert leftovers(checkout) == []


def test_build_says_nothing_on_stdout(checkout):
    assert checkout.call("build").stdout_text == ""


def test_run_builds_only_what_is_older_than_its_sources(checkout):
    assert said_by(checkout) == "loaded"
    built = checkout.library.stat()
    assert said_by(checkout) == "loaded"
    assert checkout.library.stat() == built
    for path in ("include/hakmem/hakmem.h", "src/api/exports.map", "cmake/flags.txt", "hakmem"):
        before = checkout.library.stat().st_mtime_ns
        (checkout.path / path).touch()
        said_by(checkout)
        assert checkout.library.stat().st_mtime_ns > before, path


def test_a_change_is_in_the_next_run(checkout):
    assert said_by(checkout) == "loaded"
    checkout.change(" again")
    assert said_by(checkout) == "loaded again"


def test_a_change_made_during_a_build_is_in_the_next_one(checkout, tmp_path):
    marker = tmp_path / "changed"
    script = f'''case "$*" in *TLS_POINTER*) ;; *all.c*)
        sleep 0.5; cp "$(dirname "$0")/late.h" {checkout.path}/include/hakmem/hakmem.h.new
        gcc "$@"; status=$?
        mv {checkout.path}/include/hakmem/hakmem.h.new {checkout.path}/include/hakmem/hakmem.h
        : >{marker}; exit $status ;; esac'''
    header = checkout.path / "include/hakmem/hakmem.h"
    (tmp_path / "late.h").write_text(header.read_text().replace('EXTRA ""', 'EXTRA " late"'))
    checkout.call("build", env=compiler(tmp_path / "cc", script))
    assert marker.exists()
    assert said_by(checkout) == "loaded late"


def test_cc_is_honoured_words_and_all(checkout):
    assert checkout.call("build", env={"CC": "clang -g"}).returncode == 0
    assert b"clang" in checkout.library.read_bytes()
    checkout.call("build", env={"CC": "gcc"})
    assert b"clang" not in checkout.library.read_bytes()


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_one_compiler_is_enough(checkout, tool, tmp_path, name):
    only = tools_in(tmp_path / "bin", name)
    assert int(checkout.call("run", "--", "grep", "-c", "libhakmem", "/proc/self/maps", env=only).stdout_text) > 0


def tools_in(folder, *more):
    """An environment whose PATH has the base system's programs, no compiler, and `more`."""
    folder.mkdir(exist_ok=True)
    for name in ("sh cat chmod cksum cmp cp date dirname env find flock grep id ln ls mkdir mktemp mv od readlink rm sed "
                 "sleep sort touch tr true ar ld as").split() + list(more):
        if not (folder / name).exists():
            (folder / name).symlink_to(shutil.which(name))
    return {"PATH": str(folder)}


def test_without_flock_builds_are_whole_too(checkout, tmp_path):
    env = tools_in(tmp_path / "bin", "gcc")
    (tmp_path / "bin/flock").unlink()
    checkout.call("run", "--", "true", env=env)
    assert leftovers(checkout) == []


def test_a_compiler_that_does_not_work_is_named(checkout):
    for arguments, status in ((("run", "--", "true"), 125), (("build",), 1)):
        process = checkout.call(*arguments, env={"CC": "no-such-compiler"}, status=status)
        lines = process.stderr_text.splitlines()
        assert len(lines) == 1 and "CC=no-such-compiler" in lines[0]


def test_a_source_that_does_not_compile_keeps_the_old_library(checkout):
    checkout.call("build")
    before = checkout.library.read_bytes()
    checkout.source.write_text("this is no C\n")
    process = checkout.call("run", "--", "true", status=125)
    assert "could not be built" in process.stderr_text.splitlines()[-1]
    assert checkout.library.read_bytes() == before and leftovers(checkout) == []


def test_half_a_checkout_is_named(checkout):
    checkout.source.unlink()
    assert "no whole checkout" in checkout.call("run", "--", "true", status=125).stderr_text


def test_many_first_runs_at_once(checkout, tmp_path):
    count = tmp_path / "count"
    env = {"SAY_LOADED": "1", **compiler(tmp_path / "cc", f'case "$*" in *all.c*) echo x >>{count} ;; esac')}
    runs = [checkout.start("run", "--", "true", env=env) for _ in range(8)]
    for process in runs:
        errors = process.communicate(timeout=300)[1]
        assert process.returncode == 0 and errors.splitlines()[-1] == "loaded", errors
    assert len(count.read_text().splitlines()) == 3  # one built it, with its variants; the others waited
    assert leftovers(checkout) == []


def test_programs_start_on_a_whole_library_while_builds_go_on(checkout):
    checkout.call("build")
    builds = subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5 6; do '{checkout.launcher}' build; done"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    runs = 0
    while builds.poll() is None:
        process = checkout.call("run", "--", "true", env={"SAY_LOADED": "1"})
        assert process.stderr_text == "loaded\n"
        runs += 1
    assert builds.returncode == 0 and runs > 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_build_that_is_interrupted_leaves_nothing(checkout, tmp_path, number):
    started = tmp_path / "started"
    env = compiler(tmp_path / "cc", f'case "$*" in *all.c*) : >{started}; sleep 30 ;; esac')
    process = checkout.start("run", "--", "true", env=env)
    while not started.exists():
        time.sleep(0.02)
    os.killpg(process.pid, number)
    process.communicate(timeout=120)
    assert process.returncode != 0
    wait_until_gone(checkout)
    assert said_by(checkout) == "loaded"


def wait_until_gone(checkout):
    end = time.monotonic() + 120
    while leftovers(checkout) and time.monotonic() < end:
        time.sleep(0.02)
    assert leftovers(checkout) == [] and not checkout.library.exists()


@pytest.fixture
def others_checkout(checkout_at):
    """A checkout that another user may read but not write, and how to become that user."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = Path(tempfile.mkdtemp(prefix="hakmem-others-"))
    folder.chmod(0o755)
    yield checkout_at(folder / "checkout"), {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"}
    shutil.rmtree(folder)


def test_somebody_who_may_not_write_runs_what_was_built(others_checkout):
    checkout, somebody = others_checkout
    process = checkout.call("run", "--", "true", status=125, **somebody)
    assert "may not write" in process.stderr_text and len(process.stderr_text.splitlines()) == 1
    checkout.call("build")
    assert stat.S_IMODE(checkout.library.stat().st_mode) & 0o055 == 0o055
    assert said_by(checkout, **somebody) == "loaded"


def test_the_library_is_the_same_however_it_is_built(root, library, run, tool, tmp_path):
    """The launcher and CMake read the same flags: what is tested is what is shipped."""
    def code(path):
        run(tool("objcopy"), "-O", "binary", "--only-section=.text", path, tmp_path / "text")
        return (tmp_path / "text").read_bytes()

    by_cmake = root / "build/release/lib/libhakmem.so"
    if os.environ.get("HAKMEM_LIB") or not by_cmake.exists():
        pytest.skip("needs both builds of this tree's release flavour")
    assert len(code(library)) > 0
    assert (code(library) == code(by_cmake)) is True
