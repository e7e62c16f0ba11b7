"""Traces: what is recorded, replayed and told, and what is said of files that are no traces."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hakmem import peers, traces
from hakmem.allocator import Allocator
from hakmem.cli import app
from typer.testing import CliRunner

GLIBC = Allocator("glibc")
SOURCES = Path(__file__).with_name("traced")


def compiled(name: str, folder: Path, *flags: str, compiler: str = "cc") -> Path:
    program = folder / name.partition(".")[0]
    subprocess.run([compiler, "-O1", "-g", "-fno-builtin", str(SOURCES / name), "-o", str(program), "-pthread", *flags],
                   check=True)
    return program


def recorded(program: Path, folder: Path, *arguments: str, status: int = 0) -> Path:
    made = traces.record([str(program), *arguments], folder / "made.hktrace", GLIBC)
    assert made.status == status
    return made.file


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Path:
    """A trace of a program whose calls are known."""
    folder = tmp_path_factory.mktemp("known")
    return recorded(compiled("known.c", folder), folder)


@pytest.fixture(scope="module")
def threads(tmp_path_factory) -> Path:
    """A trace of producers, and of a consumer that frees what they allocate."""
    folder = tmp_path_factory.mktemp("threads")
    return recorded(compiled("threads.c", folder), folder)


def replay(file: Path | list[Path], **settings) -> dict:
    return traces.replay(file, GLIBC, dict(os.environ), **settings)


def test_every_call_is_in_the_trace(known):
    facts = traces.stat(known)
    # known.c: 1000 mallocs of 100, 10 callocs of 7 × 11, 5 aligned of 64, and one larger than are counted singly.
    assert {one["bytes"]: one["count"] for one in facts["commonest_sizes"]} == {100: 1000, 77: 10, 64: 5}
    assert (facts["zeroed"], facts["aligned"], facts["moves"]) == (10, 5, 20)
    assert (facts["never_given"], facts["never_given_bytes"]) == (3, 300)
    assert facts["peak_live_bytes"] == 100_000 + 1000 * 100 + 10 * 77 + 5 * 64
    assert facts["failed"] == 1 and facts["unknown"] == facts["missed"] == 0
    assert facts["command"].endswith("/known") and facts["is_whole"]


def test_sites_have_names(known):
    from hakmem import trace_pictures
    names = [site["name"] for site in trace_pictures.named_sites(traces.stat(known))]
    assert any(name.startswith("many_blocks (known)") for name in names), names


def test_blocks_that_another_thread_frees_are_known(threads):
    facts = traces.stat(threads)
    assert facts["thread_count"] >= 4 and facts["unknown"] == facts["missed"] == 0
    assert facts["given_elsewhere"] >= 3 * 20_000


@pytest.mark.parametrize("name", ["known", "threads"])
@pytest.mark.parametrize("touch", traces.TOUCHES)
def test_a_replay_makes_the_same_calls(request, name, touch):
    file = request.getfixturevalue(name)
    facts, report = traces.stat(file), replay(file, touch=touch)
    assert report["operations"] == facts["takes"] + facts["moves"] + facts["gives"]
    assert report["refused"] == 0 and report["malloc_from"].endswith("libc.so.6")
    assert abs(report["requested_peak_bytes"] / facts["peak_live_bytes"] - 1) <= 0.05
    assert report["requested_peak_bytes_of_trace"] == facts["peak_live_bytes"]


def test_several_traces_are_replayed_as_one_program_that_changes(known, threads):
    alone = [replay(file) for file in (known, threads, known)]
    report = replay([known, threads, known])
    assert report["operations"] == sum(one["operations"] for one in alone)
    assert report["threads"] == max(one["threads"] for one in alone) and report["refused"] == 0
    # What a trace leaves is freed before the next: the peak is that of the larger one, not of their sum.
    largest = max(one["requested_peak_bytes"] for one in alone)
    assert abs(report["requested_peak_bytes"] / largest - 1) <= 0.05
    assert replay([threads] * 3)["operations"] == 3 * alone[1]["operations"]


def test_memory_of_a_replay_is_that_of_the_blocks(known):
    report = replay(known, touch="all")
    assert 200 <= report["peak_kib"] <= 600 and 0.9 < report["fragmentation"] < 3
    assert report["timeline"]


def test_operators_are_recorded_once_with_the_place_that_calls_them(tmp_path):
    file = recorded(compiled("operators.cpp", tmp_path, compiler="c++"), tmp_path)
    facts = traces.stat(file)
    counts = {one["bytes"]: one["count"] for one in facts["commonest_sizes"]}
    assert (counts[24], counts[4000], counts[128]) == (500, 7, 3)
    assert facts["aligned"] == 3 and facts["unknown"] == facts["missed"] == 0


def test_a_program_that_ends_by_exit_is_whole(tmp_path):
    file = recorded(compiled("leaves.c", tmp_path), tmp_path, "_exit", status=3)
    assert traces.stat(file)["is_whole"]


def test_a_killed_program_leaves_what_can_be_read_in_part(tmp_path):
    file = recorded(compiled("leaves.c", tmp_path), tmp_path, "kill", status=128 + 9)
    with pytest.raises(traces.TraceFailed, match="is not whole.*--partial"):
        traces.stat(file)
    facts = traces.stat(file, partial=True)
    assert not facts["is_whole"] and facts["takes"] > 10_000
    assert replay(file, partial=True)["operations"] > 10_000


def test_children_have_files_of_their_own(tmp_path):
    program = compiled("leaves.c", tmp_path)
    made = traces.record([str(program), "fork"], tmp_path / "made.hktrace", GLIBC, children=True)
    assert made.status == 0
    children = sorted(tmp_path.glob("made.hktrace.*"))
    assert len(children) == 2
    for file in [made.file, *children]:
        assert traces.stat(file)["is_whole"]
    assert traces.stat(children[0])["takes"] == 100


def test_input_output_and_status_pass_through(tmp_path):
    script = "import subprocess, sys; from hakmem import traces; from hakmem.allocator import Allocator; from pathlib import " \
             "Path; sys.exit(traces.record(['sh', '-c', 'cat; exit 7'], Path('t.hktrace'), Allocator('glibc')).status)"
    done = subprocess.run(["python3", "-c", script], input="through", capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(Path(traces.__file__).parents[1])})
    assert (done.returncode, done.stdout, done.stderr) == (7, "through", "")


@pytest.fixture
def record(tmp_path):
    """record("-o", …) is the command, on the C library's allocator, in a folder of its own."""

    def call(*words):
        command = "from hakmem.cli import main; main()"
        return subprocess.run([sys.executable, "-c", command, "trace", "record", "--allocator", "glibc", *map(str, words)],
                              capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, "PYTHONPATH": str(Path(traces.__file__).parents[1])})

    return call


