"""From runs to figures: medians and spread per row, ratios, geometric means, and the verdict on what is to be reached."""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hakmem.comparison import Results
from hakmem.suites import ROWS, Row

HAKMEM = "hakmem"
LEAN_MUST_REACH = 0.7  # of the best peer's speed, to count as the leanest peer


@dataclass(frozen=True)
class Cell:
    """One allocator on one row. Lower is better for all of them."""

    seconds: float  # median
    spread: float  # half the distance of the quartiles, over the median
    operations: int  # 1 for a program
    peak_kib: float
    final_kib: float
    runs: int
    special: dict[str, float]  # medians of what only this workload reports


SPECIAL = ("resident_bytes_per_thread", "kept_kib", "before_kib", "burst_kib", "after_kib", "median_seconds", "waits",
           "idle_kib", "requested_kib", "overhead", "fragmentation", "minor_faults_timed")


def cell(reports: list[dict]) -> Cell:
    seconds = [report["seconds"] for report in reports]
    special = {name: statistics.median(report[name] for report in reports) for name in SPECIAL if name in reports[0]}
    return Cell(statistics.median(seconds), spread(seconds), reports[0]["operations"],
                statistics.median(report["peak_kib"] for report in reports),
                statistics.median(report.get("final_kib", 0) for report in reports), len(reports), special)


def spread(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2 / statistics.median(values)


def geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else None


@dataclass(frozen=True)
class RowFigures:
    row: Row
    cells: dict[str, Cell]  # by allocator name
    bars: list[str]  # peers that count

    @property
    def suite(self) -> str:
        return self.row.suite

    def _peers(self) -> list[str]:
        return [name for name in self.bars if name in self.cells]

    def best_peer(self) -> str | None:
        return min(self._peers(), key=lambda name: self.cells[name].seconds, default=None)

    def leanest_peer(self) -> str | None:
        """Lowest peak among the peers that are not much slower than the fastest of them."""
        if not self._peers():
            return None
        best = min(self.cells[name].seconds for name in self._peers())
        fast = [name for name in self._peers() if best / self.cells[name].seconds >= LEAN_MUST_REACH]
        return min(fast, key=lambda name: self.cells[name].peak_kib, default=None)

    def speed_over(self, peer: str | None, of: str = HAKMEM) -> float | None:
        """How many times as fast `of` is as the peer."""
        if peer is None or of not in self.cells or peer not in self.cells:
            return None
        return self.cells[peer].seconds / self.cells[of].seconds

    def memory_over(self, peer: str | None) -> float | None:
        """hakmem's peak over the peer's."""
        if peer is None or HAKMEM not in self.cells or peer not in self.cells:
            return None
        return self.cells[HAKMEM].peak_kib / self.cells[peer].peak_kib


def rows_of(rows: list[Row], results: Results, names: list[str], bars: list[str]) -> list[RowFigures]:
    return [RowFigures(row, {name: cell(results.reports[row.name, name]) for name in names
                             if results.reports.get((row.name, name))}, bars) for row in rows]


def mean_speed_over(rows: list[RowFigures], peer: str) -> float | None:
    return geometric_mean(ratio for row in rows if (ratio := row.speed_over(peer)) is not None)


def best_peer_overall(rows: list[RowFigures], bars: list[str]) -> str | None:
    """The peer with the best geometric mean over the rows that every measured peer has done."""
    measured = [name for name in bars if any(name in row.cells for row in rows)]
    common = [row for row in rows if all(name in row.cells for name in measured)]
    if not measured or not common:
        return None
    return min(measured, key=lambda name: geometric_mean(row.cells[name].seconds for row in common) or math.inf)


@dataclass(frozen=True)
class Verdict:
    """One figure to be reached, on the rows that were measured with hakmem and a peer."""

    what: str
    goal: float
    at_most: bool  # else at least
    measured: float | None
    rows_measured: int
    rows_wanted: int

    @property
    def is_complete(self) -> bool:
        return self.rows_measured == self.rows_wanted

    @property
    def is_reached(self) -> bool:
        if self.measured is None:
            return False
        return self.measured <= self.goal if self.at_most else self.measured >= self.goal


def verdicts(rows: list[RowFigures]) -> list[Verdict]:
    bars = rows[0].bars if rows else []
    core = [row for row in rows if row.row.is_core]
    best = best_peer_overall(core, bars)

    def over_best(row):
        return row.speed_over(row.best_peer())

    def over_leanest(row):
        return row.memory_over(row.leanest_peer())

    def is_core(row):
        return row.is_core

    return [
        _ratio("geometric mean of speed over mimalloc3", rows, is_core, lambda row: row.speed_over("mimalloc3"), 1.6,
               geometric_mean),
        _ratio(f"geometric mean of speed over the best peer, {best or 'none'}", rows, is_core,
               lambda row: row.speed_over(best), 1.2, geometric_mean),
        _ratio("lowest speed over the row's best peer", rows, is_core, over_best, 0.95, min),
        _ratio("geometric mean of peak memory over the row's leanest peer", rows, is_core, over_leanest, 1.0,
               geometric_mean, at_most=True),
        _ratio("highest peak memory over the row's leanest peer", rows, is_core, over_leanest, 1.15, max,
               at_most=True),
        _ratio("bulk: lowest speed over the row's best peer", rows, lambda row: row.suite == "bulk", over_best, 0.95,
               min),
        _ratio("64 and 256 threads: lowest speed over the row's best peer", rows,
               lambda row: row.suite == "threads", over_best, 0.95, min),
        _amount("1000 idle threads that used 10 classes: KiB each", rows, "idle/16-1024/1000t",
                lambda cells: cells[HAKMEM].special["resident_bytes_per_thread"] / 1024, 64),
        _amount("1 GiB of mixed blocks freed: MiB kept at once", rows, "give-back/16-262144/1GiB/4t",
                lambda cells: cells[HAKMEM].special["kept_kib"] / 1024, 128),
        _amount("/bin/true: ms more than with an empty library", rows, "startup/true", _startup_ms, 0.3),
        _amount("/bin/true: MB of peak memory more than with glibc", rows, "startup/true",
                lambda cells: (cells[HAKMEM].peak_kib - cells["glibc"].peak_kib) * 1024 / 1e6, 1.0),
    ]


def _startup_ms(cells: dict[str, Cell]) -> float:
    return 1e3 * (cells[HAKMEM].special["median_seconds"] - cells["empty"].special["median_seconds"])


def _ratio(what: str, rows: list[RowFigures], wanted: Callable[[Row], bool],
           ratio_of: Callable[[RowFigures], float | None], goal: float,
           summary: Callable[[list[float]], float], at_most: bool = False) -> Verdict:
    ratios = [ratio for row in rows if wanted(row.row) and (ratio := ratio_of(row)) is not None]
    return Verdict(what, goal, at_most, summary(ratios) if ratios else None, len(ratios),
                   sum(wanted(row) for row in ROWS))


def _amount(what: str, rows: list[RowFigures], row_name: str, amount_of: Callable[[dict[str, Cell]], float],
            goal: float) -> Verdict:
    needed = {HAKMEM, "empty", "glibc"} if row_name.startswith("startup") else {HAKMEM}
    amounts = [amount_of(row.cells) for row in rows if row.row.name == row_name and needed <= row.cells.keys()]
    return Verdict(what, goal, True, amounts[0] if amounts else None, len(amounts), 1)
