"""The proof that a program runs on the library must fail where the program does not."""

import json
import shutil
import time

import pytest
from under_hakmem import NotUnderTheLibrary, descendants, library, maps_library, run, serving

pytestmark = pytest.mark.core


def test_a_preloaded_program_is_seen(need):
    assert run([need("sleep"), "0.3"]).on_library == {"sleep"}


def test_a_program_of_a_few_milliseconds_is_seen(need):
    for _ in range(10):
        assert run([need("perl"), "-e", "1"], brief=True).on_library == {"perl"}


def test_a_brief_program_that_drops_the_preload_is_refused(need):
    with pytest.raises(NotUnderTheLibrary):
        run([need("env"), "-u", "LD_PRELOAD", "true"], expect={"true"}, brief=True)
    assert run([need("env"), "true"], expect={"true"}, brief=True).on_library == {"env", "true"}


def test_a_child_is_seen_by_its_own_name(need):
    need("sleep")
    assert "sleep" in run(["sh", "-c", "sleep 0.3; true"], expect={"sleep"}).on_library


def test_the_proof_fails_when_the_preload_is_dropped_on_the_way(need):
    with pytest.raises(NotUnderTheLibrary):
        run([need("env"), "-u", "LD_PRELOAD", "sleep", "0.3"], expect={"sleep"})


def test_the_proof_fails_for_another_library(need, tmp_path):
    other = tmp_path / "libother.so"
    shutil.copy(library(), other)
    with pytest.raises(NotUnderTheLibrary):
        run([need("sleep"), "0.3"], env={"LD_PRELOAD": str(other)})


def test_nothing_is_proven_without_the_preload(need):
    assert run([need("sleep"), "0.3"], preload=False).on_library == set()


def test_a_server_without_the_preload_is_refused(need):
    argv = [need("sleep"), "60"]
    with pytest.raises(NotUnderTheLibrary):
        with serving(["env", "-u", "LD_PRELOAD", *argv], ready=lambda: True, expect="sleep"):
            pass


def test_a_server_is_seen_and_stopped(need):
    with serving([need("sleep"), "60"], ready=settled(0.3)) as process:
        assert maps_library(process.pid)
    assert descendants(process.pid) == [process.pid] and not maps_library(process.pid)


def test_the_library_itself_says_that_it_handed_out_blocks(need, tmp_path):
    if library().name != "libhakmem.so":
        pytest.skip("another allocator keeps no such statistics")
    env = {"HAKMEM_STATS": "json", "HAKMEM_STATS_FILE": str(tmp_path / "statistics")}
    code = "my @held = map { 'x' x $_ } 1 .. 3000; print scalar @held"
    assert run([need("perl"), "-e", code], env=env, brief=True).stdout == "3000"
    said = json.loads((tmp_path / "statistics").read_text())
    assert said["refilled_blocks"] > 3000 and said["slabs_made"] > 0 and said["faults"] == 0


def settled(seconds):
    """A ready() that waits until the dynamic linker is done."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
