"""Changing programs: one set of fixed settings for all seeds, judged over all of their pairs; what switching could gain."""

import json
import random

import pytest
from hakmem.learning import campaign, changing, findings, judging, picture, rows, store, tables
from made_up import GRID, Program, answers_of, filled, head, learned_before_rounds, made, task_of

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


def test_while_many_settings_are_left_a_rung_runs_on_half_as_many_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "ROWS_OF_RUNG", 2)
    monkeypatch.setattr(campaign, "MANY", 10)
    kept = campaign_of(tmp_path, {name: Program() for name in SEEDS}).store
    seeds = [{key[0] for key in kept.runs if key[1:3] == (store.SCREEN, rung)} for rung in (0, 1)]
    assert seeds == [set(SEEDS[:1]), set(SEEDS[2:4])]  # of 16 settings, then of 8


def test_a_file_is_learned_from_one_run_of_each_seed(tmp_path):
    programs = {name: Program() for name in SEEDS[:3]}
    one = campaign_of(tmp_path, programs)
    assert learned_before_rounds(one) == {(name, "learned") for name in programs}
    assert sum(key[1] == store.LEARN for key in one.store.runs) == 3


def test_who_falls_over_on_one_seed_is_no_rival(tmp_path):
    programs = {name: Program({"mode=fast": 0.5}, fails=("mode=fast",) if name == SEEDS[1] else ()) for name in SEEDS}
    one = campaign_of(tmp_path, programs)
    assert all("mode=fast" not in one.store.chosen[name] for name in SEEDS)


def test_without_the_defaults_runs_the_other_seeds_screen(tmp_path):
    programs = {name: Program({"mode=fast": 0.5}, fails=("default",) if name == SEEDS[0] else ()) for name in SEEDS}
    assert "mode=fast" in campaign_of(tmp_path, programs).store.chosen[SEEDS[2]]


# --- how it is judged

def kept_of(tmp_path, seconds, rounds=2, phases=None):
    """Of each row: seconds by setting."""
    tasks = [task_of(name, None) for name in seconds]
    kept = store.begin(tmp_path / "runs.jsonl", head(tasks, GRID))
    for name, its in seconds.items():
        kept.add_chosen(name, list(its))
        for turn in range(rounds):
            for setting, took in its.items():
                report = {"seconds": took, "peak_kib": 1000, "mean_kib": 500}
                if phases is not None:
                    report |= {"phase_seconds": phases[name][setting][turn]}
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
    assert 0.97 < judging.joined(some).speed.value < 1.03


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
    assert findings.of_fixed(kept) == [] and findings.switching(kept) is None


def test_a_page_names_the_seeds_whose_programs_ran(tmp_path):
    kept = kept_of(tmp_path, {name: {"default": 1} for name in ("changing/11", "changing/trace/a+b")})
    def page():
        return tables.as_page(kept, findings.of_rows(kept), findings.of_groups(kept), [], "x.svg")
    kept.head["seeds"] = [77, 11]
    assert "Seeds of the changing programs: 11.\n\nWork of each of their phases: 20." in page()
    kept.head["seeds"] = [77]
    assert "Seeds of" not in page()


# --- phases

def test_each_kind_of_phase_is_told_apart():
    def report(kinds, *phases):
        return {"seconds": 1, "phase_kinds": kinds, "phase_seconds": list(phases)}
    one, other = ["big/1t", "small/4t"], ["small/2t", "mid/1t"]
    rows_ = [{"default": [report(one, 4, 2)], "learned": [report(one, 2, 1)], "learning": [None]},
             {"default": [report(other, 9, 3)], "learned": [report(other, 3, 3)], "learning": [report(other, 9, 3)]}]
    made = {kind: one.value for kind, one in changing.by_kind(rows_, "learned").items()}
    assert made == {"big": 2, "mid": 1, "small": 2.5} and set(changing.by_kind(rows_, "learning")) == {"mid", "small"}



