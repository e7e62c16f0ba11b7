"""Programs with one fault each: what the library says of it, and what then happens.

Each program does the same wrong thing three times, prints the address before each, and `went on` at its end.
"""

import json
import re
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
GOING_ON = "; going on, further ones are counted"


class Misuse(NamedTuple):
    fault: str
    block_bytes: int = 0  # what the message says of the block; 0: nothing
    slab_bytes: int = 0  # the fault concerns all blocks this near, also free ones that the thread keeps


PROGRAMS = {
    "double_free": Misuse("double_free", 112),
    "double_free_held": Misuse("double_free", 32),
    "double_free_large": Misuse("double_free", 327680),
    "invalid_pointer": Misuse("invalid_pointer", 2048),
    "invalid_pointer_far": Misuse("invalid_pointer"),
    "invalid_pointer_freed_run": Misuse("invalid_pointer"),
    "invalid_pointer_realloc": Misuse("invalid_pointer"),
    "misaligned_pointer": Misuse("misaligned_pointer", 112),
    "misaligned_pointer_run": Misuse("misaligned_pointer"),
    "foreign_pointer": Misuse("foreign_pointer"),
    "foreign_pointer_mapping": Misuse("foreign_pointer"),
    "foreign_pointer_freed_mapping": Misuse("foreign_pointer"),
    "foreign_pointer_realloc": Misuse("foreign_pointer"),
    "corrupted_metadata": Misuse("corrupted_metadata", 3072, 1 << 18),
}
# Without stacks a block goes home at once; where it was the only one of its slab, the slab has gone when it comes again.
WITHOUT_STACKS = {**PROGRAMS, "double_free_large": Misuse("invalid_pointer")}
SILENT = {"out_of_memory": "out_of_memory"}  # told by NULL and errno


@pytest.fixture(scope="module")
def faults(root):
    """Name -> (title, hint) of every row of faults.def."""
    text = (root / "src/sys/faults.def").read_text()
    return {name: (title, hint) for name, title, hint in
            re.findall(r'^FAULT\((\w+), "([^"]*)", "([^"]*)"\)', text, re.MULTILINE)}


@pytest.fixture(scope="module", params=["tls", "pointer", "tls@research", "pointer@learning"])
def misuse(request, variant, test_program, run):
    """misuse("double_free", stats="json") runs that program on a variant of the library, with these options."""
    served_by, mode = variant(request.param)

    def call(name, **options):
        env = {"LD_PRELOAD": str(served_by), **mode,
               **{f"HAKMEM_{option.upper()}": value for option, value in options.items()}}
        outcome = run(test_program(f"misuse/{name}"), status=None, env=env)
        outcome.addresses = re.findall(r"^0x[0-9a-f]+$", outcome.stdout, re.MULTILINE)
        outcome.went_on = outcome.stdout.endswith("went on\n")
        return outcome

    return call


def expect_message(line, faults, misuse, addresses, tail):
    title, hint = faults[misuse.fault]
    block = rf" \(block of {misuse.block_bytes} bytes\)" if misuse.block_bytes else ""
    shape = (rf"hakmem: {re.escape(title)} at (0x[0-9a-f]+){block} in process [1-9]\d*: {re.escape(hint)}; "
             rf"see docs/faults\.md, {misuse.fault}{re.escape(tail)}")
    match = re.fullmatch(shape, line)
    assert match, line
    distances = [abs(int(match.group(1), 16) - int(address, 16)) for address in addresses]
    assert min(distances) <= misuse.slab_bytes, (line, addresses)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_told_and_ended(misuse, faults, name):
    outcome = misuse(name)
    lines = outcome.stderr.splitlines()
    assert outcome.returncode == -signal.SIGABRT and not outcome.went_on, outcome
    assert len(lines) == 1, outcome.stderr
    expect_message(lines[0], faults, PROGRAMS[name], outcome.addresses, "")
    assert len(outcome.addresses) == (3 if name == "corrupted_metadata" else 1)  # it ended with the first


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_continue_it_goes_on_and_further_ones_are_counted(misuse, faults, tmp_path, name):
    statistics = tmp_path / "statistics"
    outcome = misuse(name, on_fault="continue", stats="json", stats_file=str(statistics))
    lines = outcome.stderr.splitlines()
    assert outcome.returncode == 0 and outcome.went_on, outcome
    assert len(lines) == 1 and len(outcome.addresses) == 3, outcome.stderr
    expect_message(lines[0], faults, PROGRAMS[name], outcome.addresses, GOING_ON)
    counted = json.loads(statistics.read_text())
    times = counted["fault_counts"].pop(PROGRAMS[name].fault)
    assert times == 3 or (times > 3 and PROGRAMS[name].slab_bytes)
    assert set(counted["fault_counts"]) == set(faults) - {PROGRAMS[name].fault}
    assert set(counted["fault_counts"].values()) == {0} and counted["faults"] == times


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("on_fault", ["abort", "continue"])
def test_what_callers_learn_from_a_null_is_counted_alone(misuse, faults, tmp_path, name, on_fault):
    statistics = tmp_path / "statistics"
    outcome = misuse(name, on_fault=on_fault, stats="json", stats_file=str(statistics))
    assert outcome.returncode == 0 and outcome.went_on and outcome.stderr == "", outcome
    counted = json.loads(statistics.read_text())["fault_counts"]
    assert counted == {fault: 3 if fault == SILENT[name] else 0 for fault in faults}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "corrupted_metadata"])
def test_without_the_fast_lane_it_is_seen_too(misuse, faults, name):
    outcome = misuse(name, fastlane="off")
    assert outcome.returncode == -signal.SIGABRT, outcome
    expect_message(outcome.stderr.rstrip("\n"), faults, WITHOUT_STACKS[name], outcome.addresses, "")


def test_every_program_is_tried_and_every_fault_has_one(faults):
    sources = {path.stem for path in HERE.glob("*.c*")}
    assert sources == {*PROGRAMS, *SILENT}
    assert {misuse.fault for misuse in PROGRAMS.values()} | set(SILENT.values()) == set(faults)
