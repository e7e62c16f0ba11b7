"""Prints what was measured: per row speed and memory of every allocator, hakmem's ratios, and the verdict."""

from rich.table import Table
from rich.text import Text

from hakmem.allocator import Allocator
from hakmem.figures import (
    HAKMEM,
    Cell,
    RowFigures,
    best_peer_overall,
    geometric_mean,
    mean_speed_over,
)
from hakmem.intervals import Interval
from hakmem.verdicts import MISSED, NOT_MEASURED, REACHED, Verdict


def tables_of(rows: list[RowFigures], allocators: list[Allocator], verdicts: list[Verdict]) -> list[Table]:
    names = [one.name for one in allocators]
    programs = [row for row in rows if row.suite == "programs"]
    rows = [row for row in rows if row.suite != "programs"]
    timed = [row for row in rows if row.suite not in SPECIAL]
    special = [row for row in rows if row.suite in SPECIAL]
    tables = []
    if timed:
        tables.append(_grid("Speed: million operations per second, ± half the quartile distance", timed, names, _speed))
    if rows:
        tables.append(_grid("Peak resident memory, MiB", rows, names, lambda row, cell: f"{cell.peak_kib / 1024:.1f}"))
        long_enough = [row for row in rows if any(cell.mean_kib is not None for cell in row.cells.values())]
        if long_enough:
            tables.append(_grid("Mean resident memory, looked at every 20 ms, MiB", long_enough, names, _mean))
        tables.append(_grid("Resident memory after all blocks were freed, all threads alive, MiB", rows, names,
                            lambda row, cell: f"{cell.final_kib / 1024:.1f}"))
    if special:
        tables.append(_grid("Idle: memory of a thread. Give-back: memory kept after the last free. Startup: time of a run",
                            special, names, _special))
    if programs:
        tables.append(_grid("Real programs: seconds, ± half the quartile distance", programs, names, _seconds))
        tables.append(_grid("Real programs: peak resident memory, MiB", programs, names, _lean))
    if any(HAKMEM in row.cells for row in [*rows, *programs]):
        tables += [_ratios([*timed, *programs]), _means(rows, names), _verdict(verdicts)]
    return tables


