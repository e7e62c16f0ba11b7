"""What is to be reached, and whether it was, as far as the machine's noise lets one tell."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hakmem import intervals, programs
from hakmem.figures import HAKMEM, Cell, RowFigures, best_peer_overall, geometric_mean
from hakmem.suites import ROWS, Row

REACHED, MISSED, UNTOLD, NOT_MEASURED = "reached", "missed", "too noisy to tell", "not measured"


@dataclass(frozen=True)
class Verdict:
    """One figure to be reached, on the rows that were measured with hakmem and a peer."""

    what: str
    goal: float
    at_most: bool  # else at least
    measured: float | None
    rows_measured: int
    rows_wanted: int
    low: float | None = None  # of the figure's interval over the rounds; None: too few rounds
    high: float | None = None

    @property
    def is_complete(self) -> bool:
        return self.rows_measured == self.rows_wanted

    def _is_good(self, value: float) -> bool:
        return value <= self.goal if self.at_most else value >= self.goal

    @property
    def is_reached(self) -> bool:
        return self.judgement == REACHED

    @property
    def judgement(self) -> str:
        """The verdict stands where both ends of the interval say the same."""
        if self.measured is None:
            return NOT_MEASURED
        if self.low is not None and self.high is not None and self._is_good(self.low) != self._is_good(self.high):
            return UNTOLD
        return REACHED if self._is_good(self.measured) else MISSED


def verdicts(rows: list[RowFigures]) -> list[Verdict]:
    bars = rows[0].bars if rows else []
    best = best_peer_overall([row for row in rows if row.row.is_core], bars)

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
        _ratio("real programs: lowest speed over the row's best peer", rows, lambda row: row.suite == programs.SUITE,
               over_best, 0.95, min),
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


def _wanted_rows() -> list[Row]:
    return [*ROWS, *(program.as_row() for program in programs.PROGRAMS)]


def _interval_of(chosen: list[RowFigures], figure: Callable[[Iterable[RowFigures]], float | None]
                 ) -> tuple[float | None, float | None]:
    """The figure of each round, and the interval of their median."""
    rounds = min((row.rounds() for row in chosen), default=0)
    values = [figure([row.round(number) for row in chosen]) for number in range(rounds)]
    if rounds < intervals.LEAST_VALUES or any(value is None for value in values):
        return None, None
    made = intervals.median(values)
    return made.low, made.high


def _ratio(what: str, rows: list[RowFigures], wanted: Callable[[Row], bool],
           ratio_of: Callable[[RowFigures], float | None], goal: float,
           summary: Callable[[list[float]], float], at_most: bool = False) -> Verdict:
    chosen = [row for row in rows if wanted(row.row) and ratio_of(row) is not None]

    def figure(of: Iterable[RowFigures]) -> float | None:
        ratios = [ratio for row in of if (ratio := ratio_of(row)) is not None]
        return summary(ratios) if ratios else None

    measured = figure(chosen)
    if summary in (min, max) and measured is not None:  # of the one row that it is about: all would give noise's worst
        row = next(row for row in chosen if ratio_of(row) == measured)
        low, high = _interval_of([row], figure)
    else:
        low, high = _interval_of(chosen, figure)
    return Verdict(what, goal, at_most, measured, len(chosen), sum(wanted(row) for row in _wanted_rows()), low, high)


def _amount(what: str, rows: list[RowFigures], row_name: str, amount_of: Callable[[dict[str, Cell]], float],
            goal: float) -> Verdict:
    needed = {HAKMEM, "empty", "glibc"} if row_name.startswith("startup") else {HAKMEM}
    chosen = [row for row in rows if row.row.name == row_name and needed <= row.cells.keys()][:1]
    low, high = _interval_of(chosen, lambda of: amount_of(next(iter(of)).cells)) if chosen else (None, None)
    return Verdict(what, goal, True, amount_of(chosen[0].cells) if chosen else None, len(chosen), 1, low, high)
