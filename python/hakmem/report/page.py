"""Fills the page in."""

import json
import math
from pathlib import Path

import jinja2

from hakmem import figures, intervals, peers, pictures, suites, verdicts
from hakmem.figures import HAKMEM, RowFigures
from hakmem.records import Comparison
from hakmem.report import charts
from hakmem.report.selection import Selection, select

HERE = Path(__file__).parent
NOT_TIMED = ("idle", "startup", "give-back")  # what counts there is memory, or the time of a start
SLOWER = 0.995  # of the best: below it hakmem is not first


class NothingToShow(Exception):
    """Its message is one line for the user."""


def make(comparisons: list[Comparison], with_quick: bool, source: str) -> str:
    """The page. `source` names the records."""
    chosen = select(comparisons, with_quick)
    if chosen is None:
        raise NothingToShow(f"{source} holds no counted run{'' if with_quick else ' that is not quick; --quick shows those'}")
    rows = chosen.rows()
    names = _in_order([name for name in chosen.allocators if any(name in row.cells for row in rows)])
    timed = [row for row in rows if row.suite not in NOT_TIMED]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True)
    return environment.get_template("page.html").render(
        source=source, selection=chosen, machine=chosen.newest.head["machine"], allocators=chosen.allocators, names=names,
        hakmem=HAKMEM, verdicts=[one for one in verdicts.verdicts(rows) if one.measured is not None],
        means=_means(rows, names), suites=[_suite(suite, rows, chosen, names) for suite in _suites_of(rows)],
        scatter=_embedded(charts.scatter(timed, names)), latencies=_latencies(rows, chosen, names),
        timelines=_timelines(rows, chosen, names), not_first=_not_first(timed),
        style=(HERE / "style.css").read_text(), sorting=(HERE / "sort.js").read_text(), vega=pictures.script())


def picture(comparisons: list[Comparison], with_quick: bool, source: str, file: Path) -> None:
    """The overview alone, as an image."""
    chosen = select(comparisons, with_quick)
    if chosen is None:
        raise NothingToShow(f"{source} holds no counted run{'' if with_quick else ' that is not quick; --quick shows those'}")
    rows = [row for row in chosen.rows() if row.suite not in NOT_TIMED]
    names = _in_order([name for name in chosen.allocators if any(name in row.cells for row in rows)])
    machine = chosen.newest.head["machine"]
    pictures.save_one(charts.overview(rows, names), "hakmem and its peers: geometric means over the rows of each suite",
                      f"{machine['cpu']}, {machine['cores']} processors, glibc {machine['glibc']}, {machine['time'][:10]}", file)


def _in_order(names: list[str]) -> list[str]:
    """hakmem first, then the peers as everywhere, then what the user added."""
    usual = {name: place for place, name in enumerate([HAKMEM, *peers.NAMES])}
    return sorted(names, key=lambda name: usual.get(name, len(usual)))


def _embedded(chart: dict) -> str:
    return json.dumps(chart)


def _suites_of(rows: list[RowFigures]) -> list[str]:
    return list(dict.fromkeys(row.suite for row in rows))


def _means(rows: list[RowFigures], names: list[str]) -> list[dict]:
    means = []
    for name in names:
        done = [row for row in rows if name != HAKMEM and row.speed_over(name) is not None]
        if done:
            means.append({"name": name, "rows": len(done), "speed": figures.mean_speed_over(done, name),
                          "memory": figures.geometric_mean(one for row in done if (one := row.memory_over(name)))})
    return means


def _interval(reports: list[dict], operations: bool) -> intervals.Interval:
    if not operations:
        return intervals.median([report["seconds"] for report in reports])
    return intervals.median([report["operations"] / report["seconds"] for report in reports])


