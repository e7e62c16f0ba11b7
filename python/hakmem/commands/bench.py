"""hakmem bench: every suite and the real programs, under hakmem and its peers."""

import enum
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from hakmem import comparison, figures, machine, peers, places, suites, tables, verdicts, workloads
from hakmem import programs as real
from hakmem import run as runner
from hakmem.allocator import Allocator
from hakmem.commands.common import (
    INTERRUPTED,
    AllocatorsOption,
    JsonOption,
    LibraryOption,
    RecordsOption,
    allocators_of,
    errors,
    fail,
    libraries_of,
    look_at_the_machine,
    output,
    progress_bar,
    warn,
)

RUNS, QUICK_RUNS = 7, 2
PROGRAMS = "programs"  # the suite of real programs


class HugePages(enum.StrEnum):
    """Whose huge pages a measurement has."""

    DEFAULT = "default"
    OFF = "off"
    OWN = "own"


@dataclass
class Plan:
    """What is to be measured, and how."""

    rows: list[suites.Row]
    programs: list
    compared: list[Allocator]
    runs: int
    quick: bool
    shown: list[Allocator] = field(default_factory=list)

    def allocators_of(self, row: suites.Row) -> list[Allocator]:
        return self.shown if row.suite == "startup" else self.compared

    def total(self) -> int:
        rows = sum((self.runs + 1) * len(self.allocators_of(row)) for row in self.rows)
        return rows + (self.program_runs + (not self.quick)) * len(self.compared) * len(self.programs)

    @property
    def program_runs(self) -> int:
        """Real programs take a second and more however short one wants them: once has to do for a look."""
        return 1 if self.quick else self.runs


def bench(
    context: typer.Context,
    suite: Annotated[list[str] | None, typer.Option(
        help=f"{', '.join([*suites.SUITES, PROGRAMS])} or all; may be repeated.")] = None,
    rows: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Rows by name; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the operations and few runs: for a look.")] = False,
    runs: Annotated[int, typer.Option(min=0, help=f"Counted runs, {RUNS} or with --quick {QUICK_RUNS} if not "
                                                  "given.")] = 0,
    allocators: AllocatorsOption = "bars",
    lib: LibraryOption = None,
    as_json: JsonOption = False,
    records: RecordsOption = places.RECORDS,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="The tables as Markdown.")] = None,
    instructions: Annotated[bool, typer.Option("--instructions", help="Count instructions of an operation by callgrind, "
                                                                      "in place of time: exact, and slow.")] = False,
    huge_pages: Annotated[HugePages, typer.Option(help="default: as each allocator does; off: none for anybody; own: each "
                                                       "allocator's own option for them is on.")] = HugePages.DEFAULT,
    list_rows: Annotated[bool, typer.Option("--list", help="Print the rows and stop.")] = False,
) -> None:
    """Measures time and memory of every suite under each allocator, interleaved, each run in a process of its own.

    Exit status: 0 all is measured; 1 some runs were thrown out; 2 nothing could be measured; 130 stopped by Ctrl-C, with what
    was finished printed and kept.
    """
    if context.invoked_subcommand is not None:
        return
    plan = _plan(suite or ["all"], rows or [], runs or (QUICK_RUNS if quick else RUNS), quick, list_rows)
    if plan is None:
        return
    plan.compared = allocators_of(allocators, libraries_of(lib))
    if huge_pages == HugePages.OFF and not machine.refuse_huge_pages():
        raise fail("--huge-pages off: this kernel does not let a process refuse them")
    if huge_pages == HugePages.OWN:
        plan.compared = [peers.with_huge_pages(one) for one in plan.compared]
    if instructions:
        _count_instructions(plan, as_json)
        return
    empty = peers.empty_library() if any(row.suite == "startup" for row in plan.rows) else None
    plan.shown = [*plan.compared, empty] if empty else plan.compared
    recorder = comparison.Recorder(records, plan.shown, {"runs": plan.runs, "quick": quick, "huge_pages": huge_pages.value,
                                                               "quiet": look_at_the_machine()})
    results, stopped = _measure(plan, recorder)
    _print(plan, results, as_json, markdown)
    errors.print(f"{plan.runs} runs each{', quick: not for figures' if quick else ''}; glibc {peers.glibc().version}; "
                 f"records in {records}", highlight=False, soft_wrap=True)
    if results.failures:
        errors.print(f"[bold red]{len(results.failures)} runs were thrown out, see above.[/bold red]")
    if stopped or results.failures:
        raise typer.Exit(INTERRUPTED if stopped else 1)


