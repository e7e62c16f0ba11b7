"""hakmem policy: what was learned about programs, why, how two differ, how it came about, and what it would do to one that
was recorded."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table

from hakmem import pictures, policies, policy_pictures, policy_replays, told, written
from hakmem.commands.common import JsonOption, errors, fail, output, progress_bar, warn
from hakmem.policies import Line, Policy, PolicyFailed
from hakmem.policy_replays import DEFAULTS, LEARNED, LEARNING
from hakmem.told import ToldFailed
from hakmem.trace_pictures import bytes_text, exact_text
from hakmem.traces import TraceFailed
from hakmem.written import CannotWrite

app = typer.Typer(help=__doc__, no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A policy file.", exists=True, dir_okay=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Policy files.", exists=True, dir_okay=False)]

REASONS = {
    "refaults": "memory that had gone back was needed again soon: holding it costs less than faulting it in",
    "idle": "the program slept for long on free memory",
    "depths": "stacks ran empty or full so often that deeper ones cost less than the batches they save",
    "ucb1": "in paired windows the call's blocks cost less this way than by the default, three times in a row",
    "rounding": "many blocks in use were much smaller than the class that served them",
    "copies": "blocks that grow by small steps were copied so often that room for more steps costs less",
    "dense": "nearly all pages of the heap were touched, and hardly a group used in part alone: huge pages from the first on waste little",
    "resident": "groups of large blocks whose pages were all in memory anyway got huge pages while the program ran: the next run has use for them, too",
    "spread": "big blocks of a few calls had sizes within a doubling: with mappings of their own each serves the next",
    "slack": "classes used little had part-used slabs and stacks that cost more than rounding up to the next would",
    "tournament": "it won against the other values that were tried in turn while the program ran",
}
UNRECORDED = "by hand, or not recorded"
KINDS = {
    "class": "a size class of its own",
    "close": "the class is closed, the next larger one serves its sizes",
    "depth": "free blocks that a thread's stack of the class may hold",
    "site": "blocks that this call asks for are big from this size on",
}


def _read(path: Path) -> Policy:
    try:
        return policies.read(path)
    except PolicyFailed as reason:
        raise fail(str(reason)) from None


def _value(line: Line) -> str:
    row = policies.decisions().get(line.kind)
    unit = row.unit if row else "blocks" if line.kind == "depth" else "bytes"
    return exact_text(line.value) if row is None and unit == "bytes" else policy_pictures.value_text(unit, line.value)


def _what(line: Line) -> str:
    row = policies.decisions().get(line.kind)
    return row.what if row else KINDS[line.kind]


def _name(line: Line) -> str:
    if line.kind == "depth":
        return f"depth of {exact_text(int(line.subject))}"
    return escape(f"{line.kind} {line.subject}".strip())


def _gain(line: Line) -> str:
    return f"{int(line.evidence['gain']) / 10:+.1f} %" if "gain" in line.evidence else ""


def _head(policy: Policy) -> str:
    build = f", build {policy.build[:12]}" if policy.build else ""
    runs = f"{policy.runs} run{'' if policy.runs == 1 else 's'}"
    return f"{policy.program or policy.path.name}{build}: {runs}, {policy.seconds} s"


def _heading(policy: Policy, among_several: bool) -> str:
    return escape(f"{policy.path}: {_head(policy)}" if among_several else _head(policy))


def _print_each(files: list[Path], columns: dict[str, JustifyMethod], row: Callable[[Line], list[str]]) -> None:
    """A table for each file. All are read before the first is printed."""
    for policy in [_read(file) for file in files]:
        heading = _heading(policy, len(files) > 1)
        if not policy.lines:
            output.print(f"{heading}: nothing but the defaults", highlight=False, soft_wrap=True)
            continue
        output.print(heading, highlight=False, soft_wrap=True)
        table = Table()
        for name, justify in columns.items():
            table.add_column(name, justify=justify)
        for line in policy.lines:
            table.add_row(*row(line))
        output.print(table)


@app.command()
def show(files: Files) -> None:
    """What policy files decide, beside what that means."""
    _print_each(files, {"decision": "left", "value": "right", "what it is": "left"},
                lambda line: [_name(line), _value(line), _what(line)])


@app.command()
def why(files: Files) -> None:
    """Each decision with its evidence: since when, in how many looks, why, and what it gained by estimate."""
    columns = {"decision": "left", "value": "right", "since": "right", "looks": "right", "gain": "right", "why": "left"}
    _print_each(files, columns, lambda line: [
        _name(line), _value(line), f"{line.evidence['since']} s" if "since" in line.evidence else "",
        escape(line.evidence.get("windows", "")), _gain(line), _reason(line)])


def _reason(line: Line) -> str:
    if "why" in line.evidence:
        return REASONS.get(line.evidence["why"], escape(line.evidence["why"]))
    return UNRECORDED + ("; learned where stacks ran empty or full often" if line.kind == "depth" else "")


@app.command()
def diff(first: File, second: File) -> None:
    """How two policy files differ. Exit status: 0 they decide the same, 1 they don't."""
    one = {line.key: line for line in _read(first).lines}
    other = {line.key: line for line in _read(second).lines}
    differing = [key for key in {**one, **other}
                 if key not in one or key not in other or one[key].value != other[key].value]
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    table = Table("decision", *map(escape, names))
    for key in differing:
        values = [_value(lines[key]) if key in lines else "–" for lines in (one, other)]
        if values[0] == values[1]:  # by rounding
            values = [f"{lines[key].value} bytes" for lines in (one, other)]
        line = one.get(key) or other[key]
        table.add_row(f"{line.kind} {exact_text(line.value)}" if line.kind in ("class", "close") else _name(line), *values)
    if differing:
        output.print(table)
    raise typer.Exit(1 if differing else 0)


