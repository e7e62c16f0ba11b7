"""hakmem bench policy: what it runs, in which order, what it keeps, how it goes on, and what it says."""

import json
import lzma
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hakmem import comparison, machine, places, policies
from hakmem.cli import app
from hakmem.learning import campaign, findings, picture, rows, settings, store, tables
from hakmem.learning.rows import Task
from made_up import GRID, LEARNED_TEXT, MACHINE, Program, Reader, answers_of, filled, head, learned_before_rounds, made, task_of
from typer.testing import CliRunner


def test_it_learns_then_screens_then_makes_rounds_of_all_who_are_left(tmp_path):
    program = Program({"mode=fast": 0.7})
    one = made(tmp_path, program)
    one.run()
    names = [name for name, _ in program.runs]
    assert names[:3] == ["learned"] * 3
    assert sorted(names[3:4 + len(GRID)]) == sorted(["default", *(arm.name for arm in GRID)])
    chosen = one.store.chosen["stationary/x"]
    assert chosen[:4] == ["default", "learning", "learned", "hindsight"] and "mode=fast" in chosen and len(chosen) <= 10
    rounds = names[-4 * len(chosen):]
    orders = [rounds[start:start + len(chosen)] for start in range(0, len(rounds), len(chosen))]
    assert all(sorted(order) == sorted(chosen) for order in orders) and len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize("group", [rows.MEMORY, rows.ADVERSARIAL])
def test_a_group_that_asks_nothing_about_fixed_settings_runs_none(tmp_path, group):
    program = Program()
    one = made(tmp_path, program, [task_of(f"{group}/x", program)])
    one.run()
    assert one.store.chosen == {f"{group}/x": ["default", "learning", "learned"]}
    assert [name for name, _ in program.runs][0] == "learned" and len(program.runs) == 1 + 4 * 3
    assert learned_before_rounds(one) == {(f"{group}/x", "learned")}


@pytest.mark.parametrize("row", ["stationary/x", "programs/x"])
def test_rows_where_nothing_changes_are_screened_by_time_alone(tmp_path, row):
    program = Program({"mode=fast": 0.7, "retain=0": 0.8, "w_max=1.25": 0.9})
    one = made(tmp_path, program, [task_of(row, program)])
    one.run()
    assert one.store.chosen[row][:4] == ["default", "learning", "learned", "hindsight"]
    assert set(one.store.chosen[row][4:]) == {"mode=fast", "retain=0", "w_max=1.25"}


def test_what_is_left_is_known_at_any_moment_and_nothing_at_the_end(tmp_path):
    """Its estimate is at most what it was with the run before, and the seconds are those of the row's runs."""
    tasks = [task_of(name, Program()) for name in ("stationary/x", "changing/1", "changing/2", "changing/3", "memory/x")]
    seen, groups = [], []
    one = made(tmp_path, None, tasks)
    one.on_run = lambda it, *_: seen.append((it.runs_done(), it.runs_left(), it.seconds_left()))
    one.on_group = lambda _, group: groups.append(group)
    first = one.runs_left()
    one.run()
    wholes = [done + left for done, left, _ in seen]
    assert wholes == sorted(wholes, reverse=True) and first == wholes[0] and wholes[0] < 1.3 * wholes[-1]
    assert seen[-1][1:] == (0, 0) and groups == ["stationary", "changing", "memory"]
    assert seen[0][2] > 1 and one.store.took["memory/x"]


def test_time_that_is_left_is_by_what_each_rows_runs_took(tmp_path):
    tasks = [task_of(f"memory/{name}", Program()) for name in "ab"]
    tasks.append(Task("adversarial/c", "adversarial", None, None, about_seconds=7))
    one = made(tmp_path, None, tasks)  # 17 runs of each, four to warm up
    assert one.seconds_left() == pytest.approx(17 * (2 * rows.RUN_SECONDS + 7))
    one.store.took["memory/a"] += [2, 4]
    assert one.seconds_left() == pytest.approx(17 * (3 + 3 + 7))
    one.store.took["memory/b"] += [10]
    assert one.seconds_left() == pytest.approx(17 * (3 + 10 + 7))


