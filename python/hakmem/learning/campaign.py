"""Makes the runs, group by group: learns, screens the grid where the group asks about fixed settings, then round by round
everybody who is left, in random order. A row's turn after another's begins with a run that is not counted.

Every run that is in the store already is not made again. A policy that was learned is in the store as text, so that a
measurement that goes on uses the same.

What a run learns differs from run to run. So a round's learned policy is what the round before learned, or where that failed
the newest there is, and intervals of pairs have that in them; but where parts of it are compared, which are all of one file.
"""

import math
import random
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hakmem.allocator import Allocator
from hakmem.learning import halving, rows, settings
from hakmem.learning.judging import Report
from hakmem.learning.rows import CHANGING, PROGRAMS, SETTLED, STATIONARY, Task
from hakmem.learning.settings import DEFAULT, HINDSIGHT, HINDSIGHT_RUNS, LEARNED, LEARNING, Setting
from hakmem.learning.store import LEARN, PAIR, SCREEN, Store

TIME, SPACE = "time", "memory"  # what the grid is screened by
CRITERIA = {STATIONARY: (TIME,), CHANGING: (TIME, SPACE), PROGRAMS: (TIME,)}  # the other groups don't ask about fixed settings
ROWS_OF_RUNG = 4  # of those that are screened together; while many settings are left, half as many
MANY = 40  # settings
FEW = 24  # settings, that one row by itself is screened by two runs of each
WARMING = 1  # run at the beginning of a row's turn

