"""Runs real programs with the library preloaded and proves that they really ran on it.

The proof is taken from outside, while the program runs: /proc/PID/maps of the program or of one of
its descendants, together with the name of its executable. A program that merely got LD_PRELOAD in
its environment (a static one, a setuid one, a wrapper that drops it) is not counted. A program that
ends sooner than it can be looked at is proven by the dynamic linker instead (brief=True): its log
names each library that it initialised and the program that it then started.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_LIBRARY = ROOT / "build" / "release" / "libhakmem.so"
OUTPUT_SHOWN_CHARS = 4000


class NotUnderTheLibrary(AssertionError):
    """A program that had to run on the library was never seen with it mapped."""


def library():
    """The library under test: HAKMEM_LIB, or the release build of this tree."""
    return Path(os.environ.get("HAKMEM_LIB") or DEFAULT_LIBRARY).resolve()


def environment(preload=True, extra=None):
    """This process's environment plus the preload, without what changes programs or allocators.

    HAKMEM_OPTIONS stays, so that all programs can be run with other settings of the library.
    """
    dropped = ("HAKMEM_", "LD_", "MALLOC_", "GLIBC_TUNABLES", "PYTHON", "PYTEST_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(dropped) or k == "HAKMEM_OPTIONS"}
    env["LC_ALL"] = "C.UTF-8"
    if preload:
        env["LD_PRELOAD"] = str(library())
    env.update(extra or {})
    return env


# ---------------------------------------------------------------------------------------------
# Looking at processes


def descendants(pid):
    """pid and every process below it that is alive now."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        found.append(parent)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError):
                    children = Path(f"/proc/{parent}/task/{task}/children").read_text()
                    todo.extend(int(child) for child in children.split())
    return found


def executable_name(pid):
    """The file name of the program that pid executes, or None when it is gone."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return None


def maps_library(pid):
    """True when the library is mapped, executable, in the address space of pid."""
    wanted = str(library())
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            return any(wanted in line and " r-xp " in line for line in maps)
    except OSError:
        return False


class Watcher(threading.Thread):
    """Looks at a process tree until every expected executable was seen with the library mapped."""

    QUICK_LOOKS = 1500

    def __init__(self, pid, expected):
        super().__init__(daemon=True)
        self.pid, self.expected = pid, set(expected)
        self.seen = set()
        self.over = threading.Event()

    def run(self):
        proven, looks = set(), 0
        while not self.over.wait(0.001 if looks < self.QUICK_LOOKS else 0.02):
            looks += 1
            for pid in descendants(self.pid):
                name = executable_name(pid)
                if name and (pid, name) not in proven and maps_library(pid):
                    proven.add((pid, name))
                    self.seen.add(name)
            if self.expected <= self.seen:
                return

    def finish(self):
        self.over.set()
        self.join()
        return self.seen


@contextlib.contextmanager
def linker_log():
    """Yields (environment, function that gives the names of programs started on the library)."""
    with tempfile.TemporaryDirectory(prefix="hakmem-linker-") as place:
        os.chmod(place, 0o777)  # programs that run as other users write here too
        yield ({"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{place}/log"},
               lambda: {name for log in Path(place).iterdir() for name in started(log)})


def started(log):
    """The programs of one process's linker log that were started with the library initialised."""
    wanted, names, initialised = str(library()), set(), False
    for line in log.read_text(errors="replace").splitlines():
        words = line.split(":", 1)[-1].strip()
        if words.startswith("calling init: "):
            initialised = initialised or words.endswith(wanted)
        elif words.startswith("transferring control: "):
            if initialised:
                names.add(os.path.basename(words.split(": ", 1)[1]))
            initialised = False
    return names


# ---------------------------------------------------------------------------------------------
# Running programs


@dataclass
class Outcome:
    """What one run of a program left behind."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    on_library: set = field(default_factory=set)


def program(name):
    """The path of a program on the PATH or a path given, links resolved; None when missing."""
    found = shutil.which(str(name))
    return os.path.realpath(found) if found else None


def kill_group(process):
    """Ends what a process started with start_new_session may have left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(text):
    return text if len(text) <= OUTPUT_SHOWN_CHARS else "[…]" + text[-OUTPUT_SHOWN_CHARS:]


