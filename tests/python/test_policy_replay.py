"""hakmem policy replay: it predicts what runs do, and what sampling windows see is what the program asks for."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hakmem import policies, policy_replays, traces
from hakmem.allocator import Allocator
from hakmem.cli import app
from hakmem.policies import PolicyFailed
from scipy import stats
from typer.testing import CliRunner

SOURCES = Path(__file__).with_name("traced")
PYTHON = Path(__file__).resolve().parents[2] / "bench/traces/python.hktrace"
CALLS = 1_000_000
SECONDS = 10  # as long the program would take in which windows open often enough
SIGNIFICANT = 1e-6  # a test that fails once in a million runs by chance


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("replayed") / "sizes"
    subprocess.run(["cc", "-O1", "-fno-builtin", SOURCES / "sizes.c", "-o", made, "-pthread"], check=True)
    return made


@pytest.fixture(scope="module")
def recorded(program, library, tmp_path_factory):
    """recorded(threads) is a trace of so many, recorded once, and the statistics of that run."""
    made = {}

    def call(threads: int) -> tuple[Path, dict]:
        if threads not in made:
            folder = tmp_path_factory.mktemp(f"threads{threads}")
            allocator = Allocator("hakmem", library, environment=statistics_into(folder / "statistics"))
            recording = traces.record([str(program), str(CALLS), str(threads)], folder / "made.hktrace", allocator)
            assert recording.status == 0
            made[threads] = recording.file, json.loads((folder / "statistics").read_text())
        return made[threads]

    return call


def statistics_into(file: Path) -> dict[str, str]:
    return {"HAKMEM_STATS": "json", "HAKMEM_STATS_FILE": str(file)}


@pytest.fixture(scope="module")
def learned(recorded, tmp_path_factory):
    """A replay that learned from one thread, and its file."""
    file = tmp_path_factory.mktemp("learned") / "sizes.policy"
    return policy_replays.run(recorded(1)[0], mode="learning", seconds=SECONDS, out=file), file


@pytest.fixture
def invoke():
    return lambda *words: CliRunner().invoke(app, ["policy", "replay", *map(str, words)])


# --- the prediction ----------------------------------------------------------------------------------------------------

COUNTS = ("refills", "refilled_blocks", "flushes", "flushed_blocks")


def test_one_thread_moves_the_batches_that_were_predicted(recorded):
    trace, real = recorded(1)
    predicted = policy_replays.run(trace)
    assert predicted["refused"] == 0 and predicted["refills"] > 100 < predicted["flushes"]
    assert {name: predicted[name] for name in COUNTS} == {name: real[name] for name in COUNTS}


def test_what_threads_move_is_predicted_nearly(recorded):
    trace, real = recorded(3)
    predicted = policy_replays.run(trace)
    for name in COUNTS:
        assert abs(predicted[name] / real[name] - 1) < 0.15, (name, predicted[name], real[name])


def test_a_run_that_begins_with_the_file_does_what_was_predicted(program, recorded, learned, library, tmp_path):
    """With depths halved by hand: those of this program save too little for any to be learned."""
    file = tmp_path / "sizes.policy"
    by_hand = "".join(f"depth {one['block_bytes']} {max(1, one['depth'] // 2)}\n" for one in learned[0]["classes"])
    head, _, _ = learned[1].read_text().rpartition("end\n")
    file.write_text("".join(line for line in head.splitlines(keepends=True) if not line.startswith("depth")) + by_hand + "end\n")
    predicted = policy_replays.run(recorded(1)[0], policy=file)
    assert predicted["refills"] > 1.2 * policy_replays.run(recorded(1)[0])["refills"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
    env |= {"LD_PRELOAD": str(library), "HAKMEM_POLICY": str(file), **statistics_into(tmp_path / "statistics")}
    subprocess.run([program, str(CALLS), "1"], env=env, check=True)
    real = json.loads((tmp_path / "statistics").read_text())
    assert {name: predicted[name] for name in COUNTS} == {name: real[name] for name in COUNTS}
    depths = {line.subject: line.value for line in policies.read(file).lines if line.kind == "depth"}
    assert depths and all(one["depth"] == depths[str(one["block_bytes"])] for one in predicted["classes"]
                          if str(one["block_bytes"]) in depths)


def test_a_replay_repeats(learned, recorded):
    again = policy_replays.run(recorded(1)[0], mode="learning", seconds=SECONDS)
    assert again == learned[0]


def test_levels_are_those_of_the_trace(recorded):
    trace, _ = recorded(1)
    facts, figures = traces.stat(trace), policy_replays.run(trace)
    assert figures["asked_peak_bytes"] == facts["peak_live_bytes"] and figures["calls"] == facts["takes"] + facts["gives"]
    assert 0 < figures["rounding_mean_bytes"] < figures["rounding_peak_bytes"] < 0.2 * facts["peak_live_bytes"]
    assert figures["held_peak_bytes"] > figures["asked_peak_bytes"] > figures["asked_mean_bytes"]
    assert sum(figures["sizes_in_trace"]) == facts["takes"]


def test_the_users_options_count(recorded, monkeypatch):
    trace, _ = recorded(1)
    monkeypatch.setenv("HAKMEM_RETAIN_MIN", "0")
    monkeypatch.setenv("HAKMEM_RETAIN_SHARE", "1000000")
    frugal = policy_replays.run(trace)
    monkeypatch.undo()
    assert frugal["purged_bytes"] > policy_replays.run(trace)["purged_bytes"]


# --- what windows see --------------------------------------------------------------------------------------------------


def learning(trace: Path) -> dict:
    figures = policy_replays.run(trace, mode="learning", seconds=SECONDS)
    assert figures["windows"] > 50 and sum(figures["sizes_in_windows"]) > 3_000, figures
    return figures


def chance(counts: list[float], population: list[int]) -> float:
    """How probable such counts are, or less likely ones, in a sample drawn from the population at random."""
    kinds = [kind for kind, count in enumerate(population) if count * sum(counts) >= 10 * sum(population)]
    expected = [population[kind] for kind in kinds]
    scale = sum(counts[kind] for kind in kinds) / sum(expected)
    return stats.chisquare([counts[kind] for kind in kinds], [scale * count for count in expected]).pvalue


@pytest.mark.parametrize("threads", [1, 3])
def test_a_window_sees_every_request_inside_of_it(recorded, threads):
    figures = learning(recorded(threads)[0])
    assert figures["sizes_seen"] == figures["sizes_in_windows"]


@pytest.mark.parametrize("threads", [1, 3])
def test_sizes_in_windows_are_an_unbiased_sample_of_the_trace(recorded, threads):
    figures = learning(recorded(threads)[0])
    assert sum(figures["sizes_seen"]) < 0.5 * sum(figures["sizes_in_trace"])
    assert chance(figures["sizes_seen"], figures["sizes_in_trace"]) > SIGNIFICANT


def test_a_bias_would_be_seen(recorded):
    figures = learning(recorded(1)[0])
    seen = figures["sizes_seen"]
    most = max(range(len(seen)), key=seen.__getitem__)
    assert chance([count * 1.3 if kind == most else count for kind, count in enumerate(seen)],
                  figures["sizes_in_trace"]) < SIGNIFICANT


# --- the command -------------------------------------------------------------------------------------------------------


def test_a_table_with_three_replays_and_the_gain(invoke):
    done = invoke(PYTHON)
    assert done.exit_code == 0, done.output
    for word in ("defaults", "while it learns", "begun with it", "batches moved", "lost to rounding", "free in stacks",
                 "purged", "faulted in again", "together", "predicted for a run that begins with it"):
        assert word in done.output


def test_what_was_learned_is_a_policy_file(invoke, tmp_path):
    file = tmp_path / "python.policy"
    done = invoke(PYTHON, "-o", file)
    assert done.exit_code == 0 and "hakmem policy show" in done.output
    policy = policies.read(file)
    assert policy.program == "python3.11" and policy.runs == 1 and policy.lines


def test_json_has_every_figure(invoke):
    done = invoke(PYTHON, "--json", "--seconds", "0.2")
    made = json.loads(done.stdout)
    assert set(made["replays"]) == {"defaults", "learning", "learned"}
    assert made["replays"]["learning"]["looks"] > 3 and made["replays"]["defaults"]["looks"] == 0
    assert abs(made["replays"]["learned"]["seconds"] - 0.2) < 0.01
    assert made["gain"]["batches"] == sum(made["replays"]["defaults"][name] - made["replays"]["learned"][name]
                                          for name in ("refills", "flushes"))


def test_a_file_in_place_of_learning(invoke, tmp_path):
    file = tmp_path / "by_hand.policy"
    file.write_text("hakmem-policy 1\nprogram another\nretain_min 0\nretain_share 1000000\nend\n")
    made = json.loads(invoke(PYTHON, "--policy", file, "--json").stdout)["replays"]
    assert set(made) == {"defaults", "learned"}
    assert made["learned"]["purged_bytes"] > made["defaults"]["purged_bytes"]


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda whole: b"", "no trace"), (lambda whole: b"#!/bin/sh\n" * 20, "does not start with HKMTRACE"),
    (lambda whole: whole[:-20], "is not whole")])
def test_files_that_are_no_traces_get_one_line(invoke, tmp_path, spoil, said):
    file = tmp_path / "spoiled.hktrace"
    file.write_bytes(spoil(PYTHON.read_bytes()))
    done = invoke(file)
    assert done.exit_code == 2 and said in done.output.replace("\n", " ") and done.output.startswith("hakmem:")


def test_what_does_not_count_of_a_file_is_told(invoke, tmp_path):
    file = tmp_path / "by_hand.policy"
    file.write_text("hakmem-policy 1\nprogram another\nsite another+0x10 1048576\nend\n")
    said = invoke(PYTHON, "--policy", file, "--json").stderr
    assert "is of another program: another, and" in said and "is of python3.11" in said and "1 rule for call sites left out" in said
    file.write_text("hakmem-policy 1\nprogram python3.11\nretain_min 0\nend\n")
    assert "another" not in invoke(PYTHON, "--policy", file).stderr


def test_a_trace_without_its_end_is_read_if_asked(invoke, tmp_path):
    file = tmp_path / "cut.hktrace"
    file.write_bytes(PYTHON.read_bytes()[:-20])
    assert invoke(file, "--partial").exit_code == 0


@pytest.mark.parametrize("words", [[], ["/no/such/file"], [PYTHON, "--policy", "/no/such/file"], [PYTHON, "--seconds", "0"],
                                   [PYTHON, "--seconds", "inf"], [PYTHON, "--seconds", "nan"], [PYTHON, "--seconds", "-1"],
                                   [PYTHON, "--policy", __file__], [PYTHON, "-o", "/no/such/folder/file"]])
def test_wrong_use_is_told(invoke, words):
    done = invoke(*words)
    assert done.exit_code == 2 and "Traceback" not in done.output and done.output


def test_output_and_policy_exclude_each_other(invoke, tmp_path):
    file = tmp_path / "one.policy"
    file.write_text("hakmem-policy 1\nend\n")
    done = invoke(PYTHON, "--policy", file, "-o", tmp_path / "two.policy")
    assert done.exit_code == 2 and "nothing is learned" in done.output


@pytest.mark.parametrize(("name", "said"), [("python.hktrace", "is read"), ("notes.txt", "something else"),
                                            ("missing/out.policy", "can't be written")])
def test_an_output_that_can_not_be_is_told_before_the_replay(invoke, monkeypatch, tmp_path, name, said):
    trace, notes = tmp_path / "python.hktrace", tmp_path / "notes.txt"
    trace.symlink_to(PYTHON)
    notes.write_text("notes\n")
    monkeypatch.setattr(policy_replays, "run", None)
    done = invoke(trace, "-o", tmp_path / name)
    assert done.exit_code == 2 and said in done.output.replace("\n", " "), done.output
    assert trace.is_symlink() and notes.read_text() == "notes\n" and len(list(tmp_path.iterdir())) == 2


def test_a_tool_that_can_not_be_compiled_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(policy_replays, "_SOURCES", [tmp_path / "missing.c"])
    (tmp_path / "missing.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(PolicyFailed, match="nothing"):
        policy_replays.tool(tmp_path)
