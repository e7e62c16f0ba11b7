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