@pytest.mark.parametrize(("words", "status", "said"), [
    (["--", "nosuchprog"], 127, "nosuchprog: no such program"), (["--", "/tmp"], 126, "is a directory"),
    (["--frob", "--", "true"], 2, "--frob"), (["-o", "folder", "--", "true"], 2, "no regular file"),
    (["-o", "pipe", "--", "true"], 2, "no regular file"), (["-o", "missing/file", "--", "true"], 2, "missing/file")])
def test_what_was_there_stays_where_nothing_is_recorded(record, tmp_path, words, status, said):
    (tmp_path / "trace.hktrace").write_text("old")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = {file.name: file.lstat().st_ino for file in tmp_path.iterdir()}
    done = record(*words)
    assert done.returncode == status and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert {file.name: file.lstat().st_ino for file in tmp_path.iterdir()} == before
    assert (tmp_path / "trace.hktrace").read_text() == "old"


@pytest.mark.parametrize("old", [None, "old"])
def test_a_trace_that_there_is_no_room_for_is_an_error(record, tmp_path, old):
    file = tmp_path / "made.hktrace"
    if old:
        file.write_text(old)
    full = f"trap '' XFSZ; ulimit -f 1; exec {compiled('known.c', tmp_path)}"  # blocks of 512 bytes
    done = record("-o", file, "--", "sh", "-c", full)
    assert done.returncode == 2 and "ends before the program did" in done.stderr, done.stderr
    parts = list(tmp_path.glob("*.part"))
    assert (file.read_text(), len(parts)) == ("old", 1) if old else (file.read_bytes()[:8], parts) == (b"HKMTRACE", [])


