"""hakmem policy picture: what it draws of statistics and of policy files, and what it says to files that are neither."""

import json
import os
import re
import subprocess
import sys

import pytest
from hakmem import policies, policy_pictures, told
from hakmem.cli import app
from hakmem.pictures import specification
from typer.testing import CliRunner

POLICY = """hakmem-policy 1
program one
runs 1
seconds 8
class 1040 windows=4 gain=102 why=rounding
close 1280
depth 64 48
depth 4096 60
end
"""


def row(ms, state, **changed):
    return {"ms": ms, "state": state, "in_use_bytes": 2**20 * (10 + ms % 7), "retained_bytes": 2**20, "stacked_bytes": 2**19,
            "batches": 5 * ms, "thread_bytes": 2**23, "allowance_least": 0, "purge_delay": 0, "big_threshold": 2**25,
            **changed}


def statistics(rows, changes, process=7, looks=40, depth=()):
    return {"allocator": "hakmem", "process": process, "learn_run_ns": 10 * 10**9, "learn_looks": looks,
            "learn_look_ns": 10**7, "learn_changes": 3,
            "decisions": {"value": {"thread_bytes": 2**23, "retain_share": 4}, "class": [1040], "close": [1280],
                          "depth": [{"block_bytes": bytes, "depth": depth} for bytes, depth in depth]},
            "learning": {"state": "FROZEN", "reasons": {}, "thresholds": [2**19 * 2**i for i in range(7)],
                         "changes": [{"ms": ms, "state": state, "reason": reason} for ms, state, reason in changes],
                         "history": rows}}


CHANGES = [(0, "LEARN", "begun"), (3000, "CANARY", "still"), (5000, "FROZEN", "no_worse")]
PLAIN = statistics([row(ms, "LEARN") for ms in range(0, 3000, 100)], CHANGES, depth=[(64, 48), (4096, 60)])


@pytest.fixture
def invoke():
    return lambda *words: CliRunner().invoke(app, ["policy", "picture", *map(str, words)])


@pytest.fixture
def write(tmp_path):
    """write(one, other) is a file with the statistics of these processes; write(text) one with a text."""

    def call(*contents):
        file = tmp_path / "left"
        file.write_text("".join(one if isinstance(one, str) else json.dumps(one, indent=1) + "\n" for one in contents))
        return file

    return call


def titles(charts):
    return [title for title, _ in charts]


def rows_of(layer):
    """All rows that a chart draws."""
    return [*layer.get("data", {}).get("values", []), *(one for inner in layer.get("layer", []) for one in rows_of(inner))]


# --- what is read ------------------------------------------------------------------------------------------------------


def test_of_several_processes_the_one_that_looked_most_is_drawn(write):
    idle = statistics([row(0, "LEARN")], CHANGES, process=3, looks=1)
    file = write(idle, PLAIN, idle | {"process": 4})
    assert [one["process"] for one in told.read(file, file.read_bytes())] == [3, 7, 4]
    assert told.that_learned(file, file.read_bytes())["process"] == 7
    assert told.that_learned(file, file.read_bytes(), 4)["process"] == 4


@pytest.mark.parametrize(("text", "said"), [
    ("", "no policy file"), ("{", "these are no statistics"), ('{"allocator": "other"}', "no statistics of hakmem"),
    ('{"allocator": "hakmem", "process": 7}', "nothing was learned"), ("notes\n", "no policy file"),
    ("hakmem-policy 1\nretain_min 0\nend\n", "no depths and no classes")])
def test_files_without_a_picture_get_one_line(invoke, write, tmp_path, text, said):
    done = invoke(write(text), "-o", tmp_path / "out.svg")
    assert done.exit_code == 2 and said in done.output.replace("\n", " ") or (text == "" and "empty" in done.output)
    assert done.output.count("hakmem:") == 1 and not (tmp_path / "out.svg").exists()


def test_a_process_that_ended_before_its_first_look_is_told(invoke, write, tmp_path):
    done = invoke(write(statistics([], CHANGES[:1])), "-o", tmp_path / "out.svg")
    assert done.exit_code == 2 and "before its first look" in done.output


