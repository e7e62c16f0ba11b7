"""Halving, verdicts of four values, and what is concluded from paired runs."""

import random

import pytest
from hakmem.learning import findings, halving, judging
from hakmem.learning.judging import MET, MISSED, NOT_EXCLUDED, UNDECIDED, Compared
from made_up import interval


@pytest.mark.parametrize("low, value, high, verdict", [
    (1.0, 1.1, 1.2, MET), (0.97, 0.99, 1.01, MET), (0.9, 0.97, 0.99, NOT_EXCLUDED), (0.9, 0.95, 0.979, MISSED)])
def test_at_least_takes_the_medians_side_where_the_interval_holds_the_goal(low, value, high, verdict):
    assert judging.at_least(interval(low, value, high), 0.98) == verdict


@pytest.mark.parametrize("low, value, high, verdict", [
    (0.8, 0.85, 0.89, MET), (0.85, 0.89, 0.95, MET), (0.88, 0.92, 0.95, NOT_EXCLUDED), (0.91, 0.95, 1.0, MISSED)])
def test_at_most_likewise(low, value, high, verdict):
    assert judging.at_most(interval(low, value, high), 0.9) == verdict


def test_what_was_not_measured_decides_nothing():
    assert judging.at_least(None, 1) == judging.at_most(None, 1) == judging.all_of([]) == judging.any_of([]) == UNDECIDED


@pytest.mark.parametrize("some, every, one", [
    ([MET, MET], MET, MET), ([MET, UNDECIDED], UNDECIDED, MET), ([MET, MISSED], MISSED, MET),
    ([UNDECIDED, MISSED], MISSED, UNDECIDED), ([MISSED, MISSED], MISSED, MISSED), ([NOT_EXCLUDED, MET], NOT_EXCLUDED, MET),
    ([NOT_EXCLUDED, UNDECIDED], UNDECIDED, NOT_EXCLUDED), ([NOT_EXCLUDED, MISSED], MISSED, NOT_EXCLUDED)])
def test_verdicts_are_put_together(some, every, one):
    assert (judging.all_of(some), judging.any_of(some)) == (every, one)


SAME, FAST, LEAN, SLOW = (interval(v - 0.01, v, v + 0.01) for v in (1.0, 1.2, 0.8, 0.9))


@pytest.mark.parametrize("speed, peak, mean, verdict", [
    (FAST, SAME, SAME, MET), (SAME, LEAN, SAME, MET), (SAME, SAME, LEAN, MET), (SLOW, LEAN, LEAN, MISSED),
    (SAME, SAME, None, MISSED), (SAME, SAME, SAME, MISSED), (interval(0.9, 1.05, 1.2), SAME, SAME, NOT_EXCLUDED),
    (interval(0.985, 0.99, 0.995), LEAN, LEAN, MISSED), (interval(0.985, 0.99, 1.001), LEAN, LEAN, NOT_EXCLUDED),
    (interval(0.985, 1.0, 1.001), LEAN, LEAN, MET),
    (None, LEAN, LEAN, UNDECIDED)])
def test_it_pays_to_be_faster_or_leaner_at_the_same_time(speed, peak, mean, verdict):
    assert findings.pays(Compared(speed, peak, mean, 9)) == verdict


@pytest.mark.parametrize("low, value, high, verdict", [
    (0.9, 1.0, 1.01, MET), (0.9, 0.97, 1.01, NOT_EXCLUDED), (0.9, 0.97, 1.0, NOT_EXCLUDED), (0.9, 0.95, 0.999, MISSED)])
def test_no_slower_is_judged_as_any_bound(low, value, high, verdict):
    assert findings.no_slower(Compared(interval(low, value, high), None, None, 9)) == verdict


# --- ratios

def report(seconds, peak=1000, mean=500):
    return {"seconds": seconds, "peak_kib": peak, "mean_kib": mean}


def test_ratios_are_of_rounds_that_both_have_done():
    rounds = {"learned": [report(1), None, report(2, 800)], "default": [report(2), report(9), report(2), report(7)]}
    made = judging.ratios(rounds, "learned", "default")
    assert made.speed == {0: 2, 2: 1} and made.peak == {0: 1, 2: 0.8} and made.mean == {0: 1, 2: 1}


def test_programs_have_no_mean_memory():
    rounds = {name: [{"seconds": 1, "peak_kib": 5, "mean_kib": None}] * 4 for name in ("learned", "default")}
    compared = judging.ratios(rounds, "learned", "default").compared()
    assert compared.mean is None and compared.peak.value == 1 and compared.pairs == 4


