"""Two measurements side by side: what agrees, what does not, what can't be told."""

import json

import pytest
from hakmem import comparison
from hakmem.allocator import Allocator
from hakmem.cli import app
from typer.testing import CliRunner

ROWS = ("tiny/8-64/400/1t", "mid/2048-32768/400/1t", "bulk/64/lifo", "bulk/64/fifo", "mixed/16-1024/400/1t")
NOISE = (0.99, 1.0, 1.01)


def write(file, own, peer, rows=ROWS, runs=len(NOISE)):
    """Seconds of hakmem and of its peer; what the machine did to one, it did to both."""
    allocators = [Allocator("hakmem", is_bar=False), Allocator("mimalloc3")]
    recorder = comparison.Recorder(file, allocators, {"runs": runs, "quick": False})
    for row in rows:
        for turn, noise in enumerate(NOISE[:runs], start=1):
            for one, seconds in zip(allocators, (own, peer), strict=True):
                drift = 1 + turn
                report = {"seconds": seconds * drift * (noise if one.name == "hakmem" else 1), "operations": 1000,
                          "peak_kib": 1000, "final_kib": 900}
                recorder.append({"kind": "run", "row": row, "allocator": one.name, "turn": turn, "failure": None,
                                 "counted": True, "report": report})
    return file


def invoke(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words)])


def test_the_same_on_a_machine_that_drifts_agrees(tmp_path):
    first, second = write(tmp_path / "1", 1.0, 2.0), write(tmp_path / "2", 1.005, 2.0)
    done = invoke(first, second, "--json")
    said = json.loads(done.stdout)
    assert done.exit_code == 0 and said["agreeing"] == 1.0 and len(said["pairs"]) == len(ROWS)
    assert said["pairs"][0]["first"]["value"] == pytest.approx(2.0)


def test_what_differs_is_named_and_ends_with_1(tmp_path):
    first, second = write(tmp_path / "1", 1.0, 2.0), write(tmp_path / "2", 1.0, 2.0, ROWS[1:])
    write(second, 1.1, 2.0, ROWS[:1])
    done = invoke(first, second)
    assert done.exit_code == 1 and "4 of 5 agree" in done.output
    differing = [line for line in done.output.splitlines() if "differ" in line]
    assert len(differing) == 1 and ROWS[0] in differing[0]


def test_too_few_rounds_are_not_compared(tmp_path):
    done = invoke(write(tmp_path / "1", 1.0, 2.0, runs=2), write(tmp_path / "2", 1.0, 2.0))
    assert done.exit_code == 2 and "at least 3 times" in done.output.replace("\n", " ")


def test_files_that_are_not_there_are_refused(tmp_path):
    done = invoke(tmp_path / "no", tmp_path / "no")
    assert done.exit_code == 2 and "can't be read" in done.output.replace("\n", " ")
