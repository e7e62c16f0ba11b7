"""The hot paths of malloc, free and the C++ operators, instruction by instruction: golden.json has how many there are,
loads and stores among them. They may become fewer, never more.

A path counts from the first instruction to the return. Held classes take the same path as shared ones.
"""

import json
import platform
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from disassembly import Instruction, disassemble, hot_paths  # noqa: E402  (found by the line above)

GOLDEN = json.loads((HERE / "golden.json").read_text())
SYMBOLS = ("malloc", "free", "_Znwm", "_ZdlPv")
ALIGNMENTS = 8  # of aligned.c
ROUNDS = (2000, 5000)  # the difference is counted: starting and filling stacks cost the same in both

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")


@pytest.fixture(scope="module", params=["libhakmem.so", "libhakmem-dl.so"])
def built_library(request, library, dl_library, run, tool):
    """A variant of the library; the test is skipped where another compiler made it than made the golden numbers."""
    path = library if request.param == "libhakmem.so" else dl_library
    made_by = run(tool("readelf"), "-p", ".comment", path).stdout
    name, major = GOLDEN["compiler"].split()
    if not re.search(rf"\] +{name}: \([^)]*\) {major}\.", made_by):
        pytest.skip(f"the golden numbers are those of {GOLDEN['compiler']}, not of: {made_by.strip().splitlines()[-1]}")
    return path, GOLDEN[request.param]


def listing(path):
    return "\n".join(f"  {step.address:x}: {step.name} {step.operands}" for step in path)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_hot_path_is_as_short_as_it_was(built_library, tool, symbol):
    path, golden = built_library
    found = hot_paths(disassemble(tool("objdump"), path, symbol))
    assert found, f"{symbol} has no way to its return without a call"
    found.sort(key=len)
    counted = [{"instructions": len(steps), "loads": sum(step.loads for step in steps),
                "stores": sum(step.stores for step in steps)} for steps in found]
    shown = "\n\n".join(map(listing, found))
    assert len(counted) == len(golden[symbol]), f"{symbol} has {len(counted)} hot paths, golden.json {len(golden[symbol])}\n{shown}"
    for now, then in zip(counted, golden[symbol]):
        for what in then:
            assert now[what] <= then[what], f"{symbol}: {now[what]} {what}, were {then[what]}\n{shown}"
            assert now[what] == then[what], \
                f"{symbol}: {now[what]} {what}, were {then[what]}: good; lower the number in tests/asm/golden.json\n{shown}"


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_hot_path_has_no_expensive_instruction(built_library, tool, symbol):
    for steps in hot_paths(disassemble(tool("objdump"), built_library[0], symbol)):
        assert not [step for step in steps if step.is_forbidden], listing(steps)
        assert not [step for step in steps if step.name.startswith("call")], listing(steps)


@pytest.mark.parametrize("symbol", ["free", "_ZdlPv"])
def test_a_freed_block_is_in_its_slot_before_the_top_covers_it(built_library, tool, symbol):
    """A fork child finds what another thread's stack holds by its top, wherever that thread was (T4 in stacks.h)."""
    for steps in hot_paths(disassemble(tool("objdump"), built_library[0], symbol)):
        stored = [step.operands.split(",")[0] for step in steps if step.stores]
        assert stored[0] == "%rdi" and len(stored) == 2, listing(steps)  # the block, then the new top


def test_dlopen_ends_in_a_jump(library, tool):
    """The C library looks at its caller's address to know whose search path counts, so ours must not be the caller."""
    function = disassemble(tool("objdump"), library, "dlopen")
    assert function, "dlopen is not there"
    through_pointers = [step for step in function.values() if step.operands.startswith("*")]
    assert through_pointers and all(step.name.startswith("jmp") for step in through_pointers), listing(function.values())
    assert not [step for step in function.values() if step.name.startswith("ret")], listing(function.values())


# --- as executed -------------------------------------------------------------------------------------------------------


def own_costs(text):
    """Function name -> (instructions executed in it, calls made to it) from a file that callgrind wrote."""
    names, costs, calls = {}, {}, {}
    function, is_call = None, False
    for line in text.splitlines():
        if match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            if match.group(3):
                names[match.group(2)] = re.sub(r"'\d+$", "", match.group(3))
            name = names[match.group(2)]
            if match.group(1):
                called = name
            else:
                function = name
        elif match := re.match(r"calls=(\d+)", line):
            calls[called] = calls.get(called, 0) + int(match.group(1))
            is_call = True  # the next line is what the call cost, all together
        elif re.match(r"[+*-]?\d* ?\d+", line) and function:
            if not is_call:
                costs[function] = costs.get(function, 0) + int(line.split()[-1])
            is_call = False
    return {name: (cost, calls.get(name, 0)) for name, cost in costs.items()}


def counted_runs(program, library, folder, tool, run):
    """own_costs of each of the ROUNDS."""
    counted = []
    for rounds in ROUNDS:
        output = folder / f"callgrind.{rounds}"
        run(tool("valgrind"), "--tool=callgrind", f"--callgrind-out-file={output}", program, rounds,
            env={"LD_PRELOAD": str(library)})
        counted.append(own_costs(output.read_text()))
    return counted


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, tool, run):
    program = tmp_path_factory.mktemp("asm") / "pairs"
    run(tool("gcc"), "-O1", "-fno-builtin", HERE / "pairs.c", "-o", program, "-ldl")
    return program


