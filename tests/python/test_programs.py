"""Real programs as rows: what is measured is the program alone, and a run that proves nothing does not count."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hakmem.allocator import Allocator
from hakmem.programs import PROGRAMS, Program, ProgramFailed, is_there
from hakmem.programs.servers import seconds_of_load

GLIBC = Allocator("glibc")


def python(code, answer):
    return Program("script", "python3", sys.executable, ("-S", "-c", code), answer)


def test_time_and_memory_are_the_programs_own(tmp_path):
    ballast = bytearray(b"x" * (200 << 20))  # a child of this process starts with as much, until it calls exec
    outcome = Program("true", "coreutils", "/bin/true", (), "").run(GLIBC, tmp_path)
    assert outcome.peak_kib < 20 << 10 < len(ballast) >> 10
    outcome = python("import time; x = bytearray(b'x' * (50 << 20)); time.sleep(0.1); print(len(x))", "52428800").run(
        GLIBC, tmp_path)
    assert 50 << 10 < outcome.peak_kib < 120 << 10 and 0.1 < outcome.seconds < 60


def test_a_load_is_timed_more_finely_than_its_end_is_looked_for():
    # waits with a limit of time see an end of 120 ms after 163 ms: they sleep 1, 2, 4 … 32 and then 50 ms
    assert 0.12 < min(seconds_of_load(["sleep", "0.12"])[0] for _ in range(9)) < 0.15


def test_a_load_that_fails_says_why():
    with pytest.raises(ProgramFailed, match="sh ended with 3: no such table"):
        seconds_of_load(["/bin/sh", "-c", "echo no such table >&2; exit 3"])


def test_a_library_that_was_in_use_is_proved(tmp_path, counting_library):
    for _ in range(10):
        Program("sleep", "coreutils", "/bin/sleep", ("0.1",), "").run(Allocator("counting", counting_library), tmp_path)


def test_a_program_with_a_malloc_of_its_own_is_thrown_out(tmp_path):
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text("void *malloc(unsigned long n) { static char b[9999]; return n < 999 ? b : 0; } int main(void) { return 0; }")
    subprocess.run(["cc", "-fno-builtin", "-rdynamic", str(source), "-o", str(program)], check=True)
    with pytest.raises(ProgramFailed, match="a malloc of its own"):
        Program("own", "none", str(program), (), "").run(GLIBC, tmp_path)


def test_every_program_says_where_it_comes_from():
    assert all(one.package and one.row.startswith("programs/") for one in PROGRAMS)


@pytest.mark.parametrize("program, library, reason", [
    (python("print(1)", "2"), None, "the answer is not '2'"),
    (python("raise SystemExit(3)", ""), None, "exit status 3"),
    (python("import os; os.abort()", ""), None, "exit status 134"),
    (Program("nothing", "none", "/no/such/program", (), ""), None, "exit status 127"),
    (Program("true", "coreutils", "/bin/true", (), ""), Path("/no/such/library.so"), "never mapped")])
def test_a_run_that_proves_nothing_is_thrown_out(tmp_path, program, library, reason):
    with pytest.raises(ProgramFailed, match=reason):
        program.run(Allocator("one", library), tmp_path)


@pytest.mark.parametrize("program", [python("print(1)", "1"), *(one for one in PROGRAMS if one.name in ("redis", "postgresql"))],
                         ids=lambda one: one.name)
def test_a_run_in_which_the_library_complains_is_thrown_out(library, program):
    if not is_there(program):
        pytest.skip(f"{program.name} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a server that refuses to run as root reads there
        bad, left = Path(folder) / "bad.policy", Path(folder) / "left"
        bad.write_text("hakmem-policy 1\nnonsense\nend\n")
        left.mkdir()
        with pytest.raises(ProgramFailed, match="^hakmem: .*bad.policy, line 2"):
            program.run(Allocator("hakmem", library, environment={"HAKMEM_POLICY": str(bad)}), left)