def test_settings_reach_the_program(tmp_path):
    program = Program({"stacks=1m": 0.5})
    made(tmp_path, program).run()
    given = dict(program.runs)
    assert given["default"] == {} and given["learning"].keys() == {"HAKMEM_MODE", "HAKMEM_POLICY"}
    assert list(given["learned"]) == ["HAKMEM_POLICY"] and "thread_bytes" in Path(given["stacks=1m"]["HAKMEM_POLICY"]).read_text()


@pytest.mark.parametrize("runs", [1, 3, 25, 50])
def test_a_measurement_that_was_stopped_goes_on_with_the_same(tmp_path, runs):
    whole = Program()
    made(tmp_path / "other", whole, kept=_begun(tmp_path / "other")).run()
    file = tmp_path / "runs.jsonl"
    first = Program()
    first.stop_after = runs
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, first).run()
    with file.open("a") as end:
        end.write('{"kind": "run", "row": "stat')  # stopped in the middle of a line
    second = Program()
    made(tmp_path, second, kept=store.reopen(file)).run()
    again = second.runs if runs < 3 else second.runs[1:]  # once that nothing is learned at first, the row is warmed up
    assert [name for name, _ in first.runs + again] == [name for name, _ in whole.runs]
    third = Program()
    made(tmp_path, third, kept=store.reopen(file)).run()
    assert third.runs == []


@pytest.mark.parametrize("fails", [(), ("retain=0", "learning")])
def test_on_another_machine_the_round_that_was_being_run_is_begun_anew(tmp_path, fails):
    """Stopped after each of its runs: what is compared is made within minutes, on one machine."""
    def tasks():
        return [task_of(name, Program(fails=fails)) for name in ("changing/1", "changing/2")]
    whole = made(tmp_path / "whole", None, tasks(), store.begin(tmp_path / "whole/runs.jsonl", head(tasks(), GRID)))
    whole.run()
    lines = whole.store.file.read_text().splitlines(keepends=True)
    other = dict(MACHINE, cpu="another")
    for number in range(1, len(lines) + 1):
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(lines[:number]))
        kept = store.reopen(file)
        before = set(kept.runs)
        kept.go_on(other)
        here = set(kept.runs)
        assert here == before or '"kind": "whole"' not in lines[number - 1]
        assert len(store.read(file).runs) == len(here)
        one = made(tmp_path, None, tasks(), kept)
        one.run()
        for row in ("changing/1", "changing/2"):
            reports = one.store.rounds(row)
            assert reports.keys() == set(one.store.chosen[row]) and all(None not in reports[name] for name in reports if name not in fails)
            assert len(reports["default"]) == 2
        assert store.read(file).runs == one.store.runs
        pairs, rounds_here = {key for key in kept.runs if key[1] == store.PAIR}, {key[:3] for key in here}
        assert all(key in here for key in pairs if key[:3] in rounds_here)  # no round is of both
        screened = {key[:3] for key in kept.runs if key[1] == store.SCREEN}
        assert all(key in here for key in kept.runs if key[:3] in screened & rounds_here)
        assert here == set(kept.runs) or number < len(lines)  # what is whole is not begun anew
        counts = {machine["cpu"]: runs for machine, runs in one.store.machines()}
        assert counts == {MACHINE["cpu"]: len(pairs & here), "another": len(pairs - here)}


def test_paths_in_the_tree_are_kept_from_where_the_tree_is(tmp_path):
    one = _begun(tmp_path / "some")
    for turn, found in enumerate((places.BUILD / "lib.so", Path("/usr/lib/libc.so.6"), None)):
        report = {"seconds": 1} | ({"malloc_from": str(found)} if found else {})
        one.add_run(("stationary/x", store.PAIR, turn, "default"), report, None)
    kept = [json.loads(line)["malloc_from"] for line in one.file.read_text().splitlines()[1:]]
    assert kept == ["build/bench/lib.so", "/usr/lib/libc.so.6", None]


