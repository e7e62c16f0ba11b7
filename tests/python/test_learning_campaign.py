"""hakmem bench policy: by what settings are screened, and what is run for no figure."""

from dataclasses import replace

import pytest
from hakmem.learning import campaign, halving, store
from made_up import GRID, Program, Reader, made, task_of


@pytest.mark.parametrize("mean, memory", [(None, 16), (4, 8)])
def test_memory_is_screened_by_peak_and_mean_alike_where_there_is_a_mean(mean, memory):
    assert campaign._values({"seconds": 2, "peak_kib": 16, "mean_kib": mean}) == {"time": 2, "memory": memory}


def test_where_the_round_before_failed_to_learn_the_newest_file_is_used(tmp_path):
    class Fails(Reader):
        def __call__(self, allocator, folder, turn):
            self.fails = ("learning",) if turn == 2 else ()
            return super().__call__(allocator, folder, turn)
    program = Fails()
    task = replace(task_of("memory/x", program), moved=lambda text, learned, turn: text.replace("end\n", f"of {learned}\nend\n"))
    made(tmp_path, program, [task], pairs=5).run()
    assert [program.read["learned", turn].splitlines()[-2] for turn in range(1, 5)] == ["of 0", "of 1", "of 1", "of 1"]


def test_a_rows_turn_after_another_row_begins_with_a_run_of_the_defaults_that_no_figure_has(tmp_path):
    order = []

    class Told(Program):
        def __call__(self, allocator, folder, turn):
            order.append((self, allocator.name, turn))
            return super().__call__(allocator, folder, turn)
    programs = [Told(), Told()]
    told = []
    one = made(tmp_path, None, [task_of(f"memory/{letter}", program) for letter, program in zip("ab", programs, strict=True)])
    one.on_run = lambda it, task, stage, turn, name, failure: told.append((name, it.runs_done() + it.runs_left()))
    one.run()
    turns = [order[2:][start:start + 4] for start in range(0, 4 * 2 * 4, 4)]  # both have learned; then four rounds of each
    assert len(order) == 2 + 4 * 2 * 4
    for number, runs in enumerate(turns):
        assert {program for program, _, _ in runs} == {programs[number % 2]} and {turn for _, _, turn in runs} == {number // 2}
        assert runs[0][1] == "default" and sorted(name for _, name, _ in runs[1:]) == ["default", "learned", "learning"]
    assert sum(key[1:3] == (store.PAIR, 0) for key in one.store.runs) == 2 * 3 and len(one.store.took["memory/a"]) == 1 + 4 * 3
    assert [name for name, _ in told].count("to warm up") == 8 and {whole for _, whole in told} == {len(order)}


def test_one_row_by_itself_is_warm(tmp_path):
    program = Program()
    made(tmp_path, program, [task_of("memory/a", program)]).run()
    assert len(program.runs) == 1 + 4 * 3


def test_one_row_is_screened_by_what_is_over_the_defaults_and_twice_where_few_are_left(tmp_path):
    """Who is lucky in one turn is out; a turn in which the machine is slow puts nobody out."""
    rungs = len(halving.rungs_of(len(GRID)))

    class Noisy(Program):
        def __call__(self, allocator, folder, turn):
            made = super().__call__(allocator, folder, turn)
            luck = {0: 0.5, rungs: 4}.get(turn, 1) if allocator.name == "stacks=1m" else 1
            made.report["seconds"] *= luck * (10 if turn >= rungs else 1)
            return made
    one = made(tmp_path, None, [task_of("stationary/x", Noisy({"mode=fast": 0.8, "retain=0": 0.9, "w_max=1.25": 0.85}))])
    one.run()
    assert set(one.store.chosen["stationary/x"][4:]) == {"mode=fast", "retain=0", "w_max=1.25"}
    screened = [(turn, name) for _, stage, turn, name in one.store.runs if stage == store.SCREEN]
    turns = {turn: sum(number == turn for number, _ in screened) for turn in range(2 * rungs)}
    assert turns == {rung + again * rungs: 1 + count for rung, count in enumerate(halving.rungs_of(len(GRID))) for again in (0, 1)}
    assert all((turn, "default") in screened for turn in turns)


def test_while_many_settings_are_left_one_row_runs_each_once(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "FEW", 4)
    one = made(tmp_path, Program())
    one.run()
    turns = {turn for _, stage, turn, _ in one.store.runs if stage == store.SCREEN}
    assert turns == {0, 1, 2, 5}  # of 16, 8 and 4 settings, the last again