OnRun = Callable[["Campaign", Task, str, int, str, str | None], None]  # task, stage, round, setting, failure
OnGroup = Callable[["Campaign", str], None]  # all of its runs are made


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
    on_group: OnGroup
    _known: dict[str, Setting] = field(init=False)
    _done: Counter = field(init=False, default_factory=Counter)  # runs by row and stage, those of the store too
    _ran: str | None = field(init=False, default=None)  # the row whose run was the last

    def __post_init__(self):
        fixed = [DEFAULT, LEARNING, *self.grid, *settings.learning_by_parts()]
        self._known = {one.name: one for one in fixed}

    @property
    def seed(self) -> int:
        return self.store.head["seed"]

    def run(self) -> None:
        for group in dict.fromkeys(task.group for task in self.tasks):
            tasks = self._tasks_of(group)
            for task in tasks:
                self._learn(task)
            self._choose(group, tasks)
            for turn in range(self._rounds(group)):
                for task in tasks:
                    self._run_all(task, PAIR, turn, self.store.chosen[task.name])
            self.on_group(self, group)

    def _tasks_of(self, group: str) -> list[Task]:
        return [task for task in self.tasks if task.group == group]

    def _rounds(self, group: str) -> int:
        return rows.rounds_of(group, [task.name for task in self._tasks_of(group)], self.pairs)

    # --- how much is to be done

    def runs_done(self) -> int:
        return sum(self._done.values())

    def runs_left(self) -> int:
        """At most."""
        return sum(map(self._left, self.tasks))

    def seconds_left(self) -> float:
        """By what each row's runs took so far; where there was none, by those of its group, else by what is to be expected."""
        return sum(self._left(task) * self._seconds_of_run(task) for task in self.tasks)

    def _left(self, task: Task) -> int:
        learns = 0 if (task.name, _last_learned(task)) in self.store.learned else _learning_runs(task)
        screens = 0 if task.name in self.store.chosen else self._screening_runs(task)
        pairs = self._rounds(task.group) * (WARMING + self._expected(task))
        return sum(max(0, planned - self._done[task.name, stage])
                   for stage, planned in ((LEARN, learns), (SCREEN, screens), (PAIR, pairs)))

    def _expected(self, task: Task) -> int:
        """How many take part in the paired runs."""
        if task.name in self.store.chosen:
            return len(self.store.chosen[task.name])
        return len(_always(task)) + halving.LEFT * len(CRITERIA.get(task.group, ()))

    def _screening_runs(self, task: Task) -> int:
        """With the default's of each turn."""
        criteria = len(CRITERIA.get(task.group, ()))
        if criteria == 0:
            return 0
        together, rungs = self._tasks_of(CHANGING) if task.group == CHANGING else [task], halving.rungs_of(len(self.grid))
        return sum(min(len(self.grid), count if rung == 0 else criteria * count) + 1 + WARMING
                   for rung, count in enumerate(rungs) for one, _ in _turns_of_rung(together, rung, rungs) if one is task)

    def _seconds_of_run(self, task: Task) -> float:
        took = self.store.took
        some = took.get(task.name) or [one for other in self._tasks_of(task.group) for one in took.get(other.name, [])]
        return statistics.fmean(some) if some else task.about_seconds

    # --- one run

    def _place(self, task: Task) -> Path:
        folder = self.folder / task.name.replace("/", "-").replace("%", "")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _variables(self, task: Task, stage: str, turn: int, name: str) -> dict[str, str]:
        """A setting that is known runs as it says, also one whose learning run left a file."""
        if (setting := self._known.get(name)) is not None:
            return setting.variables(self._place(task))
        learned = 0  # the round in which a row's first run learns, and the one of mode research
        if name == LEARNED and stage == PAIR:
            before = [one for one in range(turn) if (task.name, _learned_in(one)) in self.store.learned]
            name, learned = (_learned_in(before[-1]), before[-1]) if before else (name, learned)
        files = {file: task.moved(text, learned, turn) for file, text in self.store.learned[task.name, name].items()}
        return settings.learned_from(name, _written(self._place(task) / name, files, task.one_file))

    def _made(self, task: Task, stage: str, turn: int, name: str, variables: dict[str, str] | None = None,
              for_long: bool = False) -> Report | None:
        """A run's report, from the store where it is there; None where the run does not count."""
        key = (task.name, stage, turn, name)
        if key not in self.store.runs:
            given = self._variables(task, stage, turn, name) if variables is None else variables
            leaves_file = stage == PAIR and name == LEARNING.name and not self.has_parts
            learns, to = self._place_to_learn(task) if leaves_file else (None, {})
            allocator = replace(self.library, name=name, environment=self.library.environment | given | to)
            begun, self._ran = time.monotonic(), task.name
            run = task.run_for_long if for_long else task.run
            made = run(allocator, self._place(task) / "left", turn)
            if learns is not None and made.failure is None:
                self.store.add_learned(task.name, _learned_in(turn), _texts(learns))
            self.store.add_run(key, made.report, made.failure, None if for_long else time.monotonic() - begun)
            failure = made.failure
        else:
            failure = None  # was told when it happened
        self._done[task.name, stage] += 1
        self.on_run(self, task, stage, turn, name, failure)
        return self.store.runs[key]

    def _run_all(self, task: Task, stage: str, turn: int, names: list[str]) -> dict[str, Report | None]:
        order = list(names)
        random.Random(f"{self.seed} {task.name} {stage} {turn}").shuffle(order)
        is_out = {name for name in names if (task.name, stage, turn, name) not in self.store.runs
                  and self.store.has_failed(task.name, name)}
        self._done[task.name, stage] += len(is_out) + WARMING
        if task.name != self._ran and any((task.name, stage, turn, name) not in self.store.runs for name in set(names) - is_out):
            self._warm_up(task, stage, turn)
        return {name: None if name in is_out else self._made(task, stage, turn, name) for name in order}

    def _warm_up(self, task: Task, stage: str, turn: int) -> None:
        """After another row's runs the first one takes longer, whoever makes it: a run that no figure has."""
        allocator = replace(self.library, name=DEFAULT.name)
        task.run(allocator, self._place(task) / "left", turn)
        self._ran = task.name
        self.on_run(self, task, stage, turn, "to warm up", None)

    # --- what is learned

    def _learn(self, task: Task) -> None:
        """A file of one learning run, and where nothing changes one of several."""
        if (task.name, _last_learned(task)) in self.store.learned:
            return
        place, to = self._place_to_learn(task)
        before = self.store.learned.get((task.name, LEARNED))
        runs = _learning_runs(task)
        for turn in range(runs):
            if before is not None and turn == 0:
                _written(place, before, False)
                continue
            self.store.runs.pop((task.name, LEARN, turn, LEARNED), None)  # its file is gone with the process that stopped
            self._made(task, LEARN, turn, LEARNED, dict(LEARNING.options) | to)
            if turn in (0, runs - 1):
                self.store.add_learned(task.name, LEARNED if turn == 0 else HINDSIGHT, _texts(place))

    def _place_to_learn(self, task: Task) -> tuple[Path, dict[str, str]]:
        """A folder that is empty, and what makes a run write its policy there."""
        place = self._place(task) / "learns"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        place.chmod(0o777)  # a server that refuses to run as root writes there
        return place, {"HAKMEM_POLICY": str(place / "program.policy") if task.one_file else f"{place}/"}

    def _parts(self, task: Task) -> list[str]:
        """Settings with one part of what was learned, and without it, or with what is off by default besides; and those
        that don't learn a part, or learn such a one."""
        learned = self.store.learned[task.name, LEARNED]
        made = {}
        for part in _parts_of(learned):
            made[f"only-{part}"] = _only(learned, part)
            made[f"without-{part}"] = {file: settings.without_part(text, part) for file, text in learned.items()}
        for part, setting in settings.that_learn_more().items():
            more = self._learned_with(task, part, setting)
            only = _only(more, part)
            if any(map(settings.decisions_in, only.values())):
                made[f"only-{part}"] = only
                made[f"{LEARNED}+{part}"] = {file: settings.with_part(text, part, more.get(file, ""))
                                             for file, text in learned.items()}
        for name, files in made.items():
            if (task.name, name) not in self.store.learned:
                self.store.add_learned(task.name, name, files)
        return [*made, *(one.name for one in settings.learning_by_parts())]

    def _learned_with(self, task: Task, part: str, setting: Setting) -> dict[str, str]:
        """The files of one run that learned a part which is off by default; none where the row has no run that is long
        enough."""
        name = setting.name
        if (task.name, name) not in self.store.learned:
            if (for_long := part in settings.RESEARCHED) and task.run_for_long is None:
                return {}
            self.store.runs.pop((task.name, LEARN, 0, name), None)  # its file is gone with the process that stopped
            place, to = self._place_to_learn(task)
            self._made(task, LEARN, 0, name, dict(setting.options) | to, for_long)
            self.store.add_learned(task.name, name, _texts(place))
        return self.store.learned[task.name, name]

    # --- who takes part

    def _choose(self, group: str, tasks: list[Task]) -> None:
        """One set of fixed settings for all changing programs, since what differs between them, the seed, says only what
        day it is; else one for each row."""
        due = [task for task in tasks if task.name not in self.store.chosen]
        of_all = self._screened(tasks) if due and group == CHANGING else []
        for task in due:
            fixed = self._screened([task]) if group in SETTLED else of_all
            names = _always(task) + fixed + (self._parts(task) if self.has_parts else [])
            self.store.add_chosen(task.name, names)

    def _screened(self, tasks: list[Task]) -> list[str]:
        """Who is left of the grid by any criterion."""
        def run(due: list[str], rung: int) -> dict[str, halving.Values | None]:
            return self._over_default(_turns_of_rung(tasks, rung, rungs), due)
        criteria, rungs = CRITERIA[tasks[0].group], halving.rungs_of(len(self.grid))
        left = halving.screen([one.name for one in self.grid], criteria, run)
        return list(dict.fromkeys(name for criterion in criteria for name in left[criterion]))

    def _over_default(self, turns: list[tuple[Task, int]], due: list[str]) -> dict[str, halving.Values | None]:
        """Geometric means over a rung's turns of what is over the default's in the same turn, since each row takes its own
        time, and the machine its own in each. Who fails in one is out."""
        seen: dict[str, list[halving.Values | None]] = {name: [] for name in due}
        for task, turn in turns:
            values = {name: _values(made) for name, made in self._run_all(task, SCREEN, turn, [DEFAULT.name, *due]).items()}
            self.store.add_whole(task.name, SCREEN, turn)
            default = values[DEFAULT.name]
            for name in due if default is not None else ():
                mine = values[name]
                seen[name].append(None if mine is None else {what: mine[what] / default[what] for what in default})
        return {name: None if None in some or not some else _geometric_means(some) for name, some in seen.items()}


