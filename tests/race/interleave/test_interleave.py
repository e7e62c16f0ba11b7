"""The exhaustive check of the slab protocol can fail: it sees what is wrong in small programs and in the library broken on
purpose, and what it leaves out as redundant is redundant."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
FLAGS = ["-std=gnu11", "-O1", "-g", "-fPIC", "-DCHECKED=1", "-DHAKMEM_TLS_POINTER=1", "-DHAKMEM_NO_OVERRIDE=1"]


@pytest.fixture(scope="session")
def machine(test_program):
    return test_program("race/interleave/interleave", "checked")


@pytest.fixture(scope="session")
def built_module(test_program):
    return lambda name: test_program(f"race/interleave/interleave_{name}.so", "checked")


@pytest.fixture
def interleave(machine):
    """Runs a module; the outcome's text is all that it said."""

    def run(module, *arguments):
        return subprocess.run([str(machine), str(module), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    return run


# --- The exploration ------------------------------------------------------------------------------


def seen(text):
    """Script -> number and sum of its outcomes."""
    return dict(re.findall(r"^(\w+) .*, (\d+ outcomes with sum \w+)$", text, re.MULTILINE))


@pytest.mark.parametrize("mode", [[], ["--buffers"]], ids=["plain", "buffers"])
@pytest.mark.parametrize("module", ["litmus", "programs"])
def test_reduction_leaves_out_no_outcome(interleave, built_module, module, mode):
    # With buffers every schedule of the larger programs is too many; preemptions at ten places are not.
    bound = "10" if mode else "40"
    reduced = seen(interleave(built_module(module), *mode).stdout)
    if mode and module == "programs":
        small = [f"program{number}" for number in range(10, 60)]
    else:
        small = list(reduced)
    assert len(small) > 10
    for name in small:
        every = interleave(built_module(module), *mode, "--script", name, "--every-schedule", bound, "--seconds", "5")
        if "NOT COMPLETE" not in every.stdout:
            assert seen(every.stdout)[name] == reduced[name], name


BROKEN = {
    "plain_writes": "data race",
    "two_locks": "data race",
    "relaxed_message": "data race",
    "half_atomic": "data race",
    "broken_release": "data race",
    "crossed_locks": "deadlock",
    "nobody_wakes": "deadlock",
    "lost_update": "an update was lost",
    "deep": "seen",
    "needs_buffers": "both were first",
    "missed_in_child": "one without the other",
    "wrong_outcomes": "outcomes",
    "wild": "a wild access",
    "trapped": "an assertion",
    "endless": "does not end",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_seen_and_can_be_replayed(interleave, built_module, name):
    module = built_module("broken")
    mode = ["--buffers"] if name == "needs_buffers" else []
    found = interleave(module, "--script", name, *mode)
    assert found.returncode == 1 and f"FAILED: {name}" in found.stdout and BROKEN[name] in found.stdout, found.stdout
    if name == "wrong_outcomes":
        return  # no single schedule is wrong
    schedule = re.search(r"^replay: (\S*)$", found.stdout, re.MULTILINE).group(1)
    again = interleave(module, "--script", name, *mode, "--replay", schedule)
    assert BROKEN[name] in again.stdout or name in ("wild", "trapped", "endless"), again.stdout


def test_every_broken_script_is_tried(interleave, built_module):
    names = [line.split()[0] for line in interleave(built_module("broken"), "--list").stdout.splitlines()]
    assert names == list(BROKEN)


def test_scripts_behind_one_that_fails_are_run_unless_asked_otherwise(interleave, built_module):
    failed = [interleave(built_module("broken"), *words).stdout.count(": FAILED: ") for words in ([], ["--until-failure"])]
    assert failed[0] > 2 and failed[1] == 1


def test_store_buffers_are_what_breaks_that_one(interleave, built_module):
    assert interleave(built_module("broken"), "--script", "needs_buffers").returncode == 0


# --- The library, broken --------------------------------------------------------------------------


class Mutant(NamedTuple):
    """One place in src/ made wrong, and the module that has to see it."""

    name: str
    file: str
    old: str
    new: str
    module: str = "slab"
    mode: str = ""


MUTANTS = [
    Mutant("no second scan after FULL", "slab/slab.c",
           "    if (!slab_has_bits(slab))\n        return true;\n    return !swap_total(&slab->state, full, leased);",
           "    return true;"),
    Mutant("FULL is a plain store", "slab/slab.c", "exchange_total(&slab->state, full);",
           "store_relaxed(&slab->state, full);", mode="--buffers"),
    Mutant("LISTED is a plain store", "slab/depot.c",
           "exchange_total(&slab->state, slab_word_with(load_relaxed(&slab->state), SLAB_LISTED));",
           "store_release(&slab->state, slab_word_with(load_relaxed(&slab->state), SLAB_LISTED));", mode="--buffers"),
    Mutant("leaving without a second look", "slab/depot.c", "if (depot_can_spare(depot, slab, 1) &&", "if (false &&"),
    Mutant("reclaim without the state", "slab/depot.c", "load_relaxed(&slab->state) == word && depot_can_spare",
           "depot_can_spare"),
    Mutant("no generation check", "slab/put.c", "|| slab_generation_of(now) != slab_generation_of(before)", ""),
    Mutant("the state is read after the bit alone", "slab/put.c", "old = or_total(word, mask);",
           "old = or_total(word, mask);\n        before = load_total(&slab->state);"),
    Mutant("the generation stands still", "slab/slab.c", "slab_generation_of(word) + 1", "slab_generation_of(word) + 0"),
    Mutant("FULL to LEASED without a swap", "slab/depot.c",
           "if (swap_total(&slab->state, word, slab_word_with(word, SLAB_LEASED)))\n        depot_unlease(slab);",
           "if (load_total(&slab->state) == word) {\n"
           "        store_relaxed(&slab->state, slab_word_with(word, SLAB_LEASED));\n        depot_unlease(slab);\n    }"),
    Mutant("bits set without atomics", "slab/put.c", "old = or_total(word, mask);",
           "old = load_relaxed(word);\n        store_relaxed(word, old | mask);"),
    Mutant("bits taken without atomics", "slab/slab.c", "and_total(&slab->bits[number], ~(seen ^ left));",
           "store_relaxed(&slab->bits[number], left);"),
    Mutant("bits set relaxed", "slab/put.c", "or_total(word, mask)", "__atomic_fetch_or(word, mask, __ATOMIC_RELAXED)"),
    Mutant("bits taken relaxed", "slab/slab.c", "and_total(&slab->bits[number], ~(seen ^ left))",
           "__atomic_fetch_and(&slab->bits[number], ~(seen ^ left), __ATOMIC_RELAXED)"),
    Mutant("a full slab is never listed", "slab/put.c", "depot_list_full(slab, now);", ";"),
    Mutant("a free slab is never reclaimed", "slab/put.c", "depot_reclaim(slab, now, class_index);", ";"),
    Mutant("slices go before their table entries", "slab/slab.c",
           "    for (unsigned i = 0; i < row->slices; i++) {\n        window_show_all(first + i, CLASS_NONE);",
           "    runs_give(first, row->slices);\n    runs_take_at(first, row->slices, &(bool){0});\n"
           "    for (unsigned i = 0; i < row->slices; i++) {\n        window_show_all(first + i, CLASS_NONE);"),
    Mutant("the descriptor goes before the generation grows", "slab/slab.c",
           "    uint64_t generation = slab_generation_of(word) + 1;",
           "    descriptor_give(slab, row);\n    lock_acquire(&meta_lock);\n    list_remove(&slab->link);\n"
           "    lock_release(&meta_lock);\n    uint64_t generation = slab_generation_of(word) + 1;"),
    Mutant("holders' slabs stay theirs", "slab/depot.c", "while (!list_is_empty(&holder->listed[i])) {", "while (false) {",
           "heap"),
    Mutant("a transfer cache keeps what it hands out", "heap/transfer.c",
           "transfer_moved(transfer, have - count);", "", "heap"),
    Mutant("a transfer cache gives without its lock", "heap/transfer.c",
           "    unsigned have = transfer->count;\n    unsigned count",
           "    lock_release(&transfer->lock);\n    unsigned have = transfer->count;\n    lock_acquire(&transfer->lock);\n"
           "    unsigned count", "heap"),
    Mutant("what is passed on stays in the stack", "heap/flush.c",
           "store_relaxed(&heap->stacks->top[class_index], bottom + keep); // T4", "", "heap"),
    Mutant("a purge wakes nobody", "region/runs.c", "os_wake_all(&purge_turn);", "", "heap"),
    Mutant("fork waits for nobody", "heap/fork.c", "for_each_other(gate_shut);", "", "fork"),
    Mutant("fork opens no gate", "heap/fork.c", "for_each_other(gate_open);", "", "fork"),
    Mutant("fork forgets outboxes", "heap/fork.c", "heap_flush_outbox(dead);", "", "fork"),
    Mutant("fork forgets leases", "heap/fork.c", "registry_end_heap(dead);", "", "fork"),
    Mutant("fork leaves stacks", "heap/fork.c", "put_blocks(heap_bottom(dead, i), own->idle_blocks, i);", "", "fork"),
    Mutant("a gate lets in before it is open", "heap/registry.c",
           "else if (UNLIKELY(!swap_acquire(&heap->gate, outside, GATE_INSIDE)))", "else if (false)", "fork"),
    Mutant("those who were shut out are not woken", "heap/fork.c", "    os_wake_all(&registry.fork_turn);\n", "", "fork"),
    Mutant("the turn of fork stands still", "heap/fork.c",
           "store_release(&registry.fork_turn, registry.fork_turn + 1);", ";", "fork"),
    Mutant("the turn of fork is read too late", "heap/registry.c", "os_wait_for(&registry.fork_turn, turn, GATE_PATIENCE_MS)",
           "os_wait_for(&registry.fork_turn, load_relaxed(&registry.fork_turn), ((void)turn, GATE_PATIENCE_MS))", "fork"),
    Mutant("threads begin while one forks", "heap/registry.c",
           "    struct heap *heap = thread_take_heap();\n    registry_leave_spare();\n",
           "    registry_leave_spare();\n    struct heap *heap = thread_take_heap();\n", "fork"),
    Mutant("threads end while one forks", "heap/registry.c",
           "    registry_enter_spare();\n    registry_end_heap(heap);\n    registry_leave_spare();\n",
           "    registry_end_heap(heap);\n", "fork"),
    Mutant("a visitor without a barrier", "heap/visit.c", "lifted.count > 0 && os_barrier();", "lifted.count > 0;", "visit",
           "--buffers"),
    Mutant("a visitor looks at the top alone", "heap/visit.c",
           "top <= bottom + stack->count || load_relaxed(&bottom[stack->count - 1]) != NULL", "top <= bottom + stack->count",
           "visit"),
    Mutant("a visitor takes what is about to be popped", "heap/visit.c", "top <= bottom + stack->count", "top < bottom + stack->count",
           "visit"),
    Mutant("a visitor takes whatever it finds", "heap/visit.c", "if (top <= bottom", "if (false && top <= bottom", "visit"),
    Mutant("a visitor stores over what was pushed", "heap/visit.c", "!swap_relaxed(&bottom[i], block, NULL)",
           "(store_relaxed(&bottom[i], NULL), false)", "visit"),
    Mutant("a visitor sees no pushes", "heap/visit.c", "load_acquire(&heap->stacks->top[stack->class_index])",
           "load_relaxed(&heap->stacks->top[stack->class_index])", "visit"),
    Mutant("what is in doubt stays so", "heap/registry.c", "        visit_settle(heap);\n", "        ;\n", "visit"),
    Mutant("what was popped comes back", "heap/visit.c", "k < have && bottom[k] == NULL", "k < have", "visit"),
    Mutant("fork leaves what is in doubt", "heap/fork.c", "        visit_settle(dead);\n", "        ;\n", "visit"),
    Mutant("a visitor shuts nobody out", "heap/fork.c", "heap->stacks == NULL || gate_try_shut(heap);", "true;", "visit"),
    Mutant("a lock wakes nobody", "sys/lock.h", "if (exchange_release(&lock->state, 0) == 2)",
           "if (exchange_release(&lock->state, 0) == 3)", "lock"),
    Mutant("a sleeper does not say so", "sys/lock.c", "while (exchange_acquire(&lock->state, 2) != 0)",
           "while (exchange_acquire(&lock->state, 1) != 0)", "lock"),
    Mutant("a lock acquires nothing", "sys/lock.h", "return swap_acquire(&lock->state, expected, 1);",
           "return __atomic_compare_exchange_n(&lock->state, &expected, 1, false, 0, 0);", "lock"),
    Mutant("a lock releases nothing", "sys/lock.h", "exchange_release(&lock->state, 0)",
           "__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELAXED)", "lock"),
]


class Builder:
    """Compiles modules from a copy of src/; what does not depend on the copy is compiled once."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder

    def compile(self, source, sources_of, target, *flags):
        subprocess.run(["cc", *FLAGS, *flags, "-I", HERE / "slab/shadow", "-I", HERE / "machine", "-I", sources_of, "-c",
                        source, "-o", target], check=True)
        return target

    def module(self, name, sources_of):
        objects = [self.compile(HERE / "slab" / f"{part}.c", sources_of, self.folder / f"{part}.o", "-fsanitize=thread")
                   for part in ("subject", "program", f"{name}_scripts")]
        objects += [self.compile(HERE / "slab" / f"{part}.c", sources_of, self.folder / f"{part}.o",
                                 f"-DSCRIPTS={name}_scripts") for part in ("world", "checks", "names", "module")]
        subprocess.run(["cc", "-shared", *objects, "-o", self.folder / f"{name}.so"], check=True)
        return self.folder / f"{name}.so"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_broken_protocol_is_seen(interleave, root, tmp_path, mutant):
    shutil.copytree(root / "src", tmp_path / "src")
    file = tmp_path / "src" / mutant.file
    text = file.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} has changed: the mutant has to follow"
    file.write_text(text.replace(mutant.old, mutant.new))
    module = Builder(root, tmp_path).module(mutant.module, tmp_path / "src")
    found = interleave(module, "--until-failure", *mutant.mode.split())
    assert found.returncode == 1 and "FAILED" in found.stdout and "replay: " in found.stdout, found.stdout


def test_an_unbroken_copy_passes(interleave, root, tmp_path):
    module = Builder(root, tmp_path).module("slab", root / "src")
    found = interleave(module, "--script", "free_two_take_one")
    assert found.returncode == 0, found.stdout
