"""Verdicts about pairs of runs: met, not excluded, missed, or not decided by what was measured."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hakmem import intervals
from hakmem.intervals import Interval

MET, NOT_EXCLUDED, MISSED, UNDECIDED = "met", "not excluded", "missed", "not decided"
_BEST_FIRST = (MET, NOT_EXCLUDED, UNDECIDED, MISSED)

Report = dict[str, Any]  # seconds, peak_kib, mean_kib of one run, phase_seconds where it has phases
Rounds = dict[str, list[Report | None]]  # by setting; None where a run does not count

LEAST_MEMORY_KIB = 1.0


def at_least(interval: Interval | None, goal: float) -> str:
    """Met where the whole interval is at the goal or above, or holds the goal and its median is; not excluded where only the
    interval holds it; missed where all of it is below. What was not measured decides nothing."""
    if interval is None:
        return UNDECIDED
    if interval.high < goal:
        return MISSED
    return MET if interval.value >= goal else NOT_EXCLUDED


def at_most(interval: Interval | None, goal: float) -> str:
    if interval is None:
        return UNDECIDED
    if interval.low > goal:
        return MISSED
    return MET if interval.value <= goal else NOT_EXCLUDED


def all_of(verdicts: Iterable[str]) -> str:
    """The worst; of nothing: not decided, since nothing was shown."""
    return max(verdicts, key=_BEST_FIRST.index, default=UNDECIDED)


def any_of(verdicts: Iterable[str]) -> str:
    """The best. What was not decided might have been met, so it is better than missed."""
    return min(verdicts, key=_BEST_FIRST.index, default=UNDECIDED)


@dataclass(frozen=True)
class Ratios:
    """By the number of each round that both have done. Speed: above 1 the subject is faster; memory: below 1 it is leaner."""

    speed: dict[int, float]
    peak: dict[int, float]
    mean: dict[int, float]  # may have fewer, or none: short runs have none

    def compared(self) -> "Compared":
        return Compared(*(intervals.median(list(some.values())) if some else None
                          for some in (self.speed, self.peak, self.mean)), pairs=len(self.speed))


@dataclass(frozen=True)
class Compared:
    """A subject against a reference."""

    speed: Interval | None
    peak: Interval | None
    mean: Interval | None
    pairs: int


def _ratios(pairs: Iterable[tuple[Report | None, Report | None]]) -> Ratios:
    """Of (subject, reference), a pair of each round."""
    done = {number: (ours, its) for number, (ours, its) in enumerate(pairs) if ours is not None and its is not None}

    def memory(key: str) -> dict[int, float]:
        both = {number: (ours.get(key), its.get(key)) for number, (ours, its) in done.items()}
        return {number: mine / max(its, LEAST_MEMORY_KIB) for number, (mine, its) in both.items()
                if mine is not None and its is not None}
    return Ratios({number: its["seconds"] / ours["seconds"] for number, (ours, its) in done.items()}, memory("peak_kib"),
                  memory("mean_kib"))


def ratios(rounds: Rounds, subject: str, reference: str) -> Ratios:
    return _ratios(zip(rounds.get(subject, []), rounds.get(reference, []), strict=False))


def count_of(rounds: Rounds) -> int:
    return max(map(len, rounds.values()), default=0)


def report_of(rounds: Rounds, name: str | None, number: int) -> Report | None:
    made = rounds.get(name or "", [])
    return made[number] if number < len(made) else None


def fastest(rounds: Rounds, names: Sequence[str], which: Iterable[int]) -> str | None:
    """The name with the lowest median of seconds over some rounds."""
    chosen = list(which)
    medians = {}
    for name in names:
        seconds = [rounds[name][number]["seconds"] for number in chosen
                   if number < len(rounds.get(name, [])) and rounds[name][number] is not None]
        if seconds:
            medians[name] = statistics.median(seconds)
    return min(medians, key=lambda name: medians[name], default=None)


def fastest_by_round(rounds: Rounds, names: Sequence[str]) -> list[str | None]:
    """For each round the fastest of many settings. Chosen and judged by the same runs, the luckiest would pass for the
    best; so for even rounds it is the fastest of the odd ones, and the other way round."""
    count = count_of(rounds)
    best = [fastest(rounds, names, range(1 - part, count, 2)) for part in (0, 1)]
    return [best[number % 2] for number in range(count)]


def ratios_to_fastest(rounds: Rounds, subject: str, best: Sequence[str | None]) -> tuple[Ratios, list[str]]:
    """Against the setting that is named for each round, and which those are. Where even and odd rounds have different ones,
    whose memory may differ by much, memory is of an even round and the next one together, else it would be of neither."""
    pairs = [(report_of(rounds, subject, number), report_of(rounds, name, number)) for number, name in enumerate(best)]
    made, names = _ratios(pairs), [name for name in dict.fromkeys(best) if name is not None]
    return made if len(names) < 2 else replace(made, peak=_by_two(made.peak), mean=_by_two(made.mean)), names


def _by_two(memory: dict[int, float]) -> dict[int, float]:
    """Geometric means of even rounds and the next ones."""
    return {number: math.sqrt(ratio * memory[number + 1]) for number, ratio in memory.items()
            if number % 2 == 0 and number + 1 in memory}


def pooled(some: Sequence[Ratios]) -> Ratios:
    """Geometric means over rows, round by round; of the rounds that all rows have."""
    def over(key: str) -> dict[int, float]:
        filled = [by_round for one in some if (by_round := getattr(one, key))]
        numbers = sorted(set.intersection(*map(set, filled))) if filled else []
        return {number: statistics.geometric_mean(one[number] for one in filled) for number in numbers}
    return Ratios(over("speed"), over("peak"), over("mean"))


def joined(some: Sequence[Ratios]) -> Compared:
    """All pairs of all rows. Those of one row are alike, so that intervals are of rows."""
    def over(key: str) -> Interval | None:
        by_row = [list(values.values()) for one in some if (values := getattr(one, key))]
        return intervals.median_of_groups(by_row) if by_row else None
    return Compared(over("speed"), over("peak"), over("mean"), pairs=sum(len(one.speed) for one in some))