def run(argv, expect=None, preload=True, cwd=None, env=None, stdin=None, timeout=120, status=0,
        user=None, brief=False):
    """Runs argv to its end, demands its exit status and the proof; returns an Outcome.

    expect: names of executables that must be seen on the library; by default the one of argv[0].
    status: the exit status demanded, None for any.
    brief: for programs of a few milliseconds; names are then those that the programs were called by.
    """
    argv = [str(word) for word in argv]
    if expect is None:
        path = shutil.which(argv[0]) or argv[0]
        expect = {os.path.basename(path if brief else os.path.realpath(path))}
    expected = set(expect) if preload else set()
    with linker_log() if brief and preload else contextlib.nullcontext(({}, set)) as (more, logged):
        settings = {"cwd": cwd, "env": environment(preload, (env or {}) | more), **identity(user)}
        outcome = watched(argv, set() if brief else expected, stdin, timeout, settings)
        outcome.on_library |= logged()
    assert status is None or outcome.status == status, (
        f"{argv} ended with {outcome.status}, not {status}\n"
        f"stdout: {tail(outcome.stdout)}\nstderr: {tail(outcome.stderr)}")
    demand_proof(expected, outcome.on_library, argv)
    return outcome


def watched(argv, expected, stdin, timeout, settings):
    """Runs argv to its end under a Watcher; nothing of it is left running."""
    start = time.monotonic()
    process = subprocess.Popen(
        argv, start_new_session=True, text=True, errors="backslashreplace",
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)
    watcher = Watcher(process.pid, expected)
    watcher.start()
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        kill_group(process)
        stdout, stderr = process.communicate()
        raise AssertionError(f"{argv} did not end in {timeout} s\n{tail(stdout)}\n"
                             f"{tail(stderr)}") from late
    finally:
        seen = watcher.finish()
        kill_group(process)
    return Outcome(process.returncode, stdout, stderr, time.monotonic() - start, seen)


def demand_proof(expected, seen, argv):
    missing = set(expected) - set(seen)
    if missing:
        raise NotUnderTheLibrary(
            f"{argv}: {sorted(missing)} never seen with {library()} mapped; seen: {sorted(seen)}")


def run_both(argv, **settings):
    """Runs argv with and without the library, demands equal output, returns the run with it."""
    plain = run(argv, preload=False, **settings)
    outcome = run(argv, **settings)
    assert outcome.stdout == plain.stdout
    return outcome


def identity(user):
    """Popen arguments that run a program as another user, with that user's groups only."""
    return {"user": user, "group": group_of(user), "extra_groups": []} if user else {}


def group_of(user):
    import pwd
    return pwd.getpwnam(user).pw_gid


# ---------------------------------------------------------------------------------------------
# Servers


@contextlib.contextmanager
def serving(argv, ready, expect=None, cwd=None, env=None, preload=True, log=None,
            stop_signal=signal.SIGTERM, stop_timeout=30, user=None):
    """Runs a server until the block ends; it must be on the library, and must stop when told.

    ready: a function that returns true when the server answers.
    """
    argv = [str(word) for word in argv]
    name = expect or os.path.basename(program(argv[0]) or argv[0])
    log_path = log or os.devnull
    with open(log_path, "ab") as log_file:
        process = subprocess.Popen(
            argv, cwd=cwd, env=environment(preload, env), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file, **identity(user))
    try:
        wait_until(lambda: ready() or process.poll() is not None, 60, f"{argv} to answer")
        assert process.poll() is None, f"{argv} ended with {process.returncode}: {shown(log)}"
        if preload:
            demand_server_proof(process.pid, name, argv)
        yield process
        assert process.poll() is None, f"{argv} ended with {process.returncode}: {shown(log)}"
        process.send_signal(stop_signal)
        try:
            process.wait(stop_timeout)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{argv} did not stop when told: {shown(log)}") from late
        assert process.returncode in (0, -stop_signal), f"status {process.returncode}: {shown(log)}"
    finally:
        kill_group(process)


def demand_server_proof(pid, name, argv):
    seen = {executable_name(p) for p in descendants(pid) if maps_library(p)}
    demand_proof({name}, seen - {None}, argv)


def shown(log):
    return tail(Path(log).read_text(errors="replace")) if log else "(no log)"


def wait_until(condition, seconds, what):
    """Polls until condition() is true; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        time.sleep(0.02)


def free_port():
    """A TCP port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