def test_learning_that_was_stopped_is_done_again_from_the_first_file(tmp_path):
    first = Program()
    first.stop_after = 2
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, first).run()
    second = Program()
    one = made(tmp_path, second, kept=store.reopen(tmp_path / "runs.jsonl"))
    one.run()
    assert [name for name, _ in second.runs[:3]].count("learned") == 2
    assert learned_before_rounds(one) == {("stationary/x", "learned"), ("stationary/x", "hindsight")}


def _begun(folder):
    folder.mkdir()
    return store.begin(folder / "runs.jsonl", head([task_of("stationary/x", None)], GRID))


def test_it_goes_on_after_a_kill_at_any_moment(tmp_path):
    """The file may end anywhere after its first line."""
    names = ("stationary/x", "changing/1", "changing/2", "changing/3", "memory/x")

    def run(folder, kept=None):
        folder.mkdir(exist_ok=True)
        one = made(folder, None, [task_of(name, Program(fails=("retain=0",))) for name in names], kept)
        one.run()
        return one.store
    whole = run(tmp_path / "whole")
    text = whole.file.read_bytes()
    ends = [place for place, letter in enumerate(text) if letter == ord("\n")]
    for end in ends[0:-1:9]:
        for cut in (end + 1, end + 30):
            folder = tmp_path / str(cut)
            folder.mkdir()
            (folder / "runs.jsonl").write_bytes(text[:cut])
            gone_on = run(folder, store.reopen(folder / "runs.jsonl"))
            assert gone_on.runs == whole.runs and gone_on.chosen == whole.chosen and gone_on.learned == whole.learned
            assert store.read(folder / "runs.jsonl").runs == whole.runs


def test_who_falls_over_is_not_run_again(tmp_path):
    program = Program(fails=("learning", "mode=fast"))
    one = made(tmp_path, program)
    one.run()
    names = [name for name, _ in program.runs]
    assert names.count("learning") == names.count("mode=fast") == 1 and "mode=fast" not in one.store.chosen["stationary/x"]
    assert {key[3] for key in one.store.failures} == {"learning", "mode=fast"}


def test_parts_are_run_alone_and_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(settings.PARTS_OFF, "big", {"HAKMEM_BIG_THRESHOLD": "32m"})
    program = Program()
    one = made(tmp_path, program, parts=True)
    one.run()
    chosen = one.store.chosen["stationary/x"]
    assert {"only-dyn", "without-dyn", "only-retention", "without-retention", "learning-big"} <= set(chosen)
    assert "only-cap" not in chosen and "class" not in one.store.learned["stationary/x", "without-dyn"]["program.policy"]
    assert {effect.part for effect in findings.parts(one.store)} == {"dyn", "retention", "big", *settings.PARTS_OFF,
                                                                   *settings.PARTS_ON}
    huge = {"only-huge_pages": ["huge_least 0"], "learned+huge_pages": ["class 1040", "retain_min 33554432", "huge_least 0"]}
    for name, lines in huge.items():
        assert name in chosen and settings.decisions_in(one.store.learned["stationary/x", name]["program.policy"]) == lines
    assert "without-huge_pages" not in chosen and "learning+huge_pages" in chosen
    its = next(effect for effect in findings.parts(one.store) if effect.part == "huge_pages")
    assert its.alone.pairs and its.within.pairs and its.learns.pairs
    picture.save(one.store, tmp_path / "parts.svg")
    assert "stationary/x: dyn" in (tmp_path / "parts.svg").read_text()
    given = dict(program.runs)["learning-big"]
    assert given == {"HAKMEM_MODE": "learning", "HAKMEM_BIG_THRESHOLD": "32m"}
    learns, *pairs = [given for name, given in program.runs if name == "learning+huge_pages"]
    assert "HAKMEM_POLICY" in learns and pairs  # its learning run leaves a file; in the rounds it learns anew
    assert all(given == {"HAKMEM_MODE": "learning", "HAKMEM_LEARN_PARTS": "default+huge"} for given in pairs)


