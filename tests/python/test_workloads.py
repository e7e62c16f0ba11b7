"""The workload programs do exactly the operations they report, and refuse bad arguments."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hakmem import run as runner
from hakmem import suites, workloads
from hakmem.allocator import Allocator
from hakmem.learning import call_sites

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
    ("larson", "8 128 100 2 3 500", 3000, 3200, 3200),
    ("single_block", "65536 50", 50, 50, 50),
    ("long_lived", "500 8 8000", 8000, 9000, 8500),
    ("false_sharing", "active 8 10 2 500", 1000, 1000, 1000),
    ("false_sharing", "passive 8 10 2 500", 1000, 1002, 1002),
    ("producer_consumer", "16 1024 3 2000", 6000, 6000, 6000),
    ("thread_churn", "20 2 50", 100, 2000, 2000),
    ("latency", "16 1024 300 2 4000", 8000, 8600, 8600),
    ("bursts", "20 1 3 4", 7680, 7710, 7710),
    ("odd_sizes", "1 2 3 500 272 1040", 3000, 10302, 10302),
    ("adversary", "switch 1 1", 1_520_000, 1_520_000, 1_520_000),
    ("adversary", "burst 2 1", 2_004_000, 2_004_000, 2_004_000),
    ("adversary", "sites 1 1", 6400, 6400, 6400),
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


def test_each_page_of_a_block_is_written_at_another_line(tmp_path):
    program = tmp_path / "touching"
    subprocess.run(["cc", "-std=gnu11", "-o", program, Path(__file__).with_name("touching.c")], check=True, timeout=60)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


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


def test_growth_asks_for_what_it_says(counting_library):
    report, calls = counted("growth", "16 256 2 4096", counting_library)
    assert calls["mallocs"] == calls["frees"] == report["operations"]
    assert 4096 <= report["requested_kib"] <= 4097 and report["peak_kib"] > 4096


def test_fragmentation_ends_with_what_it_says(counting_library):
    report, calls = counted("fragmentation", "16", counting_library)
    assert calls["mallocs"] + calls["frees"] == report["operations"]
    assert report["after_small_kib"] > 16 * 1024 and 0.9 < report["overhead"] < 4


def test_a_program_that_changes_tells_what_each_phase_was_and_took(counting_library):
    report, calls = counted("phases", "5 1 6", counting_library)
    assert calls["mallocs"] == calls["frees"] == report["operations"]
    seconds, kinds = report["phase_seconds"], report["phase_kinds"]
    assert len(seconds) == len(kinds) == 6 and 0 < min(seconds) and sum(seconds) <= report["seconds"] + 1e-3
    names = [kind.partition("/")[0] for kind in kinds]
    assert all(one != other for one, other in zip(names, names[1:], strict=False))
    assert report["mean_kib"] > 0 and kinds == json.loads(run("phases", "5 2 6").stdout)["phase_kinds"]


@pytest.mark.parametrize("arguments", ["4096 0 16 8 3000", "4194304 50 16 4 2000", "67108864 0 1048576 2 200"])
def test_realloc_keeps_the_content_and_counts(arguments):
    report = json.loads(run("realloc_growth", arguments).stdout)
    assert report["operations"] == int(arguments.split()[-1])


def test_the_adversary_calls_from_thousands_of_places():
    code = subprocess.run(["objdump", "-d", str(workloads.program("adversary"))], capture_output=True, text=True, check=True).stdout
    assert sum("malloc@" in line and ("call" in line or "\tbl\t" in line) for line in code.splitlines()) > 4096


@pytest.mark.parametrize("mode", ["calloc", "aligned"])
def test_zeroed_and_aligned_memory_is_what_was_asked_for(mode):
    assert json.loads(run("zeroed_aligned", f"{mode} 16 100000 50 3000").stdout)["operations"] == 3000


def test_memory_that_is_not_zero_is_found(tmp_path):
    source = tmp_path / "dirty.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\n"
                      "void *calloc(size_t n, size_t s) { void *p = malloc(n * s); return p ? memset(p, 1, n * s) : p; }")
    library = tmp_path / "dirty.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", str(source), "-o", str(library)], check=True)
    done = run("zeroed_aligned", "calloc 16 64 10 10", LD_PRELOAD=str(library))
    assert done.returncode == 2 and "not zero" in done.stderr


def test_latency_tells_percentiles_in_order():
    report = json.loads(run("latency", "16 1024 300 1 20000").stdout)
    for name in ("malloc_cycles", "free_cycles"):
        made = report[name]
        assert 0 < made["p50"] <= made["p99"] <= made["p999"] <= made["max"]
        parts, cycles = zip(*made["curve"], strict=True)
        assert list(parts) == sorted(parts) and list(cycles) == sorted(cycles)


@pytest.mark.parametrize("name, arguments", [
    ("larson", "8 128 100 2 3 500"), ("single_block", "2097152 20"), ("long_lived", "500 8 8000"), ("latency", "8 64 9 1 99"),
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
    ("larson", "8 128 100 2 3", "operations"), ("false_sharing", "shy 8 10 2 5", "passive"),
    ("zeroed_aligned", "malloc 8 9 1 1", "calloc or aligned"), ("random_mixed", "0", "iterations"), ("random_mixed", "-5", "iterations")])
def test_bad_arguments_are_refused(name, arguments, named):
    done = run(name, arguments)
    assert done.returncode == 2 and named in done.stderr and done.stdout == ""


def build_id(program):
    notes = subprocess.run(["readelf", "-n", str(program)], capture_output=True, text=True, check=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


def test_code_of_each_place_begins_elsewhere_and_is_one_program_for_what_is_learned():
    places = [workloads.program("tiers", place) for place in range(workloads.PLACES)]
    loops = [subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout for program in places]
    begins = [int(next(line.split()[0] for line in names.splitlines() if line.endswith(" replace")), 16) for names in loops]
    assert len({begin % 256 for begin in begins}) == len({begin % 4096 for begin in begins}) == workloads.PLACES
    assert len({build_id(program) for program in places}) == 1 and {program.name for program in places} == {"tiers"}
    assert workloads.program("tiers", workloads.PLACES + 3) == places[3]
    for program in (places[0], places[7]):
        assert json.loads(subprocess.run([str(program), "8", "64", "400", "1", "5000"], capture_output=True, check=True).stdout)["operations"] == 5000


def malloc_calls(place):
    """Return addresses of the calls of malloc, in the order of the code."""
    code = subprocess.run(["objdump", "-d", str(workloads.program("tiers", place))], capture_output=True, text=True, check=True)
    lines = code.stdout.splitlines()
    return [int(after.split(":")[0], 16) for line, after in zip(lines, lines[1:], strict=False)
            if "<malloc@plt>" in line and ("call" in line or "\tbl\t" in line)]


def test_a_rule_for_a_call_site_goes_with_the_code():
    written = "hakmem-policy 1\nprogram tiers\n{}site libother.so+0x2400 2097152\nbig_threshold 524288\nend\n"

    def policy(place):
        return written.format("".join(f"site tiers+{site:#x} 2097152 windows=54\n" for site in malloc_calls(place)))
    assert len(malloc_calls(0)) > 0 and set(malloc_calls(0)) != set(malloc_calls(5))
    for learned, place in [(0, 5), (5, 0), (3, 18), (7, 7)]:
        assert call_sites.moved("tiers", policy(learned), learned, place) == policy(place)
    assert call_sites.moved("tiers", "hakmem-policy 1\nend\n", 0, 5) == "hakmem-policy 1\nend\n"


def test_another_program_has_another_build_id():
    assert build_id(workloads.program("tiers")) != build_id(workloads.program("bulk"))


def test_another_tree_gives_a_program_the_same_build_id(tmp_path, monkeypatch):
    """What was learned of it, and the runs that used it, go from machine to machine."""
    here = build_id(workloads.program("tiers", folder=tmp_path / "here"))
    shutil.copytree(workloads.WORKLOADS, tmp_path / "tree/workloads")
    monkeypatch.setattr(workloads, "WORKLOADS", tmp_path / "tree/workloads")
    assert build_id(workloads.program("tiers", folder=tmp_path / "there")) == here


def test_a_run_in_which_the_library_complains_does_not_count(library, tmp_path):
    bad = tmp_path / "bad.policy"
    bad.write_text("hakmem-policy 1\nnonsense\nend\n")
    row = next(one for one in suites.ROWS if one.name == "mixed/16-1024/400/1t")
    made = runner.run(replace(row, operations=1000), Allocator("hakmem", library, environment={"HAKMEM_POLICY": str(bad)}), False)
    assert made.report is None and made.failure.startswith("hakmem: ") and "bad.policy, line 2" in made.failure


def test_mean_memory_is_not_the_peak():
    code = "import time; x = bytearray(b'x' * (80 << 20)); del x; time.sleep(0.5); print(open('/proc/self/status').read())"
    process = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, text=True)
    watch = runner.Watch(process.pid)
    peak_kib = int(re.search(r"VmHWM:\s+(\d+)", process.communicate()[0])[1])
    assert 1000 < watch.end() < peak_kib / 2
