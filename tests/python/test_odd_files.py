"""What commands say of files with odd names, of pipes, of records that lack something, and of an output that is full."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading

import pytest
from hakmem import policies
from hakmem.cli import app
from typer.testing import CliRunner

POLICY = b"hakmem-policy 1\nprogram [/one]\nruns 1\nseconds 8\nclass 1040\nsite [old].so+0x10 1048576\nend\n"
ODD_NAMES = [b"[old] x.policy", b"[bold].policy", b"b\xff\xfe.policy"]


@pytest.fixture
def hakmem(tmp_path):
    """hakmem("policy", "show", …) is the command as the launcher starts it."""

    def call(*words, **settings):
        settings.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([sys.executable, policies.TREE / "python", *words], stderr=subprocess.PIPE, cwd=tmp_path,
                              timeout=60, **settings)

    return call


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_files_are_told_as_they_are(hakmem, tmp_path, name):
    (tmp_path / os.fsdecode(name)).write_bytes(POLICY)
    (tmp_path / os.fsdecode(b"bad" + name)).write_bytes(b"notes\n")
    shown = hakmem("policy", "show", name)
    assert shown.returncode == 0 and b"site [old].so+0x10" in shown.stdout, shown.stderr
    bad = hakmem("policy", "show", b"bad" + name)
    assert bad.returncode == 2 and b"no policy file" in bad.stderr and b"Traceback" not in bad.stderr
    assert b"\xff" in name or b"bad" + name in bad.stderr
    differing = hakmem("policy", "diff", name, b"bad" + name)
    assert differing.returncode == 2 and b"Traceback" not in differing.stderr
    assert hakmem("policy", "merge", name).stdout.count(b"site [old].so+0x10 1048576") == 1


@pytest.mark.parametrize("words", [["show"], ["why"], ["merge"], ["diff", "same.policy"]])
def test_what_comes_from_a_pipe_is_read_once(hakmem, tmp_path, words):
    (tmp_path / "same.policy").write_bytes(POLICY)
    done = hakmem("policy", *words, "/dev/stdin", input=POLICY)
    assert done.returncode == 0 and (words[0] == "diff" or b"1040" in done.stdout or b"1.02 KiB" in done.stdout), done
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(POLICY))
    writer.start()
    from_pipe = hakmem("policy", *words, "pipe")
    writer.join()
    assert (from_pipe.returncode, from_pipe.stdout) == (0, done.stdout)


FULL_BYTES = 4096


def test_an_output_that_is_full_is_a_line(hakmem, tmp_path):
    policies.tool()
    (tmp_path / "one.policy").write_bytes(POLICY)
    (tmp_path / "full").write_bytes(bytes(FULL_BYTES))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))

    for words in (["policy", "show", "one.policy"], ["policy", "merge", "one.policy"]):
        with (tmp_path / "full").open("a") as full:
            done = hakmem(*words, stdout=full, preexec_fn=limit)
        assert done.returncode == 2 and done.stderr == b"hakmem: the output: File too large\n", done.stderr


STOPPED = """
import sys
class Stop:
    def find_spec(self, name, *_):
        if name == "hakmem.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
import hakmem.__main__
"""


def test_one_that_is_stopped_while_it_starts_says_that_alone():
    done = subprocess.run([sys.executable, "-c", STOPPED], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(policies.TREE / "python")})
    assert (done.returncode, done.stderr) == (130, "hakmem: stopped\n")


HEAD = {"kind": "policy-bench", "machine": {}, "rows": []}


@pytest.mark.parametrize(("records", "said"), [
    ([HEAD, {"kind": "run", "row": "x"}], "lacks the field 'stage'"), ([HEAD, {"row": "x"}], "lacks the field 'kind'"),
    ([HEAD, [1]], "not as hakmem"), ([{"kind": "policy-bench"}], "lacks the field")])
def test_records_that_lack_something_say_what(tmp_path, records, said):
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    done = CliRunner().invoke(app, ["bench", "policy", "--show", str(file)])
    assert done.exit_code == 2 and said in done.output.replace("\n", " "), (done.output, done.exception)