def _plan(wanted: list[str], globs: list[str], runs: int, quick: bool, list_rows: bool) -> Plan | None:
    known = [*suites.SUITES, PROGRAMS, "all"]
    if unknown := [one for one in wanted if one not in known]:
        raise fail(f"--suite {', '.join(unknown)}: not known; there are {', '.join(known)}")
    chosen = suites.select(wanted, globs)
    programs = real.select(globs) if {PROGRAMS, "all"} & set(wanted) else []
    if not chosen and not programs:
        raise fail(f"no row of {', '.join(wanted)} matches {', '.join(globs)}; --list prints them")
    if list_rows:
        for name in [*(row.name for row in chosen), *(one.row for one in programs)]:
            output.print(name, highlight=False)
        return None
    short = [row for row in chosen if row.is_quick or not quick or globs]
    if len(short) < len(chosen):
        warn("left out", f"{len(chosen) - len(short)} rows that fill much memory, which takes long however few operations "
                         "follow; name them with --rows, or measure without --quick")
    fitting = [row for row in short if suites.fits(row)]
    for row in short:
        if row not in fitting:
            warn("left out", f"{row.name} may need {row.needs_bytes / suites.GIB:.0f} GiB, more than this machine has")
    there = [one for one in programs if real.is_there(one)]
    for one in programs:
        if one not in there:
            warn("left out, not installed", f"{one.name} (Debian: {one.package})")
    try:
        for row in fitting:
            workloads.program(row.workload)
        if there:
            workloads.program("once")
    except workloads.WorkloadCannotBeBuilt as reason:
        raise fail(f"a workload can't be compiled: {reason}") from None
    return Plan(fitting, there, [], runs, quick)


def _measure(plan: Plan, recorder: comparison.Recorder) -> tuple[comparison.Results, bool]:
    results = comparison.Results()
    with progress_bar() as progress:
        task = progress.add_task("", total=plan.total())

        shown: list[object] = []

        def log(what: object, line: str) -> None:
            """A log has no bar: a line for each row of the first round, then one for each round."""
            if not errors.is_terminal and what not in shown:
                shown.append(what)
                errors.print(f"{line} ({int(progress.tasks[task].completed)} of {plan.total()} runs done)", highlight=False)

        def on_run(name: str, allocator: Allocator, turn: int, made: runner.Run) -> None:
            log(*((name, name) if turn == 0 else (turn, f"round {turn}")))
            if made.failure is not None:
                progress.console.print(f"[bold red]THROWN OUT:[/bold red] {name} with {allocator.name}, run {turn}: "
                                       f"{made.failure}", highlight=False)
                left = plan.program_runs if name.startswith(f"{PROGRAMS}/") else plan.runs
                progress.advance(task, left - turn)
            progress.update(task, advance=1, description=f"{turn or 'warm-up'}: {name} {allocator.name}")

        try:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)  # a server that refuses to run as root has its data in there
                comparison.compare(_compared(plan, Path(folder)), recorder, results, on_run)
        except KeyboardInterrupt:
            errors.print("[bold yellow]stopped:[/bold yellow] what was finished follows, and is in the records")
            return results, True
    return results, False


def _compared(plan: Plan, folder: Path) -> list[comparison.Compared]:
    rows = [comparison.Compared(row.name, plan.allocators_of(row), plan.runs,
                                lambda one, turn, row=row: runner.run(replace(row, place=turn), one, plan.quick)) for row in plan.rows]
    programs = [comparison.Compared(program.row, plan.compared, plan.program_runs,
                                    _runner_of(program, folder / program.name), warms_up=not plan.quick)
                for program in plan.programs]
    return rows + programs


def _runner_of(program, folder: Path) -> Callable[[Allocator], runner.Run]:
    def run(allocator: Allocator, _: int) -> runner.Run:
        folder.mkdir(exist_ok=True)
        try:
            return runner.Run(program.run(allocator, folder).as_report())
        except real.ProgramFailed as reason:
            return runner.Run(None, str(reason))
    return run


def _count_instructions(plan: Plan, as_json: bool) -> None:
    """Start and end of the process cancel out; what the kernel does is not in it."""
    countable = [row for row in plan.rows if row.suite != "startup" and "{operations}" in row.arguments]
    counts: dict[str, dict[str, float]] = {}
    with progress_bar() as progress:
        task = progress.add_task("", total=len(countable) * len(plan.compared))
        for row in countable:
            for one in plan.compared:
                progress.update(task, description=f"{row.name} {one.name}")
                try:
                    counts.setdefault(row.name, {})[one.name] = runner.instructions(row, one)
                except runner.CannotCount as reason:
                    warn("left out", f"{row.name} with {one.name}: {reason}")
                progress.advance(task)
    if as_json:
        print(json.dumps({"instructions": counts}))
    else:
        output.print(tables.instructions(counts, [one.name for one in plan.compared]))


def _print(plan: Plan, results: comparison.Results, as_json: bool, markdown: Path | None) -> None:
    rows = [*plan.rows, *(program.as_row() for program in plan.programs)]
    bars = [one.name for one in plan.compared if one.is_bar]
    measured = [row for row in figures.rows_of(rows, results, [one.name for one in plan.shown], bars) if row.cells]
    judged = verdicts.verdicts(measured)
    made = tables.tables_of(measured, plan.shown, judged)
    if as_json:
        print(json.dumps({"rows": [{"row": row.row.name, "suite": row.row.suite, "best_peer": row.best_peer(),
                                    "leanest_peer": row.leanest_peer(),
                                    "cells": {name: asdict(cell) for name, cell in row.cells.items()}}
                                   for row in measured],
                          "verdicts": [asdict(one) | {"judgement": one.judgement} for one in judged]}))
    else:
        output.print(*made, sep="\n")
    if markdown is not None:
        markdown.write_text("\n".join(tables.as_markdown(table) for table in made))
