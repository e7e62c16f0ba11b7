"""What is asked of fixed settings where a program changes: one for all of its days, and what one could gain who switched.

A row is one day of the program, by a seed that was drawn, or a sequence of recorded programs. Rows take different times, so
that settings are compared by what is over the default's run of the same row and round.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hakmem import intervals
from hakmem.intervals import Interval
from hakmem.learning import judging
from hakmem.learning.judging import Rounds
from hakmem.learning.settings import DEFAULT


def _fastest(rows: Sequence[Rounds], names: Sequence[str]) -> str | None:
    """By the geometric mean over all runs: a program has to live through all of its days."""
    speeds = {name: [one for rounds in rows for one in judging.ratios(rounds, name, DEFAULT.name).speed.values()]
              for name in names}
    means = {name: statistics.geometric_mean(some) for name, some in speeds.items() if some}
    return max(means, key=lambda name: means[name], default=None)


def fastest_elsewhere(rows: Sequence[Rounds], names: Sequence[str]) -> list[list[str | None]]:
    """For each row and round the fixed setting that is fastest on the other half of the rows: every second one is judged
    against what the others have chosen, and the other way round. One row by itself: by halves of its rounds."""
    if len(rows) == 1:
        return [judging.fastest_by_round(rows[0], names)]
    best = [_fastest(rows[1 - part::2], names) for part in (0, 1)]
    return [[best[place % 2]] * judging.count_of(rounds) for place, rounds in enumerate(rows)]


@dataclass(frozen=True)
class Switching:
    """The bound by hindsight per phase: the speed of somebody who has at each phase the fixed setting that was fastest there
    in the other rounds, and switches at no cost: about the most that can be gained by switching between these settings."""

    over_default: Interval
    over_fastest: Interval  # fixed setting
    mean_over_default: float  # geometric, over the rows' medians
    mean_over_fastest: float
    pairs: int
    rows: int


def by_kind(rows: Sequence[Rounds], subject: str) -> dict[str, Interval]:
    """Of each kind of phase, with however many threads: the default's seconds over the subject's."""
    ratios = defaultdict(lambda: [[] for _ in rows])
    for row, rounds in enumerate(rows):
        for ours, its in zip(rounds.get(subject, []), rounds.get(DEFAULT.name, []), strict=False):
            if ours is not None and its is not None:
                both = zip(ours.get("phase_seconds", []), its.get("phase_seconds", []), strict=False)
                for kind, (mine, others) in zip(ours.get("phase_kinds", []), both, strict=False):
                    ratios[kind.partition("/")[0]][row].append(others / mine)
    return {kind: intervals.median_of_groups(some) for kind, some in sorted(ratios.items())}


def _phases_of(rounds: Rounds, name: str | None, number: int) -> list[float] | None:
    report = judging.report_of(rounds, name, number)
    return report.get("phase_seconds") if report is not None else None


def _seconds_by_hindsight(rounds: Rounds, names: Sequence[str], number: int) -> float | None:
    """Of one round; None where there is nothing to choose by, or what was chosen has no run in this round."""
    others = [other for other in range(judging.count_of(rounds)) if other != number]
    mine = {name: made for name in names if (made := _phases_of(rounds, name, number)) is not None}
    seen = {name: some for name in mine if (some := [made for other in others if (made := _phases_of(rounds, name, other))])}
    if not seen:
        return None
    total = 0.0
    for phase in range(len(next(iter(mine.values())))):
        best = min(seen, key=lambda name: statistics.median(made[phase] for made in seen[name]))
        total += mine[best][phase]
    return total


def _gains(rounds: Rounds, names: Sequence[str], reference: Callable[[int], str | None]) -> list[float]:
    """The reference's seconds over those by hindsight, of each round that has both."""
    gains = []
    for number in range(judging.count_of(rounds)):
        its, ours = _phases_of(rounds, reference(number), number), _seconds_by_hindsight(rounds, names, number)
        if its is not None and ours:
            gains.append(sum(its) / ours)
    return gains


def switching(rows: Sequence[Rounds], names: Sequence[str]) -> Switching | None:
    """None where no program tells what its phases took, or by one round alone."""
    best = fastest_elsewhere(rows, names) if rows else []
    over_default = [_gains(rounds, names, lambda _: DEFAULT.name) for rounds in rows]
    over_fastest = [_gains(rounds, names, mine.__getitem__) for rounds, mine in zip(rows, best, strict=True)]
    if not any(over_default) or not any(over_fastest):
        return None

    def mean(gains: list[list[float]]) -> float:
        return statistics.geometric_mean(statistics.median(some) for some in gains if some)
    return Switching(intervals.median_of_groups(over_default), intervals.median_of_groups(over_fastest), mean(over_default), mean(over_fastest),
                     sum(map(len, over_default)), sum(map(bool, over_default)))