def test_settings_of_a_round_are_told_its_number_and_rounds_have_others(tmp_path):
    program = Program()
    made(tmp_path, program, [task_of("memory/x", program)]).run()
    seen = {name: sorted(turn for turn, its in program.turns if its == name) for name in ("default", "learning")}
    assert seen["default"] == seen["learning"] == list(range(len(seen["default"]))) and len(seen["default"]) > 1


def files_of_learned(program):
    return [given["HAKMEM_POLICY"] for name, given in program.runs if name == "learned" and "HAKMEM_MODE" not in given]


def test_a_round_uses_what_the_round_before_learned(tmp_path):
    program = Program()
    one = made(tmp_path, program, [task_of("memory/x", program)])
    one.run()
    used = files_of_learned(program)
    assert len(used) > 1 and all(f"learned-{turn}/" in file for turn, file in enumerate(used[1:])) and "learned-" not in used[0]
    assert all(one.store.learned["memory/x", f"learned-{turn}"] == {"program.policy": LEARNED_TEXT} for turn in range(len(used)))


def test_parts_are_compared_with_the_one_file_that_they_are_of(tmp_path):
    program = Program()
    one = made(tmp_path, program, [task_of("memory/x", program)], parts=True)
    one.run()
    assert len(set(files_of_learned(program))) == 1 and ("memory/x", "learned-0") not in one.store.learned


@pytest.mark.parametrize("has_parts, name, learned_in", [(False, "learned", [0, 0, 1, 2]), (True, "only-sites", [0, 0, 0, 0])])
def test_what_was_learned_in_one_round_is_moved_to_the_place_of_another(tmp_path, has_parts, name, learned_in):
    program = Reader()
    task = replace(task_of("memory/x", program, program),
                   moved=lambda text, learned, turn: text.replace("end\n", f"from {learned} to {turn}\nend\n"))
    made(tmp_path, program, [task], parts=has_parts).run()
    moves = [program.read[name, turn].splitlines()[-2] for turn in range(4)]
    assert moves == [f"from {learned} to {turn}" for turn, learned in enumerate(learned_in)]


def test_what_mode_research_learns_is_learned_by_a_long_run_and_judged_in_short_ones(tmp_path):
    program, long_runs = Program(), []

    def for_long(allocator, folder, turn):
        long_runs.append(allocator.name)
        return program(allocator, folder, turn)
    one = made(tmp_path, program, [task_of("stationary/x", program, for_long)], parts=True)
    one.run()
    assert long_runs == ["research-elo", "research-sites"]
    chosen = one.store.chosen["stationary/x"]
    assert {"only-sites", "learned+sites"} <= set(chosen) and "only-elo" not in chosen  # which found nothing
    with_it = settings.decisions_in(one.store.learned["stationary/x", "learned+sites"]["program.policy"])
    assert with_it == ["class 1040", "retain_min 33554432", "site x+0x10 2097152"]
    its = next(effect for effect in findings.parts(one.store) if effect.part == "sites")
    assert its.alone.pairs and its.within.pairs and not its.learns.pairs
    page = tables.as_page(one.store, [], [], [], "x.svg")
    assert "elo, by mode research" in page and "nothing" in page and "site × 1" in page


# --- findings of made-up runs

def test_where_learning_pays_every_bound_is_met(tmp_path):
    kept = filled(tmp_path, {"learned": 0.8, "learning": 0.85}, {"learned": 0.8, "learning": 0.8})
    assert set(answers_of(kept).values()) == {"met"}


def test_where_it_changes_nothing_only_the_bounds_of_not_being_worse_are_met(tmp_path):
    said = answers_of(filled(tmp_path, {}))
    assert {group for (group, _), verdict in said.items() if verdict == "met"} == {"stationary", "adversarial"}
    assert {said[group, "learned"] for group in ("changing", "memory", "programs")} == {"missed"}


def test_one_fixed_setting_that_is_better_is_enough_to_miss(tmp_path):
    kept = filled(tmp_path, {"learned": 0.8, "learning": 0.8, GRID[0].name: 0.7}, groups=("stationary", "changing"))
    assert set(answers_of(kept).values()) == {"missed"}
    hardest = [one for one in findings.of_groups(kept) if one.reference.startswith("every fixed")]
    assert {one.reference for one in hardest} == {f"every fixed; hardest: {GRID[0].name}"}


