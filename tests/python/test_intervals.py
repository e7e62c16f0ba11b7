"""Intervals hold as often as they say, and verdicts are as rarely false."""

import random

import pytest
from hakmem import ab, intervals


def test_median_lies_in_its_interval_and_one_value_is_its_own():
    made = intervals.median([5.0, 1.0, 3.0, 2.0, 4.0])
    assert made.value == 3 and 1 <= made.low <= 3 <= made.high <= 5
    assert intervals.median([7.0, 7.0, 7.0]) == intervals.Interval(7, 7, 7)


def test_the_same_values_give_the_same_interval():
    values = [random.Random(1).random() for _ in range(20)]
    assert intervals.median(values) == intervals.median(values)


def test_paired_ratio_takes_the_machine_out():
    """Both got slower together; the ratio did not move."""
    machine = [1.0, 1.3, 0.9, 2.0, 1.1, 1.0, 1.6]
    made = intervals.paired_ratio([2 * one for one in machine], machine)
    assert made.value == made.low == made.high == 2


def run_pairs(effect, deviation, seed, heavy=False):
    """An A/B of made-up runs: B is faster by `effect`; noise of A and B as on a machine."""
    source = random.Random(seed)

    def noise():
        jump = source.random() < 0.05 and heavy
        return max(0.2, source.gauss(1, deviation)) * (1.2 if jump else 1)

    pairs = ab.Pairs()
    for _ in ab.pairs_until_known(lambda: noise(), lambda: noise() / (1 + effect), pairs):
        pass
    return pairs


@pytest.mark.parametrize("deviation, heavy", [(0.005, False), (0.02, False), (0.1, False), (0.01, True)])
def test_the_same_against_itself_is_hardly_ever_a_difference(deviation, heavy):
    """At 95 % five of a hundred may be false; the interval, looked at again and again, holds."""
    false = sum(run_pairs(0.0, deviation, seed, heavy).verdict() in (ab.GO, ab.NO_GO) for seed in range(200))
    assert false <= 10


def test_interval_holds_at_every_look():
    """How often the truth ever left the interval, in up to 60 looks."""
    left = 0
    for seed in range(300):
        source = random.Random(seed)
        pairs = ab.Pairs()
        for _ in range(60):
            pairs.add(source.gauss(1, 0.02), source.gauss(1, 0.02))
            if len(pairs.logs) >= ab.PAIRS_LEAST and not pairs.interval().low <= 1 <= pairs.interval().high:
                left += 1
                break
    assert left <= 15 + 9  # 5 % of 300, and what chance adds


@pytest.mark.parametrize("effect, verdict", [(0.02, ab.GO), (-0.02, ab.NO_GO), (0.1, ab.GO), (0.0, ab.NEUTRAL)])
def test_a_difference_of_two_percent_is_found(effect, verdict):
    found = [run_pairs(effect, 0.008, seed).verdict() for seed in range(40)]
    assert found.count(verdict) >= 36, found


def test_noise_gives_no_verdict_but_says_so():
    assert {run_pairs(0.0, 0.3, seed).verdict() for seed in range(10)} == {ab.UNDECIDED}


def test_no_verdict_before_ten_pairs():
    pairs = run_pairs(0.5, 0.001, 1)
    assert pairs.verdict() == ab.GO and len(pairs.logs) == ab.PAIRS_LEAST


def test_an_interval_of_values_that_are_alike_within_groups_holds_the_median_as_often_as_it_says():
    """Twenty seeds, two runs each that differ little: the interval of forty values by themselves is too narrow."""
    source, by_groups, by_values = random.Random(4), 0, 0
    for _ in range(150):
        seeds = [source.gauss(1, 0.1) for _ in range(20)]
        groups = [[source.gauss(seed, 0.02) for _ in range(2)] for seed in seeds]
        made, naive = intervals.median_of_groups(groups), intervals.median([one for some in groups for one in some])
        assert made.value == naive.value
        by_groups += made.low <= 1 <= made.high
        by_values += naive.low <= 1 <= naive.high
    assert by_groups > 0.9 * 150 > by_values


def test_groups_may_differ_in_size_and_one_is_as_values_by_themselves():
    assert intervals.median_of_groups([[1.0, 2.0, 4.0, 3.0], []]) == intervals.median([1.0, 2.0, 4.0, 3.0])
    assert intervals.median_of_groups([[1.0], [5.0, 3.0]]) == intervals.Interval(3, 1, 5)
    made = intervals.median_of_groups([[1.0], [2.0, 2.0], [9.0, 9.0, 9.0]])
    assert (made.value, made.low, made.high) == (5.5, 1, 9)
