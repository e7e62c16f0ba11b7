"""tools/run_tests.py: what fails makes the run fail, and tests are chosen alike for C and for Python."""

import importlib.util
import subprocess
import sys

import pytest


@pytest.fixture
def run_tests(root):
    spec = importlib.util.spec_from_file_location("run_tests", root / "tools/run_tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("words, expression", [
    ("slab", "slab"), ("slab or unit/heap", "slab|unit/heap"), (" a  or b ", "a|b"), ("not slab", None), ("a and b", None),
    ("(a)", None)])
def test_ctest_gets_what_it_can_express(run_tests, words, expression):
    assert run_tests.ctest_expression(words) == expression


def test_one_failure_fails_the_run(run_tests, capsys):
    good, bad = run_tests.Result("good", True, 1), run_tests.Result("bad", False, 2)
    assert run_tests.summary([good, good]) == 0
    assert run_tests.summary([good, bad]) == 1
    said = capsys.readouterr().out
    assert "  FAILED  bad (2 s)" in said and "1 of 2 steps failed" in said and "everything passed" in said


def test_a_command_that_fails_is_no_success(run_tests):
    assert run_tests.run([sys.executable, "-c", "pass"]) is True
    assert run_tests.run([sys.executable, "-c", "raise SystemExit(5)"]) is False
    assert run_tests.run([sys.executable, "-c", "raise SystemExit(5)"], (0, 5)) is True


def test_the_long_tests_are_left_out_unless_asked_for(run_tests):
    class Options:
        long, k = False, None
    assert "--label-exclude" in run_tests.ctest_command("release", "2", Options)
    Options.long = True
    assert "--label-exclude" not in run_tests.ctest_command("release", "2", Options)


def test_other_peoples_settings_do_not_reach_the_tests(root, tmp_path):
    """Started with a preload and options in its environment, it runs its steps without them."""
    probe = ("import os, sys; sys.path.insert(0, sys.argv[1]); import run_tests\n"
             "run_tests.step = lambda name, *rest: sys.exit(repr({k: v for k, v in os.environ.items() if 'HAKMEM' in k}))\n"
             "sys.argv = ['test']; run_tests.main()")
    outcome = subprocess.run([sys.executable, "-c", probe, str(root / "tools")], cwd=tmp_path, check=False, text=True,
                             env={"HAKMEM_OPTIONS": "fastlane=off", "HAKMEM_LIB": "/x", "PATH": "/usr/bin:/bin"},
                             stderr=subprocess.PIPE)
    assert outcome.stderr == "{'HAKMEM_TEST_REQUIRE': '1'}\n"
