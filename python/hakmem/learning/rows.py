"""What is run: rows in groups, each group with its own question about learning."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache, partial
from pathlib import Path

from hakmem import programs, suites, traces, workloads
from hakmem import run as runner
from hakmem.allocator import Allocator
from hakmem.learning import call_sites
from hakmem.programs import ProgramFailed
from hakmem.run import Run
from hakmem.suites import Row
from hakmem.traces import TraceFailed

STATIONARY, CHANGING, MEMORY, ADVERSARIAL, PROGRAMS = GROUPS = ("stationary", "changing", "memory", "adversarial",
                                                                "programs")
SETTLED = (STATIONARY, PROGRAMS)  # nothing changes from run to run: what several runs have found takes part
SEEDS, QUICK_SEEDS = 20, 2
QUICK_PARTS = 5  # of the operations, with --quick
PHASES, PHASE_WORK, QUICK_PHASE_WORK = 6, 200, 20  # of a changing program
RESEARCH_TIMES = 12  # as long as a run: what mode research needs to decide anything
PHASE_SECONDS, RUN_SECONDS = 1.3, 1.5  # about, of its phases and of any other row's runs
PHASE_WORK_MOST = 1 << 16
LEAST_ROUNDS = 2  # of a seed of the changing programs
TRACE = "changing/trace/"
SEED_MOST = 2**32 - 1
TRACE_CALLS, TRACE_TURNS_MOST = 120_000_000, 4000  # of recorded programs: a second or two


@dataclass(frozen=True)
class Task:
    """One row: what is run, and in which group it is judged."""

    name: str
    group: str
    run: Callable[[Allocator, Path, int], Run]  # in a folder that only this row uses; the round's number
    prepare: Callable[[], object]  # compiles what it needs
    run_for_long: Callable[[Allocator, Path, int], Run] | None = None  # the same, RESEARCH_TIMES as long
    one_file: bool = True  # one executable, so that its policy is one file; else a folder
    about_seconds: float = RUN_SECONDS  # of a run, until one was made
    # A policy that one round's run learned, for another round's: the code lies elsewhere.
    moved: Callable[[str, int, int], str] = lambda policy, learned, turn: policy


# Rows of the suites, and by how much more operations a run takes a second or two.
_STATIONARY = {"tiny/16-1024/400/4t": 1.5, "tiny/16-1024/100000/4t": 3, "mid/2048-32768/400/4t": 2.5,
               "large/65536-1048576/64/1t": 1.5, "large/65536-1048576/64/4t": 2, "big/2097152-4194304/16/1t": 4,
               "big/2097152-4194304/16/4t": 4, "remote/16-1024/400/2t/90%": 1, "remote/2048-32768/400/2t/90%": 1.5,
               "larson/8-1024/1000/4t": 8, "loop/json": 15, "loop/mir": 3, "loop/vm": 3, "long-lived/16-8192/20000/1t": 12}
_QUICK = ("tiny/16-1024/400/4t", "big/2097152-4194304/16/1t", "long-lived/16-8192/20000/1t", "memory/odd/1040/1t",
          "memory/bursts/20ms", "adversarial/switch/50ms", "programs/python")
# Programs that are there to be judged; the others of programs/listed.py are not.
_PROGRAMS = ("redis", "postgresql", "python", "sqlite", "clang", "z3")


def _row(name: str, workload: str, *words: object, operations: int, fresh_mebibytes: int = 0) -> Row:
    return Row(name, name.partition("/")[0], workload, tuple(map(str, words)), operations, fresh_mebibytes=fresh_mebibytes)


def _stationary() -> list[Row]:
    known = {row.name: row for row in suites.ROWS}
    return [replace(known[name], operations=int(known[name].operations * factor)) for name, factor in _STATIONARY.items()]


def _changing(seeds: list[int], phase_work: int) -> list[Row]:
    return [_row(f"changing/{seed}", "phases", seed, "{operations}", PHASES, operations=phase_work) for seed in seeds]


def phase_work_of(head: dict) -> int:
    """Of a measurement, whose head may be older than the option."""
    return head.get("phase_work", QUICK_PHASE_WORK if head["quick"] else PHASE_WORK)


def is_trace(name: str) -> bool:
    return name.startswith(TRACE)


def rounds_of(group: str, names: list[str], pairs: int) -> int:
    """Of each of a group's rows. Those of the changing programs are judged together: the pairs are shared by the seeds, and
    each has two or more, so that what is chosen by one round can be judged by another."""
    seeds = sum(not is_trace(name) for name in names)
    return pairs if group != CHANGING or seeds < 2 else max(LEAST_ROUNDS, -(-pairs // seeds))


# Sizes that sit badly: a block of the class is at least a tenth larger. (At 272 and 528 bytes no more than 6 and 9 % of
# what is asked for could be saved, whatever is learned.)
_BAD_SIZES = (1040, 2064, 4112, 8208, 16400)


def _memory() -> list[Row]:
    odd = [_row(f"memory/odd/{size}/1t", "odd_sizes", 64, 1, "{operations}", 400_000, size, operations=30 if size < 8000 else 12)
           for size in _BAD_SIZES]
    mixed = _row("memory/odd/mixed/4t", "odd_sizes", 96, 4, "{operations}", 50_000, *_BAD_SIZES, operations=40)
    bursts = [_row(f"memory/bursts/{idle}ms", "bursts", 1000, idle, "{operations}", 4, operations=25) for idle in (20, 50)]
    return [*odd, mixed, *bursts, _row(_IDLE, "bursts", 300, 500, "{operations}", 800, operations=3),
            _row(_THREADS, "tiers", 16, 1024, 400, 64, "{operations}", operations=6_000_000)]


# A service that sleeps for half a second and more after each burst, where memory is dear: for what it is worth by default
# the same service would have to sleep for several seconds. Options of all arms alike.
_IDLE = "memory/idle/500ms/dear"
# And many threads with small heaps, whose part-used slabs of each class add up, where the memory of the machine is all
# but used up: so few megabytes a thread are worth hundredths of the time at such a price alone.
_THREADS = "memory/threads/64t/dear"
_OPTIONS = {_IDLE: {"HAKMEM_MEMORY_PRICE": "1000000"}, _THREADS: {"HAKMEM_MEMORY_PRICE": "100000000"}}


# The learner looks every 10 to 500 ms, and measures by windows of 50 ms to 2 s (src/base/tuning.h): a piece is some 10 ms,
# and each of the four habits comes back three times at least. What is drawn is another in each round: what was learned
# in one is judged by another.
def _adversarial() -> list[Row]:
    def row(name: str, kind: str, pieces: int, operations: int) -> Row:
        return _row(f"adversarial/{name}", "adversary", kind, pieces, "{operations}", "{place}", operations=operations)
    switches = [row(f"switch/{10 * pieces}ms", "switch", pieces, all_pieces)
                for pieces, all_pieces in ((1, 200), (5, 300), (20, 400), (50, 600))]
    sites = [row(name, "sites", 10, 200) for name in ("sites", *_HOW_SITES_LEARN)]
    return [*switches, row("burst", "burst", 10, 300), *sites]


# Rules for call sites are learned in mode research alone: beside what is learned anyhow, and beside all that there is.
_BESIDE_SITES = "depths+classes+memory+headroom+collapse+mappings+tolerance"
_HOW_SITES_LEARN = {"sites/rules": {"HAKMEM_MODE": "research", "HAKMEM_LEARN_PARTS": f"{_BESIDE_SITES}+sites"},
                    "sites/research": {"HAKMEM_MODE": "research"}}


def _how_it_learns(row: Row, environment: dict[str, str]) -> dict[str, str]:
    if environment.get("HAKMEM_MODE") != "learning" or "HAKMEM_LEARN_PARTS" in environment:
        return environment
    return environment | _HOW_SITES_LEARN.get(row.name.partition("/")[2], {})


def _task_of(row: Row, group: str, quick: bool, first_place: int) -> Task:
    """first_place: of its code, in its first round; from there it goes on."""
    is_changing = group == CHANGING  # whose phases say themselves how much they do
    short = replace(row, operations=max(1, row.operations // QUICK_PARTS)) if quick and not is_changing else row
    about = PHASES * PHASE_SECONDS * row.operations / PHASE_WORK if is_changing else RUN_SECONDS
    options = _OPTIONS.get(row.name, {})

    def run(allocator: Allocator, _: Path, turn: int, times: int = 1) -> Run:
        its = replace(short, operations=times * short.operations, place=first_place + turn)
        return runner.run(its, replace(allocator, environment=options | _how_it_learns(its, allocator.environment)), False)

    def moved(policy: str, learned: int, turn: int) -> str:
        return call_sites.moved(row.workload, policy, first_place + learned, first_place + turn)
    return Task(row.name, group, run, lambda: workloads.program(row.workload), partial(run, times=RESEARCH_TIMES),
                about_seconds=about * short.operations / row.operations, moved=moved)


def _program_task(program: programs.Subject) -> Task:
    def run(allocator: Allocator, folder: Path, _: int) -> Run:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            return Run(program.run(allocator, folder).as_report())
        except ProgramFailed as reason:
            return Run(None, str(reason))
    return Task(program.row, PROGRAMS, run, lambda: workloads.program("once"), one_file=False)


@lru_cache
def _often_enough(files: tuple[Path, ...], calls: int) -> tuple[Path, ...]:
    """The traces again and again, until there are so many calls."""
    facts = [traces.stat(file) for file in files]
    once = sum(one["takes"] + one["moves"] + one["gives"] for one in facts)
    return files * min(TRACE_TURNS_MOST, -(-calls // max(once, 1)))


def _trace_task(files: tuple[Path, ...], quick: bool) -> Task:
    calls = TRACE_CALLS // (QUICK_PARTS if quick else 1)

    def run(allocator: Allocator, _: Path, __: int) -> Run:
        try:
            report = traces.replay(_often_enough(files, calls), allocator, runner.environment(allocator))
        except TraceFailed as reason:
            return Run(None, str(reason))
        return Run(report, runner.disproof(report, allocator))
    return Task(f"{TRACE}{'+'.join(file.stem for file in files)}", CHANGING, run, lambda: traces.part("trace-replay"))


def drawn_seeds(count: int) -> list[int]:
    """Of nobody's choice."""
    return [1 + secrets.randbelow(SEED_MOST) for _ in range(count)]