def test_a_pair_executes_the_hot_paths_and_nothing_else(built_library, pairs, tmp_path, tool, run):
    path, golden = built_library
    counted = counted_runs(pairs, path, tmp_path, tool, run)
    more = {name: (cost - counted[0].get(name, (0, 0))[0], calls - counted[0].get(name, (0, 0))[1])
            for name, (cost, calls) in counted[1].items() if cost != counted[0].get(name, (0, 0))[0]}
    added = ROUNDS[1] - ROUNDS[0]
    times = {"malloc": 2, "free": 2, "_Znwm": 1, "_ZdlPv": 1}  # of each round: a shared and a held class, and C++
    own = {name: cost for name, cost in more.items() if re.match(r"malloc|free|operator|_Z|call_|heap_|put_|slab_", name)}
    demangled = {"operator new(unsigned long)": "_Znwm", "operator delete(void*)": "_ZdlPv"}
    own = {demangled.get(name, name): cost for name, cost in own.items()}
    assert set(own) == set(times), own  # no slow function ran more often
    for name, (cost, calls) in own.items():
        expected = golden[name][0]["instructions"]
        assert calls == added * times[name]
        assert cost == added * times[name] * expected, f"{name}: {cost / calls} instructions a call, golden.json has {expected}"


@pytest.fixture(scope="module")
def aligned(tmp_path_factory, tool, run):
    program = tmp_path_factory.mktemp("asm") / "aligned"
    run(tool("gcc"), "-O1", "-fno-builtin", HERE / "aligned.c", "-o", program)
    return program


def test_an_aligned_pair_takes_as_few_instructions_as_it_did(built_library, aligned, tmp_path, tool, run):
    """All that posix_memalign and free take, whatever they call; a search through all classes took 271."""
    path, golden = built_library
    counted = counted_runs(aligned, path, tmp_path, tool, run)
    assert counted[0]["free"][1] >= ROUNDS[0] * ALIGNMENTS, "the library was not in use"
    taken = [sum(cost for name, (cost, _) in costs.items() if name != "main") for costs in counted]
    pair = round((taken[1] - taken[0]) / (ROUNDS[1] - ROUNDS[0]) / ALIGNMENTS, 2)
    assert pair <= golden["aligned pair"], f"{pair} instructions, were {golden['aligned pair']}"
    assert pair == golden["aligned pair"], f"{pair} instructions, were {golden['aligned pair']}: good; lower the number " \
                                           "in tests/asm/golden.json"


# --- the reader itself -------------------------------------------------------------------------------------------------


def instruction(text):
    name, _, operands = text.partition(" ")
    return Instruction(0, name, operands)


@pytest.mark.parametrize(("text", "loads", "stores"), [
    ("mov %fs:(%rdx,%rcx,8),%rax", 1, 0), ("mov %rsi,%fs:(%rdx,%rcx,8)", 0, 1), ("mov 0x63c5(%rip),%rdx # 1 <x>", 1, 0),
    ("lea -0x8(%rax),%rsi", 0, 0), ("movzbl (%rcx,%rax,1),%ecx", 1, 0), ("cmp %fs:0x2e8(%rdx),%rax", 1, 0),
    ("cmpq $0x0,0x8(%rax)", 1, 0), ("sub 0xbe0f(%rip),%rax", 1, 0), ("addq $0x8,(%rax)", 1, 1), ("incq (%rax)", 1, 1),
    ("add $0x8,%rax", 0, 0), ("movq $0x0,(%rax)", 0, 1), ("push %rbx", 0, 1), ("pop %rbx", 1, 0), ("ret ", 0, 0),
    ("test $0x3ff,%eax", 0, 0), ("testb $0x1,(%rdi)", 1, 0), ("shr $0x10,%rax", 0, 0), ("nopw 0x0(%rax,%rax,1)", 0, 0),
])
def test_loads_and_stores_are_told_apart(text, loads, stores):
    assert (instruction(text).loads, instruction(text).stores) == (loads, stores)


@pytest.mark.parametrize("text", ["lock incq (%rax)", "xchg %rax,(%rdi)", "mfence ", "div %rcx", "mul %rcx", "syscall "])
def test_expensive_instructions_are_known(text):
    assert instruction(text).is_forbidden


def test_paths_end_at_returns_and_leave_out_calls_and_other_functions():
    text = ["test %rdi,%rdi", "je 6 <f+0x6>", "cmp $0x1,%rdi", "ja 8 <f+0x8>", "ret ", "call 100 <other>", "mov %rax,%rdx",
            "jmp 4 <f+0x4>", "jmp 200 <other>"]
    function = {index: instruction(line)._replace(address=index) for index, line in enumerate(text)}
    assert [[step.address for step in path] for path in hot_paths(function)] == [[0, 1, 6, 7, 4], [0, 1, 2, 3, 4]]
