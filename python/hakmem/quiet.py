"""Is the machine quiet enough to tell differences? Asked before anything is measured."""

import os
import statistics
import time
from dataclasses import dataclass

LOOPS, LOOP_STEPS = 25, 120_000
RESTLESS = 0.05  # spread of a fixed piece of work above which small differences can't be told
BUSY = 0.5  # load per processor


@dataclass(frozen=True)
class Quiet:
    spread: float  # half the distance of the quartiles of a fixed piece of work, over its median
    load: float  # per processor, before
    stolen: float  # part of the processors' time that the host gave to others meanwhile

    @property
    def complaint(self) -> str | None:
        """One line, or None where all is well."""
        if self.load > BUSY:
            return f"the machine is busy with something else (load {self.load:.1f} a processor)"
        if self.stolen > RESTLESS:
            return f"the host took {100 * self.stolen:.0f} % of the processors' time"
        if self.spread > RESTLESS:
            return f"the same piece of work takes {100 * self.spread:.0f} % more or less from one time to the next"
        return None

    def as_json(self) -> dict:
        return {"spread": self.spread, "load": self.load, "stolen": self.stolen}


def _processor_times() -> list[int]:
    with open("/proc/stat") as file:
        return [int(word) for word in file.readline().split()[1:9]]


def _work() -> float:
    begun = time.perf_counter()
    value = 1
    for step in range(LOOP_STEPS):
        value = (value * 1103515245 + step) & 0xFFFFFFFF
    return time.perf_counter() - begun


def look() -> Quiet:
    """Half a second of work that should always take the same time."""
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    before = _processor_times()
    times = [_work() for _ in range(LOOPS)]
    passed = [now - then for now, then in zip(_processor_times(), before, strict=True)]
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return Quiet((high - low) / 2 / middle, load, passed[7] / max(sum(passed), 1))
