"""Interleaving, the proof of which allocator ran, what is thrown out, and the commands."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hakmem import comparison, peers, run, suites, workloads
from hakmem.allocator import Allocator
from hakmem.cli import app
from hakmem.commands import bench
from hakmem.learning import rows
from hakmem.peers import build
from typer.testing import CliRunner

ROW = next(row for row in suites.ROWS if row.name == "bulk/1024/lifo")
GLIBC = Allocator("glibc")


@pytest.fixture(autouse=True)
def few_operations(monkeypatch):
    monkeypatch.setattr(suites, "QUICK_DIVISOR", 1000)


@pytest.fixture
def lookalike(tmp_path) -> Path:
    """A library with hakmem's name that has no malloc."""
    library = tmp_path / "libhakmem.so"
    (tmp_path / "empty.c").write_text("int hakmem_version;")
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "empty.c"), "-o", str(library)], check=True)
    return library


def test_order_is_interleaved_and_each_comes_at_each_place():
    names = [Allocator(name) for name in "abc"]
    order = [(turn, one.name) for turn, one in comparison.order(names, 3)]
    assert "".join(name for _, name in order) == "abcbcacababc"
    assert [turn for turn, _ in order] == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3


def test_run_under_the_c_library_proves_itself():
    made = run.run(ROW, GLIBC, True)
    assert made.failure is None and made.report["operations"] == 50_000


def test_run_under_a_preloaded_library_proves_itself(counting_library):
    assert run.run(ROW, Allocator("counting", counting_library), True).failure is None


def test_library_without_malloc_is_thrown_out(lookalike):
    made = run.run(ROW, Allocator("hakmem", lookalike), True)
    assert "malloc came from" in made.failure


def test_library_that_is_not_mapped_is_thrown_out(counting_library):
    report = run.run(ROW, GLIBC, True).report
    assert "is not mapped" in run.disproof(report, Allocator("counting", counting_library))


def test_run_of_the_c_library_with_another_malloc_is_thrown_out(counting_library):
    report = run.run(ROW, Allocator("counting", counting_library), True).report
    assert "other libraries are mapped" in run.disproof(report, GLIBC)


def test_hakmem_must_show_its_version(counting_library, tmp_path):
    library = tmp_path / "libhakmem.so"
    library.write_bytes(counting_library.read_bytes())
    assert "hakmem_version was not found" in run.run(ROW, Allocator("hakmem", library), True).failure


def test_failed_run_says_why():
    broken = suites.Row("broken", "bulk", "bulk", ("16", "10", "1", "sideways"), 1)
    assert "lifo, fifo or random" in run.run(broken, GLIBC, True).failure


def test_nothing_of_the_callers_environment_reaches_a_run(monkeypatch):
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("LD_PRELOAD", "")
    variables = run.environment(Allocator("tcmalloc", environment={"GLIBC_TUNABLES": "x"}))
    assert "MALLOC_ARENA_MAX" not in variables and variables["GLIBC_TUNABLES"] == "x"


def test_library_that_is_built_anew_meanwhile_does_not_change_what_is_compared(tmp_path):
    library = tmp_path / "libhakmem.so"
    library.write_bytes(b"first")
    first = comparison.frozen(library, tmp_path / "compared")
    library.write_bytes(b"second")
    second = comparison.frozen(library, tmp_path / "compared")
    assert (first.read_bytes(), second.read_bytes()) == (b"first", b"second") and first.name == library.name
    assert comparison.frozen(library, tmp_path / "compared") == second


def test_records_keep_every_run_and_results_only_good_ones(tmp_path, lookalike):
    file = tmp_path / "deep" / "records.jsonl"
    compared = [Allocator("hakmem", lookalike), GLIBC]
    recorder = comparison.Recorder(file, compared, {"runs": 2})
    results = comparison.Results()
    rows = [comparison.Compared(ROW.name, compared, 2, lambda one, turn: run.run(ROW, one, True))]
    comparison.compare(rows, recorder, results, lambda *_: None)
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert records[0]["kind"] == "comparison" and records[0]["machine"]["glibc"] == peers.glibc().version
    assert records[0]["allocators"][0]["sha256"] and len({record["comparison"] for record in records}) == 1
    assert [record["counted"] for record in records[1:] if record["allocator"] == "glibc"] == [False, True, True]
    assert len(results.reports[ROW.name, "glibc"]) == 2 and (ROW.name, "hakmem") not in results.reports
    assert [failure[:2] for failure in results.failures] == [(ROW.name, "hakmem")]  # once, then left alone


