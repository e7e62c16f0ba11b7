"""Reads functions of a shared library as instructions and finds the ways through them that stay inside and make no call:
the hot paths. Everything else (a call, a jump to another function) is a cold path."""

import re
import subprocess
from typing import NamedTuple

# AT&T syntax: an operand in memory has a segment, a displacement or parentheses.
MEMORY = re.compile(r"%[fg]s:|\(")
READS_LAST = {"cmp", "test", "add", "sub", "and", "or", "xor", "inc", "dec", "shl", "shr", "neg", "not"}
READS_ONLY = {"cmp", "test", "bt"}
FORBIDDEN = re.compile(r"lock|xchg|cmpxchg|xadd|mfence|lfence|sfence|rep|pause|syscall|div|mul|loop")
SUFFIX = re.compile(r"(?<=[a-z]{2})[bwlq]$")


class Instruction(NamedTuple):
    address: int
    name: str
    operands: str

    @property
    def target(self):
        """Where a direct jump goes; None where this is none."""
        match = re.match(r"([0-9a-f]+) <", self.operands)
        return int(match.group(1), 16) if match else None

    def _operands(self):
        """The operands, split where a comma stands outside parentheses; the comment behind # is gone."""
        text = re.sub(r"\s*#.*", "", self.operands)
        return [word for word in re.split(r",(?![^(]*\))", text) if word]

    @property
    def loads(self):
        if self.name.startswith(("lea", "nop", "j", "push")):
            return 0
        operands = self._operands()
        if self.name == "pop" or self.name.startswith("ret"):
            return 1 if self.name == "pop" else 0
        sources = sum(bool(MEMORY.search(word)) for word in operands[:-1])
        changes = SUFFIX.sub("", self.name) in READS_LAST or self.name in READS_LAST
        return sources + bool(operands and MEMORY.search(operands[-1]) and changes)

    @property
    def stores(self):
        if self.name.startswith(("lea", "nop", "j", "ret", "pop")):
            return 0
        if self.name.startswith("push"):
            return 1
        operands = self._operands()
        reads = self.name in READS_ONLY or SUFFIX.sub("", self.name) in READS_ONLY
        return int(bool(operands and MEMORY.search(operands[-1]) and not reads))

    @property
    def is_forbidden(self):
        return bool(FORBIDDEN.match(self.name))


def disassemble(objdump, library, symbol):
    """The instructions of a function by address, in order."""
    text = subprocess.run([objdump, "--disassemble=" + symbol, "--no-show-raw-insn", str(library)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    function = {}
    for line in text.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+([a-z][\w.]*(?:\s+[a-z]\w*)?)(?:\s+(.*))?$", line)
        if match:
            words = line.split(":", 1)[1].split(None, 1)
            address = int(match.group(1), 16)
            function[address] = Instruction(address, words[0], words[1] if len(words) > 1 else "")
    return function


def hot_paths(function):
    """Every way from the first instruction to a return that stays in the function and calls nothing."""
    addresses = list(function)
    following = dict(zip(addresses, addresses[1:]))
    found = []

    def walk(address, path):
        while address in function and function[address] not in path:
            step = function[address]
            path = [*path, step]
            if step.name.startswith("ret"):
                found.append(path)
                return
            if step.name.startswith("call"):
                return
            if step.name.startswith("j"):
                if step.target is not None and not step.name.startswith("jmp"):
                    walk(step.target, path)
                elif step.name.startswith("jmp"):
                    address = step.target
                    continue
            address = following.get(address)

    walk(addresses[0], [])
    return found
