"""The commands as a user and a script meet them: exit statuses, JSON, what is kept when they are stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hakmem import comparison, places, suites
from hakmem.allocator import Allocator
from hakmem.cli import app
from hakmem.commands import common
from hakmem.commands import health as health_command
from typer.testing import CliRunner

SHORT = "bulk/64/lifo"


@pytest.fixture(autouse=True)
def short_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(suites, "QUICK_DIVISOR", 2000)
    monkeypatch.setattr(places, "RECORDS", tmp_path / "records.jsonl")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def subject(monkeypatch, counting_library) -> Allocator:
    """Stands for hakmem where only the command is tested."""
    library = Allocator("hakmem", counting_library, is_bar=False)
    for module in ("ab", "health", "common"):
        monkeypatch.setattr(f"hakmem.commands.{module}.hakmem_library", lambda: library)
    return library


def invoke(*words):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("command", [[], ["bench"], ["bench", "policy"], ["ab"], ["compare"], ["health"], ["trace"], ["trace", "record"], ["trace", "replay"],
                                     ["trace", "stat"], ["report"], ["peers"]])
def test_every_command_has_help(command):
    done = invoke(*command, "--help")
    assert done.exit_code == 0 and "Usage" in done.output and len(done.output) > 300


def test_bench_prints_json_and_keeps_every_run(tmp_path):
    file = tmp_path / "kept.jsonl"
    done = invoke("bench", "--rows", SHORT, "--quick", "--runs", "2", "--allocators", "glibc", "--records", str(file), "--json")
    made = json.loads(done.stdout.splitlines()[-1])
    assert done.exit_code == 0 and made["rows"][0]["row"] == SHORT
    assert made["rows"][0]["cells"]["glibc"]["runs"] == 2
    assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["comparison", "run", "run", "run"]


def test_a_library_given_by_name_is_measured_beside_those_asked_for(tmp_path, counting_library):
    done = invoke("bench", "--rows", SHORT, "--quick", "--runs", "2", "--allocators", "glibc", "--lib",
                  f"mine={counting_library}", "--records", str(tmp_path / "records.jsonl"), "--json")
    assert done.exit_code == 0, done.stderr
    assert set(json.loads(done.stdout)["rows"][0]["cells"]) == {"mine", "glibc"}


def test_huge_pages_can_be_each_allocators_own(tmp_path):
    file = tmp_path / "records.jsonl"
    done = invoke("bench", "--rows", SHORT, "--quick", "--runs", "1", "--allocators", "glibc", "--records", str(file),
                  "--huge-pages", "own")
    head = json.loads(file.read_text().splitlines()[0])
    assert done.exit_code == 0 and head["settings"]["huge_pages"] == "own"
    assert head["allocators"][0]["environment"] == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def test_huge_pages_can_be_off_for_all_that_is_started():
    code = ("import subprocess; from hakmem import machine; print(machine.refuse_huge_pages());"
            "print(subprocess.run(['grep', 'THP_enabled', '/proc/self/status'], capture_output=True, text=True).stdout)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.split() == ["True", "THP_enabled:", "0"]


def test_bench_that_is_stopped_keeps_and_prints_what_is_finished(tmp_path):
    file = tmp_path / "kept.jsonl"
    command = [sys.executable, "-m", "hakmem", "bench", "--rows", "bulk/16/lifo", "--quick", "--runs", "200", "--allocators",
               "glibc", "--records", str(file), "--json"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(comparison.__file__).parents[1])},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (file.exists() and len(file.read_text().splitlines()) > 3):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopped" in err
    assert json.loads(out.splitlines()[-1])["rows"][0]["cells"]["glibc"]["runs"] >= 1


def test_ab_finds_an_injected_slow_down_and_names_it(monkeypatch, subject):
    """Times are made up, half a percent of noise: B 2 % slower."""
    made = iter(range(10**6))

    def run(row, allocator, quick):
        seconds = (1.02 if allocator.name == "on" else 1.0) * (1 + 0.005 * ((next(made) * 7919) % 13 - 6) / 6)
        return comparison.Run({"seconds": seconds})
    monkeypatch.setattr("hakmem.run.run", run)
    done = invoke("ab", "--on", "fastlane=off", "--row", SHORT, "--json")
    said = json.loads(done.stdout.splitlines()[-1])
    assert done.exit_code == 1 and said["verdict"] == "NO-GO" and "fastlane=off" in said["on"]
    assert said["speed_ratio"][1] < 1 / 1.02 < said["speed_ratio"][2]


def test_ab_of_the_same_says_neutral_and_ends_with_0(monkeypatch, subject):
    made = iter(range(10**6))
    monkeypatch.setattr("hakmem.run.run", lambda row, one, quick: comparison.Run(
        {"seconds": 1 + 0.002 * ((next(made) * 7919) % 13 - 6) / 6}))
    done = invoke("ab", "--row", SHORT)
    assert done.exit_code == 0 and "NEUTRAL" in done.output


@pytest.mark.parametrize("words, said", [
    (["--row", "no/such"], "no/such"), (["--on", "fastlane"], "NAME=VALUE"), (["--most", "5"], "at least 10 pairs"),
    (["--on-lib", "/no/such.so"], "/no/such.so is not there")])
def test_ab_refuses_what_makes_no_sense(subject, words, said):
    done = invoke("ab", *words)
    assert done.exit_code == 2 and said in done.output


def test_health_keeps_the_first_figures_then_compares(monkeypatch, subject, tmp_path):
    speed = [1.0]
    monkeypatch.setattr("hakmem.run.run", lambda row, one, quick: comparison.Run(
        {"seconds": 1 / speed[0], "operations": 1000, "peak_kib": 5000}))
    assert invoke("health", "--profile", "bulk").exit_code == 0
    kept = json.loads((tmp_path / "state" / "hakmem" / "health.json").read_text())
    assert len(kept) == 1
    assert invoke("health", "--profile", "bulk").exit_code == 0
    speed[0] = 0.8
    ill = invoke("health", "--profile", "bulk", "--json")
    assert ill.exit_code == 1 and json.loads(ill.stdout.splitlines()[-1])["ill"]
    assert "slower or larger" in invoke("health", "--profile", "bulk").output
    assert invoke("health", "--profile", "bulk", "--tolerance", "0.5").exit_code == 0
    assert invoke("health", "--profile", "bulk", "--save").exit_code == 0
    assert invoke("health", "--profile", "bulk").exit_code == 0


def test_health_refuses_a_file_that_is_not_its_own(subject, monkeypatch):
    file = health_command.baseline_file()
    file.parent.mkdir(parents=True)
    file.write_text("not JSON")
    monkeypatch.setattr("hakmem.run.run", lambda row, one, quick: comparison.Run(
        {"seconds": 1, "operations": 1, "peak_kib": 1}))
    done = invoke("health", "--profile", "bulk")
    assert done.exit_code == 2 and "is not what hakmem health wrote" in done.output.replace("\n", " ")
    assert file.read_text() == "not JSON"


def test_profiles_are_rows():
    assert set(health_command.PROFILES.values()) <= {row.name for row in suites.ROWS}


def test_a_group_of_allocators_has_the_bars_only():
    assert "hardened" not in common.BARS and {"glibc", "mimalloc3", "tcmalloc"} <= set(common.BARS)


def test_the_page_of_figures_has_every_suites_question():
    page = " ".join((places.TREE / "docs" / "benchmarking.md").read_text().split())
    assert [suite for suite, question in suites.QUESTIONS.items() if f"| {suite} | {question} |" not in page] == []
