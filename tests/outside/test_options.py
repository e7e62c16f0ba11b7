"""Options and statistics from outside: what programs say and do with each setting of the environment."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).parent / "src"
HELP = "; HAKMEM_OPTIONS=help lists the options there are"


def read_options():
    spec = importlib.util.spec_from_file_location("tables_for_options", ROOT / "tools/generate_docs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {option.name: option for option in module.read_options(ROOT)}


OPTIONS = read_options()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, tool, run):
    """compiled("say_options") is that program of src/, without the library."""
    folder = tmp_path_factory.mktemp("options")

    def call(name):
        if not (folder / name).exists():
            run(tool("gcc"), "-O0", "-fno-builtin", "-w", SOURCES / f"{name}.c", "-o", folder / name, "-ldl", "-lpthread")
        return folder / name

    return call


@pytest.fixture(scope="module", params=["tls", "pointer"])
def preloaded(request, library, dl_library, run):
    """preloaded(program, HAKMEM_STATS="text") runs it on either variant of the library, with no other option set."""
    served_by = library if request.param == "tls" else dl_library

    def call(*command, status=0, cwd=None, **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
        outcome = subprocess.run([str(word) for word in command], env={**env, **variables, "LD_PRELOAD": str(served_by)},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, cwd=cwd)
        assert outcome.returncode == status, outcome
        return outcome

    return call


@pytest.fixture(scope="module")
def value_with(preloaded, compiled):
    """value_with("stats", HAKMEM_STATS="text") is (the option's value, what was said on standard error)."""

    def call(option, **variables):
        outcome = preloaded(compiled("say_options"), option, **variables)
        return re.search(rf"^{option}=(.*)$", outcome.stdout, re.MULTILINE).group(1), outcome.stderr

    return call


def valid_values(option):
    """(text, value as the library says it)."""
    if option.kind == "choice":
        return [(value, value) for value in option.allowed]
    if option.kind == "text":
        text = "depths+huge" if option.name == "learn_parts" else "/tmp/some where,else=there"
        return [(text, text)]
    least, most = option.allowed
    values = [(str(number), str(number)) for number in (least, option.default, most)]
    if option.kind == "size":
        written = {"64k": 64 << 10, "3M": 3 << 20, "2g": 2 << 30}
        values += [(text, str(value)) for text, value in written.items() if least <= value <= most]
    return values


def wrong_values(option):
    if option.kind == "choice":
        return ["", "maybe", "|".join(option.allowed), option.allowed[0].upper(), option.allowed[0][:-1]]
    least, most = option.allowed
    wrong = ["", "x", "-1", "1.5", "0x10", " 1", "1e3", "99999999999999999999999", str(most + 1)]
    return wrong + [str(least - 1)] * (least > 0) + ["4k"] * (option.kind == "number")


VALID = [(name, *pair) for name, option in OPTIONS.items() for pair in valid_values(option)]
WRONG = [(name, value) for name, option in OPTIONS.items() if option.kind != "text" for value in wrong_values(option)]


@pytest.mark.parametrize(("name", "text", "value"), VALID)
def test_a_valid_value_is_taken(value_with, name, text, value):
    taken, said = value_with(name, **{f"HAKMEM_{name.upper()}": text})
    assert taken == value
    assert said == "" or (name == "stats" and text != "off"), said


@pytest.mark.parametrize(("name", "text", "value"), [row for row in VALID if "," not in row[1]])
def test_a_valid_value_is_taken_from_the_list(value_with, name, text, value):
    assert value_with(name, HAKMEM_OPTIONS=f"{name}={text}")[0] == value
    assert value_with(name, HAKMEM_OPTIONS=f",fastlane=on,{name.upper()}={text},")[0] == value


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_gets_one_line_and_the_program_runs_with_the_default(value_with, name, value):
    option = OPTIONS[name]
    taken, said = value_with(name, **{f"HAKMEM_{name.upper()}": value})
    assert taken == str(option.default)
    match = re.fullmatch(rf"hakmem: option {name}: the value '(.*)' is not valid; allowed: (.+); the default (.+) is used\n", said)
    assert match, said
    assert match.group(1) == value and match.group(3) == str(option.default)
    if option.kind == "choice":
        assert match.group(2) == "|".join(option.allowed)
    else:
        assert " from " in match.group(2) and " to " in match.group(2)
        assert option.kind == "size" or match.group(2).endswith(f"from {option.allowed[0]} to {option.allowed[1]}")


def test_an_unknown_option_gets_one_line_and_the_others_are_taken(value_with):
    assert value_with("retain_share", HAKMEM_FROBNICATE="1", HAKMEM_RETAIN_SHARE="3") == \
        ("3", f"hakmem: there is no option 'FROBNICATE'{HELP}\n")
    assert value_with("retain_share", HAKMEM_OPTIONS="statz=text,retain_share=3") == \
        ("3", f"hakmem: there is no option 'statz'{HELP}\n")


def test_a_variable_of_its_own_wins_over_the_list(value_with):
    assert value_with("retain_share", HAKMEM_RETAIN_SHARE="4", HAKMEM_OPTIONS="retain_share=5") == ("4", "")


def test_variables_of_tools_and_tests_are_left_alone(value_with):
    assert value_with("stats", HAKMEM_TEST_SEED="1", HAKMEM_BENCH_X="1", HAKMEM_LIB="/x") == ("off", "")


def test_a_path_too_long_is_told_so(value_with):
    for variables in ({"HAKMEM_OPTIONS": "stats_file=/" + "x" * 20000}, {"HAKMEM_STATS_FILE": "/" + "x" * 20000}):
        taken, said = value_with("stats_file", **variables)
        assert taken == ""
        assert said.count("\n") == 1 and "stats_file" in said and "there is no option" not in said, said[:200]
    path = "/" + "x" * 3000
    assert value_with("stats_file", HAKMEM_OPTIONS=f"stats_file={path}") == (path, "")
    assert value_with("stats_file", HAKMEM_STATS_FILE=path) == (path, "")


def test_help_lists_every_option_and_the_program_runs(preloaded, compiled):
    outcome = preloaded(compiled("say_options"), HAKMEM_OPTIONS="help")
    assert outcome.stdout == "secure=0\n"
    for name, option in OPTIONS.items():
        entry = re.search(rf"^  {name}  (.*)\n      allowed: (.*)$", outcome.stderr, re.MULTILINE)
        assert entry and entry.group(1) == option.what
        assert ("default: " in entry.group(2)) == (option.kind != "text")
    assert outcome.stderr.count("\n") == 1 + 2 * len(OPTIONS)


def test_a_real_program_says_nothing_of_its_own(preloaded):
    assert preloaded("/bin/echo", "hello", HAKMEM_FASTLANE="off").stderr == ""


# --- raised privileges -------------------------------------------------------------------------------------------------


@pytest.fixture
def privileged(compiled, library, tool, run):
    """A program of another user's that is setuid, with the library linked into it: nothing can be preloaded into one."""
    if os.getuid() != 0:
        pytest.skip("only root can make a file of somebody else's that is setuid")
    folder = Path(tempfile.mkdtemp(prefix="hakmem-privileged-"))
    folder.chmod(0o755)
    program = folder / "say_options"
    run(tool("gcc"), "-w", SOURCES / "say_options.c", library.with_name("libhakmem.a"), "-Wl,-u,malloc", "-o", program,
        "-ldl", "-lpthread")
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    yield program
    shutil.rmtree(folder)


def test_with_raised_privileges_options_that_could_harm_are_ignored(privileged, tmp_path):
    unsafe = [name for name, option in OPTIONS.items() if not option.safe]
    safe = {"fastlane": "off", "retain_min": "1048576", "retain_share": "7", "huge_pages": "off",
            "free_policy": "batch", "release_batch": "65536", "release": "purge", "purge": "lazily", "purge_delay": "1000", "prefault": "on", "limit_hard": "1073741824", "limit_soft": "536870912",
            "big_threshold": "1048576", "mode": "fast", "profile": "c6-heavy",
            "memory_price": "1000", "trial_share": "7"}
    variables = {"stats": "text", "stats_file": str(tmp_path / "statistics"), "on_fault": "continue",
                 "policy": str(tmp_path / "policy"), "policy_signal": "12", "learn_parts": "depths", **safe}
    assert set(variables) == set(OPTIONS), "a new option needs a value here"
    outcome = subprocess.run([privileged, *OPTIONS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True,
                             env={f"HAKMEM_{name.upper()}": value for name, value in variables.items()})
    said = dict(line.split("=", 1) for line in outcome.stdout.splitlines())
    assert said.pop("secure") == "1"
    assert said == {**{name: str(option.default) for name, option in OPTIONS.items()}, **safe}
    assert sorted(outcome.stderr.splitlines()) == sorted(
        f"hakmem: option {name.upper()} is ignored in a program that runs with raised privileges" for name in unsafe)
    assert not (tmp_path / "statistics").exists()


# --- statistics --------------------------------------------------------------------------------------------------------


def read_text(text):
    """The text form: fields, and rows of classes by block size."""
    fields, classes = {}, {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            fields[words[0]] = int(words[1])
        elif len(words) == 11 and words[0].isdigit():
            classes[int(words[0])] = [int(word) for word in words[1:]]
    return fields, classes


@pytest.fixture(scope="module")
def known(preloaded, compiled, tmp_path_factory):
    """The statistics of known_heap as JSON."""
    path = tmp_path_factory.mktemp("known") / "statistics"
    outcome = preloaded(compiled("known_heap"), HAKMEM_STATS="json", HAKMEM_STATS_FILE=str(path))
    assert outcome.stderr == ""
    return json.loads(path.read_text())


def test_json_adds_up(known):
    for entry in known["classes"]:
        gone = entry["flushed_blocks"] + entry["remote_flushed_blocks"] + entry["cached_blocks"]
        assert entry["refilled_blocks"] == entry["out_blocks"] + gone, entry
        assert entry["slabs_made"] >= entry["slabs_returned"]
        assert entry["refilled_blocks"] >= entry["refills"] and entry["flushed_blocks"] >= entry["flushes"]
    for field in ("refills", "refilled_blocks", "flushes", "flushed_blocks", "remote_flushed_blocks", "passed_blocks",
                  "slabs_made", "slabs_returned"):
        assert known[field] == sum(entry[field] for entry in known["classes"]), field
    assert known["cached_bytes"] == sum(entry["cached_blocks"] * entry["block_bytes"] for entry in known["classes"])
    blocks = [entry["block_bytes"] for entry in known["classes"]]
    assert blocks == sorted(set(blocks))
    assert known["mapped_bytes"] >= known["allocated_bytes"] + known["retained_bytes"]
    assert known["faults"] == sum(known["fault_counts"].values()) == 0


def test_json_tells_what_the_program_has(known):
    classes = {entry["block_bytes"]: entry for entry in known["classes"]}
    assert 2000 <= classes[208]["out_blocks"] < 2100  # two thirds of 3000, and what the C library itself has
    assert 1500 <= classes[48]["out_blocks"] < 1600
    assert classes[48]["remote_flushed_blocks"] > 0   # another thread freed blocks of ours
    assert classes[5120]["out_blocks"] < 20
    in_classes = sum(entry["out_blocks"] * entry["block_bytes"] for entry in known["classes"])
    assert known["allocated_bytes"] == in_classes + (5 << 20) + (104 << 20)
    assert known["threads"] == 1  # the other one has ended
    assert known["resident_bytes"] > 5 << 20
    assert known["metadata_bytes"] > 0
    assert known["allocator"] == "hakmem" and re.fullmatch(r"\d+\.\d+\.\d+", known["version"])


def test_text_tells_the_same(known, preloaded, compiled):
    outcome = preloaded(compiled("known_heap"), HAKMEM_STATS="text")
    assert re.match(rf"hakmem {re.escape(known['version'])} statistics of process \d+\n", outcome.stderr)
    fields, classes = read_text(outcome.stderr)
    assert set(fields) == {name for name, value in known.items() if isinstance(value, int)} - {"process", "short_lived_permille"}
    assert set(classes) == {entry["block_bytes"] for entry in known["classes"]}
    assert fields["allocated_bytes"] == known["allocated_bytes"]
    assert fields["refilled_blocks"] == sum(row[3] for row in classes.values())
    assert classes[208][0] == next(entry["out_blocks"] for entry in known["classes"] if entry["block_bytes"] == 208)


def test_statistics_are_appended_to_the_file_by_each_process(preloaded, tmp_path):
    path = tmp_path / "statistics"
    path.write_text("before\n")
    for _ in range(2):
        outcome = preloaded("/bin/true", HAKMEM_STATS="text", HAKMEM_STATS_FILE=str(path))
        assert outcome.stderr == ""
    text = path.read_text()
    assert text.startswith("before\nhakmem ")
    assert len(set(re.findall(r"statistics of process (\d+)", text))) == 2


def test_a_program_that_closes_its_standard_error_at_the_end_has_statistics_too(preloaded):
    outcome = preloaded("/bin/echo", "ran", HAKMEM_STATS="text")  # as all of the GNU coreutils do
    assert "statistics of process" in outcome.stderr


def test_a_fork_child_that_exits_tells_its_own(preloaded, tmp_path):
    path = tmp_path / "statistics"
    program = "import os\nif os.fork() == 0: raise SystemExit\nos.wait()"
    preloaded(sys.executable, "-c", program, HAKMEM_STATS="json", HAKMEM_STATS_FILE=str(path))
    decoder, text, told = json.JSONDecoder(), path.read_text(), []
    while text.strip():
        entry, end = decoder.raw_decode(text.lstrip())
        told.append(entry["process"])
        text = text.lstrip()[end:]
    assert len(set(told)) == 2


@pytest.mark.parametrize("where", ["missing/file", "."])
def test_a_file_that_cannot_be_written_gets_one_line_and_the_program_runs(preloaded, compiled, tmp_path, where):
    path = tmp_path / where
    outcome = preloaded(compiled("say_options"), HAKMEM_STATS="json", HAKMEM_STATS_FILE=str(path))
    assert outcome.stdout == "secure=0\n"
    first, rest = outcome.stderr.split("\n", 1)
    assert first.startswith("hakmem: option stats_file: ") and str(path) in first
    assert json.loads(rest)["allocator"] == "hakmem"


def test_without_the_option_nothing_is_told(preloaded, compiled, tmp_path):
    path = tmp_path / "statistics"
    assert preloaded(compiled("known_heap"), HAKMEM_STATS_FILE=str(path)).stderr == ""
    assert not path.exists()


# --- what options do ---------------------------------------------------------------------------------------------------


def statistics_of(preloaded, program, tmp_path, **variables):
    path = tmp_path / "statistics"
    preloaded(program, HAKMEM_STATS="json", HAKMEM_STATS_FILE=str(path), **variables)
    return json.loads(path.read_text())


def test_without_the_fast_lane_threads_keep_no_blocks(preloaded, compiled, known, tmp_path):
    slow = statistics_of(preloaded, compiled("known_heap"), tmp_path, HAKMEM_FASTLANE="off")
    assert slow["cached_bytes"] == 0 and slow["refills"] == 0 and slow["flushes"] == 0
    assert slow["allocated_bytes"] == known["allocated_bytes"]


def test_retain_options_bound_what_stays_resident(preloaded, compiled, tmp_path):
    program = compiled("known_heap")
    kept = statistics_of(preloaded, program, tmp_path, HAKMEM_RETAIN_MIN="1g")
    (tmp_path / "statistics").unlink()
    least = statistics_of(preloaded, program, tmp_path, HAKMEM_OPTIONS="retain_min=0,retain_share=1000000")
    (tmp_path / "statistics").unlink()
    usual = statistics_of(preloaded, program, tmp_path)
    assert least["retained_bytes"] == 0 and least["purged_bytes"] >= 20 << 20
    assert kept["retained_bytes"] >= 20 << 20 and kept["purged_bytes"] == 0
    assert usual["retained_bytes"] <= 16 << 20
