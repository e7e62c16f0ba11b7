"""hakmem bench policy: does learning pay?"""

import enum
import json
import secrets
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import Progress, TextColumn

from hakmem import comparison, machine, places, policies, traces, written
from hakmem.allocator import Allocator
from hakmem.commands.common import (
    INTERRUPTED,
    JsonOption,
    errors,
    fail,
    hakmem_library,
    look_at_the_machine,
    output,
    progress_bar,
    warn,
)
from hakmem.learning import findings, rows, settings, store, tables
from hakmem.learning.campaign import Campaign
from hakmem.learning.rows import Task
from hakmem.workloads import WorkloadCannotBeBuilt

PAIRS, QUICK_PAIRS = findings.LEAST_PAIRS, 6
PHASE_WORK = (f"What each phase of the changing programs does, {rows.PHASE_WORK} or with --quick {rows.QUICK_PHASE_WORK} if not "
              "given; less where the machine is slow: a phase should take a second or two.")
LOG_SECONDS = 600  # between lines where there is no bar


class Grid(enum.StrEnum):
    """Which fixed settings are tried."""

    AXES = "axes"
    SAMPLED = "sampled"
    FULL = "full"

    def settings(self, seed: int, thin: bool) -> list[settings.Setting]:
        if self == Grid.AXES:
            return settings.grid_of_axes(thin)
        return settings.grid_in_full() if self == Grid.FULL else settings.grid_sampled(seed)


