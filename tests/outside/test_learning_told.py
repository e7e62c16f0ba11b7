"""What the statistics of a program say of its learning, at its end and while it runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "src/two_lives.c"
SECONDS = 2.5
LATEST_MS = 700  # between two looks, on a busy machine


@pytest.fixture(scope="module")
def program(tmp_path_factory, tool, run):
    program = tmp_path_factory.mktemp("told") / "two_lives"
    run(tool("gcc"), "-O1", "-fno-builtin", SOURCE, "-o", program, "-ldl")
    return program


@pytest.fixture(scope="module")
def told(program, library, tmp_path_factory):
    """told("learning") is a run's (statistics from inside, at its end as JSON, as text); each is run once."""
    known = {}

    def call(mode, seconds=SECONDS):
        if (mode, seconds) not in known:
            file = tmp_path_factory.mktemp("left") / "json"
            env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
            env |= {"LD_PRELOAD": str(library), "HAKMEM_MODE": mode, "HAKMEM_STATS": "json", "HAKMEM_STATS_FILE": str(file)}
            inside = subprocess.run([program, str(seconds)], env=env, capture_output=True, text=True, check=True)
            short = subprocess.run([program, "0.2"], env={**env, "HAKMEM_STATS": "text", "HAKMEM_STATS_FILE": ""},
                                   capture_output=True, text=True, check=True)
            known[mode, seconds] = json.loads(inside.stdout), json.loads(file.read_text()), short.stderr
        return known[mode, seconds]

    return call


def test_figures_agree_with_each_other(told):
    inside, end, _ = told("learning")
    for one in (inside, end):
        learning = one["learning"]
        assert one["learn_run_ns"] >= 1.9e9 * SECONDS and one["learn_looks"] > 10
        assert one["learn_promoted"] == learning["reasons"]["no_worse"]
        assert one["learn_rolled_back"] == learning["reasons"]["worse"]
        assert one["learn_anew"] == sum(learning["reasons"][reason] for reason in ("slower", "dearer", "sizes"))
        assert one["learn_windows"] > 0 and 0 < one["learn_seen_blocks"] <= 512 * one["learn_windows"]
        assert one["learn_state"] == 1 + ["LEARN", "CANARY", "FROZEN"].index(learning["state"])
    assert end["learn_looks"] >= inside["learn_looks"] and end["learn_run_ns"] > inside["learn_run_ns"]


def test_looks_take_a_small_part_of_the_time(told):
    _, end, _ = told("learning")
    assert 0 < end["learn_look_ns"] / end["learn_run_ns"] < 0.02  # 1/200 is the aim; the rest is for busy machines


def test_the_history_covers_the_run_in_order(told):
    _, end, _ = told("learning")
    rows = end["learning"]["history"]
    times = [row["ms"] for row in rows]
    assert times == sorted(times) and times[0] < LATEST_MS and end["learn_run_ns"] / 1e6 - times[-1] < LATEST_MS
    assert min(end["learn_looks"], 128) <= len(rows) <= 256
    batches = [row["batches"] for row in rows]
    assert batches == sorted(batches) and batches[-1] > 0
    assert all(row["in_use_bytes"] > 0 and row["thread_bytes"] >= 2**20 for row in rows)
    assert max(row["in_use_bytes"] for row in rows if row["ms"] > 1100 * SECONDS) > 20_000_000  # the second life's


def test_states_and_reasons_follow_each_other(told):
    _, end, _ = told("learning")
    changes = end["learning"]["changes"]
    assert changes[0] == {"ms": 0, "state": "LEARN", "reason": "begun"}
    follows = {"LEARN": {"CANARY", "FROZEN"}, "CANARY": {"FROZEN"}, "FROZEN": {"LEARN"}}
    for before, change in zip(changes, changes[1:]):
        assert change["state"] in follows[before["state"]] and change["ms"] >= before["ms"]
    assert sum(end["learning"]["reasons"].values()) == len(changes)
    assert {row["state"] for row in end["learning"]["history"]} <= {change["state"] for change in changes}


def test_other_sizes_begin_learning_anew(told):
    for seconds in (SECONDS, 2 * SECONDS, 4 * SECONDS, 6 * SECONDS):  # on a busy machine it may not hold still at the turn
        changes = told("learning", seconds)[1]["learning"]["changes"]
        first, second = ([change for change in changes if (change["ms"] > 900 * seconds) == later] for later in (False, True))
        if first[-1]["state"] == "FROZEN":
            break
    assert first[-1]["state"] == "FROZEN", changes
    assert any(change["reason"] in ("slower", "dearer", "sizes") for change in second), changes


def test_the_text_has_a_paragraph(told):
    _, _, text = told("learning")
    assert "learning: " in text and " sampling windows saw " in text and "learned anew for slower calls" in text


def test_where_nothing_is_learned_nothing_is_said(told):
    inside, end, text = told("balanced")
    for one in (inside, end):
        assert "learning" not in one and all(value == 0 for name, value in one.items() if name.startswith("learn_"))
        assert one["decisions"] == {"value": {}, "class": [], "close": [], "depth": []}
    assert "learning:" not in text and "not the default" not in text


def test_a_modes_decisions_are_told(told):
    _, end, text = told("minimal")
    assert end["decisions"]["value"] == {"thread_bytes": 2**20, "all_threads_bytes": 2**23, "retain_min": 2**20,
                                         "retain_share": 64, "huge_pages": 0}
    assert "not the default: thread_bytes 1048576; " in text