def test_the_bound_by_hindsight_takes_each_phases_fastest_of_the_other_rounds():
    def report(*phases):
        return {"seconds": sum(phases), "phase_seconds": list(phases)}
    rounds = {"default": [report(4, 4), report(4, 4)], "a": [report(1, 6), report(2, 9)], "b": [report(6, 3), report(5, 1)],
              "learned": [report(0.1, 0.1)] * 2}
    made = changing.switching([rounds], ["default", "a", "b"])
    # Round 0 has a then b, 1 + 3 seconds; round 1 likewise, 2 + 1. The fastest of round 1 is b with 6, of round 0 a with 7.
    assert (made.over_default.low, made.over_default.high) == pytest.approx((8 / 4, 8 / 3))
    assert (made.over_fastest.low, made.over_fastest.high) == pytest.approx((9 / 4, 11 / 3))
    assert made.mean_over_default == pytest.approx((8 / 4 + 8 / 3) / 2) and (made.pairs, made.rows) == (2, 1)


def test_the_luckiest_run_of_a_phase_is_no_gain():
    """Chosen and judged by the same runs it would be."""
    noise = random.Random(9)
    names = ["default", *(f"fixed{number}" for number in range(6))]
    days = [{name: [{"seconds": 6, "phase_seconds": [noise.lognormvariate(0, 0.1) for _ in range(6)]} for _ in range(2)]
             for name in names} for _ in range(20)]
    made = changing.switching(days, names)
    assert 0.97 < made.over_default.value < 1.03 and made.over_default.low < 1 < made.over_default.high


@pytest.mark.parametrize("rounds, has_phases", [(1, True), (2, False)])
def test_nothing_is_said_of_switching_without_phases_or_with_one_round(tmp_path, rounds, has_phases):
    seconds = {name: {"default": 1, FIRST: 1} for name in SEEDS}
    phases = {name: {setting: [[1.0]] * rounds for setting in its} for name, its in seconds.items()} if has_phases else None
    assert findings.switching(kept_of(tmp_path, seconds, rounds, phases)) is None


def test_phases_are_kept_and_told_in_the_report(tmp_path):
    phases = {"default": [1.0, 1.0], "mode=fast": [0.5, 2.0], "retain=all": [2.0, 0.5], "learning": [0.8, 1.6]}
    programs = {name: Program({"mode=fast": 0.8, "retain=all": 0.9}, phases=phases) for name in SEEDS}
    one = campaign_of(tmp_path, programs)
    kept = store.read(one.store.file)
    assert kept.runs[SEEDS[0], store.PAIR, 1, "mode=fast"]["phase_seconds"] == [0.5, 2.0]
    assert "phase_seconds" not in kept.runs[SEEDS[0], store.PAIR, 1, "learned"]
    made = findings.switching(kept)
    assert made.over_default.as_json() == [2.0, 2.0, 2.0] and made.mean_over_fastest == 2.5
    assert (made.rows, made.pairs) == (5, 10)
    found, whole = findings.of_rows(kept), findings.of_groups(kept)
    answers = findings.answers(found, whole)
    page = tables.as_page(kept, found, whole, answers, "x.svg")
    picture.save(kept, tmp_path / "x.svg")
    assert picture.ALL_CHANGING in (tmp_path / "x.svg").read_text()
    assert "\n| mid | – | 0.625; 0.625 … 0.625 |" in page
    line = next(line for line in page.splitlines() if line.startswith("| switching"))
    assert "2.000; 2.000 … 2.000 | 2.000 | 2.500; 2.500 … 2.500 | 2.500 | 5 | 10" in line
    assert "at no cost" in page and page.count("\n| mode=fast | l") == 2 and all(name in page for name in SEEDS)
    told = json.loads(json.dumps(tables.as_json(kept, found, whole, answers)))
    assert told["switching"]["rows"] == 5 and {one["reference"] for one in told["fixed"]} >= {"default", "mode=fast"}
