"""What the rows of hakmem bench policy run, told by commands and environments that are made up."""

from dataclasses import replace
from pathlib import Path

import pytest
from hakmem import run as runner
from hakmem import workloads
from hakmem.allocator import Allocator
from hakmem.learning import call_sites, rows

SUBJECT = Allocator("hakmem", Path("/some/lib.so"), environment={"HAKMEM_MODE": "learning"})


@pytest.fixture
def ran(monkeypatch):
    """What is run: rows and environments, in their order."""
    made = []

    def run(row, allocator, quick):
        made.append((row, allocator.environment))
        return runner.Run({"seconds": 1.0})
    monkeypatch.setattr(runner, "run", run)
    return made


def test_seeds_that_have_two_rounds_each_go_through_all_places(ran, tmp_path):
    tasks = [task for task in rows.all_tasks(list(range(1, 21)), [], False) if task.group == rows.CHANGING]
    rounds = rows.rounds_of(rows.CHANGING, [task.name for task in tasks], 40)
    for task in tasks:
        for turn in range(rounds):
            task.run(SUBJECT, tmp_path, turn)
    places = [row.place % workloads.PLACES for row, _ in ran]
    assert rounds == 2 and set(places) == set(range(workloads.PLACES)) and max(map(places.count, places)) <= 4


@pytest.mark.parametrize("quick", [False, True])
def test_a_phase_does_as_much_as_is_asked_for_and_the_estimate_goes_with_it(ran, tmp_path, quick):
    about = []
    for work in (200, 100, 20):
        task = next(task for task in rows.all_tasks([7], [], quick, work) if task.group == rows.CHANGING)
        task.run(SUBJECT, tmp_path, 0)
        about.append(task.about_seconds)
    assert [row.operations for row, _ in ran] == [200, 100, 20]
    assert about == pytest.approx([about[0], about[0] / 2, about[0] / 10])


@pytest.mark.parametrize("name", ["changing/7", "memory/odd/1040/1t"])
def test_what_was_learned_goes_with_the_code_of_each_round(ran, tmp_path, monkeypatch, name):
    moves = []
    monkeypatch.setattr(call_sites, "moved", lambda workload, policy, learned, place: moves.append((learned, place)))
    task = next(task for task in rows.all_tasks([5, 6, 7], [], False) if task.name == name)
    for turn in (0, 3):
        task.run(SUBJECT, tmp_path, turn)
    task.moved("a policy", 0, 3)
    assert moves == [tuple(row.place for row, _ in ran)] and moves[0][0] != moves[0][1]


def test_rows_where_memory_is_dear_say_so_to_every_arm(ran, tmp_path):
    for task in rows.all_tasks([1], [], False):
        if task.name.endswith("/dear"):
            task.run(SUBJECT, tmp_path, 0)
    prices = {row.name: environment.get("HAKMEM_MEMORY_PRICE") for row, environment in ran}
    assert prices == {"memory/idle/500ms/dear": "1000000", "memory/threads/64t/dear": "100000000"}
    assert all(environment["HAKMEM_MODE"] == "learning" for _, environment in ran)


def test_sites_are_learned_as_their_rows_say_where_something_is_learned_at_all(ran, tmp_path):
    by_name = {task.name: task for task in rows.all_tasks([1], [], False)}
    for name in ("sites", "sites/rules", "sites/research"):
        by_name[f"adversarial/{name}"].run(SUBJECT, tmp_path, 0)
    by_name["adversarial/sites/rules"].run(replace(SUBJECT, environment={}), tmp_path, 0)
    by_name["adversarial/sites/research"].run(replace(SUBJECT, environment={}), tmp_path, 0)
    modes = [environment.get("HAKMEM_MODE") for _, environment in ran]
    parts = [environment.get("HAKMEM_LEARN_PARTS") for _, environment in ran]
    assert modes == ["learning", "research", "research", None, None] and parts[0] is parts[2] is parts[3] is parts[4] is None
    assert "sites" in parts[1] and "tournaments" not in parts[1]


def test_mode_research_gets_runs_that_are_twelve_times_as_long(ran, tmp_path):
    task = next(task for task in rows.all_tasks([1], [], False) if task.name == "loop/json")
    task.run(SUBJECT, tmp_path, 0)
    task.run_for_long(SUBJECT, tmp_path, 0)
    (short, _), (long, _) = ran
    assert long.operations == 12 * short.operations