def all_tasks(seeds: list[int], files: list[Path], quick: bool, phase_work: int = PHASE_WORK) -> list[Task]:
    """Every row there is on this machine; quick: few, and short ones."""
    made = {STATIONARY: _stationary(), CHANGING: _changing(seeds, phase_work), MEMORY: _memory(), ADVERSARIAL: _adversarial()}
    # Seeds, which have few rounds each, begin where the one before has been.
    tasks = [_task_of(row, group, quick, LEAST_ROUNDS * number if group == CHANGING else 0)
             for group, rows in made.items() for number, row in enumerate(rows)]
    if files:
        tasks.append(_trace_task(tuple(files), quick))
        tasks.sort(key=lambda task: GROUPS.index(task.group))
    tasks += [_program_task(one) for one in programs.PROGRAMS if one.name in _PROGRAMS and programs.is_there(one)]
    return [task for task in tasks if not quick or task.group == CHANGING or task.name in _QUICK]


def missing_programs(groups: list[str], globs: list[str]) -> list[programs.Subject]:
    """Whose rows would be among the selected ones."""
    return [one for one in programs.PROGRAMS if one.name in _PROGRAMS and not programs.is_there(one)
            and _is_selected(one.row, PROGRAMS, groups, globs)]


def selected(tasks: list[Task], groups: list[str], globs: list[str]) -> list[Task]:
    return [task for task in tasks if _is_selected(task.name, task.group, groups, globs)]


def _is_selected(name: str, group: str, groups: list[str], globs: list[str]) -> bool:
    return (not groups or group in groups) and (not globs or any(fnmatch(name, glob) for glob in globs))
