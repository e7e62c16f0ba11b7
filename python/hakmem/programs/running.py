"""Runs a real program: timed from outside, its result checked, its allocator proved."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hakmem import workloads
from hakmem.allocator import Allocator
from hakmem.places import TREE
from hakmem.run import complaint_in, environment
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
        if has_own_malloc(self.executable):
            raise ProgramFailed(f"{self.executable} has a malloc of its own, which comes before any that is preloaded")
        file = self.input_of(folder)
        command = [self.executable, *(word.format(input=file, folder=folder, scripts=SCRIPTS) for word in self.words)]
        with open(file if self.reads_input else os.devnull, "rb") as given, open(folder / "output", "wb") as output:
            stop_watch = [workloads.program("once"), folder / "report", allocator.library or ""]
            process = subprocess.Popen([*map(str, stop_watch), *command], stdin=given, stdout=output,
                                       stderr=subprocess.STDOUT, cwd=folder, env=environment(allocator))
            proved = is_mapped(child_of(process.pid), allocator)
            process.wait()
        said = (folder / "output").read_text(errors="replace")
        if process.returncode != 0:
            raise ProgramFailed(f"exit status {process.returncode}: {said[-300:]}")
        if not proved:
            raise ProgramFailed(f"{allocator.library} was never mapped")
        refuse_complaints(said)
        if self.answer not in said:
            raise ProgramFailed(f"the answer is not {self.answer!r}: {said[-300:]}")
        return Outcome(**json.loads((folder / "report").read_text()))


def refuse_complaints(said: str) -> None:
    if (complaint := complaint_in(said)) is not None:
        raise ProgramFailed(complaint)


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


@lru_cache
def has_own_malloc(executable: str) -> bool:
    """Whether the program itself exports malloc. Rust's own builds of rustc do, for example."""
    try:
        with open(shutil.which(executable) or executable, "rb") as stream:
            symbols = ELFFile(stream).get_section_by_name(".dynsym")
            found = symbols.get_symbol_by_name("malloc") if symbols else None
            return any(symbol["st_shndx"] != "SHN_UNDEF" for symbol in found or [])
    except (OSError, ELFError):  # a script, whose interpreter is another matter
        return False


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


def wait_for_port(port: int) -> None:
    for _ in range(1000):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise ProgramFailed("the server does not answer")