def instructions(counts: dict[str, dict[str, float]], names: list[str]) -> Table:
    """Of one operation of each row; the fewest are marked."""
    table = Table(title="Instructions of an operation, with the workload's own", title_justify="left")
    table.add_column("row", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for row, here in counts.items():
        least = min(here.values())
        texts = [f"{here[name]:.1f}" if name in here else "–" for name in names]
        table.add_row(row, *[f"[bold]{text}[/bold]" if here.get(name) == least else text
                             for name, text in zip(names, texts, strict=True)])
    return table


def as_markdown(table: Table) -> str:
    """The table with its title as a heading, for a page that is kept."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    lines = [f"### {table.title}", ""]
    for number, row in enumerate(zip(*columns, strict=True)):
        texts = [_markdown_of(text) for text in row]
        lines.append(f"| {' | '.join(texts)} |")
        if number == 0:
            rules = ["--:" if column.justify == "right" else "---" for column in table.columns]
            lines.append(f"|{'|'.join(rules)}|")
    return "\n".join(lines) + "\n"


def _markdown_of(marked: str) -> str:
    plain = Text.from_markup(marked).plain.replace("\n", "; ")
    return f"**{plain}**" if "[bold" in marked else plain


def _grid(title: str, rows: list[RowFigures], names: list[str], text_of) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("row", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.row.name, *[text_of(row, row.cells[name]) if name in row.cells else "–" for name in names])
    return table


def _speed(row: RowFigures, cell: Cell) -> str:
    rate = cell.operations / cell.seconds / 1e6
    text = f"{rate:.{3 if rate < 1 else 1 if rate < 100 else 0}f}"
    if cell.runs > 1:
        text += f" ±{100 * cell.spread:.0f}%"
    fastest = min(one.seconds for one in row.cells.values())
    return f"[bold]{text}[/bold]" if cell.seconds == fastest else text


def _mean(row: RowFigures, cell: Cell) -> str:
    return "–" if cell.mean_kib is None else f"{cell.mean_kib / 1024:.1f}"


def _seconds(row: RowFigures, cell: Cell) -> str:
    text = f"{cell.seconds:.3f}" + (f" ±{100 * cell.spread:.1f}%" if cell.runs > 1 else "")
    return f"[bold]{text}[/bold]" if cell.seconds == min(one.seconds for one in row.cells.values()) else text


def _lean(row: RowFigures, cell: Cell) -> str:
    text = f"{cell.peak_kib / 1024:.1f}"
    return f"[bold]{text}[/bold]" if cell.peak_kib == min(one.peak_kib for one in row.cells.values()) else text


SPECIAL = {
    "idle": lambda cell: f"{cell.special['resident_bytes_per_thread'] / 1024:.1f} KiB",
    "give-back": lambda cell: f"{cell.special['kept_kib'] / 1024:.0f} MiB",
    "startup": lambda cell: f"{1e3 * cell.special['median_seconds']:.3f} ms",
}


def _special(row: RowFigures, cell: Cell) -> str:
    return SPECIAL[row.row.suite](cell)


def _ratios(rows: list[RowFigures]) -> Table:
    table = Table(title="hakmem over its peers (speed: higher is better; memory: lower is better)",
                  title_justify="left")
    table.add_column("row", no_wrap=True)
    for column in ("speed/mimalloc3", "speed/best peer", "between (95 %)", "best peer", "memory/leanest", "leanest peer"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        best, leanest = row.best_peer(), row.leanest_peer()
        over_best, over_leanest = row.speed_over(best), row.memory_over(leanest)
        table.add_row(row.row.name, _number(row.speed_over("mimalloc3")),
                      _marked(over_best, over_best is not None and over_best < 0.95),
                      _between(row.speed_interval(best)), best or "–",
                      _marked(over_leanest, over_leanest is not None and over_leanest > 1.15), leanest or "–")
    return table


def _means(rows: list[RowFigures], names: list[str]) -> Table:
    core = [row for row in rows if row.row.is_core]
    best = best_peer_overall(core, core[0].bars if core else [])
    table = Table(title="Geometric means over the rows of tiny, mid and remote", title_justify="left")
    for column in ("peer", "hakmem's speed over it", "hakmem's peak memory over it", "rows"):
        table.add_column(column, justify="left" if column == "peer" else "right")
    for name in names:
        done = [row for row in core if row.speed_over(name) is not None]
        if name == HAKMEM or not done:
            continue
        memory = geometric_mean(ratio for row in done if (ratio := row.memory_over(name)) is not None)
        table.add_row(f"{name} (best)" if name == best else name, _number(mean_speed_over(core, name)),
                      _number(memory), str(len(done)))
    return table


def _verdict(verdicts: list[Verdict]) -> Table:
    table = Table(title="Verdict", title_justify="left")
    for column in ("figure", "goal", "measured", "between (95 %)", "rows", ""):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for one in verdicts:
        style = {REACHED: "green", MISSED: "bold red", NOT_MEASURED: "dim"}.get(one.judgement, "yellow")
        word = f"[{style}]{one.judgement}[/{style}]"
        if one.judgement in (REACHED, MISSED) and not one.is_complete:
            word += " so far"
        table.add_row(one.what, f"{'≤' if one.at_most else '≥'} {one.goal:g}", _number(one.measured), _between(one),
                      f"{one.rows_measured} of {one.rows_wanted}", word)
    return table


def _between(interval: Interval | Verdict | None) -> str:
    return "" if interval is None or interval.low is None else f"{_number(interval.low)} … {_number(interval.high)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _marked(value: float | None, is_bad: bool) -> str:
    return f"[bold red]{_number(value)}[/bold red]" if is_bad else _number(value)
