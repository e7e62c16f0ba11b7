"""hakmem trace: records what a program asks of its allocator, replays it on any, and says what is in it."""

import json
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from hakmem import comparison, figures, intervals, peers, places, run, traces
from hakmem.allocator import Allocator
from hakmem.commands.common import (
    CANNOT,
    INTERRUPTED,
    AllocatorsOption,
    JsonOption,
    LibraryOption,
    RecordsOption,
    allocators_of,
    errors,
    fail,
    libraries_of,
    output,
    progress_bar,
)
from hakmem.traces import TOUCHES, TraceFailed
from hakmem.written import CannotWrite

app = typer.Typer(help=__doc__, no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A trace.", exists=True, dir_okay=False)]
Partial = Annotated[bool, typer.Option("--partial", help="Read a trace without its end as far as it is whole.")]


@app.command(context_settings={"allow_interspersed_args": False})
def record(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]", help="After --: what to run.")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE",
                                      help="The trace.")] = Path(f"trace{traces.SUFFIX}"),
    allocator: Annotated[str, typer.Option(help="What the program runs on: hakmem, glibc or a peer.")] = figures.HAKMEM,
    children: Annotated[bool, typer.Option("--children", help="Its children too, each into FILE.PID.")] = False,
) -> None:
    """Runs PROGRAM, untouched but slower, and writes every allocation, realloc and free of every thread to FILE."""
    _check_program(command[0])
    try:
        made = traces.record(command, out, allocators_of(allocator, {})[0], children)
    except (TraceFailed, CannotWrite) as reason:
        raise fail(str(reason)) from None
    errors.print(f"hakmem: {made.file}, {made.file.stat().st_size / 1e6:.1f} MB", highlight=False, markup=False, soft_wrap=True)
    if not made.is_whole:
        raise fail(f"{made.file} ends before the program did; --partial reads it", made.status or CANNOT)
    raise typer.Exit(made.status)


def _check_program(name: str) -> None:
    """Ends as a shell does where there is no such program, before anything is written."""
    if shutil.which(name) is not None:
        return
    folders = ["."] if "/" in name else os.get_exec_path()
    found = [path for folder in folders if name and (path := Path(folder, name)).exists()]
    if not found or ("/" not in name and not any(path.is_file() for path in found)):
        raise fail(f"{name}: no such program", 127)
    raise fail(f"{name}: is {'a directory' if found[0].is_dir() else 'not executable'}", 126)


@app.command()
def replay(
    file: File,
    allocators: AllocatorsOption = "bars",
    lib: LibraryOption = None,
    runs: Annotated[int, typer.Option(min=1, help="Counted replays on each, after one that is not counted.")] = 5,
    touch: Annotated[str, typer.Option(help=f"What is written to a block: {', '.join(TOUCHES)}.")] = "pages",
    partial: Partial = False,
    as_json: JsonOption = False,
    records: RecordsOption = places.RECORDS,
) -> None:
    """Replays FILE on each allocator in a process of its own, interleaved: time, memory, fragmentation."""
    if touch not in TOUCHES:
        raise fail(f"--touch {touch}: {', '.join(TOUCHES)} are known")
    try:
        traces.stat(file, partial)  # before peers are built
    except TraceFailed as reason:
        raise fail(str(reason)) from None
    compared = allocators_of(allocators, libraries_of(lib))
    recorder = comparison.Recorder(records, compared, {"runs": runs, "touch": touch, "trace": str(file.resolve())})
    reports: dict[str, list[dict]] = {}
    failed, interrupted = 0, False
    with progress_bar() as progress:
        task = progress.add_task("", total=(runs + 1) * len(compared))
        try:
            for turn, one in comparison.order(compared, runs):
                progress.update(task, description=escape(f"{file.name} {one.name}"))
                report, failure = _replayed(file, one, touch, partial)
                recorder.append({"kind": "run", "row": f"trace/{file.stem}", "allocator": one.name, "turn": turn,
                                 "counted": turn > 0 and failure is None, "failure": failure, "report": report})
                if failure is not None:
                    failed += 1
                    progress.console.print(f"[bold red]THROWN OUT:[/bold red] {escape(f'{one.name}: {failure}')}",
                                           highlight=False)
                elif turn > 0:
                    reports.setdefault(one.name, []).append(report)
                progress.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    _print_replays(file, reports, as_json)
    if interrupted or failed:
        raise typer.Exit(INTERRUPTED if interrupted else 1)


def _replayed(file: Path, allocator: Allocator, touch: str, partial: bool) -> tuple[dict | None, str | None]:
    try:
        report = traces.replay(file, allocator, run.environment(allocator), touch, partial)
    except TraceFailed as reason:
        return None, str(reason)
    return report, run.disproof(report, allocator)


def _print_replays(file: Path, reports: dict[str, list[dict]], as_json: bool) -> None:
    summary = {}
    for name, made in reports.items():
        summary[name] = {key: intervals.median([one[key] for one in made]).as_json()
                         for key in ("seconds", "cpu_seconds", "peak_kib", "mean_kib", "final_kib", "fragmentation")}
        summary[name]["refused"] = max(one["refused"] for one in made)
    if as_json:
        print(json.dumps({"trace": str(file), "allocators": summary}))
        return
    if not reports:
        return
    first = next(iter(reports.values()))[0]
    output.print(f"{escape(file.name)}: {first['operations']:,} calls of {first['threads']} threads; at most "
                 f"{first['requested_peak_bytes_of_trace'] / 2**20:.1f} MiB requested at a time, in the replay "
                 f"{first['requested_peak_bytes'] / 2**20:.1f}", highlight=False)
    table = Table(title="Replays: medians with their intervals (95 %)", title_justify="left")
    table.add_column("allocator")
    for column in ("seconds", "CPU seconds", "peak MiB", "mean MiB", "final MiB", "peak over requested"):
        table.add_column(column, justify="right")
    keys = ("seconds", "cpu_seconds", "peak_kib", "mean_kib", "final_kib", "fragmentation")
    best = {key: min(one[key][0] for one in summary.values()) for key in keys}
    for name, one in summary.items():
        cells = []
        for key in keys:
            value, low, high = (part / 1024 if key.endswith("kib") else part for part in one[key])
            digits = 1 if key.endswith("kib") else 3
            text = f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
            cells.append(f"[bold]{escape(text)}[/bold]" if one[key][0] == best[key] else escape(text))
        table.add_row(escape(name), *cells)
    output.print(table)


@app.command()
def stat(
    file: File,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Pictures, as .html, .svg or .png.")] = None,
    partial: Partial = False,
    as_json: JsonOption = False,
) -> None:
    """Says what is in FILE: sizes, lifetimes, sites, threads, and what lived when."""
    from hakmem import pictures, trace_pictures  # noqa: PLC0415 (drawing takes a second to load)
    try:
        if picture is not None:
            pictures.check(picture, file)
        facts = traces.stat(file, partial)
        if picture is not None:
            trace_pictures.save(facts, file.name, picture)
    except (TraceFailed, CannotWrite) as reason:
        raise fail(str(reason)) from None
    if as_json:
        print(json.dumps(facts))
        return
    for table in trace_pictures.tables(facts, file.name):
        output.print(table)
    if picture is not None:
        output.print(f"pictures in {picture}", highlight=False, markup=False, soft_wrap=True)
