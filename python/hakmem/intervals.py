"""Intervals for what was measured: bootstrap intervals of medians and of paired ratios, and intervals that stay true
however often one looks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from scipy import stats

CONFIDENCE = 0.95
RESAMPLES = 4000
SEED = 20  # so that the same records always give the same interval
LEAST_VALUES = 3  # below that an interval says nothing


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Over the value."""
        return (self.high - self.low) / 2 / self.value if self.value else math.inf

    def overlaps(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high

    def as_json(self) -> list[float]:
        return [self.value, self.low, self.high]


def median(values: Sequence[float]) -> Interval:
    """The median with its bootstrap interval (percentile; Efron 1979)."""
    middle = float(numpy.median(values))
    if len(values) < LEAST_VALUES:
        return Interval(middle, min(values), max(values))
    if min(values) == max(values):
        return Interval(middle, middle, middle)
    made = stats.bootstrap((numpy.asarray(values),), numpy.median, confidence_level=CONFIDENCE, method="percentile",
                           n_resamples=RESAMPLES, rng=numpy.random.default_rng(SEED), vectorized=True)
    return Interval(middle, float(made.confidence_interval.low), float(made.confidence_interval.high))


def median_of_groups(groups: Sequence[Sequence[float]]) -> Interval:
    """The median of all values, with an interval for values that are alike within a group, such as runs of one seed: whole
    groups are drawn anew (cluster bootstrap; Davison and Hinkley 1997, 3.8)."""
    filled = [numpy.asarray(one, dtype=float) for one in groups if len(one)]
    every = numpy.concatenate(filled)
    if len(filled) == 1:
        return median(every)
    middle = float(numpy.median(every))
    if len(filled) < LEAST_VALUES:
        return Interval(middle, float(min(every)), float(max(every)))
    table = numpy.full((len(filled), max(map(len, filled))), numpy.nan)
    for place, one in enumerate(filled):
        table[place, :len(one)] = one
    drawn = numpy.random.default_rng(SEED).integers(len(filled), size=(RESAMPLES, len(filled)))
    medians = numpy.nanmedian(table[drawn].reshape(RESAMPLES, -1), axis=1)
    low, high = numpy.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(middle, float(low), float(high))


def paired_ratio(upper: Sequence[float], lower: Sequence[float]) -> Interval:
    """The median of the ratios of runs that were made in the same round: what the machine did to both cancels out."""
    count = min(len(upper), len(lower))
    return median([upper[i] / lower[i] for i in range(count)])


def always_valid_mean(values: Sequence[float], alpha: float, planned: int) -> Interval:
    """The mean with an interval that holds at every look at once, so that one may go on until it tells enough.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit
    theory and asymptotic confidence sequences" (Annals of Statistics 52, 2024), theorem 2.2; narrowest near `planned`
    values. The standard deviation is estimated, so Student's quantile takes the normal one's place for few values.
    """
    count = len(values)
    mean = float(numpy.mean(values))
    if count < LEAST_VALUES:
        return Interval(mean, -math.inf, math.inf)
    deviation = float(numpy.std(values, ddof=1))
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / planned  # ibid., appendix B.2
    normal = math.sqrt(2 * (count * rho2 + 1) / (count * rho2) * math.log(math.sqrt(count * rho2 + 1) / alpha))
    # The same tail under Student's distribution.
    factor = float(stats.t.isf(stats.norm.sf(normal), count - 1))
    half = deviation / math.sqrt(count) * factor
    return Interval(mean, mean - half, mean + half)
