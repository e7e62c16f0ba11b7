"""Medians, ratios and the verdict from runs that are made up."""

import pytest
from hakmem import figures, verdicts
from hakmem.comparison import Results
from hakmem.suites import ROWS

BARS = ["glibc", "mimalloc3", "snmalloc"]
CORE = [row for row in ROWS if row.is_core]


def report(seconds, peak_kib=1000, **special):
    return {"seconds": seconds, "operations": 100, "peak_kib": peak_kib, "final_kib": peak_kib, **special}


def figures_of(cells, rows=CORE):
    """cells: allocator name → (seconds, peak), the same on each row."""
    results = Results()
    for row in rows:
        for name, (seconds, peak) in cells.items():
            results.reports[row.name, name] = [report(seconds, peak)] * 3
    return figures.rows_of(rows, results, list(cells), BARS)


def verdict_of(rows, start):
    return next(one for one in verdicts.verdicts(rows) if one.what.startswith(start))


def test_cell_is_the_median_and_half_the_quartile_distance():
    cell = figures.cell([report(seconds) for seconds in (5.0, 1.0, 2.0, 3.0, 100.0)])
    assert cell.seconds == 3.0 and cell.spread == pytest.approx((5.0 - 2.0) / 2 / 3.0) and cell.runs == 5


def test_one_run_has_no_spread():
    assert figures.cell([report(2.0)]).spread == 0


def test_geometric_mean():
    assert figures.geometric_mean([1, 4, 16]) == pytest.approx(4)
    assert figures.geometric_mean([]) is None


def test_speed_is_over_the_fastest_bar():
    row = figures_of({"hakmem": (1.0, 100), "glibc": (3.0, 100), "mimalloc3": (2.0, 100), "rpmalloc": (0.5, 1)})[0]
    assert row.best_peer() == "mimalloc3"  # rpmalloc is no bar
    assert row.speed_over("mimalloc3") == 2.0 and row.speed_over("snmalloc") is None


def test_leanest_peer_must_reach_seven_tenths_of_the_best_speed():
    cells = {"hakmem": (0.1, 300), "glibc": (2.0, 100), "mimalloc3": (1.4, 200), "snmalloc": (1.0, 250)}
    row = figures_of(cells)[0]
    assert row.leanest_peer() == "mimalloc3"
    assert row.memory_over("mimalloc3") == 1.5


def test_verdict_reached_when_every_core_row_is_twice_as_fast_and_half_as_large():
    rows = figures_of({"hakmem": (1.0, 50), "glibc": (3.0, 100), "mimalloc3": (2.0, 100), "snmalloc": (2.5, 100)})
    verdict = verdict_of(rows, "geometric mean of speed over mimalloc3")
    assert verdict.measured == pytest.approx(2.0) and verdict.is_reached and verdict.is_complete
    assert verdict_of(rows, "geometric mean of speed over the best peer, mimalloc3").measured == pytest.approx(2.0)


def test_one_slow_and_one_large_row_are_what_the_worst_rows_show():
    results = Results()
    for index, row in enumerate(CORE):
        results.reports[row.name, "hakmem"] = [report(2.0 if index == 3 else 1.0, 230 if index == 5 else 100)]
        results.reports[row.name, "mimalloc3"] = [report(1.8, 200 if index == 5 else 100)]
    rows = figures.rows_of(CORE, results, ["hakmem", "mimalloc3"], BARS)
    slow, large = verdict_of(rows, "lowest speed"), verdict_of(rows, "highest peak")
    assert slow.measured == pytest.approx(0.9) and not slow.is_reached
    assert large.measured == pytest.approx(1.15) and large.is_reached


def test_verdict_on_some_rows_is_not_complete():
    verdict = verdict_of(figures_of({"hakmem": (1.0, 1), "mimalloc3": (2.0, 1)}, CORE[:4]), "lowest speed")
    assert (verdict.rows_measured, verdict.rows_wanted) == (4, 18) and not verdict.is_complete


def test_nothing_measured_is_nothing_reached():
    made = verdicts.verdicts(figures_of({"glibc": (1.0, 1), "mimalloc3": (1.0, 1)}))
    assert all(one.judgement == verdicts.NOT_MEASURED for one in made)


def test_noise_around_the_goal_is_no_verdict():
    """The median is above the goal, and some rounds are well below it."""
    results = Results()
    for row in CORE:
        results.reports[row.name, "hakmem"] = [report(1.0)] * 5
        results.reports[row.name, "mimalloc3"] = [report(seconds) for seconds in (1.3, 1.4, 1.62, 2.0, 2.1)]
    made = verdict_of(figures.rows_of(CORE, results, ["hakmem", "mimalloc3"], BARS), "geometric mean of speed over mimalloc3")
    assert made.measured == pytest.approx(1.62) and made.low < 1.6 < made.high
    assert made.judgement == verdicts.UNTOLD and not made.is_reached


def test_what_the_machine_did_to_a_round_cancels_out():
    results = Results()
    machine = (1.0, 1.5, 3.0, 0.9, 1.1)
    for row in CORE:
        results.reports[row.name, "hakmem"] = [report(slow) for slow in machine]
        results.reports[row.name, "mimalloc3"] = [report(1.7 * slow) for slow in machine]
    made = verdict_of(figures.rows_of(CORE, results, ["hakmem", "mimalloc3"], BARS), "geometric mean of speed over mimalloc3")
    assert made.low == pytest.approx(1.7) == made.high and made.is_reached


def test_amounts():
    rows = [row for row in ROWS if row.suite in ("idle", "give-back", "startup")]
    results = Results()
    special = {"resident_bytes_per_thread": 65 * 1024, "kept_kib": 100 * 1024, "median_seconds": 0.002}
    for row in rows:
        results.reports[row.name, "hakmem"] = [report(1.0, 3000, **special)]
        results.reports[row.name, "glibc"] = [report(1.0, 2500, **special)]
        results.reports[row.name, "empty"] = [report(1.0, 2500, **special | {"median_seconds": 0.0018})]
    measured = figures.rows_of(rows, results, ["hakmem", "glibc", "empty"], BARS)
    idle, kept = verdict_of(measured, "1000 idle"), verdict_of(measured, "1 GiB")
    assert idle.measured == 65 and not idle.is_reached
    assert kept.measured == 100 and kept.is_reached
    assert verdict_of(measured, "/bin/true: ms").measured == pytest.approx(0.2)
    assert verdict_of(measured, "/bin/true: MB").measured == pytest.approx(500 * 1024 / 1e6)
