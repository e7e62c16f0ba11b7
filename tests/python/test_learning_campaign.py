"""hakmem bench policy: by what settings are screened, and what is run for no figure."""

from dataclasses import replace

import pytest
from hakmem.learning import campaign
from made_up import Reader, made, task_of


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
