#!/usr/bin/env python3
"""Builds every flavour and runs all tests; `./hakmem test` calls it when everything it needs is installed.

usage: tools/run_tests.py [--all] [--long] [-k EXPRESSION]
What cannot be built or fails does not stop the rest. The last lines say what passed and what did not.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAVOURS = ("release", "checked", "asan", "tsan")
SANITIZED = ("asan", "tsan")
NO_TESTS_COLLECTED = 5  # pytest's exit status
# More random bits in mappings than this, and the sanitizers of clang 14 may find their shadow memory taken.
MAPPING_BITS_FOR_SANITIZERS = 28


def main():
    parser = argparse.ArgumentParser(prog="hakmem test")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("-k", metavar="EXPRESSION")
    options = parser.parse_args()

    os.chdir(ROOT)
    # Nobody's settings but the tests' own.
    for name in [name for name in os.environ if name == "LD_PRELOAD" or name.startswith("HAKMEM_")]:
        del os.environ[name]
    os.environ["HAKMEM_TEST_REQUIRE"] = "1"
    jobs = str(os.cpu_count() or 1)
    results = []
    for flavour in FLAVOURS:
        results.append(step(f"build of {flavour}", build, flavour, jobs))
        configured = (ROOT / "build" / flavour / "CTestTestfile.cmake").exists()
        if configured and (command := ctest_command(flavour, jobs, options)):
            results.append(step(f"C tests of {flavour}", run, command))
    good = (0, NO_TESTS_COLLECTED) if options.k else (0,)
    results.append(step("tests from outside", run, pytest_command(jobs, options), good))
    return summary(results)


class Result:
    def __init__(self, name, passed, seconds):
        self.name, self.passed, self.seconds = name, passed, seconds


def step(name, action, *arguments):
    print(f"\nhakmem: {name}", flush=True)
    began = time.monotonic()
    passed = action(*arguments)
    return Result(name, passed, time.monotonic() - began)


def run(command, good=(0,)):
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode in good


def build(flavour, jobs):
    # A build directory of a checkout that was moved names the old place.
    cache = ROOT / "build" / flavour / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache.read_text():
        shutil.rmtree(cache.parent / "CMakeFiles", ignore_errors=True)
        cache.unlink()
    log = ROOT / "build" / f"{flavour}-configure.log"
    with open(log, "w", encoding="utf-8") as output:
        configured = subprocess.run(["cmake", "--preset", flavour], stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, check=False).returncode == 0
    if not configured:
        print(log.read_text())
        return False
    # One test that does not compile does not keep the others from running.
    return run(["cmake", "--build", "--preset", flavour, "--parallel", jobs, "--", "-k", "0"])


def ctest_command(flavour, jobs, options):
    command = ["ctest", "--preset", flavour, "--parallel", jobs]
    if not options.long:
        command += ["--label-exclude", "^long$"]
    if options.k:
        expression = ctest_expression(options.k)
        if expression is None:
            print(f"hakmem: C tests are chosen by words joined with 'or'; none runs for: {options.k}")
            return None
        command += ["--tests-regex", expression]
    if flavour in SANITIZED:
        command = without_random_addresses() + command
    return command


def ctest_expression(expression):
    """pytest's `a or b` as ctest's `a|b`; None where it says more than that."""
    words = re.split(r"\s+or\s+", expression.strip())
    return "|".join(words) if all(re.fullmatch(r"[\w./-]+", word) for word in words) else None


def without_random_addresses():
    """Words to put before a command so that sanitizers find their addresses free."""
    try:
        bits = int(Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except (OSError, ValueError):
        return []
    prefix = ["setarch", "--addr-no-randomize"]
    if bits > MAPPING_BITS_FOR_SANITIZERS and shutil.which("setarch") and run([*prefix, "true"]):
        return prefix
    return []


def pytest_command(jobs, options):
    command = [sys.executable, "-m", "pytest", "tests", "-ra", "--numprocesses", jobs, "--dist", "loadfile"]
    command += [f"--{name}" for name in ("all", "long") if getattr(options, name)]
    if options.k:
        command += ["-k", options.k]
    return command


def summary(results):
    print("\nhakmem: summary")
    for result in results:
        print(f"  {'passed' if result.passed else 'FAILED'}  {result.name} ({result.seconds:.0f} s)")
    failed = sum(not result.passed for result in results)
    print(f"hakmem: {'everything passed' if failed == 0 else f'{failed} of {len(results)} steps failed'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