@app.command()
def merge(
    files: Files,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE",
                                             help="Where to; else it is printed.")] = None,
    any_program: Annotated[bool, typer.Option("--any-program", help="Also of different programs; whose the result is says "
                                                                    "the first one.")] = False,
) -> None:
    """One policy of several: of many runs and machines. Numbers count by the time they were learned from; of choices, that
    of the file that was learned for longer is taken.

    Files of different builds of a program are told, and merged.
    """
    read = [_read(file) for file in files]
    kinds = {(policy.program, policy.build) for policy in read}
    programs = sorted({policy.program for policy in read if policy.program})
    if len(programs) > 1 and not any_program:
        raise fail(f"these are of different programs: {', '.join(programs)}; --any-program merges them all the same")
    if len(kinds) > 1:
        names = ", ".join(sorted(f"{program} {build[:12]}".strip() for program, build in kinds))
        errors.print(f"[bold yellow]these are of different programs or builds:[/bold yellow] {escape(names)}", highlight=False)
    try:
        if out is None:
            typer.echo(policies.merge(read), nl=False)
            return
        with written.replacing(out, beginning=policies.BEGINNING) as made:
            made.write_bytes(policies.merge(read))
    except (PolicyFailed, CannotWrite) as reason:
        raise fail(str(reason)) from None


# A row of the table: what it is, and how the figures are put.
REPLAY_ROWS = [
    ("batches moved", lambda one: f"{one['refills'] + one['flushes']:,}"),
    ("lost to rounding, mean", lambda one: bytes_text(one["rounding_mean_bytes"])),
    ("    at most", lambda one: bytes_text(one["rounding_peak_bytes"])),
    ("free in stacks, mean", lambda one: bytes_text(one["stacks_mean_bytes"])),
    ("    at most", lambda one: bytes_text(one["stacks_peak_bytes"])),
    ("held in all, mean", lambda one: bytes_text(one["held_mean_bytes"])),
    ("    at most", lambda one: bytes_text(one["held_peak_bytes"])),
    ("purged", lambda one: bytes_text(one["purged_bytes"])),
    ("faulted in again", lambda one: bytes_text(one["refaulted_bytes"])),
    ("cost: processor time", lambda one: f"{one['spent_ns_per_second'] / 1e6:.3f} ms/s"),
    ("    memory, at its price", lambda one: f"{one['memory_ns_per_second'] / 1e6:.3f} ms/s"),
    ("    together", lambda one: f"{one['cost_ns_per_second'] / 1e6:.3f} ms/s"),
]
HEADINGS = {DEFAULTS: "defaults", LEARNING: "while it learns", LEARNED: "begun with it"}


def _signed(count: float) -> str:
    return f"{'more' if count < 0 else 'less'} by {bytes_text(abs(count))}"


