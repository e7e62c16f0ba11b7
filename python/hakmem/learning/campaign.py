"""Makes the runs: learns, screens the grid, then round by round everybody who is left, in random order.

Every run that is in the store already is not made again. A policy that was learned is in the store as text, so that a
measurement that goes on uses the same.
"""

import math
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hakmem.allocator import Allocator
from hakmem.learning import halving, settings
from hakmem.learning.judging import Report
from hakmem.learning.rows import Task
from hakmem.learning.settings import DEFAULT, HINDSIGHT, HINDSIGHT_RUNS, LEARNED, LEARNING, Setting
from hakmem.learning.store import LEARN, PAIR, SCREEN, Store

TIME, SPACE = "time", "memory"  # what the grid is screened by

OnRun = Callable[[Task, str, int, str, str | None], None]  # task, stage, round, setting, failure


@dataclass
class Campaign:
    tasks: list[Task]
    library: Allocator
    grid: list[Setting]
    pairs: int
    has_parts: bool
    store: Store
    folder: Path  # for policy files and what programs leave
    on_run: OnRun
    _known: dict[str, Setting] = field(init=False)

    def __post_init__(self):
        fixed = [DEFAULT, LEARNING, *self.grid, *(settings.learning_without(part) for part in settings.PARTS_OFF)]
        self._known = {one.name: one for one in fixed}

    @property
    def seed(self) -> int:
        return self.store.head["seed"]

    def run(self) -> None:
        for task in self.tasks:
            self._learn(task)
            self._choose(task)
        for turn in range(self.pairs):
            for task in self.tasks:
                self._run_all(task, PAIR, turn, self.store.chosen[task.name])

    def runs_planned(self, task: Task) -> int:
        """At most."""
        rungs = halving.rungs_of(len(self.grid)) if task.has_grid else []
        screened = sum(min(len(self.grid), (1 if number == 0 else 2) * count) for number, count in enumerate(rungs))
        chosen = len(self.store.chosen.get(task.name, [])) or 4 + (2 * halving.LEFT if task.has_grid else 0)
        return HINDSIGHT_RUNS + screened + self.pairs * chosen

    # --- one run

    def _place(self, task: Task) -> Path:
        folder = self.folder / task.name.replace("/", "-").replace("%", "")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _variables(self, task: Task, name: str) -> dict[str, str]:
        if (files := self.store.learned.get((task.name, name))) is not None:
            return settings.learned_from(name, _written(self._place(task) / name, files, task.one_file))
        return self._known[name].variables(self._place(task))

    def _made(self, task: Task, stage: str, turn: int, name: str, variables: dict[str, str] | None = None) -> Report | None:
        """A run's report, from the store where it is there; None where the run does not count."""
        key = (task.name, stage, turn, name)
        if key not in self.store.runs:
            given = self._variables(task, name) if variables is None else variables
            allocator = replace(self.library, name=name, environment=self.library.environment | given)
            made = task.run(allocator, self._place(task) / "left")
            self.store.add_run(key, made.report, made.failure)
            self.on_run(task, stage, turn, name, made.failure)
        else:
            self.on_run(task, stage, turn, name, None)
        return self.store.runs[key]

    def _run_all(self, task: Task, stage: str, turn: int, names: list[str]) -> dict[str, Report | None]:
        order = list(names)
        random.Random(f"{self.seed} {task.name} {stage} {turn}").shuffle(order)
        is_out = {name for name in names if self.store.has_failed(task.name, name)}
        return {name: None if name in is_out else self._made(task, stage, turn, name) for name in order}

    # --- what is learned

    def _learn(self, task: Task) -> None:
        """A file of one learning run, and one of several."""
        if (task.name, HINDSIGHT) in self.store.learned:
            return
        place = self._place(task) / "learns"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        place.chmod(0o777)  # a server that refuses to run as root writes there
        to = {"HAKMEM_POLICY": str(place / "program.policy") if task.one_file else f"{place}/"}
        before = self.store.learned.get((task.name, LEARNED))
        for turn in range(HINDSIGHT_RUNS):
            if before is not None and turn == 0:
                _written(place, before, False)
                continue
            self.store.runs.pop((task.name, LEARN, turn, LEARNED), None)  # its file is gone with the process that stopped
            self._made(task, LEARN, turn, LEARNED, dict(LEARNING.options) | to)
            if turn in (0, HINDSIGHT_RUNS - 1):
                texts = {file.name: file.read_text() for file in sorted(place.glob("*.policy"))}
                self.store.add_learned(task.name, LEARNED if turn == 0 else HINDSIGHT, texts)

    def _parts(self, task: Task) -> list[str]:
        """Settings with one part of what was learned, and without it; and those that don't learn a part."""
        learned = self.store.learned[task.name, LEARNED]
        parts = dict.fromkeys(part for text in learned.values() for part in settings.parts_in(text))
        names = []
        for part in parts:
            for name, of in ((f"only-{part}", settings.only_part), (f"without-{part}", settings.without_part)):
                if (task.name, name) not in self.store.learned:
                    self.store.add_learned(task.name, name, {file: of(text, part) for file, text in learned.items()})
                names.append(name)
        return names + [settings.learning_without(part).name for part in settings.PARTS_OFF]

    # --- who takes part

    def _choose(self, task: Task) -> None:
        if task.name in self.store.chosen:
            return
        names = [DEFAULT.name, LEARNING.name, LEARNED, HINDSIGHT]
        if task.has_grid:
            left = self._screened(task)
            names += dict.fromkeys(name for criterion in (TIME, SPACE) for name in left[criterion])
        if self.has_parts:
            names += self._parts(task)
        self.store.add_chosen(task.name, names)

    def _screened(self, task: Task) -> dict[str, list[str]]:
        def run(due: list[str], rung: int) -> dict[str, halving.Values | None]:
            return {name: _values(made) for name, made in self._run_all(task, SCREEN, rung, due).items()}
        return halving.screen([one.name for one in self.grid], (TIME, SPACE), run)


def _values(report: Report | None) -> halving.Values | None:
    """Memory: the peak and the mean count alike."""
    if report is None:
        return None
    peak, mean = report["peak_kib"], report.get("mean_kib") or report["peak_kib"]
    return {TIME: report["seconds"], SPACE: math.sqrt(max(peak, 1) * max(mean, 1))}


def _written(folder: Path, files: dict[str, str], one_file: bool) -> Path:
    """The file, where there is to be one, else the folder; what is in it was learned before."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files)) if one_file and files else folder