def _suite(suite: str, rows: list[RowFigures], chosen: Selection, names: list[str]) -> dict:
    mine = [row for row in rows if row.suite == suite]
    here = [name for name in names if any(name in row.cells for row in mine)]
    return {"name": suite, "question": suites.QUESTIONS.get(suite, _OTHER_QUESTIONS.get(suite, "")), "names": here,
            "rows": [_row(row, chosen, here) for row in mine], "chart": _embedded(charts.bars(mine, names))}


_OTHER_QUESTIONS = {"programs": "Real programs with fixed input, their results checked: seconds, and the program's peak.",
                    "trace": "Recorded programs replayed: calls per second, and memory of the blocks alone."}


def _row(row: RowFigures, chosen: Selection, names: list[str]) -> dict:
    fastest = min(row.cells, key=lambda name: row.cells[name].seconds)
    leanest = min(row.cells, key=lambda name: row.cells[name].peak_kib)
    cells = []
    for name in names:
        if name not in row.cells:
            cells.append(None)
            continue
        cell, reports = row.cells[name], chosen.reports[row.row.name, name]
        is_program = row.suite == "programs"
        interval = _interval(reports, not is_program)
        cells.append({"value": interval.value, "text": _speed_text(interval, is_program),
                      "range": f"{_speed_text(interval, is_program, interval.low)} to "
                               f"{_speed_text(interval, is_program, interval.high)} in {cell.runs} runs",
                      "is_fastest": name == fastest, "is_leanest": name == leanest, "memory": cell.peak_kib / 1024,
                      "special": _special(cell.special)})
    return {"name": row.row.name, "cells": cells}


def _speed_text(interval: intervals.Interval, is_seconds: bool, value: float | None = None) -> str:
    value = interval.value if value is None else value
    if is_seconds:
        return f"{value:.3f} s"
    for unit, size in (("M", 1e6), ("k", 1e3), ("", 1)):
        if value >= size:
            scaled = value / size
            return f"{scaled:.{max(0, 2 - int(math.log10(scaled)))}f} {unit}/s"
    return f"{value:.3g} /s"


_SPECIAL_TEXTS = {
    "resident_bytes_per_thread": lambda value: f"{value / 1024:.1f} KiB a thread",
    "kept_kib": lambda value: f"{value / 1024:.1f} MiB kept",
    "idle_kib": lambda value: f"{value / 1024:.1f} MiB while idle",
    "median_seconds": lambda value: f"{value * 1e3:.3f} ms",
    "overhead": lambda value: f"{value:.2f} of what lives",
    "fragmentation": lambda value: f"{value:.2f} of what was requested",
}


def _special(special: dict[str, float]) -> str:
    return ", ".join(_SPECIAL_TEXTS[key](value) for key, value in special.items() if key in _SPECIAL_TEXTS)


def _latencies(rows: list[RowFigures], chosen: Selection, names: list[str]) -> list[dict]:
    found = []
    for row in rows:
        reports = {name: chosen.reports.get((row.row.name, name), []) for name in names}
        if row.suite != "latency":
            continue
        for function in ("malloc_cycles", "free_cycles"):
            found.append({"title": f"{function.partition('_')[0]}, {row.row.name}",
                          "chart": _embedded(charts.latency(row, reports, function, names))})
    return found


def _timelines(rows: list[RowFigures], chosen: Selection, names: list[str]) -> list[dict]:
    return [{"title": row.row.name, "chart": _embedded(charts.resident(
        {name: chosen.reports.get((row.row.name, name), []) for name in names}, names))}
        for row in rows if row.suite == "trace"]


def _not_first(rows: list[RowFigures]) -> list[dict]:
    """Rows on which a peer is faster, the worst first; `sure` where the interval of the ratio says so."""
    found = []
    for row in rows:
        best = row.best_peer()
        ratio = row.speed_over(best)
        if ratio is None or ratio >= SLOWER:
            continue
        interval = row.speed_interval(best)
        found.append({"row": row.row.name, "best": best, "ratio": ratio, "sure": interval is not None and interval.high < 1})
    return sorted(found, key=lambda one: one["ratio"])