def policy(
    group: Annotated[list[str] | None, typer.Option(help=f"{', '.join(rows.GROUPS)}; all if not given; may be "
                                                         "repeated.")] = None,
    only: Annotated[list[str] | None, typer.Option("--rows", metavar="GLOB", help="Rows by name; may be repeated.")] = None,
    grid: Annotated[Grid, typer.Option(help=f"axes: each fixed setting alone; sampled: those, and {settings.SAMPLED} that are "
                                            "drawn from their product; full: all of it, which takes hours a "
                                            "row.")] = Grid.AXES,
    pairs: Annotated[int, typer.Option(min=0, help=f"Rounds of paired runs, {PAIRS} or with --quick {QUICK_PAIRS} if not "
                                                   "given; the changing programs' seeds share them. Fewer than "
                                                   f"{findings.LEAST_PAIRS} decide nothing.")] = 0,
    seeds: Annotated[str, typer.Option(metavar="N,N,…", help=f"Of the changing programs; else {rows.SEEDS} are "
                                                             "drawn.")] = "",
    phase_work: Annotated[int | None, typer.Option(min=1, max=rows.PHASE_WORK_MOST, metavar="N", help=PHASE_WORK)] = None,
    trace: Annotated[list[Path] | None, typer.Option(metavar="FILE", exists=True, dir_okay=False,
                                                     help="Recorded programs, replayed one after another in one process; "
                                                          "twice or more.")] = None,
    has_parts: Annotated[bool, typer.Option("--parts", help="Each part of what is learned alone, and all but it.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short rows, few pairs: some minutes, for a look.")] = False,
    library: Annotated[Path | None, typer.Option("--lib", metavar="FILE", exists=True, dir_okay=False,
                                                 help="Another hakmem than the one built last.")] = None,
    keep: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE",
                                              help="Where every run is kept; must not be there.")] = None,
    go_on: Annotated[Path | None, typer.Option("--continue", metavar="FILE", exists=True, dir_okay=False,
                                               help="Go on with a measurement that was stopped; its rows, grid and pairs are "
                                                    "in the file.")] = None,
    show: Annotated[Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False,
                                              help="Measure nothing: what such a file has, packed (.xz) or not.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Tables as Markdown, and a picture beside them "
                                                                        "(.svg).")] = None,
    list_rows: Annotated[bool, typer.Option("--list", help="Print the rows and stop.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Does learning pay? The defaults, what learns, what was learned, and every setting that could be made by hand, in
    paired runs in random order, each in a process of its own.

    Exit status: 0 all is measured, whatever was found; 1 some runs don't count; 2 nothing could be measured; 130 stopped by
    Ctrl-C: --continue goes on from there.
    """
    _check_arguments(group or [], trace or [], report)
    if show is not None:
        _show(show, report, as_json, is_alone=go_on is None and keep is None)
        return
    if go_on is not None:
        if go_on.suffix == store.PACKED:
            raise fail(f"{go_on} is packed: xz -dk {go_on}, then --continue {go_on.with_suffix('')}")
        kept = _opened(go_on, store.reopen)
        head = kept.head
    else:
        head = _head(group or [], only or [], grid, pairs or (QUICK_PAIRS if quick else PAIRS), seeds, trace or [], has_parts,
                     quick, phase_work)
    tasks = _tasks(head)
    if list_rows:
        for task in tasks:
            output.print(task.name, highlight=False, markup=False)
        return
    subject = _library(library, head if go_on else None)
    if go_on is None:
        head |= {"library": places.told(subject.library), "sha256": machine.digest(subject.library), "machine": machine.describe(),
                 "quiet": look_at_the_machine(), "rows": [{"name": task.name, "group": task.group} for task in tasks]}
        kept = _begun(keep, head)
    else:
        kept.go_on(machine.describe())
    stopped = _measure(tasks, subject, kept)
    _print(kept, report, as_json)
    if stopped:
        errors.print(f"to go on: hakmem bench policy --continue {kept.file}", highlight=False, markup=False, soft_wrap=True)
    if stopped or kept.failures:
        raise typer.Exit(INTERRUPTED if stopped else 1)


def _check_arguments(groups: list[str], files: list[Path], report: Path | None) -> None:
    if unknown := [one for one in groups if one not in rows.GROUPS]:
        raise fail(f"--group {', '.join(unknown)}: not known; there are {', '.join(rows.GROUPS)}")
    if len(files) == 1:
        raise fail("--trace: two or more are needed, else nothing changes")
    try:
        for file in files:
            traces.stat(file)
    except traces.TraceFailed as reason:
        raise fail(f"--trace: {reason}") from None
    if report is None:
        return
    if report.suffix != ".md":
        raise fail(f"--report {report}: the name must end in .md; the picture beside it ends in .svg")
    try:
        for file in (report, report.with_suffix(".svg")):
            written.check(file)
    except written.CannotWrite as reason:
        raise fail(str(reason)) from None


def _head(groups: list[str], globs: list[str], grid: Grid, pairs: int, seeds: str, files: list[Path], has_parts: bool,
          quick: bool, phase_work: int | None) -> dict:
    """What a measurement that goes on has to know."""
    try:
        drawn = [int(word) for word in seeds.split(",") if word.strip()]
    except ValueError:
        raise fail(f"--seeds {seeds}: whole numbers with commas between") from None
    if any(not 1 <= one <= rows.SEED_MOST for one in drawn):
        raise fail(f"--seeds {seeds}: from 1 to {rows.SEED_MOST}")
    seed = secrets.randbits(32)
    chosen = [one.name for one in grid.settings(seed, quick)]
    return {"seed": seed, "seeds": drawn or rows.drawn_seeds(rows.QUICK_SEEDS if quick else rows.SEEDS),
            "groups": groups, "globs": globs, "grid_kind": grid.value, "grid": chosen, "pairs": pairs,
            "traces": [str(file.resolve()) for file in files], "parts": has_parts, "quick": quick,
            "phase_work": phase_work or (rows.QUICK_PHASE_WORK if quick else rows.PHASE_WORK)}


def _tasks(head: dict) -> list[Task]:
    every = rows.all_tasks(head["seeds"], [Path(file) for file in head["traces"]], head["quick"], rows.phase_work_of(head))
    tasks = rows.selected(every, head["groups"], head["globs"])
    if "rows" in head:
        names = [row["name"] for row in head["rows"]]
        tasks = [task for task in tasks if task.name in names]
        if missing := set(names) - {task.name for task in tasks}:
            raise fail(f"these rows can't be run here any more: {', '.join(sorted(missing))}")
    elif not head["quick"]:
        for one in rows.missing_programs(head["groups"], head["globs"]):
            warn("left out, not installed", f"{one.name} (Debian: {one.package})")
    if not tasks:
        raise fail("no row matches; --list prints them")
    return tasks


def _library(file: Path | None, head: dict | None) -> Allocator:
    """That of the beginning, where a measurement goes on; wherever it is now."""
    if head is not None:
        for path in [file] if file is not None else [places.TREE / head["library"], places.HAKMEM_LIBRARY]:
            if path.exists() and machine.digest(path) == head["sha256"]:
                return Allocator("hakmem", comparison.frozen(path.resolve()), source=str(path), is_bar=False)
        said = f"{file} is another library than" if file is not None else "there is no more of"
        raise fail(f"{said} the one that was measured: {head['library']}, sha256 {head['sha256']}; --lib names it")
    if file is not None:
        return Allocator("hakmem", comparison.frozen(file.resolve()), source=str(file), is_bar=False)
    found = hakmem_library()
    if found is None:
        raise fail(f"{places.HAKMEM_LIBRARY} is not there; ./hakmem build makes it, --lib names another")
    return found


def _opened(file: Path, by: Callable[[Path], store.Store]) -> store.Store:
    try:
        return by(file)
    except store.StoreUnreadable as reason:
        raise fail(str(reason)) from None


def _show(file: Path, report: Path | None, as_json: bool, is_alone: bool) -> None:
    if not is_alone:
        raise fail("--show measures nothing: neither --continue nor -o go with it")
    try:
        _print(_opened(file, store.read), report, as_json)
    except KeyError as missing:
        raise fail(f"{file}: a record lacks the field {missing}, or is of another version of hakmem") from None
    except (TypeError, ValueError, AttributeError, IndexError) as reason:
        raise fail(f"{file}: a record is not as hakmem bench policy writes it: {reason}") from None


def _begun(keep: Path | None, head: dict) -> store.Store:
    if keep is None:
        when = head["machine"]["time"].replace(":", "").replace("+0000", "")
        keep = places.BUILD / f"policy-{when}.jsonl"
    if keep.exists():
        raise fail(f"{keep} is there already; --continue goes on with it")
    return store.begin(keep, head)


def _measure(tasks: list[Task], subject: Allocator, kept: store.Store) -> bool:
    """Whether it was stopped."""
    grid = Grid(kept.head["grid_kind"]).settings(kept.head["seed"], kept.head["quick"])
    try:
        for task in tasks:
            task.prepare()
        policies.tool()
    except (WorkloadCannotBeBuilt, policies.PolicyFailed, traces.TraceFailed) as reason:
        raise fail(str(reason)) from None
    column = TextColumn("{task.fields[left]} left")
    with progress_bar(column) as progress, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a server that refuses to run as root has its data in there
        shown = _Shown(progress)
        campaign = Campaign(tasks, subject, grid, kept.head["pairs"], kept.head["parts"], kept, Path(folder), shown.on_run,
                            shown.on_group)
        try:
            campaign.run()
        except KeyboardInterrupt:
            errors.print("[bold yellow]stopped:[/bold yellow] what was finished follows, and is in the file")
            return True
    return False


class _Shown:
    """What is told while runs are made: a bar, or in a log, which has none, a line now and then; and a line for each group."""

    def __init__(self, progress: Progress):
        self._progress = progress
        self._bar = progress.add_task("", total=None, left="–")
        self._stage, self._logged, self._group_begun = ("", ""), 0.0, time.monotonic()

    def on_run(self, campaign: Campaign, task: Task, stage: str, turn: int, name: str, failure: str | None) -> None:
        if failure is not None:
            self._progress.console.print(f"[bold red]does not count:[/bold red] {escape(f'{task.name} with {name}: {failure}')}",
                                         highlight=False)
        done, left = campaign.runs_done(), campaign.runs_left()
        time_left = _duration(campaign.seconds_left())
        self._progress.update(self._bar, completed=done, total=done + left, left=time_left,
                              description=escape(f"{stage} {turn + 1}: {task.name} {name}"))
        if not errors.is_terminal and ((task.group, stage) != self._stage or time.monotonic() > self._logged + LOG_SECONDS):
            self._stage, self._logged = (task.group, stage), time.monotonic()
            errors.print(f"{task.group}, {stage}: {done} of {done + left} runs, {time_left} left", highlight=False)

    def on_group(self, campaign: Campaign, group: str) -> None:
        kept, now = campaign.store, time.monotonic()
        found = findings.answers(findings.of_rows(kept, [group]), findings.of_groups(kept, [group]))
        said = ", ".join(f"{one.subject} {one.verdict}" for one in found)
        self._progress.console.print(f"[bold]{group}[/bold] is done: {said} ({_duration(now - self._group_begun)})",
                                     highlight=False)
        self._group_begun = now


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _print(kept: store.Store, report: Path | None, as_json: bool) -> None:
    made, whole = findings.of_rows(kept), findings.of_groups(kept)
    answers = findings.answers(made, whole)
    if as_json:
        print(json.dumps(tables.as_json(kept, made, whole, answers)))
    else:
        output.print(*tables.tables_of(kept, made, whole, answers), sep="\n")
    if report is not None:
        from hakmem.learning import picture  # noqa: PLC0415 (drawing takes a second to load)
        drawing = report.with_suffix(".svg")
        try:
            picture.save(kept, drawing)
            written.write(report, tables.as_page(kept, made, whole, answers, drawing.name))
        except written.CannotWrite as reason:
            raise fail(str(reason)) from None
        errors.print(f"tables in {report}, picture in {drawing}", highlight=False, markup=False, soft_wrap=True)
    errors.print(f"every run in {kept.file}{': --quick, not for figures' if kept.head['quick'] else ''}", highlight=False,
                 markup=False, soft_wrap=True)
