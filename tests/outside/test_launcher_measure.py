"""The launcher's measuring commands: arguments, exit statuses and input pass through to the package in python/."""

import os
import subprocess

import pytest


@pytest.fixture
def hakmem(root, tmp_path):
    def call(*words, **settings):
        return subprocess.run([root / "hakmem", *words], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              **settings)
    return call


def test_rows_are_listed(hakmem):
    done = hakmem("bench", "--list")
    assert done.returncode == 0 and "tiny/8-64/400/1t" in done.stdout and "programs/redis" in done.stdout


def test_unknown_options_end_with_2(hakmem):
    done = hakmem("bench", "--no-such-option")
    assert done.returncode == 2 and "--no-such-option" in done.stderr


def test_a_program_is_recorded_with_its_input_output_and_status(hakmem, tmp_path):
    done = hakmem("trace", "record", "-o", "made.hktrace", "--", "sh", "-c", "cat; exit 7", input="through")
    assert (done.returncode, done.stdout) == (7, "through"), done.stderr
    assert (tmp_path / "made.hktrace").read_bytes().startswith(b"HKMTRACE")
    told = hakmem("trace", "stat", "made.hktrace")
    assert told.returncode == 0 and "sh -c cat; exit 7" in told.stdout.replace("\n", " ")


def test_a_program_that_is_not_there_is_named(hakmem):
    done = hakmem("trace", "record", "--", "no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr


@pytest.mark.parametrize("name", ["my own tree", "a:b"])
def test_odd_names_of_folders(root, checkout_at, tmp_path, name):
    checkout = checkout_at(tmp_path / name)
    for shared in ("python", "bench", "tests"):
        (checkout.path / shared).symlink_to(root / shared)
    (checkout.path / "build").mkdir()
    (checkout.path / "build/venv").symlink_to(root / "build/venv")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = checkout.call("trace", "record", "-o", "made.hktrace", "--", "sh", "-c", "exec cat /proc/self/maps", env=env, cwd=tmp_path)
    assert "ERROR" not in process.stderr_text, process.stderr_text
    assert "libhakmem-trace.so" in process.stdout_text and "libhakmem.so" in process.stdout_text
    assert (tmp_path / "made.hktrace").read_bytes().startswith(b"HKMTRACE")


def test_completion_is_for_shells_that_are_known(hakmem):
    assert "complete -o default" in hakmem("completion", "bash").stdout
    assert "compdef" in hakmem("completion", "zsh").stdout # whatever shell asks
    assert "complete --command hakmem" in hakmem("completion", "fish").stdout
    done = hakmem("completion", "csh")
    assert done.returncode == 2 and "bash, zsh or fish" in done.stderr


def test_a_word_is_completed(hakmem):
    done = hakmem(env={**os.environ, "_HAKMEM_COMPLETE": "complete_bash", "COMP_WORDS": "hakmem tra", "COMP_CWORD": "1"})
    assert done.stdout.split() == ["trace"]
