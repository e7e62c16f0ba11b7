"""hakmem policy: what it prints of policy files, its exit statuses, and what it says to files that are none."""

import os
import re

import pytest
from hakmem import policies
from hakmem.cli import app
from hakmem.commands.policy import REASONS
from typer.testing import CliRunner

EXAMPLE = """hakmem-policy 1
program python3.11    # the executable's name
build 6f3a0123456789abcdef
runs 3
seconds 41
retain_min 33554432 windows=12 gain=31 since=9 why=refaults
purge_delay 10000 windows=2 why=idle
retain_share 4
w_max 140 windows=7 gain=52 since=3 why=slack
class 1040 windows=4 gain=-102 why=rounding
close 1280
depth 4096 48
site libpq.so.5+0x1c20 1048576
end
"""


@pytest.fixture
def invoke():
    return lambda *words: CliRunner().invoke(app, ["policy", *map(str, words)])


@pytest.fixture
def write(tmp_path):
    """write(text, "name") is a file of that text."""

    def call(text=EXAMPLE, name="one.policy"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return call


def policy(*lines, head="program one\nruns 1\nseconds 8\n"):
    return "\n".join(["hakmem-policy 1", *head.splitlines(), *lines, "end", ""])


def row_of(output, *begin):
    """The words of the table's row that begins so."""
    rows = [[cell.strip() for cell in line.strip("│┃ ").replace("┃", "│").split("│")] for line in output.splitlines()]
    return next(row for row in rows if row[:len(begin)] == list(begin))


# --- what is read ------------------------------------------------------------------------------------------------------


def test_a_file_is_read_as_the_library_reads_it(write):
    read = policies.read(write())
    assert (read.program, read.build, read.runs, read.seconds) == ("python3.11", "6f3a0123456789abcdef", 3, 41)
    assert [(line.kind, line.subject, line.value) for line in read.lines] == [
        ("retain_min", "", 33554432), ("purge_delay", "", 10000), ("retain_share", "", 4), ("w_max", "", 140),
        ("class", "", 1040), ("close", "", 1280), ("depth", "4096", 48), ("site", "libpq.so.5+0x1c20", 1048576)]
    assert read.lines[0].evidence == {"windows": "12", "gain": "31", "since": "9", "why": "refaults"}


@pytest.mark.parametrize("page", ["docs/policy.md", "src/policy/policy.h"])
def test_the_sample_of_the_page_is_a_policy_file(write, page):
    text = (policies.TREE / page).read_text()
    sample = re.search(r"^(?://     )?hakmem-policy 1 .*?^(?://     )?end$", text, re.MULTILINE | re.DOTALL).group()
    read = policies.read(write(re.sub("^//     ", "", sample, flags=re.MULTILINE) + "\n"))
    assert read.program == "python3.11" and {line.kind for line in read.lines} == {"retain_min", "class", "close", "depth", "site"}


def test_what_stands_behind_the_end_is_not_read(write):
    assert policies.read(write(policy("class 1040") + "class and more\n")).lines == policies.read(
        write(policy("class 1040"))).lines


@pytest.mark.parametrize("name", ["a=b.so+0x10", "libstdc++.so+0x10"])
def test_odd_names_of_modules(write, name):
    line, = policies.read(write(policy(f"site {name} 1048576 gain=5"))).lines
    assert (line.subject, line.value, line.evidence) == (name, 1048576, {"gain": "5"})


def test_every_decision_has_a_row_that_says_what_it_is(write):
    rows = policies.decisions()
    source = (policies.TREE / "src/policy/decisions.def").read_text()
    assert len(rows) == source.count("\nDECISION(") > 10
    assert all(row.what and row.unit in ("bytes", "parts", "milliseconds", "choice", "hundredths") for row in rows.values())


# --- show, why ---------------------------------------------------------------------------------------------------------


def test_show_says_what_is_decided_and_what_it_means(invoke, write):
    done = invoke("show", write())
    assert done.exit_code == 0
    assert "python3.11, build 6f3a01234567: 3 runs, 41 s" in done.output
    assert row_of(done.output, "retain_min")[1:] == ["32 MiB", "free memory that may always stay resident"]
    assert row_of(done.output, "retain_share")[1] == "1/4" and row_of(done.output, "purge_delay")[1] == "10000 ms"
    assert row_of(done.output, "w_max")[1] == "1.40 x"
    assert "a size class of its own" in row_of(done.output, "class")[2]
    assert "is closed" in row_of(done.output, "close")[2]
    assert row_of(done.output, "depth of 4 KiB")[1] == "48"
    assert row_of(done.output, "site libpq.so.5+0x1c20")[1] == "1 MiB"


def test_show_of_nothing_learned(invoke, write):
    done = invoke("show", write(policy()))
    assert done.exit_code == 0 and done.output == "one: 1 run, 8 s: nothing but the defaults\n"


def test_why_says_since_when_and_what_for(invoke, write):
    done = invoke("why", write())
    assert done.exit_code == 0
    row = row_of(done.output, "retain_min")
    assert row[2:5] == ["9 s", "12", "+3.1 %"] and "was needed again" in row[5]
    assert row_of(done.output, "class")[4] == "-10.2 %" and "smaller than the class" in row_of(done.output, "class")[5]
    assert row_of(done.output, "retain_share")[2:] == ["", "", "", "by hand, or not recorded"]
    assert "by hand, or not recorded" in row_of(done.output, "depth of 4 KiB")[5]


REASON = re.compile(r'(?:why|note_value|give_value)\([^;]*?"(\w+)"|evidence\.why, "(\w+)"')


def test_every_reason_that_the_library_gives_is_explained(invoke, write):
    given = set()
    for source in (policies.TREE / "src/learn").glob("*.c"):
        given |= {one or other for one, other in REASON.findall(source.read_text())}
    assert given >= {"refaults", "idle", "depths", "rounding", "copies", "dense", "slack", "tournament"}
    assert given == set(REASONS)
    for reason in given:
        shown = row_of(invoke("why", write(policy(f"retain_min 33554432 why={reason}"))).output, "retain_min")
        assert len(shown[5].split()) > 2, shown


# --- diff --------------------------------------------------------------------------------------------------------------


def test_diff_of_the_same_decisions_is_silent(invoke, write):
    same = write(EXAMPLE.replace("runs 3", "runs 9").replace("windows=12", "windows=99"), "two.policy")
    done = invoke("diff", write(), same)
    assert (done.exit_code, done.output) == (0, "")


def test_diff_names_each_difference(invoke, write):
    one = write(policy("retain_min 33554432", "class 1040", "depth 4096 48", "close 1280"))
    two = write(policy("retain_min 1048576", "class 1104", "depth 4096 48", "depth 8192 9"), "two.policy")
    done = invoke("diff", one, two)
    assert done.exit_code == 1 and "one.policy" in done.output and "two.policy" in done.output
    assert row_of(done.output, "retain_min")[1:] == ["32 MiB", "1 MiB"]
    assert row_of(done.output, "depth of 8 KiB")[1:] == ["–", "9"]
    assert row_of(done.output, "close 1.25 KiB")[1:] == ["1.25 KiB", "–"]
    assert row_of(done.output, "class 1040 bytes")[1:] == ["1040 bytes", "–"]
    assert "depth of 4 KiB" not in done.output
    assert done.output.count("class ") == 2


def test_diff_shows_what_rounding_would_hide(invoke, write):
    one, two = write(policy("retain_min 8388608")), write(policy("retain_min 8388609"), "two.policy")
    done = invoke("diff", one, two)
    assert done.exit_code == 1 and row_of(done.output, "retain_min")[1:] == ["8388608 bytes", "8388609 bytes"]


def test_diff_of_files_of_one_name_heads_them_by_their_paths(invoke, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, size in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        write(policy(f"retain_min {size}"), f"{name}/x.policy")
    done = invoke("diff", "a/x.policy", "b/x.policy")
    assert "a/x.policy" in done.output and "b/x.policy" in done.output


@pytest.mark.parametrize("command", ["show", "why"])
def test_several_files_have_a_heading_each(invoke, write, command):
    done = invoke(command, write(), write(policy("class 1104"), "two.policy"))
    assert done.exit_code == 0 and "one.policy: python3.11" in done.output and "two.policy: one: 1 run, 8 s" in done.output
    assert "1040 bytes" in done.output and "1104 bytes" in done.output


# --- merge -------------------------------------------------------------------------------------------------------------


def test_merge_prints_one_policy_of_all(invoke, write):
    one, two = write(policy("retain_min 33554432", "class 1040")), write(policy("class 1104"), "two.policy")
    done = invoke("merge", one, two)
    assert done.exit_code == 0
    merged = policies.read(write(done.stdout, "merged.policy"))
    assert (merged.program, merged.runs, merged.seconds) == ("one", 2, 16)
    assert [(line.kind, line.value) for line in merged.lines] == [("retain_min", 25165824), ("class", 1040), ("class", 1104)]


def test_merge_of_one_is_that_one(invoke, write):
    merged = policies.read(write(invoke("merge", write()).stdout, "merged.policy"))
    assert {line.key: line for line in merged.lines} == {line.key: line for line in policies.read(write()).lines}


def test_merge_into_a_file_may_be_one_of_them(invoke, write):
    one, two = write(policy("class 1040")), write(policy("class 1104"), "two.policy")
    done = invoke("merge", one, two, "--output", one)
    assert (done.exit_code, done.output) == (0, "")
    assert [line.value for line in policies.read(one).lines] == [1040, 1104]


def test_programs_are_merged_only_if_that_is_said(invoke, write):
    files = write(), write(policy("class 1104"), "two.policy")
    done = invoke("merge", *files)
    assert done.exit_code == 2 and "different programs: one, python3.11; --any-program" in done.output.replace("\n", " ")
    done = invoke("merge", "--any-program", *files)
    assert done.exit_code == 0 and "different programs or builds" in done.output and "python3.11 6f3a01234567" in done.output


def test_builds_are_merged_and_told(invoke, write):
    done = invoke("merge", write(), write(EXAMPLE.replace("6f3a", "7f3a"), "two.policy"))
    assert done.exit_code == 0 and "different programs or builds" in done.output and "class 1040" in done.output


def test_merge_into_a_folder_that_is_not_there_is_told(invoke, write, tmp_path):
    done = invoke("merge", write(), "-o", tmp_path / "missing/file")
    assert done.exit_code == 2 and "missing/file" in done.output.replace("\n", "")


@pytest.mark.parametrize("name", ["notes.txt", "folder", "pipe"])
def test_merge_replaces_nothing_but_policy_files(invoke, write, tmp_path, name):
    (tmp_path / "notes.txt").write_text("notes\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    done = invoke("merge", write(), "-o", tmp_path / name)
    assert done.exit_code == 2 and "stays as it is" in done.output.replace("\n", " ")
    assert (tmp_path / "notes.txt").read_text() == "notes\n" and (tmp_path / "pipe").is_fifo()


def test_of_a_merge_that_fails_nothing_is_left(invoke, write, tmp_path):
    old = write(policy("class 1104"), "out.policy")
    assert invoke("merge", write("notes", "bad.policy"), "-o", old).exit_code == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.policy", "out.policy"]
    assert old.read_text() == policy("class 1104")


def test_a_new_file_has_the_rights_of_any_and_a_link_stays(invoke, write, tmp_path):
    old = write(policy("class 1104"), "out.policy")
    old.chmod(0o640)
    (tmp_path / "link").symlink_to(old)
    assert invoke("merge", write(), "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink() and old.stat().st_mode & 0o777 == 0o640 and "class 1040" in old.read_text()


# --- what is wrong -----------------------------------------------------------------------------------------------------

BAD = [("", "the file is empty"), ("notes\n", "line 1: this is no policy file"), ("hakmem-policy 2\nend\n", "line 1: "),
       ("hakmem-policy 1\nclass 1040\n", "line 2: the file ends too early"), (policy("frob 7"), "line 5: "),
       (policy("class 99999999"), "line 5: ")]


@pytest.mark.parametrize(("text", "said"), BAD)
@pytest.mark.parametrize("words", [["show"], ["why"], ["diff", None], ["merge", None]])
def test_damage_is_told_with_file_and_line(invoke, write, text, said, words):
    bad = write(text, "bad.policy")
    done = invoke(words[0], *[write() for _ in words[1:]], bad)
    assert done.exit_code == 2 and "bad.policy" in done.output and said in done.output.replace("\n", " "), done.output
    assert done.output.count("hakmem:") == 1


def test_bytes_that_are_no_text_may_stand_in_comments(invoke, tmp_path):
    (tmp_path / "bad.policy").write_bytes(b"hakmem-policy 1\n# \xff\xfe\nclass 1040\nend\n")
    done = invoke("show", tmp_path / "bad.policy")
    assert done.exit_code == 0 and row_of(done.output, "class")  # they stand in a comment


@pytest.mark.parametrize("words", [["show"], ["diff", "one"], ["merge"], ["frob"], ["show", "/no/such/file"], ["show", "/tmp"]])
def test_wrong_use_is_told(invoke, words):
    done = invoke(*words)
    assert done.exit_code == 2 and "Usage" in done.output


def test_every_command_has_help(invoke):
    for command in ("show", "why", "diff", "merge", "picture"):
        assert invoke(command, "--help").exit_code == 0
    assert all(word in invoke("--help").output for word in ("show", "why", "diff", "merge", "picture"))


def test_the_tool_is_compiled_anew_when_its_sources_change(monkeypatch, tmp_path):
    monkeypatch.setattr(policies, "BUILD", tmp_path)
    first = policies.tool()
    made = first.stat().st_mtime_ns
    assert policies.tool().stat().st_mtime_ns == made
    os.utime(first, (0, 0))
    assert policies.tool().stat().st_mtime_ns >= made
