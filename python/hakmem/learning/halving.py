"""Successive halving: many settings are run once, the better half again, until few are left.

Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits" (ICML 2013). By each criterion for itself: what is
best in time is seldom best in memory. A run serves all criteria.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

LEFT = 3
Values = dict[str, float]  # of one run, by criterion; lower is better


def rungs_of(count: int, left: int = LEFT) -> list[int]:
    """How many are run in each rung by one criterion."""
    rungs = []
    while count > left:
        rungs.append(count)
        count = max(left, (count + 1) // 2)
    return rungs


def better_half(names: Sequence[str], scores: dict[str, float], left: int = LEFT) -> list[str]:
    """In their former order."""
    keep = max(left, (len(names) + 1) // 2)
    kept = set(sorted(names, key=lambda name: scores[name])[:keep])
    return [name for name in names if name in kept]


def screen(names: Sequence[str], criteria: Sequence[str], run: Callable[[list[str], int], dict[str, Values | None]],
           left: int = LEFT) -> dict[str, list[str]]:
    """Who is left by each criterion, the best first. `run` runs some of them in a rung; None: that run does not count, and
    who made it is out."""
    alive = {criterion: list(names) for criterion in criteria}
    seen: dict[tuple[str, str], list[float]] = defaultdict(list)

    def score(criterion: str) -> dict[str, float]:
        return {name: statistics.median(made) for name in names if (made := seen[criterion, name])}

    for rung in range(len(rungs_of(len(names), left))):
        due = [name for name in names if any(name in some and len(some) > left for some in alive.values())]
        made = run(due, rung)
        for criterion in criteria:
            for name in due:
                if made[name] is not None:
                    seen[criterion, name].append(made[name][criterion])
            alive[criterion] = [name for name in alive[criterion] if made.get(name, {}) is not None]
            if len(alive[criterion]) > left:
                alive[criterion] = better_half(alive[criterion], score(criterion), left)
    return {criterion: sorted(some, key=lambda name: score(criterion).get(name, 0)) for criterion, some in alive.items()}