def test_rounds_go_over_all_rows(tmp_path):
    made, turns = [], []

    def runner_of(row):
        return lambda one, turn: run.Run(made.append((row, one.name)) or turns.append(turn) or {})
    allocators = [GLIBC, Allocator("other")]
    rows = [comparison.Compared("short", allocators, 2, runner_of("short")),
            comparison.Compared("cold", allocators, 1, runner_of("cold"), warms_up=False)]
    recorder = comparison.Recorder(tmp_path / "records.jsonl", allocators, {})
    comparison.compare(rows, recorder, comparison.Results(), lambda *_: None)
    first, second = "glibc", "other"
    assert made == [("short", first), ("short", second), ("short", second), ("short", first), ("cold", second), ("cold", first),
                    ("short", first), ("short", second)]
    assert turns == [0, 0, 1, 1, 1, 1, 2, 2]  # all of a round with their code at the same place


def test_rows_have_unique_names_and_the_figures_have_18_rows():
    assert len({row.name for row in suites.ROWS}) == len(suites.ROWS)
    assert sum(row.is_core for row in suites.ROWS) == 18


def test_select_by_suite_and_glob():
    assert {row.suite for row in suites.select(["tiny", "mid"], [])} == {"tiny", "mid"}
    assert [row.name for row in suites.select(["all"], ["bulk/16/*o"])] == ["bulk/16/lifo", "bulk/16/fifo"]
    assert suites.select(["tiny"], ["mid*"]) == []


def invoke(*words):
    return CliRunner().invoke(app, list(words))


def test_bench_prints_ratios_for_a_subject(tmp_path, counting_library):
    file = tmp_path / "records.jsonl"
    done = invoke("bench", "--rows", ROW.name, "--quick", "--runs", "1", "--allocators", "glibc,counting", "--lib",
                  f"counting={counting_library}", "--records", str(file))
    assert done.exit_code == 0, done.output
    assert ROW.name in done.output and len(file.read_text().splitlines()) == 5


def test_thrown_out_run_is_loud(tmp_path, lookalike):
    done = invoke("bench", "--rows", ROW.name, "--quick", "--runs", "1", "--allocators", "glibc,hakmem", "--lib",
                  f"hakmem={lookalike}", "--records", str(tmp_path / "records.jsonl"))
    assert done.exit_code == 1 and "THROWN OUT" in done.output


@pytest.mark.parametrize("words, named", [
    (["--suite", "tyny"], "tyny"), (["--rows", "nothing*"], "nothing*"), (["--allocators", "ptmalloc"], "ptmalloc"),
    (["--lib", "hakmem=/no/such.so"], "/no/such.so"), (["--lib", "hakmem"], "NAME=FILE")])
def test_bad_options_are_refused(words, named):
    done = invoke("bench", *words)
    assert done.exit_code == 2 and named in done.output


def test_missing_build_tool_is_named(tmp_path):
    with pytest.raises(build.PeerCannotBeBuilt, match="no-such-compiler"):
        build.run(["no-such-compiler"], tmp_path)


def test_failed_build_names_its_log(tmp_path):
    with pytest.raises(build.PeerCannotBeBuilt, match="build.log"):
        build.run(["sh", "-c", "echo why; exit 3"], tmp_path)
    assert "why" in (tmp_path / "build.log").read_text()


def test_flags_are_read_from_a_build():
    output = "cc -DA=1 -I/x -Wall -O3 -MF x.d -fPIC -o a.o -c a.c\nlinking\n"
    assert build.compile_flags(output) == "-DA=1 -O3 -fPIC"
    assert build.compile_flags("nothing") == ""


def test_library_is_built_once_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = peers.empty_library()
    built = first.library.stat().st_mtime_ns
    assert first.library.is_relative_to(tmp_path) and peers.empty_library() == first
    assert first.library.stat().st_mtime_ns == built


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind counts them")
def test_instructions_are_those_of_one_operation():
    """A counting library's own calls are in it; what the start of a process takes is not."""
    made = run.instructions(ROW, GLIBC)
    assert 50 < made < 1000


def test_runs_of_a_round_have_the_workload_at_its_place(tmp_path, monkeypatch):
    asked, program = [], workloads.program
    monkeypatch.setattr(workloads, "program", lambda name, place=0: asked.append(place) or program(name, place))
    assert run.run(replace(ROW, place=5), GLIBC, True).failure is None and asked == [5]
    plan = bench.Plan([ROW], [], [GLIBC], 1, True)
    assert bench._compared(plan, tmp_path)[0].run(GLIBC, 7).failure is None and asked == [5, 7]
    task = next(one for one in rows.all_tasks([1], [], quick=True) if one.name == "memory/bursts/20ms")
    assert task.run(GLIBC, tmp_path, 9).failure is None and asked == [5, 7, 9]
