"""What is concluded of rows and groups."""

import pytest
from hakmem.learning import findings, judging, rows, store, tables
from hakmem.learning.findings import Finding
from hakmem.learning.judging import MET, MISSED, UNDECIDED, Compared
from made_up import GRID, MACHINE, answers_of, filled, interval

SAME = interval(0.99, 1.0, 1.01)


def test_a_question_is_answered_by_its_own_bounds_alone_though_others_have_the_same_words():
    """Of a stationary program: near the fastest fixed setting, and not worse than the default."""
    assert findings.BOUNDS["near"][0] == findings.BOUNDS["not worse"][0]
    def found(asked, verdict):
        return Finding(rows.PROGRAMS, "programs/a", "learned", "x", asked, findings.BOUNDS[asked][0], Compared(SAME, None, None, 40),
                       verdict)
    made = findings.answers([found("near", MET), found("not worse", MISSED)], [])
    near = next(one for one in made if one.subject == "learned" and one.question == findings.QUESTIONS[rows.PROGRAMS][1].text)
    assert (near.verdict, near.met, near.missed) == (MET, 1, 0)


@pytest.mark.parametrize("group", rows.GROUPS)
def test_a_row_on_which_a_subject_has_no_run_that_counts_leaves_its_group_undecided(tmp_path, group):
    kept = filled(tmp_path, {"learned": 0.8, "learning": 0.8}, {"learned": 0.8, "learning": 0.8}, groups=(group,))
    assert set(answers_of(kept).values()) == {MET}
    for turn in range(40):
        kept.runs[f"{group}/b", store.PAIR, turn, "learned"] = None
    assert answers_of(kept) == {(group, "learned"): UNDECIDED, (group, "learning"): MET}
    of_all = [one for one in findings.of_groups(kept) if one.subject == "learned"]
    assert of_all and all(one.reference.endswith(" (1 of 2 rows)") and one.verdict == UNDECIDED for one in of_all)


def test_a_fixed_setting_that_falls_over_on_one_seed_is_judged_by_the_others(tmp_path):
    kept = filled(tmp_path, {"learned": 0.8, "learning": 0.8}, groups=("changing",))
    for turn in range(40):
        kept.runs["changing/b", store.PAIR, turn, GRID[0].name] = None
    found = [one for one in findings.of_fixed(kept) if one.reference == GRID[0].name]
    assert [(one.compared.pairs, one.verdict) for one in found] == [(40, MET)] * 2


def test_the_hardest_to_beat_is_the_one_that_is_faster_though_it_takes_more_memory(tmp_path):
    """Both are missed: the default by too little gained, the other by being slower."""
    kept = filled(tmp_path, {"learned": 0.98, GRID[0].name: 0.95}, {GRID[0].name: 1.4}, groups=("changing",))
    fixed = [one for one in findings.of_fixed(kept) if one.subject == "learned"]
    assert {one.verdict for one in fixed} == {MISSED}
    hardest = next(one for one in findings.of_groups(kept) if one.subject == "learned" and one.reference.startswith("every"))
    assert hardest.reference == f"every fixed; hardest: {GRID[0].name}" and hardest.compared.speed.value < 1


def test_pairs_of_one_seed_count_as_one_for_the_interval():
    """Runs of a seed that are all the same tell as much as one run of each."""
    def of_seeds(rounds):
        return judging.joined([judging.Ratios(dict.fromkeys(range(rounds), 1 + seed / 100), {}, {}) for seed in range(20)])
    one, many = of_seeds(1), of_seeds(8)
    assert many.speed == one.speed and (one.pairs, many.pairs) == (20, 160)


def test_speed_peak_and_mean_stand_in_their_own_columns(tmp_path):
    kept = filled(tmp_path, {"learned": 0.8}, {"learned": 0.9}, groups=("memory",))
    found = findings.of_rows(kept)
    page = tables.as_page(kept, found, findings.of_groups(kept), [], "x.svg")
    head = next(line for line in page.splitlines() if line.startswith("| row | what runs | over |"))
    line = next(line for line in page.splitlines() if line.startswith("| memory/a | learned"))
    told = dict(zip(*([cell.strip() for cell in one.split("|")] for one in (head, line)), strict=True))
    got = [float(told[name].partition(";")[0]) for name in ("speed", "peak memory", "mean memory")]
    assert got == pytest.approx([1.25, 0.9, 0.99], abs=0.004)
    made = next(one for one in found if one.row == "memory/a" and one.subject == "learned").compared
    assert [made.speed.value, made.peak.value, made.mean.value] == pytest.approx(got, abs=0.001)


@pytest.mark.parametrize("load, changed, went_on, said", [
    ([0.9, 2, 2], 0, [], []), ([1.2, 0, 0], 0, [], ["**The machine was busy**: load a processor 0.60 at the start."]),
    ([0, 0, 0], 2, [{"load_before": [1.8, 0, 0], "cores": 2, "changed_files": 0}],
     ["**The machine was busy**: load a processor 0.90 where it went on (runs that had been made just before count).",
      "**The tree was changed** from its commit, files: 2 at the start."])])
def test_a_page_tells_that_the_machine_was_busy_and_that_the_tree_was_changed(tmp_path, load, changed, went_on, said):
    kept = filled(tmp_path, {}, groups=("memory",), rounds=1)
    kept.head["machine"] = MACHINE | {"load_before": load, "changed_files": changed}
    for machine in went_on:
        kept.go_on(MACHINE | machine)
    page = tables.as_page(kept, [], [], [], "x.svg")
    assert [line for line in page.splitlines() if line.startswith("**The")] == said