def _always(task: Task) -> list[str]:
    """Who takes part whatever the screening finds."""
    return [DEFAULT.name, LEARNING.name, LEARNED, *([HINDSIGHT] if task.group in SETTLED else [])]


def _learning_runs(task: Task) -> int:
    return HINDSIGHT_RUNS if task.group in SETTLED else 1


def _last_learned(task: Task) -> str:
    return HINDSIGHT if task.group in SETTLED else LEARNED


def _turns_of_rung(tasks: list[Task], rung: int, rungs: list[int]) -> list[tuple[Task, int]]:
    """Rows and the numbers of their turns: others in each rung, as long as there are others. One row by itself has a second
    turn where few settings are left, with a number behind those of all rungs."""
    if len(tasks) == 1:
        return [(tasks[0], rung + again * len(rungs)) for again in range(2 if rungs[rung] <= FEW else 1)]
    count = min(ROWS_OF_RUNG // (2 if rungs[rung] > MANY else 1), len(tasks))
    return [(tasks[(rung * ROWS_OF_RUNG + place) % len(tasks)], rung) for place in range(count)]


def _geometric_means(some: list[halving.Values]) -> halving.Values:
    return {what: statistics.geometric_mean(one[what] for one in some) for what in some[0]}


def _values(report: Report | None) -> halving.Values | None:
    """Memory: the peak and the mean count alike."""
    if report is None:
        return None
    peak, mean = report["peak_kib"], report.get("mean_kib") or report["peak_kib"]
    return {TIME: report["seconds"], SPACE: math.sqrt(max(peak, 1) * max(mean, 1))}


def _learned_in(turn: int) -> str:
    return f"{LEARNED}-{turn}"


def _texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted(folder.glob("*.policy"))}


def _parts_of(files: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(part for text in files.values() for part in settings.parts_in(text)))


def _only(files: dict[str, str], part: str) -> dict[str, str]:
    return {file: settings.only_part(text, part) for file, text in files.items()}


def _written(folder: Path, files: dict[str, str], one_file: bool) -> Path:
    """The file, where there is to be one, else the folder; what is in it was learned before."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files)) if one_file and files else folder
