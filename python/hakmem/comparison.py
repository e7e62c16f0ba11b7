"""Runs rows under several allocators, interleaved, and keeps every run as a record."""

import json
import shutil
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hakmem import machine
from hakmem.allocator import Allocator
from hakmem.places import BUILD
from hakmem.run import Run


@dataclass
class Results:
    """Reports of counted runs by row and allocator name, and what went wrong."""

    reports: dict[tuple[str, str], list[dict]] = field(default_factory=lambda: defaultdict(list))
    failures: list[tuple[str, str, str]] = field(default_factory=list)  # row, allocator, reason

    def failed(self, row: str, allocator: str) -> bool:
        return any(failure[:2] == (row, allocator) for failure in self.failures)


def order(allocators: list[Allocator], runs: int, warms_up: bool = True) -> Iterator[tuple[int, Allocator]]:
    """A B C, B C A, C A B, …: interleaved, and each allocator comes at each place. Round 0 is the warm-up."""
    for turn in range(0 if warms_up else 1, runs + 1):
        start = turn % len(allocators)
        for allocator in allocators[start:] + allocators[:start]:
            yield turn, allocator


def frozen(library: Path, folder: Path = BUILD / "compared") -> Path:
    """A copy of a library under a name of its own content, so that a build during a comparison does not change it."""
    digest = machine.digest(library)
    copy = folder / digest[:16] / library.name
    if machine.digest(copy if copy.exists() else None) != digest:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, copy)
        copy.chmod(0o755)
    return copy


class Recorder:
    """Appends records to a file, one JSON object a line; the first of a comparison says what all have in common."""

    def __init__(self, file: Path, allocators: list[Allocator], settings: dict):
        self.file = file
        self.comparison = uuid.uuid4().hex
        file.parent.mkdir(parents=True, exist_ok=True)
        libraries = [one.as_json() | {"sha256": machine.digest(one.library)} for one in allocators]
        self.append({"kind": "comparison", "machine": machine.describe(), "settings": settings,
                     "allocators": libraries})

    def append(self, record: dict) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps({"comparison": self.comparison, **record}) + "\n")


@dataclass
class Compared:
    """A row and those who run it."""

    name: str
    allocators: list[Allocator]
    runs: int  # counted ones
    run: Callable[[Allocator, int], Run]  # the number is the round's
    warms_up: bool = True

    def turn(self, turn: int) -> list[Allocator]:
        """Who runs in a round, in which order; nobody where there is no such round for this row."""
        return [one for number, one in order(self.allocators, self.runs, self.warms_up) if number == turn]


def compare(rows: list[Compared], recorder: Recorder, results: Results,
            on_run: Callable[[str, Allocator, int, Run], None]) -> None:
    """Runs the rows round by round: what a machine does for minutes meets one round of each row, so that the spread of a
    row's rounds shows it. A run that fails, or doesn't prove its allocator, is left out of the results and kept in the
    records; after it the allocator is not run again on that row."""
    for turn in range(max((row.runs for row in rows), default=0) + 1):
        for row in rows:
            for allocator in row.turn(turn):
                if not results.failed(row.name, allocator.name):
                    _run_once(row, allocator, turn, recorder, results, on_run)


def _run_once(row: Compared, allocator: Allocator, turn: int, recorder: Recorder, results: Results,
              on_run: Callable[[str, Allocator, int, Run], None]) -> None:
    made = row.run(allocator, turn)
    recorder.append({"kind": "run", "row": row.name, "allocator": allocator.name, "turn": turn,
                     "counted": turn > 0 and made.failure is None, "failure": made.failure, "report": made.report})
    if made.failure is not None:
        results.failures.append((row.name, allocator.name, made.failure))
    elif turn > 0:
        results.reports[row.name, allocator.name].append(made.report)
    on_run(row.name, allocator, turn, made)
