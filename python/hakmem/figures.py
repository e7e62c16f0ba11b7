"""From runs to figures: medians and spread per row, ratios, geometric means."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hakmem import intervals
from hakmem.comparison import Results
from hakmem.suites import Row

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
    mean_kib: float | None  # None: the runs are too short to tell
    runs: int
    special: dict[str, float]  # medians of what only this workload reports


SPECIAL = ("resident_bytes_per_thread", "kept_kib", "before_kib", "burst_kib", "after_kib", "median_seconds", "waits",
           "idle_kib", "requested_kib", "overhead", "fragmentation", "minor_faults_timed", "voluntary_switches",
           "involuntary_switches")


def cell(reports: list[dict]) -> Cell:
    seconds = [report["seconds"] for report in reports]
    special = {name: statistics.median(report[name] for report in reports) for name in SPECIAL if name in reports[0]}
    means = [report["mean_kib"] for report in reports if report.get("mean_kib") is not None]
    return Cell(statistics.median(seconds), spread(seconds), reports[0]["operations"],
                statistics.median(report["peak_kib"] for report in reports),
                statistics.median(report.get("final_kib", 0) for report in reports),
                statistics.median(means) if means else None, len(reports), special)


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
    reports: dict[str, list[dict]] = field(default_factory=dict)  # of the counted runs, in their order
    whole: "RowFigures | None" = None  # where this is a single round: the row that says which peer is the best

    @property
    def suite(self) -> str:
        return self.row.suite

    def rounds(self) -> int:
        """Rounds that all allocators have done."""
        return min((len(made) for made in self.reports.values()), default=0)

    def round(self, number: int) -> "RowFigures":
        """The figures of one round alone: what the machine did then to one, it did to all."""
        reports = {name: [made[number]] for name, made in self.reports.items()}
        return replace(self, cells={name: cell(made) for name, made in reports.items()}, reports=reports, whole=self)

    def _peers(self) -> list[str]:
        return [name for name in self.bars if name in self.cells]

    def best_peer(self) -> str | None:
        if self.whole is not None:
            return self.whole.best_peer()
        return min(self._peers(), key=lambda name: self.cells[name].seconds, default=None)

    def leanest_peer(self) -> str | None:
        """Lowest peak among the peers that are not much slower than the fastest of them."""
        if self.whole is not None:
            return self.whole.leanest_peer()
        if not self._peers():
            return None
        best = min(self.cells[name].seconds for name in self._peers())
        fast = [name for name in self._peers() if best / self.cells[name].seconds >= LEAN_MUST_REACH]
        return min(fast, key=lambda name: self.cells[name].peak_kib, default=None)

    def _paired(self, peer: str) -> tuple[list[float], list[float]]:
        """Seconds of the peer and of hakmem in the rounds that both have done."""
        pairs = zip(self.reports[peer], self.reports[HAKMEM], strict=False)  # one may have been thrown out earlier
        upper, lower = zip(*((its["seconds"], ours["seconds"]) for its, ours in pairs), strict=True)
        return list(upper), list(lower)

    def speed_over(self, peer: str | None) -> float | None:
        """How many times as fast hakmem is as the peer: the median over the rounds."""
        if peer is None or not {HAKMEM, peer} <= self.reports.keys():
            return None
        upper, lower = self._paired(peer)
        return statistics.median(its / ours for its, ours in zip(upper, lower, strict=True))

    def speed_interval(self, peer: str | None) -> intervals.Interval | None:
        """The same with its interval; None where the rounds are too few for one."""
        if self.speed_over(peer) is None:
            return None
        upper, lower = self._paired(peer)
        return intervals.paired_ratio(upper, lower) if len(upper) >= intervals.LEAST_VALUES else None

    def memory_over(self, peer: str | None) -> float | None:
        """hakmem's peak over the peer's."""
        if peer is None or HAKMEM not in self.cells or peer not in self.cells:
            return None
        return self.cells[HAKMEM].peak_kib / self.cells[peer].peak_kib


def rows_of(rows: list[Row], results: Results, names: list[str], bars: list[str]) -> list[RowFigures]:
    found = []
    for row in rows:
        reports = {name: made for name in names if (made := results.reports.get((row.name, name)))}
        found.append(RowFigures(row, {name: cell(made) for name, made in reports.items()}, bars, reports))
    return found


def mean_speed_over(rows: list[RowFigures], peer: str) -> float | None:
    return geometric_mean(ratio for row in rows if (ratio := row.speed_over(peer)) is not None)


def best_peer_overall(rows: list[RowFigures], bars: list[str]) -> str | None:
    """The peer with the best geometric mean over the rows that every measured peer has done."""
    measured = [name for name in bars if any(name in row.cells for row in rows)]
    common = [row for row in rows if all(name in row.cells for name in measured)]
    if not measured or not common:
        return None
    return min(measured, key=lambda name: geometric_mean(row.cells[name].seconds for row in common) or math.inf)