@pytest.mark.parametrize("spoil, message", [
    (lambda bytes_: b"", "no trace"),
    (lambda bytes_: b"#!/bin/sh\n" * 20, "does not start with HKMTRACE"),
    (lambda bytes_: bytes_[:8] + b"\x63" + bytes_[9:], "version 99"),
    (lambda bytes_: bytes_[:-20], "is not whole"),
    (lambda bytes_: bytes_[:len(bytes_) // 2], "is not whole"),
    (lambda bytes_: bytes_[:200] + bytes([bytes_[200] ^ 0xFF]) + bytes_[201:], "damaged|not whole"),
])
def test_files_that_are_no_traces_are_refused_clearly(known, tmp_path, spoil, message):
    file = tmp_path / "spoiled.hktrace"
    file.write_bytes(spoil(known.read_bytes()))
    with pytest.raises(traces.TraceFailed, match=message):
        traces.stat(file)
    with pytest.raises(traces.TraceFailed, match=message):
        replay(file)


def test_no_byte_of_a_file_can_crash_the_reader(known, tmp_path):
    """Each spoiled file is refused with a line or read; never a signal."""
    whole = known.read_bytes()
    file = tmp_path / "spoiled.hktrace"
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        file.write_bytes(whole[:place] + bytes([(whole[place] + 1 + place % 255) % 256]) + whole[place + 1:])
        done = subprocess.run([str(traces.part("trace-stat")), str(file), "partial"], capture_output=True)
        assert done.returncode in (0, 2), (place, done.returncode, done.stderr)


def test_replay_command_compares_and_records(known, tmp_path):
    file = tmp_path / "records.jsonl"
    done = CliRunner().invoke(app, ["trace", "replay", str(known), "--allocators", "glibc", "--runs", "2", "--records",
                                    str(file), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["allocators"]["glibc"]["seconds"][0] > 0
    assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["comparison"] + 3 * ["run"]


def test_replay_reads_the_trace_before_it_makes_anything(tmp_path, monkeypatch):
    file = tmp_path / "garbage"
    file.write_text("garbage")
    monkeypatch.setattr(peers, "get", None)
    done = CliRunner().invoke(app, ["trace", "replay", str(file), "--records", str(tmp_path / "records")])
    assert done.exit_code == 2 and "no trace" in done.output and not (tmp_path / "records").exists()


@pytest.mark.parametrize("file", sorted((traces.TREE / "bench" / "traces").glob("*.hktrace")), ids=lambda file: file.stem)
def test_shipped_traces_can_be_told_and_replayed(file):
    facts, report = traces.stat(file), replay(file)
    assert facts["is_whole"] and facts["unknown"] == facts["missed"] == 0 and report["refused"] == 0
    assert abs(report["requested_peak_bytes"] / facts["peak_live_bytes"] - 1) <= 0.05
    assert f"| {file.name} |" in (file.parent / "README.md").read_text()


@pytest.mark.parametrize("suffix", [".html", ".svg", ".png"])
def test_pictures_of_a_trace(known, tmp_path, suffix):
    file = tmp_path / f"picture{suffix}"
    done = CliRunner().invoke(app, ["trace", "stat", str(known), "--picture", str(file)])
    assert done.exit_code == 0, done.output
    assert "many_blocks" in done.output and file.stat().st_size > 5000


def test_a_replay_in_which_the_library_complains_is_thrown_out(known, library, tmp_path):
    bad = tmp_path / "bad.policy"
    bad.write_text("hakmem-policy 1\nnonsense\nend\n")
    with pytest.raises(traces.TraceFailed, match="^hakmem: .*bad.policy, line 2"):
        traces.replay(known, Allocator("hakmem", library), dict(os.environ) | {"HAKMEM_POLICY": str(bad)})
