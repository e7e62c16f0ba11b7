"""hakmem policy: what was learned about programs, why, and how two differ."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hakmem import policies
from hakmem.commands.common import errors, fail, output
from hakmem.policies import Line, Policy, PolicyFailed
from hakmem.trace_pictures import bytes_text

app = typer.Typer(help=__doc__, no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A policy file.", exists=True, dir_okay=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Policy files.", exists=True, dir_okay=False)]

REASONS = {
    "refaults": "memory that had gone back was needed again soon: holding it costs less than faulting it in",
    "idle": "the program slept for long on free memory",
    "depths": "stacks ran empty or full so often that deeper ones cost less than the batches they save",
    "rounding": "many blocks in use were much smaller than the class that served them",
}
KINDS = {
    "class": "a size class of its own",
    "close": "the class is closed, the next larger one serves its sizes",
    "depth": "free blocks that a thread's stack of the class may hold",
    "site": "blocks that this call asks for are big from this size on",
}


def _read(path: Path) -> Policy:
    try:
        return policies.read(path)
    except (PolicyFailed, OSError) as reason:
        raise fail(str(reason)) from None


def _value(line: Line) -> str:
    row = policies.decisions().get(line.kind)
    unit = row.unit if row else "blocks" if line.kind == "depth" else "bytes"
    if unit == "bytes":
        return bytes_text(line.value)
    return f"1/{line.value}" if unit == "parts" else f"{line.value} ms" if unit == "milliseconds" else str(line.value)


def _what(line: Line) -> str:
    row = policies.decisions().get(line.kind)
    return row.what if row else KINDS[line.kind]


def _name(line: Line) -> str:
    if line.kind == "depth":
        return f"depth of {bytes_text(int(line.subject))}"
    return f"{line.kind} {line.subject}".strip()


def _gain(line: Line) -> str:
    return f"{int(line.evidence['gain']) / 10:+.1f} %" if "gain" in line.evidence else ""


def _head(policy: Policy) -> str:
    build = f", build {policy.build[:12]}" if policy.build else ""
    return f"{policy.program or policy.path.name}{build}: {policy.runs} runs, {policy.seconds} s"


@app.command()
def show(file: File) -> None:
    """What a policy file decides, beside what that means."""
    policy = _read(file)
    table = Table(title=_head(policy), title_justify="left")
    for name, justify in (("decision", "left"), ("value", "right"), ("what it is", "left")):
        table.add_column(name, justify=justify)
    for line in policy.lines:
        table.add_row(_name(line), _value(line), _what(line))
    if policy.lines:
        output.print(table)
    else:
        output.print(f"{_head(policy)}: nothing but the defaults", highlight=False)


@app.command()
def why(file: File) -> None:
    """Each decision with its evidence: since when, in how many looks, why, and what it gained by estimate."""
    policy = _read(file)
    table = Table(title=_head(policy), title_justify="left")
    for name, justify in (("decision", "left"), ("value", "right"), ("since", "right"), ("looks", "right"),
                          ("gain", "right"), ("why", "left")):
        table.add_column(name, justify=justify)
    for line in policy.lines:
        reason = line.evidence.get("why", "depths" if line.kind == "depth" else "by hand")
        table.add_row(_name(line), _value(line), f"{line.evidence.get('since', '0')} s",
                      line.evidence.get("windows", ""), _gain(line), REASONS.get(reason, reason))
    output.print(table)


@app.command()
def diff(first: File, second: File) -> None:
    """How two policy files differ. Exit status: 0 they decide the same, 1 they don't."""
    one = {line.key: line for line in _read(first).lines}
    other = {line.key: line for line in _read(second).lines}
    differing = [key for key in {**one, **other}
                 if key not in one or key not in other or one[key].value != other[key].value]
    table = Table("decision", first.name, second.name)
    for key in differing:
        line = one.get(key) or other[key]
        table.add_row(_name(line) if line.kind != "class" else f"class {bytes_text(line.value)}",
                      _value(one[key]) if key in one else "–", _value(other[key]) if key in other else "–")
    if differing:
        output.print(table)
    raise typer.Exit(1 if differing else 0)


@app.command()
def merge(
    files: Files,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE",
                                             help="Where to; else it is printed.")] = None,
) -> None:
    """One policy of several: of many runs and machines. Each counts by the time it was learned from."""
    kinds = {(policy.program, policy.build) for policy in map(_read, files)}
    if len(kinds) > 1:
        names = ", ".join(sorted(f"{program} {build[:12]}".strip() for program, build in kinds))
        errors.print(f"[bold yellow]these are of different programs or builds:[/bold yellow] {names}", highlight=False)
    try:
        text = policies.merge(files)
    except PolicyFailed as reason:
        raise fail(str(reason)) from None
    if out is None:
        output.print(text, end="", highlight=False, markup=False, soft_wrap=True)
        return
    try:
        out.write_text(text)
    except OSError as reason:
        raise fail(str(reason)) from None