def test_real_programs_are_asked_two_things_which_are_answered_apart(tmp_path):
    """Over the default they gain enough, while on one of them a setting made by hand is faster than what was learned."""
    kept = filled(tmp_path, {"learned": 0.9}, groups=("programs",))
    for turn in range(40):
        made_run = kept.runs["programs/b", store.PAIR, turn, GRID[0].name]
        made_run["seconds"] *= 0.8
    found = findings.of_rows(kept)
    said = {one.question: (one.verdict, one.met, one.missed)
            for one in findings.answers(found, findings.of_groups(kept)) if one.subject == "learned"}
    pays, near = (question.text for question in findings.QUESTIONS["programs"])
    assert said == {pays: ("met", 2, 0), near: ("missed", 1, 1)}


@pytest.mark.parametrize(("group", "is_told"), [(rows.STATIONARY, True), (rows.CHANGING, True), (rows.PROGRAMS, True),
                                                (rows.MEMORY, False), (rows.ADVERSARIAL, False)])
def test_a_page_tells_how_many_fixed_settings_were_tried_where_it_is_about_them(tmp_path, group, is_told):
    page = tables.as_page(filled(tmp_path, {}, groups=(group,), rounds=1), [], [], [], "x.svg")
    assert ("Fixed settings tried: 2 (axes)." in page) == is_told
    assert (group in campaign.CRITERIA) == is_told  # and there they are screened


def test_fewer_than_forty_pairs_decide_nothing(tmp_path):
    seconds, memory = {"learned": 0.5, "learning": 0.5}, {"learned": 0.5, "learning": 0.5}
    groups = ("stationary", "memory", "adversarial", "programs")
    assert set(answers_of(filled(tmp_path, seconds, memory, groups, rounds=39)).values()) == {"not decided"}


@pytest.mark.parametrize(("subject", "other"), [("learning", "learned"), ("learned", "learning")])
def test_memory_is_bounded_where_the_program_is_an_adversary(tmp_path, subject, other):
    kept = filled(tmp_path, {}, {subject: 1.2}, groups=("adversarial",))
    assert answers_of(kept) == {("adversarial", subject): "missed", ("adversarial", other): "met"}
    assert {one.bound for one in findings.of_rows(kept) if one.verdict == "missed"} == {"peak memory ≤ 1.1 of its"}


def test_what_learning_found_in_hindsight_is_a_rival_only_where_nothing_changes(tmp_path):
    kept = filled(tmp_path, {}, groups=("stationary", "changing"))
    for row in ("stationary/a", "changing/a"):
        kept.add_chosen(row, ["default", "learning", "learned", "hindsight", "only-cap", GRID[0].name])
    assert findings.fixed_settings(kept, "stationary/a") == ["default", "hindsight", GRID[0].name]
    assert findings.fixed_settings(kept, "changing/a") == ["default", GRID[0].name]


def test_leaner_but_slower_does_not_pay(tmp_path):
    said = answers_of(filled(tmp_path, {"learned": 1.1}, {"learned": 0.5}, groups=("memory",)))
    assert said["memory", "learned"] == "missed"


def test_without_runs_nothing_is_decided(tmp_path):
    kept = store.begin(tmp_path / "runs.jsonl", head([task_of("memory/a", None)], GRID))
    assert set(answers_of(kept).values()) == {"not decided"}
    tables.as_page(kept, findings.of_rows(kept), findings.of_groups(kept), [], "x.svg")
    picture.save(kept, tmp_path / "x.svg")


def test_page_and_picture_have_every_row(tmp_path):
    kept = filled(tmp_path, {"learned": 0.9})
    kept.add_run(("memory/a", store.PAIR, 99, "hindsight"), None, "it fell over")
    found, whole = findings.of_rows(kept), findings.of_groups(kept)
    page = tables.as_page(kept, found, whole, findings.answers(found, whole), "page.svg")
    picture.save(kept, tmp_path / "page.svg")
    drawn = (tmp_path / "page.svg").read_text()
    assert "](page.svg)" in page and "it fell over" in page and "retain_min 33554432, class × 1" in page
    for row in kept.rows():
        assert row["name"] in page and row["name"] in drawn
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert all(line.count("|") > 3 for line in lines) and "--quick" in page
    assert json.loads(json.dumps(tables.as_json(kept, found, whole, findings.answers(found, whole))))["answers"]


