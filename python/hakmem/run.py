"""Runs one workload under one allocator in a process of its own, and proves that the allocator was in use."""

import json
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from hakmem import workloads
from hakmem.allocator import Allocator
from hakmem.suites import Row

TIMEOUT_SECONDS = 300
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
INSTRUCTED_OPERATIONS = 400_000  # some seconds under valgrind
_COMPLAINT = re.compile(r"^hakmem: .*", re.MULTILINE)
# Nothing else of the caller's environment reaches a run.
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True)
class Run:
    """What came of one run: the workload's report, or the reason why there is none that counts."""

    report: dict | None
    failure: str | None = None


def environment(allocator: Allocator) -> dict[str, str]:
    clean = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return clean | allocator.environment


class CannotCount(Exception):
    """Its message is one line for the user."""


def instructions(row: Row, allocator: Allocator) -> float:
    """Instructions of an operation, by callgrind: those of a run less those of one with half the operations, so that start
    and end do not count."""
    if shutil.which("valgrind") is None:
        raise CannotCount("valgrind is not installed, which counts instructions (Debian: valgrind)")
    units = max(2, _units_for(row, INSTRUCTED_OPERATIONS))
    counted, done = zip(*(_count(row, allocator, part) for part in (units, units // 2)), strict=True)
    if done[0] == done[1]:
        raise CannotCount("its operations do not grow with its length")
    return (counted[0] - counted[1]) / (done[0] - done[1])


def _units_for(row: Row, operations: int) -> int:
    """What the workload must be told to do about so many operations: it may count rounds, or threads' own."""
    probe = subprocess.run([str(workloads.program(row.workload)), *(word.format(operations=2, library="")
                                                                    for word in row.arguments)],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise CannotCount(" ".join(probe.stderr.split()))
    return operations * 2 // max(1, json.loads(probe.stdout)["operations"])


def _count(row: Row, allocator: Allocator, units: int) -> tuple[int, int]:
    """Instructions, and operations done."""
    variables = environment(allocator) | ({"LD_PRELOAD": str(allocator.library)} if allocator.library else {})
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(workloads.program(row.workload)),
               *(word.format(operations=units, library="") for word in row.arguments)]
    done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise CannotCount(f"it does not run under callgrind (status {done.returncode})")
    report = json.loads(done.stdout)
    if failure := disproof(report, allocator):
        raise CannotCount(failure)
    return int(collected.group(1)), report["operations"]


def run(row: Row, allocator: Allocator, quick: bool) -> Run:
    if row.fresh_mebibytes:
        subprocess.run([str(workloads.program("populate")), str(row.fresh_mebibytes)], stdin=subprocess.DEVNULL, check=False)
    variables = environment(allocator)
    library = str(allocator.library or "")
    if row.workload != "startup" and library:  # startup preloads into the program it starts, not into itself
        variables["LD_PRELOAD"] = library
    command = [str(workloads.program(row.workload, row.place)), *row.command(quick, library)]
    process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    watch = Watch(process.pid)
    try:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    except BaseException as reason:  # a run that is stopped must not go on behind the next one
        process.kill()
        process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            return Run(None, f"not done after {TIMEOUT_SECONDS} s")
        raise
    finally:
        mean_kib = watch.end()
    if process.returncode != 0:
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
        return Run(None, " ".join([how, *err.split("\n")[-3:]]).strip())
    if (complaint := complaint_in(err)) is not None:
        return Run(None, complaint)
    try:
        report = json.loads(out)
    except json.JSONDecodeError:
        return Run(None, f"no report in the output: {out[:200]!r}")
    return Run(report | {"mean_kib": mean_kib}, disproof(report, allocator))


class Watch:
    """Looks at a process's resident memory from outside, some fifty times a second, for its mean."""

    EVERY_SECONDS = 0.02

    def __init__(self, pid: int):
        self._statm = Path(f"/proc/{pid}/statm")
        self._sum_pages, self._looks = 0, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(self.EVERY_SECONDS):
            try:
                self._sum_pages += int(self._statm.read_text().split()[1])
            except (OSError, IndexError):  # it has ended
                return
            self._looks += 1

    def end(self) -> float | None:
        """KiB; None where it ended before the first look."""
        self._over.set()
        self._thread.join()
        return self._sum_pages / self._looks * PAGE_KIB if self._looks else None


def complaint_in(said: str) -> str | None:
    """What the library complains of, such as a policy file that it does not use: then it did not run as it was told."""
    found = _COMPLAINT.search(said)
    return found.group() if found else None


def disproof(report: dict, allocator: Allocator) -> str | None:
    """Why the report doesn't show that the allocator was in use; None when it does."""
    mapped = {_real(path) for path in report["mapped"]}
    if allocator.library is None:
        foreign = [path for path in mapped if not _is_of_the_system(path)]
        # The workload's own program, or the program that `startup` started, is the only file of another kind.
        if len(foreign) > 1:
            return f"other libraries are mapped: {', '.join(sorted(foreign))}"
        return _disproof_of_calls(report, None)
    library = _real(allocator.library)
    if library not in mapped:
        return f"{library} is not mapped"
    return _disproof_of_calls(report, allocator)


def _disproof_of_calls(report: dict, allocator: Allocator | None) -> str | None:
    if report["workload"] == "startup":  # what runs there is a stranger's program; mapped is what can be known
        return None
    for function in ("malloc", "free"):
        origin = report[f"{function}_from"]
        if allocator is None and not Path(origin).name.startswith("libc.so"):
            return f"{function} came from {origin}, not from the C library"
        if allocator is not None and _real(origin) != _real(allocator.library):
            return f"{function} came from {origin}, not from {allocator.library}"
    if allocator is not None and not allocator.is_hakmem:  # any library, hakmem of another build among them
        return None
    if report["hakmem_version"] != (allocator is not None):
        return "hakmem_version was found" if report["hakmem_version"] else "hakmem_version was not found"
    return None


def _real(path: str | Path) -> str:
    return os.path.realpath(path)


def _is_of_the_system(path: str) -> bool:
    return path.startswith(("/usr/lib", "/lib", "/usr/bin", "/bin"))
