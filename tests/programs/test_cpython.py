"""CPython's own test suite, every object taken from the allocator (PYTHONMALLOC=malloc)."""

import re
import subprocess

import pytest
from under_hakmem import environment, program, run

CORE = """
    array ast asyncgen atexit base64 binascii buffer bytes bz2 builtin call capi codecs collections
    compile complex contextlib copy coroutines csv ctypes datetime decimal deque descr dict enum
    exceptions fileio float fork1 format fractions fstring functools gc generators grammar gzip
    hashlib heapq html inspect int io itertools json list long lzma marshal math memoryio memoryview
    minidom mmap multiprocessing_fork multiprocessing_main_handling opcache ordered_dict os pathlib
    pickle picklebuffer poll popen posix pprint pyexpat queue random range re resource select
    selectors set shelve slice socket sort sqlite3 stat string struct subprocess sys syntax
    tempfile thread threadedtempfile threading threading_local threadsignals tokenize
    tracemalloc tuple types unicode unicodedata userdict userlist wait3 wait4 weakref weakset
    xml_etree xml_etree_c yield_from zipimport zlib
""".split()
REST = """
    asyncio concurrent_futures difflib embed faulthandler finalization largefile locale
    multiprocessing_forkserver multiprocessing_spawn pickletools pty sched shutil signal
    socketserver ssl statistics tarfile time traceback typing zipfile zoneinfo
""".split()

# The sockets between virtual machines hang where the kernel has them but nothing answers.
LEFT_OUT = ["-i", "*VSOCK*"]
SUITE_TIMEOUT_SECONDS = 1500
ONE_FILE_TIMEOUT_SECONDS = 240


def interpreters():
    """The python of the PATH and the system's, as executables, where they have the test suite."""
    found = []
    for name in ("python3", "/usr/bin/python3"):
        if not program(name):
            continue
        answer = subprocess.run(
            [name, "-c", "import sys, test.test_threading; print(sys.executable)"],
            env=environment(preload=False), capture_output=True, text=True, check=False)
        path = program(answer.stdout.strip()) if answer.returncode == 0 else None
        if path and path not in found:
            found.append(path)
    return found


def choose(need, whole):
    """The interpreter whose suite is whole (Debian's lacks some files), else any with a suite."""
    have = interpreters()
    if not have:
        need("python3 with its test suite")
    for path in have:
        if has_file(path, "test_sqlite3") == whole:
            return path
    return have[0]


def has_file(python, name):
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec('test.{name}') is None)"
    return subprocess.run([python, "-c", code], env=environment(preload=False),
                          check=False).returncode == 0


def run_files(python, files, cwd, preload=True, jobs=3):
    """Runs the named files of the suite; returns (those that passed, those that failed)."""
    argv = [python, "-m", "test", f"-j{jobs}", "--timeout", ONE_FILE_TIMEOUT_SECONDS, *LEFT_OUT]
    outcome = run([*argv, *files], preload=preload, cwd=cwd, status=None,
                  env={"PYTHONMALLOC": "malloc", "HOME": str(cwd)}, timeout=SUITE_TIMEOUT_SECONDS)
    (cwd / ("library.log" if preload else "plain.log")).write_text(outcome.stdout + outcome.stderr)
    failed = listed(outcome.stdout, "failed")
    passed = set(re.findall(r"\] (test_\w+(?:\.\w+)*) passed", outcome.stdout))
    assert passed or failed, outcome.stdout + outcome.stderr
    return passed, failed


def listed(text, verdict):
    """The names below "N tests VERDICT:" in the summary of a run."""
    section = re.search(rf"^\d+ tests? {verdict}:\n((?:[ \t]+.*\n)+)", text, re.MULTILINE)
    return set(section.group(1).split()) if section else set()


def check_suite(python, names, tmp_path):
    """What fails on the library twice, and does not fail without it, is the library's fault."""
    files = [f"test_{name}" for name in names if has_file(python, f"test_{name}")]
    passed, failed = run_files(python, files, tmp_path)
    assert len(passed) >= 0.9 * len(files), f"only {len(passed)} of {len(files)} passed: {failed}"
    if failed:
        failed = run_files(python, sorted(failed), tmp_path, jobs=1)[1]
    if failed:
        failed -= run_files(python, sorted(failed), tmp_path, preload=False, jobs=1)[1]
    assert not failed, (tmp_path / "library.log").read_text()[-8000:]


@pytest.mark.core
@pytest.mark.timeout(3 * SUITE_TIMEOUT_SECONDS)
def test_a_broad_part_of_the_suite(need, tmp_path):
    check_suite(choose(need, whole=True), CORE, tmp_path)


@pytest.mark.timeout(3 * SUITE_TIMEOUT_SECONDS)
def test_the_slow_files_of_the_suite(need, tmp_path):
    check_suite(choose(need, whole=True), REST, tmp_path)


@pytest.mark.timeout(3 * SUITE_TIMEOUT_SECONDS)
def test_the_suite_of_the_other_interpreter(need, tmp_path):
    check_suite(choose(need, whole=False), CORE + REST, tmp_path)