@pytest.mark.parametrize("lacking", ["learn_looks", "decisions", "learn_run_ns", "ms", "in_use_bytes", "history"])
def test_statistics_that_lack_something_say_what(invoke, write, tmp_path, lacking):
    def without(value):
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key != lacking}
        return [without(one) for one in value] if isinstance(value, list) else value

    out = tmp_path / "out.svg"
    done = invoke(write(without(PLAIN)), "-o", out)
    assert done.exit_code == 2 and f"lack '{lacking}'" in done.output.replace("\n", " ") and not out.exists()


def test_words_of_a_later_version_are_drawn_as_they_are(invoke, write, tmp_path):
    later = statistics([row(0, "LEARN"), row(500, "RESTS")], [(0, "LEARN", "begun"), (400, "RESTS", "tired")])
    later["decisions"]["value"]["frob"] = 7
    done = invoke(write(later), "-o", tmp_path / "out.svg")
    assert (done.exit_code, done.output) == (0, "") and "frob 7" in (tmp_path / "out.svg").read_text()


def test_a_policy_file_has_no_processes(invoke, write, tmp_path):
    done = invoke(write(POLICY), "-o", tmp_path / "out.svg", "--process", "3")
    assert done.exit_code == 2 and "is for statistics" in done.output


@pytest.mark.parametrize(("words", "said"), [
    (["-o", "out.gif"], "must end in .html, .svg, .png"), (["-o", "/no/such/folder/out.svg"], "/no/such/folder"),
    (["-o", "out.svg", "--process", "99"], "no process 99, but 7"), ([], "Usage")])
def test_wrong_use_is_told(invoke, write, words, said):
    done = invoke(write(PLAIN), *words)
    assert done.exit_code == 2 and said in done.output.replace("\n", "")


@pytest.mark.parametrize("name", ["left.svg", "folder.svg"])
def test_a_picture_does_not_replace_what_it_is_drawn_of(invoke, write, tmp_path, name):
    file = write(PLAIN).rename(tmp_path / "left.svg")
    (tmp_path / "folder.svg").mkdir()
    before = file.read_text()
    done = invoke(file, "-o", tmp_path / name)
    assert done.exit_code == 2 and name in done.output.replace("\n", "") and file.read_text() == before


def test_a_picture_that_there_is_no_room_for_leaves_the_old_one(write, tmp_path):
    out, file = tmp_path / "out.svg", write(PLAIN)
    out.write_text("old")
    command = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); from hakmem.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", command, "policy", "picture", file, "-o", out], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(policies.TREE / "python")})
    assert done.returncode == 2 and "out.svg can't be written" in done.stderr and "Traceback" not in done.stderr
    assert out.read_text() == "old" and not list(tmp_path.glob("*.part"))


def test_the_case_of_a_suffix_is_free(invoke, write, tmp_path):
    assert invoke(write(PLAIN), "-o", tmp_path / "out.SVG").exit_code == 0
    assert "<svg" in (tmp_path / "out.SVG").read_text()


# --- what is drawn -----------------------------------------------------------------------------------------------------


def test_states_last_until_the_next_one_and_to_the_end():
    assert [(one["from"], one["to"], one["state"]) for one in policy_pictures.bands(PLAIN)] == [
        (0, 3, "LEARN"), (3, 5, "CANARY"), (5, 10, "FROZEN")]


def test_of_states_whose_changes_are_gone_the_rows_tell():
    rows = [row(0, "LEARN"), row(500, "LEARN"), row(1000, "FROZEN"), row(8000, "FROZEN")]
    made = policy_pictures.bands(statistics(rows, [(6000, "LEARN", "slower"), (7000, "FROZEN", "still")]))
    assert [(one["from"], one["to"], one["state"]) for one in made] == [
        (0, 1, "LEARN"), (1, 6, "FROZEN"), (6, 7, "LEARN"), (7, 10, "FROZEN")]
    assert [one["why"] for one in made] == ["", "", "calls are slower", "nothing moves"]


def test_every_reason_of_the_library_has_words():
    source = (policies.TREE / "src/learn/history.c").read_text()
    words = source.partition("reason_words")[2].partition("};")[0].split('"')[1::2]
    assert set(words) == set(policy_pictures.REASONS)


def test_rates_are_those_between_rows():
    rows = [row(0, "LEARN", batches=10), row(0, "LEARN", batches=12), row(500, "LEARN", batches=512)]
    assert policy_pictures.rates(statistics(rows, CHANGES)) == [{"s": 0, "to": 0.5, "batches": 1000}]