# --- the command

def invoke(*words):
    return CliRunner().invoke(app, ["bench", "policy", *words])


@pytest.mark.parametrize("words, said", [
    (["--group", "nothing"], "not known"), (["--report", "x.txt"], "must end in .md"),
    (["--report", "/no/such/folder/x.md"], "can't be written"), (["--seeds", "a"], "whole numbers"), (["--seeds", "0"], "from 1 to"),
    (["--rows", "no/such"], "no row matches"), (["--continue", __file__], "not written by hakmem bench policy|not a record"),
    (["--trace", __file__], "two or more"), (["--trace", __file__, "--trace", __file__], "no trace"), (["--show", __file__], "not a record"),
    (["--show", __file__, "-o", "x"], "measures nothing"), (["--show", __file__, "--continue", __file__], "measures nothing")])
def test_it_refuses_what_makes_no_sense(words, said):
    done = invoke(*words)
    assert done.exit_code == 2 and re.search(said, done.output)


def test_rows_are_listed_with_seeds_drawn_or_given():
    given = invoke("--list", "--group", "changing", "--seeds", "3,4").output.split()
    assert given == ["changing/3", "changing/4"]
    one, other = (invoke("--list", "--group", "changing").output.split() for _ in range(2))
    assert len(set(one)) == len(set(other)) == rows.SEEDS and one != other


def test_programs_that_are_not_installed_are_told_where_their_rows_were_asked_for(monkeypatch):
    monkeypatch.setattr(rows.programs, "is_there", lambda one: one.name != "z3")
    assert "z3" not in invoke("--list", "--group", "changing").output
    assert "z3" not in invoke("--list", "--group", "programs", "--rows", "programs/py*").output
    assert "left out, not installed" in invoke("--list", "--group", "programs", "--rows", "programs/?[3y]*").output


def test_every_group_has_rows_and_every_row_a_known_workload():
    tasks = rows.all_tasks([1], [], quick=False)
    assert {task.group for task in tasks} >= set(rows.GROUPS) - {rows.PROGRAMS}
    assert len({task.name for task in tasks}) == len(tasks)
    assert {task.name for task in rows.all_tasks([1], [], quick=True)} <= {task.name for task in tasks}


def test_bench_still_means_the_suites():
    done = CliRunner().invoke(app, ["bench", "--list", "--rows", "bulk/64/*"])
    assert done.exit_code == 0 and done.output.split() == ["bulk/64/lifo", "bulk/64/fifo", "bulk/64/random"]


@pytest.fixture
def made_up_rows(monkeypatch, tmp_path):
    """The command runs these, and a library that is a file."""
    tasks = [task_of(name, Program()) for name in ("changing/1", "changing/2", "memory/x")]
    monkeypatch.setattr(rows, "all_tasks", lambda *_: tasks)
    monkeypatch.setattr(policies, "tool", lambda: None)
    library = tmp_path / "lib.so"
    library.write_text("a library")
    return library


@pytest.mark.parametrize(("words", "work"), [((), rows.QUICK_PHASE_WORK), (("--phase-work", "30"), 30)])
def test_the_work_of_a_phase_is_kept_with_the_runs(made_up_rows, tmp_path, words, work):
    file = tmp_path / "runs.jsonl"
    assert invoke("--quick", "--lib", str(made_up_rows), "-o", str(file), *words).exit_code == 0
    assert store.read(file).head["phase_work"] == work
    assert invoke("--list", "--phase-work", "0").exit_code == 2


