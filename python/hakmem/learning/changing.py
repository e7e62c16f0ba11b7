"""What is asked of fixed settings where a program changes: one for all of its days.

A row is one day of the program, by a seed that was drawn, or a sequence of recorded programs. Rows take different times, so
that settings are compared by what is over the default's run of the same row and round.
"""

import statistics
from collections.abc import Sequence

from hakmem.learning import judging
from hakmem.learning.judging import Rounds
from hakmem.learning.settings import DEFAULT


def _fastest(rows: Sequence[Rounds], names: Sequence[str]) -> str | None:
    """By the geometric mean over all runs: a program has to live through all of its days."""
    speeds = {name: judging.joined(judging.ratios(rounds, name, DEFAULT.name) for rounds in rows).speed for name in names}
    means = {name: statistics.geometric_mean(some) for name, some in speeds.items() if some}
    return max(means, key=lambda name: means[name], default=None)


def fastest_elsewhere(rows: Sequence[Rounds], names: Sequence[str]) -> list[list[str | None]]:
    """For each row and round the fixed setting that is fastest on the other half of the rows: every second one is judged
    against what the others have chosen, and the other way round. One row by itself: by halves of its rounds."""
    if len(rows) == 1:
        return [judging.fastest_by_round(rows[0], names)]
    best = [_fastest(rows[1 - part::2], names) for part in (0, 1)]
    return [[best[place % 2]] * judging.count_of(rounds) for place, rounds in enumerate(rows)]