def test_of_statistics_each_side_of_learning_is_drawn():
    charts = policy_pictures.charts_of_life(PLAIN)
    assert [word for title in titles(charts) for word in ("life", "Memory", "Free", "Batches", "Depths") if word in title] == [
        "life", "Memory", "Free", "Batches", "Depths"]
    assert "thread_bytes 8 MiB, retain_share 1/4, class 1040, close 1280" in titles(charts)[0]
    memory = rows_of(specification(charts[1][1]))
    assert {"in use", "free and resident", "allowance, as decided"} <= {one.get("what") for one in memory}
    assert max(one.get("MiB", 0) for one in memory) == 16


def test_the_tournament_is_drawn_where_it_was_played():
    rows = [row(ms, "LEARN", ratings=[1500 + ms // 100, 1500 - ms // 100, *[1500] * 5]) for ms in range(0, 3000, 100)]
    title, chart = policy_pictures.charts_of_life(statistics([row(0, "LEARN"), *rows], CHANGES))[-1]
    assert "tournament" in title
    drawn = rows_of(specification(chart))
    assert len([one for one in drawn if one.get("threshold") == "from 512 KiB"]) == len(rows)
    assert {one["line"] for one in drawn if "line" in one} >= {"from 512 KiB", "from 32 MiB", "others"}


def test_of_a_policy_file_depths_and_classes_are_drawn(write):
    depths, classes = policy_pictures.charts_of_policy(policies.read(write(POLICY)))
    assert [(one["bytes"], one["depth"], one["default"]) for one in rows_of(specification(depths[1]))] == [
        (64, 48, 127), (4096, 60, policies.default_depths([4096])[0])]
    assert [(one["class"], one["gain"], one["label"]) for one in rows_of(specification(classes[1]))] == [
        ("own: 1040 bytes", 10.2, "10.2 %"), ("closed: 1280 bytes", 0, "by hand, or not recorded")]


def axis_values(chart):
    axes = [layer["encoding"]["x"].get("axis") for layer in specification(chart)["layer"]]
    return next(axis["values"] for axis in axes if axis)


@pytest.mark.parametrize(("depths", "ticks"), [({1280: 48}, [1280]), ({1152: 9, 1408: 9}, [1152, 1408]),
                                               ({16: 9, 96: 9}, [16, 32, 64])])
def test_the_axis_of_depths_has_ticks_whatever_sizes_there_are(write, depths, ticks):
    lines = "".join(f"depth {size} {depth}\n" for size, depth in depths.items())
    (_, chart), = policy_pictures.charts_of_policy(policies.read(write(f"hakmem-policy 1\n{lines}end\n")))
    assert axis_values(chart) == ticks


@pytest.mark.parametrize(("name", "value", "said"), [("purge_delay", 273, "273 ms"), ("retain_share", 4, "1/4"),
                                                     ("w_max", 140, "1.40 x"), ("thread_bytes", 2**23, "8 MiB")])
def test_what_was_decided_has_units(name, value, said):
    told = statistics([row(0, "LEARN"), row(100, "LEARN")], CHANGES)
    told["decisions"]["value"] = {name: value}
    assert f"{name} {said}" in titles(policy_pictures.charts_of_life(told))[0]


def test_images_are_laid_out_for_wide_letters_with_room_around(invoke, write, tmp_path):
    many = statistics([row(0, "LEARN"), row(100, "LEARN")], CHANGES)
    many["decisions"]["class"] = list(range(1040, 1296, 16))
    assert invoke(write(many), "-o", tmp_path / "out.svg").exit_code == 0
    drawn = (tmp_path / "out.svg").read_text()
    assert "system-ui" not in drawn and "DejaVu Sans" in drawn
    titles_drawn = re.findall(r">([^<]*class 1[0-9]+[^<]*)<", drawn)
    assert len(titles_drawn) > 2 and max(map(len, titles_drawn)) <= 92  # a long title has several lines


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
@pytest.mark.parametrize("content", [PLAIN, POLICY])
def test_pictures_are_written(invoke, write, tmp_path, content, suffix):
    out = tmp_path / f"out{suffix}"
    done = invoke(write(content), "-o", out)
    assert (done.exit_code, done.output) == (0, "") and out.stat().st_size > 5000
