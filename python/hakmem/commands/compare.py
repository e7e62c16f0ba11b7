"""hakmem compare: do two measurements of the same rows say the same?"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hakmem import figures, intervals, records
from hakmem.commands.common import JsonOption, fail, output
from hakmem.report import selection

AGREEMENT = 0.9  # of the pairs, for the exit status: an interval of 95 % is for one of the two, not for both


@dataclass(frozen=True)
class Pair:
    """hakmem's speed over a peer's on one row, in both measurements."""

    row: str
    peer: str
    first: intervals.Interval
    second: intervals.Interval

    @property
    def agrees(self) -> bool:
        return self.first.overlaps(self.second)


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Records that bench wrote.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Records of the same rows and allocators.")],
    as_json: JsonOption = False,
) -> None:
    """Sets two measurements side by side: hakmem's speed over each peer's, and whether the intervals of both overlap.

    Exit status: 0 at least nine pairs in ten agree; 1 fewer; 2 there is nothing to compare.
    """
    one, other = _rows_of(first), _rows_of(second)
    pairs = [pair for name in one if name in other for pair in _pairs(one[name], other[name])]
    if not pairs:
        raise fail(f"{first} and {second} have no row with hakmem and the same peer at least {intervals.LEAST_VALUES} times")
    share = sum(pair.agrees for pair in pairs) / len(pairs)
    if as_json:
        print(json.dumps({"agreeing": share, "pairs": [asdict(pair) | {"agrees": pair.agrees} for pair in pairs]}))
    else:
        _print(pairs, share)
    if share < AGREEMENT:
        raise typer.Exit(1)


def _rows_of(file: Path) -> dict[str, figures.RowFigures]:
    try:
        chosen = selection.select(records.read(file), with_quick=True)
    except records.RecordsUnreadable as reason:
        raise fail(str(reason)) from None
    return {} if chosen is None else {row.row.name: row for row in chosen.rows()}


def _pairs(one: figures.RowFigures, other: figures.RowFigures) -> list[Pair]:
    made = []
    for peer in one.cells:
        first, second = one.speed_interval(peer), other.speed_interval(peer)
        if peer != figures.HAKMEM and first is not None and second is not None:
            made.append(Pair(one.row.name, peer, first, second))
    return made


def _print(pairs: list[Pair], share: float) -> None:
    table = Table(title="hakmem's speed over its peers', and the interval (95 %)", title_justify="left")
    for column in ("row", "peer", "first", "second", ""):
        table.add_column(column, justify="left" if column in ("row", "peer", "") else "right", no_wrap=True)
    for pair in pairs:
        table.add_row(pair.row, pair.peer, _text(pair.first), _text(pair.second),
                      "" if pair.agrees else "[bold red]differ[/bold red]")
    output.print(table)
    output.print(f"{sum(pair.agrees for pair in pairs)} of {len(pairs)} agree within their intervals ({100 * share:.0f} %)",
                 highlight=False)


def _text(interval: intervals.Interval) -> str:
    return f"{interval.value:.3f} ({interval.low:.3f} … {interval.high:.3f})"