def test_a_group_that_is_done_is_a_line_and_a_log_has_few(made_up_rows, tmp_path):
    file = tmp_path / "runs.jsonl"
    done = invoke("--quick", "--lib", str(made_up_rows), "-o", str(file), "--report", str(tmp_path / "x.md"))
    assert done.exit_code == 0, done.output
    ended = re.findall(r"^(\w+) is done: (.*) \(0:00:\d\d\)$", done.output, re.MULTILINE)
    assert ended == [(group, "learned not decided, learning not decided") for group in ("changing", "memory")]
    logged = re.findall(r"^(\w+, \w+): \d+ of \d+ runs, [\d:]+ left$", done.output, re.MULTILINE)
    assert logged == [f"{group}, {stage}" for group, stage in (("changing", "learn"), ("changing", "screen"),
                                                              ("changing", "pair"), ("memory", "learn"), ("memory", "pair"))]
    again = invoke("--continue", str(file))
    assert again.exit_code == 0 and "# Does learning pay?" in (tmp_path / "x.md").read_text()


def test_a_page_names_each_machine_that_a_measurement_ran_on(made_up_rows, tmp_path, monkeypatch):
    file, page = tmp_path / "runs.jsonl", tmp_path / "x.md"
    assert invoke("--quick", "--lib", str(made_up_rows), "-o", str(file)).exit_code == 0
    lines = file.read_text().splitlines(keepends=True)
    pairs = [number for number, line in enumerate(lines) if '"pair"' in line]
    file.write_text("".join(lines[:pairs[len(pairs) // 2]]))
    monkeypatch.setattr(machine, "describe", lambda: MACHINE)
    again = invoke("--continue", str(file), "--report", str(page))
    assert again.exit_code == 0, again.output
    told = re.search(r"^Machines: (.*); a processor, 2 processors, Linux 6, glibc 2.36 \((\d+) of the paired runs\);", page.read_text(), re.MULTILINE)
    counts = [int(told[2]), int(re.search(r"\((\d+) of the paired runs\)", told[1])[1])]
    assert sum(counts) == len(pairs) and min(counts) > 0


def test_runs_that_are_kept_make_the_same_page_anywhere_packed_or_not(made_up_rows, tmp_path):
    file, packed = tmp_path / "runs.jsonl", tmp_path / "runs.jsonl.xz"
    invoke("--quick", "--lib", str(made_up_rows), "-o", str(file), "--report", str(tmp_path / "measured.md"))
    with file.open("a") as end:
        end.write('{"kind')  # in the middle of a line: it may go on in another process
    packed.write_bytes(lzma.compress(file.read_bytes()))
    made_up_rows.unlink()
    before, plain = packed.read_bytes(), file.read_bytes()
    for shown in (file, packed):
        done = invoke("--show", str(shown), "--report", str(tmp_path / "shown.md"))
        assert done.exit_code == 0, done.output
        assert (tmp_path / "shown.md").read_text() == (tmp_path / "measured.md").read_text().replace("measured.svg", "shown.svg")
    assert packed.read_bytes() == before and file.read_bytes() == plain
    packed.write_bytes(before[:-20])
    assert invoke("--show", str(packed)).exit_code == 2
    said = invoke("--continue", str(packed))
    assert said.exit_code == 2 and "xz -dk" in said.output


def test_it_goes_on_with_the_same_library_wherever_it_is(made_up_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(places, "TREE", tmp_path)
    monkeypatch.setattr(comparison, "frozen", lambda file: file)
    file, moved, other = tmp_path / "runs.jsonl", tmp_path / "moved.so", tmp_path / "other.so"
    other.write_text("another library")
    invoke("--quick", "--lib", str(made_up_rows), "-o", str(file))
    assert store.read(file).head["library"] == made_up_rows.name
    assert invoke("--continue", str(file)).exit_code == 0
    made_up_rows.rename(moved)
    monkeypatch.setattr(places, "HAKMEM_LIBRARY", other)
    for words in ([], ["--lib", str(other)]):
        said = invoke("--continue", str(file), *words)
        assert said.exit_code == 2 and "sha256" in said.output
    assert invoke("--continue", str(file), "--lib", str(moved)).exit_code == 0
    monkeypatch.setattr(places, "HAKMEM_LIBRARY", moved)
    assert invoke("--continue", str(file)).exit_code == 0
