"""hakmem ab on the real allocator: the same against itself, and against a copy that is slower by two percent."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hakmem import suites
from hakmem import run as runner
from hakmem.allocator import Allocator

TREE = Path(__file__).resolve().parents[2]
ROW = "mixed/16-1024/400/1t"  # each malloc and each free is an operation
SAME = int(os.environ.get("HAKMEM_TEST_SAME", "100"))
pytestmark = pytest.mark.long


def ab(*words) -> dict:
    done = subprocess.run([sys.executable, "-m", "hakmem", "ab", "--row", ROW, "--json", *map(str, words)],
                          env={**os.environ, "PYTHONPATH": str(TREE / "python")}, capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_same_against_itself_is_no_difference(tmp_path):
    """At 95 % at most five of a hundred may be false, and what chance adds to that (two standard deviations)."""
    made = [ab("--short", "--records", tmp_path / "records.jsonl") for _ in range(SAME)]
    false = [one for one in made if one["verdict"] in ("GO", "NO-GO")]
    print([one["verdict"] for one in made], [one["pairs"] for one in made])
    assert len(false) <= 0.05 * SAME + 2 * math.sqrt(0.05 * 0.95 * SAME), false


def slower(folder: Path, ticks: int) -> Path:
    """The allocator with a malloc that waits."""
    archive, flags = TREE / "build" / "release" / "libhakmem.a", ["-O2", "-fPIC", "-ftls-model=initial-exec"]
    folder.mkdir()
    for command in (["ar", "x", archive], ["objcopy", "--redefine-sym", "malloc=fast_malloc", "hakmem.o"],
                    ["cc", *flags, f"-DTICKS={ticks}", "-fno-builtin", "-c", Path(__file__).with_name("slower.c")],
                    ["cc", "-shared", "-o", "libhakmem.so", "hakmem.o", "slower.o", "-Wl,-z,now", "-Wl,-z,nodelete"]):
        subprocess.run([str(word) for word in command], cwd=folder, check=True)
    return folder / "libhakmem.so"


def operation_ticks(library: Path) -> float:
    row = next(one for one in suites.ROWS if one.name == ROW)
    made = runner.run(row, Allocator("hakmem", library), quick=False)
    assert made.failure is None, made.failure
    text = Path("/proc/cpuinfo").read_text()
    mhz = float(next(line for line in text.splitlines() if line.startswith("cpu MHz")).split(":")[1])
    return made.report["seconds"] / made.report["operations"] * mhz * 1e6


def test_two_percent_are_found(tmp_path):
    same = slower(tmp_path / "same", 0)
    ticks = operation_ticks(same)
    slow = slower(tmp_path / "slow", round(0.02 * 2 * 4096 * ticks))
    made = ab("--off-lib", same, "--on-lib", slow, "--records", tmp_path / "records.jsonl")
    print(ticks, made)
    assert made["verdict"] == "NO-GO" and made["speed_ratio"][1] < 0.99
