"""hakmem ab: one setting against another, or one library against another, until the answer is known."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hakmem import ab as pairing
from hakmem import comparison, figures, places, suites, workloads
from hakmem import run as runner
from hakmem.allocator import Allocator
from hakmem.commands.common import (
    INTERRUPTED,
    JsonOption,
    RecordsOption,
    errors,
    fail,
    hakmem_library,
    look_at_the_machine,
    output,
    progress_bar,
)

STATUS = {pairing.GO: 0, pairing.NEUTRAL: 0, pairing.NO_GO: 1, pairing.UNDECIDED: 3}
DEFAULT_ROW = "mixed/16-1024/400/1t"


def _setting(base: Allocator, name: str, options: str | None, library: Path | None) -> Allocator:
    if library is not None:
        if not library.is_file():
            raise fail(f"{library} is not there")
        base = Allocator(figures.HAKMEM, comparison.frozen(library), source=str(library), is_bar=False)
    variables = dict(base.environment)
    if options:
        if any("=" not in one for one in options.split(",")):
            raise fail(f"--{name} {options}: NAME=VALUE is needed, several with commas between")
        variables["HAKMEM_OPTIONS"] = options
    return replace(base, name=name, environment=variables)


def ab(
    off: Annotated[str, typer.Option(metavar="OPTIONS", help="Settings of A, as fastlane=off; none: the default.")] = "",
    on: Annotated[str, typer.Option(metavar="OPTIONS", help="Settings of B.")] = "",
    off_lib: Annotated[Path | None, typer.Option(metavar="FILE", help="A's library.")] = None,
    on_lib: Annotated[Path | None, typer.Option(metavar="FILE", help="B's library.")] = None,
    row: Annotated[str, typer.Option(metavar="NAME", help="The row to run; bench --list prints them.")] = DEFAULT_ROW,
    threshold: Annotated[float, typer.Option(min=0.0001, max=1, help="What counts as a difference, 0.01 is 1 %.")] =
    pairing.THRESHOLD,
    least: Annotated[int, typer.Option(min=3, help="Pairs at least.")] = pairing.PAIRS_LEAST,
    most: Annotated[int, typer.Option(min=3, help="Pairs at most.")] = pairing.PAIRS_MOST,
    short: Annotated[bool, typer.Option("--short", help="A tenth of the operations a run.")] = False,
    instructions: Annotated[bool, typer.Option("--instructions", help="Count instructions with callgrind instead: one "
                                                                      "pair is exact.")] = False,
    as_json: JsonOption = False,
    records: RecordsOption = places.RECORDS,
) -> None:
    """A against B in interleaved pairs, at least 10 and at most 60, going on until the interval of B's speed over A's
    lies outside the threshold (GO, NO-GO) or inside (NEUTRAL); else UNDECIDED.

    Exit status: 0 GO or NEUTRAL, 1 NO-GO, 3 UNDECIDED, 2 the runs failed.
    """
    chosen = [one for one in suites.ROWS if one.name == row]
    if not chosen:
        raise fail(f"--row {row}: not known; hakmem bench --list prints the rows")
    if most < least:
        raise fail(f"--most {most}: at least {least} pairs are made")
    base = hakmem_library()
    if base is None and (off_lib is None or on_lib is None):
        raise fail(f"{places.HAKMEM_LIBRARY} is not there; ./hakmem build makes it, or give --off-lib and --on-lib")
    a, b = _setting(base, "off", off, off_lib), _setting(base, "on", on, on_lib)
    try:
        workloads.program(chosen[0].workload)
    except workloads.WorkloadCannotBeBuilt as reason:
        raise fail(f"the workload can't be compiled: {reason}") from None
    if instructions:
        _count_instructions(chosen[0], a, b, as_json)
        return
    pairs = pairing.Pairs(threshold, least, most)
    recorder = comparison.Recorder(records, [a, b], {"ab": True, "row": row, "threshold": threshold, "quick": short,
                                                  "quiet": look_at_the_machine()})
    stopped = _make_pairs(chosen[0], a, b, pairs, short, recorder)
    verdict = pairs.verdict() or pairing.UNDECIDED
    _print(row, a, b, pairs, verdict, as_json)
    raise typer.Exit(INTERRUPTED if stopped else STATUS[verdict])


def _make_pairs(row: suites.Row, a: Allocator, b: Allocator, pairs: pairing.Pairs, short: bool,
                recorder: comparison.Recorder) -> bool:
    def timed(allocator: Allocator) -> float:
        made = runner.run(replace(row, place=len(pairs.logs)), allocator, short)
        recorder.append({"kind": "run", "row": row.name, "allocator": allocator.name, "turn": len(pairs.logs) + 1,
                         "counted": made.failure is None, "failure": made.failure, "report": made.report})
        if made.failure is not None:
            raise fail(f"a run with {allocator.name} does not count: {made.failure}")
        return made.report["seconds"]

    with progress_bar() as progress:
        task = progress.add_task(row.name, total=pairs.most)
        try:
            for made in pairing.pairs_until_known(lambda: timed(a), lambda: timed(b), pairs):
                interval = made.interval()
                progress.update(task, completed=len(made.logs),
                                description=f"{row.name} {_percent(interval.low)} … {_percent(interval.high)}")
        except KeyboardInterrupt:
            return True
    return False


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f} %"


def _described(one: Allocator) -> str:
    return f"{one.environment.get('HAKMEM_OPTIONS', 'default settings')} ({one.source})"


def _print(row: str, a: Allocator, b: Allocator, pairs: pairing.Pairs, verdict: str, as_json: bool) -> None:
    interval = pairs.interval() if pairs.logs else None
    if as_json:
        print(json.dumps({"row": row, "off": _described(a), "on": _described(b), "pairs": len(pairs.logs),
                          "threshold": pairs.threshold, "verdict": verdict,
                          "speed_ratio": interval.as_json() if interval else None}))
        return
    output.print(f"A: {_described(a)}\nB: {_described(b)}", highlight=False)
    if interval is not None:
        output.print(f"{row}: B's speed over A's {_percent(interval.value)}, between {_percent(interval.low)} and "
                     f"{_percent(interval.high)} (95 %, {len(pairs.logs)} pairs)", highlight=False)
    colour = {pairing.GO: "green", pairing.NO_GO: "red"}.get(verdict, "yellow")
    output.print(f"[bold {colour}]{verdict}[/bold {colour}]")


def _count_instructions(row: suites.Row, a: Allocator, b: Allocator, as_json: bool) -> None:
    counts = {}
    for one in (a, b):
        try:
            with errors.status(f"counting instructions of {one.name}"):
                counts[one.name] = runner.instructions(row, one)
        except runner.CannotCount as reason:
            raise fail(str(reason)) from None
    ratio = counts["off"] / counts["on"]
    if as_json:
        print(json.dumps({"row": row.name, "instructions": counts, "ratio": ratio}))
    else:
        output.print(f"{row.name}: A {counts['off']:.3f}, B {counts['on']:.3f} instructions an operation; "
                     f"B needs {_percent(1 / ratio)}", highlight=False)