def _print_replays(trace: Path, runs: dict[str, dict]) -> None:
    plain = runs[DEFAULTS]
    output.print(f"{escape(trace.name)}: {plain['calls']:,} calls of {plain['threads']} threads in {plain['seconds']:.2f} s; asked "
                 f"for {bytes_text(plain['asked_mean_bytes'])} in the mean, {bytes_text(plain['asked_peak_bytes'])} at most",
                 highlight=False)
    table = Table("")
    for name in runs:
        table.add_column(HEADINGS[name], justify="right")
    for what, figure in REPLAY_ROWS:
        table.add_row(what, *map(figure, runs.values()))
    output.print(table)
    gain = policy_replays.gain(plain, runs[LEARNED])
    milliseconds = gain["processor_ns_per_second"] / 1e6
    output.print(f"predicted for a run that begins with it: processor time {'more' if milliseconds < 0 else 'less'} by "
                 f"{abs(milliseconds):.3f} ms a second;\nmemory beyond what is asked for {_signed(gain['mean_bytes'])} in "
                 f"the mean, all memory {_signed(gain['peak_bytes'])} at most", highlight=False)


@app.command()
def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Of hakmem trace record.", exists=True, dir_okay=False)],
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="What it learns, as a policy file.")
                   ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Begins with that in place of learning.", exists=True,
                                                dir_okay=False)] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Read a trace without its end as far as it is whole.")] = False,
    seconds: Annotated[float | None, typer.Option(min=1e-6, max=1e8, help="How long the program takes when it is not recorded, which "
                                                                 "makes it slower: decisions follow from rates.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Runs the library over TRACE by its own clock: what it would learn there, and what that would gain."""
    if policy is not None and out is not None:
        raise fail("--output with --policy: nothing is learned then")
    if seconds is not None and math.isnan(seconds):
        raise fail("--seconds: a number is needed")
    if policy is not None:
        _warn_of(policy, trace, partial)
    try:
        with progress_bar() as progress:
            tasks: dict[str, int] = {}

            def advance(name: str, percent: int) -> None:
                if name not in tasks:
                    tasks[name] = progress.add_task(HEADINGS[name], total=100)
                progress.update(tasks[name], completed=percent)

            runs = policy_replays.compare(trace, policy, out, partial, seconds, advance)
    except (PolicyFailed, TraceFailed, CannotWrite) as reason:
        raise fail(str(reason)) from None
    if as_json:
        print(json.dumps({"trace": str(trace), "replays": runs, "gain": policy_replays.gain(runs[DEFAULTS], runs[LEARNED])}))
        return
    _print_replays(trace, runs)
    if out is not None:
        output.print(f"what was learned: hakmem policy show {escape(str(out))}", highlight=False, soft_wrap=True)


def _warn_of(file: Path, trace: Path, partial: bool) -> None:
    """What of a policy file does not count in a replay."""
    policy = _read(file)
    try:
        program = policy_replays.program_of(trace, partial)
    except TraceFailed as reason:
        raise fail(str(reason)) from None
    if policy.program and program and policy.program != program:
        warn(f"{file} is of another program", f"{policy.program}, and {trace} is of {program}")
    if sites := [line for line in policy.lines if line.kind == "site"]:
        warn(f"{len(sites)} rule{'' if len(sites) == 1 else 's'} for call sites left out", "a replay does not know them")


@app.command()
def picture(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A policy file, or the "
                                         "statistics of a program that learned (HAKMEM_STATS=json).")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to, as .html, .svg or .png.")],
    process: Annotated[int | None, typer.Option(metavar="NUMBER", help="Whose statistics, where several are in the file; "
                                                "else of the one that looked most often.")] = None,
) -> None:
    """What became of learning over time, or what a policy file decides, as a picture."""
    try:
        pictures.check(out, file)
        content = file.read_bytes()  # once: it may be a pipe
        if told.is_told(content):
            one = told.that_learned(file, content, process)
            with told.complete(file):
                charts, title = policy_pictures.charts_of_life(one), policy_pictures.headline(one, file.stem)
            pictures.save(charts, title, out)
            return
        if process is not None:
            raise fail("--process is for statistics, and this is a policy file")
        policy = policies.parse(file, content)
        charts = policy_pictures.charts_of_policy(policy)
        if not charts:
            raise fail(f"{file}: there are no depths and no classes in it to draw")
        pictures.save(charts, _head(policy), out)
    except (PolicyFailed, ToldFailed, CannotWrite) as reason:
        raise fail(str(reason)) from None
    except OSError as reason:
        raise fail(f"{file} can't be read: {reason.strerror}") from None
