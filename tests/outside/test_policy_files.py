"""Policy files where something is in the way: what can't be read or written is told in one line, nothing is lost, and
the program ends as it would otherwise."""

import fcntl
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "src"


@pytest.fixture(scope="module")
def program(tmp_path_factory, tool, run):
    """learns_for.c, built."""
    program = tmp_path_factory.mktemp("policy") / "learns_for"
    run(tool("gcc"), "-O1", "-fno-builtin", SOURCES / "learns_for.c", "-o", program, "-lpthread", "-ldl")
    return program


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a.policy"


@pytest.fixture
def learn(library, program, file):
    """learn("way", …) is a run that learns and ends that way; the file is there before where `text` is given."""

    def call(*words, program=program, policy=file, status=0, **settings):
        env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
        process = subprocess.run([str(program), *[str(word) for word in words]], capture_output=True, text=True, timeout=60,
                                 env={**env, "LD_PRELOAD": str(library), "HAKMEM_MODE": "learning", "HAKMEM_POLICY": str(policy)},
                                 **settings)
        assert process.returncode == status, (process.returncode, process.stderr)
        return process.stderr

    return call


def is_whole(file):
    text = file.read_text()
    return text.startswith("hakmem-policy 1\n") and text.endswith("\nend\n")


def is_said(said, *parts):
    """In one line, with all of these."""
    return said.count("\n") == 1 and said.startswith("hakmem: policy file ") and all(part in said for part in parts)


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def facts_of(file):
    return dict(line.split()[:2] for line in file.read_text().splitlines() if len(line.split()) > 1)


def test_it_is_saved_on_demand_and_counted_once(learn, program, file, library):
    said = subprocess.run([str(program), "saved"], capture_output=True, text=True, timeout=60, check=True,
                          env={"LD_PRELOAD": str(library), "HAKMEM_MODE": "learning", "HAKMEM_POLICY": str(file)})
    assert (said.stdout, said.stderr) == ("0 Success\n" * 2, "")
    assert is_whole(file) and facts_of(file)["runs"] == "1" and int(facts_of(file)["seconds"]) <= 1
    assert learn() == "" and facts_of(file)["runs"] == "2"


@pytest.mark.parametrize(("mode", "policy", "reason"), [("balanced", "a.policy", "not supported"), ("learning", "", "not supported"),
                                                       ("learning", "missing/a.policy", "No such file")])
def test_why_it_is_not_saved_on_demand_is_said(program, tmp_path, library, mode, policy, reason):
    done = subprocess.run([str(program), "saved"], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path,
                          env={"LD_PRELOAD": str(library), "HAKMEM_MODE": mode, "HAKMEM_POLICY": policy})
    assert [line for line in done.stdout.splitlines() if not (line.startswith("-1 ") and reason in line)] == []


def by_signal(library, program, file, way, number):
    return subprocess.run([str(program), way], capture_output=True, text=True, timeout=60,
                          env={"LD_PRELOAD": str(library), "HAKMEM_MODE": "learning", "HAKMEM_POLICY": str(file),
                               "HAKMEM_POLICY_SIGNAL": str(number)})


def test_it_is_saved_by_a_signal_if_that_is_asked_for(program, file, library):
    done = by_signal(library, program, file, "signalled", int(signal.SIGUSR2))
    assert (done.returncode, done.stderr) == (0, "") and is_whole(file) and facts_of(file)["runs"] == "1"
    file.unlink()
    assert by_signal(library, program, file, "signalled", 0).returncode == -signal.SIGUSR2 and not file.exists()


def test_a_signal_that_the_program_has_stays_the_programs(program, file, library):
    done = by_signal(library, program, file, "own signal", int(signal.SIGUSR2))
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "") and facts_of(file)["runs"] == "1"


def test_a_signal_that_can_not_be_had_is_said(program, file, library):
    done = by_signal(library, program, file, "", int(signal.SIGKILL))
    assert done.returncode == 0 and is_said(done.stderr, "signal 9", "policy_signal", "wanted: another one")


def test_the_end_does_not_wait_for_ever_for_the_lock(learn, file):
    assert learn() == ""
    before = file.read_text()
    with open(f"{file}.lock", encoding="ascii") as lock:  # as anybody may who may read it
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_said(learn(), str(file), "keeps its lock")
    assert file.read_text() == before
    learn()
    assert "runs 2" in file.read_text()


def test_without_a_lock_nothing_is_written(learn, file):
    Path(f"{file}.lock").symlink_to("nowhere")
    assert is_said(learn(), str(file), "can't be written")
    assert not file.exists()


def test_a_link_stays_and_rights_stay(learn, file):
    real = file.parent / "elsewhere/real.policy"
    real.parent.mkdir()
    learn(policy=real)
    real.chmod(0o600)
    file.symlink_to("elsewhere/real.policy")
    assert learn() == ""
    assert file.is_symlink() and "runs 2" in real.read_text() and real.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in file.parent.iterdir()} == {file.name, "elsewhere"}  # the lock is the file's, by whatever name


def test_the_program_is_the_same_at_its_end(learn, file, program):
    assert learn("main first") == ""
    assert f"program {program.name}\n" in file.read_text()
    assert learn("main first") == "" and learn() == "" and "runs 3\n" in file.read_text()
    learn("main first", policy=f"{file.parent}/")
    assert [path.name.split("-")[0] for path in file.parent.glob("*-*.policy")] == [program.name]


def test_a_file_of_the_program_is_not_standard_error(learn, file):
    file.write_text("hakmem-policy 1\nprogram other\nruns 1\nseconds 3\nend\n")
    assert is_said(learn(), str(file), "it belongs to other")
    for policy in (file, file.parent / "missing/a.policy"):
        learn("data", policy=policy, cwd=file.parent)
        assert (file.parent / "data").read_text() == "DATA"


def test_a_daemon_keeps_no_pipe_open(learn, file):
    begin = time.monotonic()
    learn("daemon")
    assert time.monotonic() - begin < 10


def as_another_user():
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def test_what_cannot_be_read_is_not_written_over(learn, file, program, library):
    if not all(folder.stat().st_mode & 1 for folder in library.parents):
        pytest.skip("the library is where other users can't read it")
    for folder in {*program.parents, *file.parents}:
        if str(folder).startswith("/tmp/") and folder.stat().st_uid == os.geteuid():
            folder.chmod(0o777)
    learn()
    before = file.read_bytes()
    file.chmod(0)
    assert is_said(learn(preexec_fn=as_another_user), str(file), "can't be read: not permitted")
    file.chmod(0o600)
    assert file.read_bytes() == before


def test_nobody_waits_for_the_other_end_of_a_pipe(learn, file):
    os.mkfifo(file)
    assert is_said(learn(), str(file), "no plain file")
    assert is_said(learn(policy="/dev/null"), "no plain file")
    assert is_said(learn(policy=file.parent), "no plain file")


def test_what_threads_log_does_not_get_into_the_file(learn, file):
    for _ in range(10):
        learn("logging")
        assert is_whole(file) and "log line" not in file.read_text()
        assert "log line" not in Path(f"{file}.lock").read_text()


def test_why_it_cannot_be_written_is_said(learn, file):
    assert learn() == "" and is_whole(file)
    before = file.read_text()
    assert is_said(learn(preexec_fn=small_files), str(file), "can't be written: it would be larger", "ulimit -f")
    assert file.read_text() == before and {path.name for path in file.parent.iterdir()} == {file.name, f"{file.name}.lock"}
    assert is_said(learn(policy=file.parent / "missing/a.policy"), "no such folder")
