"""What a measurement of learning has found so far: JSON lines, written as it goes, so that it can go on where it stopped."""

import json
import lzma
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hakmem import places
from hakmem.learning.judging import Report, Rounds

LEARN, SCREEN, PAIR = "learn", "screen", "pair"  # the stages of a row
PACKED = ".xz"
KEPT = ("seconds", "operations", "peak_kib", "mean_kib")  # of a workload's report
KEPT_OF_PHASES = ("phase_seconds", "phase_kinds")  # where it has such
KIND = ("cpu", "cores", "glibc")  # of a machine
Key = tuple[str, str, int, str]  # row, stage, round, setting


class StoreUnreadable(Exception):
    """Its message is one line for the user."""


@dataclass
class Store:
    file: Path
    head: dict  # what all runs have in common: the first line
    runs: dict[Key, Report | None] = field(default_factory=dict)  # None: it does not count
    failures: dict[Key, str] = field(default_factory=dict)
    learned: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)  # (row, setting): file name, its text
    chosen: dict[str, list[str]] = field(default_factory=dict)  # row: who takes part in the paired runs
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # row: whole seconds of its runs
    whole: set[tuple[str, str, int]] = field(default_factory=set)  # (row, stage, round): turns of the screening that were run to their end
    went_on: list[dict] = field(default_factory=list)  # the machines on which it did
    _made_by: dict[Key, int] = field(default_factory=dict)  # how often it had gone on by then
    _last: Key | None = None  # run

    def _append(self, record: dict) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def add_run(self, key: Key, report: dict | None, failure: str | None, took: float | None = None) -> None:
        kept = _kept(report) if report is not None and failure is None else None
        self._take_run(key, kept, failure, took)
        row, stage, turn, setting = key
        proof = report.get("malloc_from") if report else None
        self._append({"kind": "run", "row": row, "stage": stage, "round": turn, "setting": setting, "report": kept,
                      "failure": failure, "malloc_from": proof and places.told(Path(proof)), "took": took})

    def _take_run(self, key: Key, report: Report | None, failure: str | None, took: float | None) -> None:
        self.runs[key] = report
        self._made_by[key] = len(self.went_on)
        self._last = key
        if took is not None:
            self.took[key[0]].append(took)
        if failure is not None:
            self.failures[key] = failure

    def add_learned(self, row: str, setting: str, files: dict[str, str]) -> None:
        self.learned[row, setting] = files
        self._append({"kind": "learned", "row": row, "setting": setting, "files": files})

    def add_chosen(self, row: str, settings: list[str]) -> None:
        self.chosen[row] = settings
        self._append({"kind": "chosen", "row": row, "settings": settings})

    def add_whole(self, row: str, stage: str, turn: int) -> None:
        if (row, stage, turn) not in self.whole:
            self.whole.add((row, stage, turn))
            self._append({"kind": "whole", "row": row, "stage": stage, "round": turn})

    def go_on(self, machine: dict) -> None:
        """What is compared is made within minutes, on one machine: the round that was being run is begun anew."""
        self._take_machine(machine)
        self._append({"kind": "continued", "machine": machine})

    def _take_machine(self, machine: dict) -> None:
        """Whether a paired round is whole follows from who was chosen; of a turn of the screening only its mark says so."""
        self.went_on.append(machine)
        if self._last is None or self._last[1] == LEARN or self._last[:3] in self.whole:
            return
        begun = [key for key in self.runs if key[:3] == self._last[:3]]
        row, stage = self._last[:2]
        missing = set(self.chosen.get(row, [])) - {key[3] for key in begun}
        if stage == SCREEN or any(not self.has_failed(row, name) for name in missing):
            for key in begun:
                del self.runs[key]
                self.failures.pop(key, None)

    def machines(self) -> list[tuple[dict, int]]:
        """Each kind that it ran on, and how many of the paired runs it made."""
        every = [self.head["machine"], *self.went_on]
        kinds = [tuple(machine.get(name) for name in KIND) for machine in every]
        made = Counter(kinds[self._made_by[key]] for key in self.runs if key[1] == PAIR)
        return [(every[kinds.index(kind)], made[kind]) for kind in dict.fromkeys(kinds)]

    def has_failed(self, row: str, setting: str) -> bool:
        return any(key[0] == row and key[3] == setting for key in self.failures)

    def rounds(self, row: str) -> Rounds:
        """The paired runs of a row, by setting and round."""
        mine = {(key[2], key[3]): report for key, report in self.runs.items() if key[:2] == (row, PAIR)}
        count = 1 + max((turn for turn, _ in mine), default=-1)
        settings = dict.fromkeys(setting for _, setting in mine)
        return {setting: [mine.get((turn, setting)) for turn in range(count)] for setting in settings}

    def rows(self) -> list[dict]:
        """name and group of each row, in their order."""
        return self.head["rows"]

    def rows_of(self, group: str) -> list[str]:
        return [row["name"] for row in self.rows() if row["group"] == group]


def _kept(report: dict) -> Report:
    return {name: report.get(name) for name in KEPT} | {name: report[name] for name in KEPT_OF_PHASES if name in report}


def begin(file: Path, head: dict) -> Store:
    file.parent.mkdir(parents=True, exist_ok=True)
    store = Store(file, head)
    store._append({"kind": "policy-bench", **head})
    return store


def read(file: Path) -> Store:
    """Packed or not. A last line that is cut off is left out; any other that is no record is an error."""
    try:
        text = lzma.open(file, "rt").read() if file.suffix == PACKED else file.read_text()
    except (OSError, UnicodeDecodeError, lzma.LZMAError, EOFError) as reason:
        raise StoreUnreadable(f"{file} can't be read: {reason}") from None
    whole = text.rpartition("\n")[0]
    records = []
    for number, line in enumerate(whole.split("\n"), start=1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise StoreUnreadable(f"{file}, line {number}: not a record of hakmem bench policy") from None
    if not records or not isinstance(records[0], dict) or records[0].get("kind") != "policy-bench":
        raise StoreUnreadable(f"{file}: not written by hakmem bench policy")
    store = Store(file, records[0])
    for record in records[1:]:
        if record["kind"] == "run":
            key = (record["row"], record["stage"], record["round"], record["setting"])
            store._take_run(key, record["report"], record["failure"], record.get("took"))
        elif record["kind"] == "learned":
            store.learned[record["row"], record["setting"]] = record["files"]
        elif record["kind"] == "chosen":
            store.chosen[record["row"]] = record["settings"]
        elif record["kind"] == "whole":
            store.whole.add((record["row"], record["stage"], record["round"]))
        elif record["kind"] == "continued":
            store._take_machine(record["machine"])
    return store


def reopen(file: Path) -> Store:
    """To go on, once `go_on` says where: a last line that is cut off is taken away."""
    store = read(file)
    whole, _, rest = file.read_text().rpartition("\n")
    if rest:
        file.write_text(whole + "\n")
    return store


def failures_by_row(store: Store) -> dict[str, list[tuple[str, str]]]:
    """(setting, reason) of every run that does not count."""
    found = defaultdict(list)
    for (row, _, _, setting), reason in store.failures.items():
        found[row].append((setting, reason))
    return dict(found)