def test_the_luckiest_of_many_equal_settings_is_not_faster():
    """Chosen and judged by the same runs it would seem so."""
    noise = random.Random(7)
    names = [f"fixed{number}" for number in range(30)]
    rounds = {name: [report(noise.lognormvariate(0, 0.05)) for _ in range(40)] for name in [*names, "learned"]}
    made, best = judging.ratios_to_fastest(rounds, "learned", judging.fastest_by_round(rounds, names))
    assert len(made.speed) == 40 and 1 <= len(best) <= 2
    naive = judging.ratios(rounds, "learned", judging.fastest(rounds, names, range(40))).compared().speed
    assert naive.value < 0.985 < made.compared().speed.high and made.compared().speed.value > naive.value


def test_a_setting_that_is_faster_is_found():
    rounds = {"learned": [report(1.0)] * 10, "slow": [report(1.5)] * 10, "quick": [report(0.9)] * 10, "gone": [None] * 10}
    made, best = judging.ratios_to_fastest(rounds, "learned", judging.fastest_by_round(rounds, ["slow", "gone", "quick"]))
    assert best == ["quick"] and made.compared().speed.value == pytest.approx(0.9)


def test_memory_over_two_fastest_settings_is_between_theirs_not_the_one_of_either_by_chance():
    """Even rounds are judged against a lean one, odd rounds against one that takes four times as much."""
    rounds = {"learned": [report(1, 800 + turn, 400) for turn in range(40)],
              "lean": [report(1 + turn % 2, 400, 200) for turn in range(40)],
              "fat": [report(2 - turn % 2, 1600, 800) for turn in range(40)], "gone": [None] * 40}
    made, named = judging.ratios_to_fastest(rounds, "learned", judging.fastest_by_round(rounds, ["lean", "fat", "gone"]))
    assert set(named) == {"lean", "fat"} and len(made.speed) == 40
    compared = made.compared()
    assert compared.mean.as_json() == pytest.approx([1, 1, 1]) and 0.99 < compared.peak.low <= compared.peak.high < 1.06
    one, _ = judging.ratios_to_fastest(rounds, "learned", ["fat"] * 40)
    assert len(one.peak) == 40


def test_rows_are_pooled_round_by_round():
    some = [judging.Ratios({0: 2.0, 1: 8.0, 2: 9.0}, {0: 1.0, 1: 1.0}, {}), judging.Ratios({0: 0.5, 1: 2.0}, {0: 0.25, 1: 4.0}, {0: 1.0})]
    made = judging.pooled(some)
    assert made.speed == pytest.approx({0: 1.0, 1: 4.0}) and made.peak == pytest.approx({0: 0.5, 1: 2.0}) and made.mean == {0: 1.0}


def test_rows_are_pooled_by_the_rounds_that_all_have_though_a_run_failed():
    """A round in which the machine was slow for one arm must not meet another round."""
    whole = {"learned": [report(1), report(2), report(1)], "default": [report(4), report(1), report(9)]}
    failed = {"learned": [None, report(1), report(1)], "default": [report(7), report(8), report(1)]}
    made = judging.pooled([judging.ratios(rounds, "learned", "default") for rounds in (whole, failed)])
    assert made.speed == pytest.approx({1: 2.0, 2: 3.0})


# --- halving

def test_rungs_halve_until_few_are_left():
    assert halving.rungs_of(14) == [14, 7, 4] and halving.rungs_of(3) == [] and halving.rungs_of(4320)[0] == 4320


def test_the_best_by_each_criterion_are_left_and_every_rung_is_one_run_each():
    truth = {f"arm{number}": {"time": 1 + number, "memory": 100 - number} for number in range(16)}
    runs = []

    def run(due, rung):
        runs.append(len(due))
        return {name: truth[name] for name in due}
    left = halving.screen(list(truth), ("time", "memory"), run)
    assert left == {"time": ["arm0", "arm1", "arm2"], "memory": ["arm15", "arm14", "arm13"]}
    assert runs == [16, 16, 8]  # eight of each, none of both


def test_who_fails_is_out():
    def run(due, rung):
        return {name: None if name == "arm0" else {"time": float(name[3:])} for name in due}
    assert halving.screen([f"arm{number}" for number in range(8)], ("time",), run)["time"] == ["arm1", "arm2", "arm3"]


def test_few_need_no_run():
    assert halving.screen(["one", "two"], ("time",), lambda due, rung: pytest.fail("run"))["time"] == ["one", "two"]
