"""Nothing falls over, whatever a policy file says within its bounds, with and without learning: programs that look at
what is in their blocks, and workloads that have blocks of one kind alone, on the library with its asserts on."""

import os
import random
import re
import subprocess

import pytest

FEW, MANY = 6, 600
MODES = ("balanced", "learning", "research")
LOOKING = {"model/random_model": ["--operations", "100000"], "race/many_to_one": [], "race/zeroed_reuse": [], "race/thread_churn": [],
           "api/realloc": [], "api/aligned": []}  # what they are built as, arguments
ALONE = {"blocks of few bytes": ["tiers", 16, 1024, 400, 4, 300000], "of some pages": ["tiers", 2048, 32768, 300, 2, 200000],
         "large": ["tiers", 65536, 1048576, 64, 2, 4000], "big": ["tiers", 2097152, 4194304, 16, 1, 8000],
         "big, by threads": ["tiers", 524288, 4194304, 8, 4, 1000], "of other threads": ["remote", 16, 4096, 400, 2, 90, 200000],
         "of threads that end": ["larson", 8, 4096, 200, 3, 100, 400], "that grow": ["realloc_growth", 4000000, 10, 64, 16, 3000],
         "that change": ["phases", 7, 10, 9]}
GRANULE, LARGEST_CLASS, MOST_CLASSES = 16, 128 << 10, 16


def decisions(root):
    """(name, least, most) of each that is one number, by the page that is written from their table."""
    rows = re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) \| (\d+) \|", (root / "docs/policy.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    return [(name, int(least), int(most)) for name, least, most in rows]


def value(draw, least, most):
    """The ends more often than chance, and each doubling alike."""
    kind = draw.random()
    return least if kind < 0.2 else most if kind < 0.4 else min(most, least + int(2 ** draw.uniform(0, (most - least + 1).bit_length())) - 1)


def drawn(draw, numbers, name):
    lines = [f"{one} {value(draw, least, most)}" for one, least, most in numbers if draw.random() < 0.3]
    sizes = sorted(draw.sample(range(GRANULE, LARGEST_CLASS + 1, GRANULE), draw.choice((0, 0, 1, 4, MOST_CLASSES))))
    lines += [f"class {size}" for size in sizes]
    lines += [f"depth {size} {draw.choice((1, 2, 17, 127))}" for size in (16, 64, 1024, 4096, 32768, 131072) if draw.random() < 0.3]
    lines += [f"close {size}" for size in (48, 1280, 5120, 40960) if draw.random() < 0.3]
    lines += [f"site {name}+{hex(draw.randrange(1 << 16))} {draw.choice((524288, 2097152))}" for _ in range(draw.choice((0, 0, 3)))]
    return "\n".join(["hakmem-policy 1", f"program {name}", "runs 1", "seconds 1", *lines, "end", ""])


@pytest.fixture(scope="module")
def workload(root, tool, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workloads")

    def call(name):
        program = folder / name
        if not program.exists():
            sources = [root / f"bench/workloads/{file}.c" for file in (name, "harness", "report")]
            run(tool("gcc"), "-std=gnu11", "-O1", "-fno-builtin", *sources, "-o", program, "-pthread", "-lm")
        return program

    return call


def served(program, words, library, policy, mode):
    clean = {name: text for name, text in os.environ.items() if not name.startswith("HAKMEM_")}
    given = {"LD_PRELOAD": str(library), "HAKMEM_POLICY": str(policy), "HAKMEM_MODE": mode}
    done = subprocess.run([str(program), *map(str, words)], env=clean | given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "hakmem: " not in done.stderr, done.stderr[-2000:]


@pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(FEW, MANY))])
def test_programs_run_by_any_policy(root, test_program, workload, checked_library, tmp_path, seed):
    draw, numbers = random.Random(seed), decisions(root)
    told, words = draw.choice([*LOOKING.items(), *ALONE.items()])
    if told in LOOKING:
        program = test_program(told, flavour="checked")
    else:
        program, words = workload(words[0]), words[1:]
    policy = tmp_path / "program.policy"
    text = drawn(draw, numbers, program.name)
    for mode in MODES:
        policy.write_text(text)
        print(f"{told}, mode {mode}:\n{text}")
        served(program, words, checked_library, policy, mode)
