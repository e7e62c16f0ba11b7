"""A against B: interleaved pairs until the answer is known, and the verdict.

What is compared are two settings of one library, or two libraries, on one row. Each pair is one run of each, next to
each other, in turns A B and B A; the logarithm of their ratio is one value. After at least PAIRS_LEAST pairs the interval
of its mean, true at every look at once, is held against the threshold.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hakmem.intervals import CONFIDENCE, Interval, always_valid_mean

PAIRS_LEAST, PAIRS_MOST = 10, 60
THRESHOLD = 0.01

GO, NEUTRAL, NO_GO, UNDECIDED = "GO", "NEUTRAL", "NO-GO", "UNDECIDED"


@dataclass
class Pairs:
    """Ratios of A's time to B's, pair by pair: above 1 where B is the faster."""

    threshold: float = THRESHOLD
    least: int = PAIRS_LEAST
    most: int = PAIRS_MOST
    logs: list[float] = field(default_factory=list)

    def add(self, seconds_a: float, seconds_b: float) -> None:
        self.logs.append(math.log(seconds_a / seconds_b))

    def interval(self) -> Interval:
        """Of B's speed over A's, as a ratio."""
        logs = always_valid_mean(self.logs, 1 - CONFIDENCE, self.least)
        return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))

    def verdict(self) -> str | None:
        """None: more pairs are needed."""
        if len(self.logs) < self.least:
            return None
        interval = self.interval()
        if interval.low >= 1 + self.threshold:
            return GO
        if interval.high <= 1 - self.threshold:
            return NO_GO
        if interval.low > 1 - self.threshold and interval.high < 1 + self.threshold:
            return NEUTRAL
        return UNDECIDED if len(self.logs) >= self.most else None


def pairs_until_known(run_a: Callable[[], float], run_b: Callable[[], float], pairs: Pairs) -> Iterator[Pairs]:
    """Makes pair after pair, and yields after each. The first pair warms up and is not counted."""
    run_a()
    run_b()
    while pairs.verdict() is None:
        if len(pairs.logs) % 2 == 0:
            seconds_a = run_a()
            seconds_b = run_b()
        else:
            seconds_b = run_b()
            seconds_a = run_a()
        pairs.add(seconds_a, seconds_b)
        yield pairs
