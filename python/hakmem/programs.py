"""Real programs with fixed input as rows: each run is timed from outside, its result checked, its allocator proved."""

import fnmatch
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hakmem import workloads
from hakmem.allocator import Allocator
from hakmem.places import TREE
from hakmem.run import environment
from hakmem.suites import Row

SCRIPTS = TREE / "bench" / "programs"
SECONDS_MOST = 300
SUITE = "programs"


class ProgramFailed(Exception):
    """A run that does not count, with the reason."""


@dataclass(frozen=True)
class Outcome:
    seconds: float
    peak_kib: int

    def as_report(self) -> dict:
        """As a workload would report it."""
        return {"workload": "program", "operations": 1, "seconds": self.seconds, "peak_kib": self.peak_kib}


class Subject:
    """What all programs share."""

    name: str

    @property
    def row(self) -> str:
        return f"{SUITE}/{self.name}"

    def as_row(self) -> Row:
        return Row(self.row, SUITE, self.name, (), 1)


@dataclass(frozen=True)
class Program(Subject):
    """A program that runs to its end. `input_of` makes its input in a folder and returns what it reads there, or
    None; `words` are its arguments, `{input}` standing for that file; `answer` is in its output."""

    name: str
    package: str  # Debian's, that has it
    executable: str
    words: tuple[str, ...]
    answer: str
    input_of: Callable[[Path], Path | None] = lambda folder: None
    reads_input: bool = False

    def run(self, allocator: Allocator, folder: Path) -> Outcome:
        file = self.input_of(folder)
        command = [self.executable, *(word.format(input=file, folder=folder, scripts=SCRIPTS) for word in self.words)]
        with open(file if self.reads_input else os.devnull, "rb") as given, open(folder / "output", "w+b") as output:
            stop_watch = [workloads.program("once"), folder / "report", allocator.library or ""]
            process = subprocess.Popen([*map(str, stop_watch), *command], stdin=given, stdout=output,
                                       stderr=subprocess.STDOUT, cwd=folder, env=environment(allocator))
            proved = is_mapped(child_of(process.pid), allocator)
            process.wait()
            output.seek(0)
            said = output.read().decode(errors="replace")
        if process.returncode != 0:
            raise ProgramFailed(f"exit status {process.returncode}: {said[-300:]}")
        if not proved:
            raise ProgramFailed(f"{allocator.library} was never mapped")
        if self.answer not in said:
            raise ProgramFailed(f"the answer is not {self.answer!r}: {said[-300:]}")
        return Outcome(**json.loads((folder / "report").read_text()))


def preloaded(allocator: Allocator) -> dict[str, str]:
    variables = environment(allocator)
    return variables | {"LD_PRELOAD": str(allocator.library)} if allocator.library else variables


def child_of(pid: int) -> int:
    """The program that the stop watch runs, as soon as it is there; 0 where the stop watch has ended."""
    while True:
        try:
            if children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                return int(children[0])
        except OSError:
            return 0
        if has_ended(pid):
            return 0


def has_ended(pid: int) -> bool:
    """True where nobody has waited for it yet, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def is_mapped(pid: int, allocator: Allocator) -> bool:
    """Looks until the library is seen in the process, or the process has ended."""
    if allocator.library is None:
        return True
    real = os.path.realpath(allocator.library)
    while True:
        try:
            maps = Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            return False
        if real in maps:
            return True
        if not maps and has_ended(pid):  # in the middle of exec there are none either
            return False
        time.sleep(0.001)


@dataclass(frozen=True)
class Redis(Subject):
    """A server with fixed load from redis-benchmark, which runs without the allocator; the server's peak counts."""

    name: str = "redis"
    package: str = "redis-server redis-tools"
    executable: str = "redis-server"
    TESTS = "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"

    def run(self, allocator: Allocator, folder: Path) -> Outcome:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        log = open(folder / "log", "wb")
        server = subprocess.Popen(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=preloaded(allocator))
        try:
            if not is_mapped(server.pid, allocator):
                raise ProgramFailed(f"{allocator.library} was never mapped")
            wait_for_port(int(port))
            start = time.perf_counter()
            subprocess.run(["redis-benchmark", "-p", port, "-n", "60000", "-r", "100000", "-P", "16", "-d", "100", "-q",
                            "-t", self.TESTS], env=environment(allocator), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=True, timeout=SECONDS_MOST)
            seconds = time.perf_counter() - start
            status = Path(f"/proc/{server.pid}/status").read_text()
        finally:
            server.kill()
            server.wait()
            log.close()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return Outcome(seconds, int(peak.split()[1]))


def wait_for_port(port: int) -> None:
    for _ in range(1000):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise ProgramFailed("the server does not answer")


def _cpp(folder: Path) -> Path:
    """The large program of the tests: templates and the standard library."""
    file = folder / "large.cpp"
    if not file.exists():
        sys.path.insert(0, str(TREE / "tests" / "programs"))
        import generate_cpp  # noqa: PLC0415 (a neighbour of the tests, not of this package)
        file.write_text(generate_cpp.program(10))
    return file


def _questions(folder: Path) -> Path:
    """Small questions about an unknown function, then pigeons that don't fit their holes."""
    file = folder / "questions.smt2"
    lines = ["(declare-fun f (Int) Int)(declare-const x Int)"]
    for i in range(4000):
        same = f"(assert (= x {i}))" if i % 2 else ""
        lines.append(f"(push)(assert (= (f x) {i}))(assert (= (f {i}) {i + 1})){same}(check-sat)(pop)")
    holes = 8
    lines += [f"(declare-const p{i}_{h} Bool)" for i in range(holes + 1) for h in range(holes)]
    lines += ["(assert (or " + " ".join(f"p{i}_{h}" for h in range(holes)) + "))" for i in range(holes + 1)]
    lines += [f"(assert (not (and p{i}_{h} p{j}_{h})))" for h in range(holes) for i in range(holes + 1) for j in range(i)]
    file.write_text("\n".join(lines) + "\n(check-sat)\n")
    return file


PROGRAMS = [
    Redis(),
    Program("python", "python3", "/usr/bin/python3", ("{scripts}/objects.py",), "9502240 20000 208889 42088 196596"),
    Program("sqlite", "sqlite3", "sqlite3", (":memory:",), "5003|300000\n22513\n833357\n9999\n150000|item 99998",
            lambda folder: SCRIPTS / "tables.sql", reads_input=True),
    Program("lua", "lua5.4", "lua5.4", ("{scripts}/trees.lua",), "1572840\t1977789\t100003"),
    Program("clang", "clang", "clang++", ("-O1", "-std=c++17", "-c", "{input}", "-o", "{folder}/large.o"), "", _cpp),
    Program("z3", "z3", "z3", ("{input}",), "unsat", _questions),
]


def select(globs: list[str]) -> list:
    return [one for one in PROGRAMS if not globs or any(fnmatch.fnmatch(one.row, glob) for glob in globs)]


def is_there(program) -> bool:
    return shutil.which(program.executable) is not None
