"""The workload programs do exactly the operations they report, and refuse bad arguments."""

import json
import subprocess

import pytest
from hakmem import workloads

# Workload, arguments, operations reported, mallocs and frees made.
CASES = [
    ("tiers", "8 64 400 1 5000", 5000, 5400, 5400),
    ("tiers", "16 1024 100 4 3000", 12000, 12400, 12400),
    ("remote", "16 1024 400 2 90 5000", 10000, 10800, 10800),
    ("remote", "8 64 50 5 100 7000", 35000, 35250, 35250),
    ("remote", "8 64 50 3 0 1000", 3000, 3150, 3150),
    ("bulk", "64 1000 7 random", 7000, 7000, 7000),
    ("bulk", "16 1000 3 lifo", 3000, 3000, 3000),
    ("threads_idle", "16 1024 4 5 20", 4000, 4000, 4000),
]


def run(name, arguments, **variables):
    return subprocess.run([str(workloads.program(name)), *arguments.split()], capture_output=True, text=True,
                          timeout=60, env=variables)


def counted(name, arguments, library):
    done = run(name, arguments, LD_PRELOAD=str(library))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), json.loads(done.stderr)


@pytest.mark.parametrize("name, arguments, operations, mallocs, frees", CASES)
def test_makes_the_calls_it_reports(counting_library, name, arguments, operations, mallocs, frees):
    report, calls = counted(name, arguments, counting_library)
    assert report["operations"] == operations
    assert (calls["mallocs"], calls["frees"]) == (mallocs, frees)


def test_random_mixed_follows_its_formula(counting_library):
    iterations = 10_000
    random, slots, sizes, frees = 0x12345678, [False] * 400, [], 0
    for _ in range(iterations):
        random = (random * 1664525 + 1013904223) % 2**32
        slot = random % 400
        if slots[slot]:
            frees += 1
        else:
            sizes.append(16 + random % 1009)
        slots[slot] = not slots[slot]
    hash_of_sizes = 14695981039346656037
    for size in sizes:
        hash_of_sizes = (hash_of_sizes ^ size) * 1099511628211 % 2**64
    report, calls = counted("random_mixed", str(iterations), counting_library)
    assert report["operations"] == iterations + sum(slots)
    assert calls == {"mallocs": len(sizes), "frees": len(sizes), "hash": hash_of_sizes}
    assert frees + sum(slots) == len(sizes)


@pytest.mark.parametrize("name, arguments", [("tiers", "16 1024 300 1 9000"), ("bulk", "48 500 3 fifo")])
def test_every_run_asks_for_the_same_sizes(counting_library, name, arguments):
    first, second = (counted(name, arguments, counting_library)[1] for _ in range(2))
    assert first == second


def test_give_back_allocates_its_bytes_and_frees_every_block(counting_library):
    report, calls = counted("give_back", "16 262144 64 4", counting_library)
    assert calls["mallocs"] == calls["frees"] == report["operations"]
    # 64 MiB are written in all; each thread's last block may pass its share.
    assert 64 * 1024 <= report["burst_kib"] - report["before_kib"] < 2 * 64 * 1024


@pytest.mark.parametrize("name, arguments", [
    ("tiers", "8 64 400 1 1000"), ("tiers", "8 64 400 4 1000"), ("remote", "8 64 400 2 90 1000"),
    ("bulk", "64 100 1 random"), ("random_mixed", "1000"), ("threads_idle", "16 1024 4 5 20"),
    ("give_back", "16 65536 8 2")])
def test_report_names_the_allocator_and_measures(name, arguments):
    report = json.loads(run(name, arguments).stdout)
    assert report["seconds"] > 0
    assert 0 < report["final_kib"] <= report["peak_kib"]
    assert report["malloc_from"].endswith("libc.so.6") and report["free_from"].endswith("libc.so.6")
    assert report["hakmem_version"] is False
    assert any(path.endswith(name) for path in report["mapped"])


def test_startup_measures_the_program_it_starts(counting_library):
    done = subprocess.run([str(workloads.program("startup")), "3", str(counting_library), "/bin/true"],
                          capture_output=True, text=True, timeout=60, env={})
    report = json.loads(done.stdout)
    assert report["operations"] == 3 and 0 < report["median_seconds"] <= report["seconds"]
    assert str(counting_library) in report["mapped"] and report["peak_kib"] > 500


@pytest.mark.parametrize("name, arguments, named", [
    ("tiers", "8 64 400 1", "operations"), ("tiers", "64 8 400 1 10", "largest size"), ("tiers", "8 64 4x 1 10", "blocks"),
    ("remote", "8 64 400 1 90 10", "threads"), ("remote", "8 64 400 2 101 10", "percent"), ("bulk", "8 10 1 up", "lifo"),
    ("random_mixed", "0", "iterations"), ("random_mixed", "-5", "iterations")])
def test_bad_arguments_are_refused(name, arguments, named):
    done = run(name, arguments)
    assert done.returncode == 2 and named in done.stderr and done.stdout == ""
