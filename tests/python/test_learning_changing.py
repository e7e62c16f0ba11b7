"""Changing programs: one set of fixed settings for all seeds, judged over all of their pairs."""

import random

import pytest
from hakmem.learning import campaign, findings, judging, rows, store
from made_up import GRID, Program, answers_of, filled, head, made, task_of

SEEDS = [f"changing/{seed}" for seed in (11, 12, 13, 14, 15)]


def campaign_of(tmp_path, programs, **more):
    one = made(tmp_path, None, [task_of(name, program) for name, program in programs.items()], **more)
    one.run()
    return one


# --- what is run

@pytest.mark.parametrize("seeds, traces, pairs, rounds", [
    (20, 0, 40, 2), (20, 1, 40, 2), (30, 0, 40, 2), (19, 0, 40, 3), (2, 0, 6, 3), (1, 0, 40, 40), (1, 1, 40, 40),
    (0, 1, 40, 40)])
def test_seeds_share_the_pairs_and_have_two_or_more(seeds, traces, pairs, rounds):
    names = [f"changing/{seed}" for seed in range(1, seeds + 1)] + ["changing/trace/a+b"] * traces
    assert rows.rounds_of(rows.CHANGING, names, pairs) == rounds
    assert rows.rounds_of(rows.STATIONARY, names, pairs) == pairs


def test_seeds_are_screened_together_each_rung_on_others(tmp_path, monkeypatch):
    """A setting that suits all days is left; one that only suits the days of one rung is not."""
    monkeypatch.setattr(campaign, "ROWS_OF_RUNG", 2)
    always = {"mode=fast": 0.8, "retain=all": 0.9}
    programs = {name: Program(always | ({"stacks=1m": 0.1} if name in SEEDS[:2] else {"stacks=1m": 30}), scale=10 ** place)
                for place, name in enumerate(SEEDS)}
    kept = campaign_of(tmp_path, programs).store
    screened = {key[2]: set() for key in kept.runs if key[1] == store.SCREEN}
    for row, stage, rung, _ in kept.runs:
        if stage == store.SCREEN:
            screened[rung].add(row)
    assert screened == {0: set(SEEDS[:2]), 1: set(SEEDS[2:4]), 2: {SEEDS[4], SEEDS[0]}}
    chosen = {tuple(kept.chosen[name]) for name in SEEDS}
    assert len(chosen) == 1
    names = list(next(iter(chosen)))
    assert names[:3] == ["default", "learning", "learned"] and {"mode=fast", "retain=all"} < set(names)
    assert "stacks=1m" not in names and "hindsight" not in names
    assert {key[2] for key in kept.runs if key[1] == store.PAIR} == {0, 1}


def test_a_file_is_learned_from_one_run_of_each_seed(tmp_path):
    programs = {name: Program() for name in SEEDS[:3]}
    one = campaign_of(tmp_path, programs)
    assert set(one.store.learned) == {(name, "learned") for name in programs}
    assert sum(key[1] == store.LEARN for key in one.store.runs) == 3


def test_who_falls_over_on_one_seed_is_no_rival(tmp_path):
    programs = {name: Program({"mode=fast": 0.5}, fails=("mode=fast",) if name == SEEDS[1] else ()) for name in SEEDS}
    one = campaign_of(tmp_path, programs)
    assert all("mode=fast" not in one.store.chosen[name] for name in SEEDS)


def test_without_the_defaults_runs_the_other_seeds_screen(tmp_path):
    programs = {name: Program({"mode=fast": 0.5}, fails=("default",) if name == SEEDS[0] else ()) for name in SEEDS}
    assert "mode=fast" in campaign_of(tmp_path, programs).store.chosen[SEEDS[2]]


# --- how it is judged

def kept_of(tmp_path, seconds, rounds=2):
    """Of each row: seconds by setting."""
    tasks = [task_of(name, None) for name in seconds]
    kept = store.begin(tmp_path / "runs.jsonl", head(tasks, GRID))
    for name, its in seconds.items():
        kept.add_chosen(name, list(its))
        for turn in range(rounds):
            for setting, took in its.items():
                report = {"seconds": took, "peak_kib": 1000, "mean_kib": 500}
                kept.add_run((name, store.PAIR, turn, setting), report, None)
    return kept


FIRST, SECOND = GRID[0].name, GRID[1].name


def test_the_fastest_fixed_one_is_chosen_by_the_other_half_of_the_seeds(tmp_path):
    """Each half likes another one, and the times of a row don't count, but what is over the default's."""
    seconds = {}
    for place, name in enumerate(SEEDS):
        liked, other = (FIRST, SECOND) if place % 2 == 0 else (SECOND, FIRST)
        seconds[name] = {part: 10 ** place * took for part, took in
                         {"default": 1, "learning": 1, "learned": 0.8, liked: 0.5, other: 2}.items()}
    kept = kept_of(tmp_path, seconds)
    best = findings.fastest_fixed(kept, rows.CHANGING)
    assert best == {name: [SECOND if place % 2 == 0 else FIRST] * 2 for place, name in enumerate(SEEDS)}
    of_all = next(one for one in findings.of_groups(kept) if one.subject == "learned" and one.reference.startswith("fastest"))
    assert of_all.compared.pairs == 10 and of_all.compared.speed.value == pytest.approx(2 / 0.8)
    assert of_all.reference == f"fastest fixed: {SECOND}, {FIRST}"


def test_the_luckiest_of_equal_settings_is_not_faster_on_other_seeds(tmp_path):
    noise = random.Random(3)
    names = ["default", *(arm.name for arm in GRID)]
    kept = kept_of(tmp_path, {f"changing/{seed}": {name: noise.lognormvariate(0, 0.05) for name in [*names, "learned"]}
                              for seed in range(1, 21)})
    some = [judging.ratios_to_fastest(kept.rounds(row), "learned", best)[0]
            for row, best in findings.fastest_fixed(kept, rows.CHANGING).items()]
    assert 0.97 < judging.joined(some).compared().speed.value < 1.03


def test_forty_pairs_of_twenty_seeds_decide_and_those_of_one_seed_do_not(tmp_path):
    everywhere = {"default": 1, "learning": 0.85, "learned": 0.8, FIRST: 0.95}
    kept = kept_of(tmp_path, {f"changing/{seed}": everywhere for seed in range(1, 21)})
    assert set(answers_of(kept).values()) == {"met"}
    assert {one.verdict for one in findings.of_rows(kept)} == {"not decided"}
    assert {one.compared.pairs for one in findings.of_groups(kept)} == {40}
    (tmp_path / "other").mkdir()
    kept = kept_of(tmp_path / "other", {f"changing/{seed}": everywhere | {FIRST: 0.8} for seed in range(1, 21)})
    assert set(answers_of(kept).values()) == {"missed"}


def test_every_fixed_setting_that_is_left_is_held_against_both(tmp_path):
    kept = filled(tmp_path, {"learned": 0.8, FIRST: 0.7}, groups=("changing",))
    found = {(one.reference, one.subject): one.verdict for one in findings.of_fixed(kept)}
    assert found == {(name, subject): "met" if subject == "learned" and name != FIRST else "missed"
                     for name in ("default", FIRST, SECOND) for subject in ("learned", "learning")}


def test_without_changing_programs_there_is_no_such_table(tmp_path):
    kept = filled(tmp_path, {}, groups=("memory",))
    assert findings.of_fixed(kept) == []
