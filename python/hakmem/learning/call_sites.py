"""Rules for call sites of a workload, which has its code at several places (hakmem.workloads)."""

import re

from hakmem import workloads
from hakmem.symbols import Symbols


def moved(name: str, policy: str, learned: int, place: int) -> str:
    """A policy that the workload learned at one place, for it at another: its call sites have other addresses there."""
    if "\nsite " not in policy:
        return policy
    here, there = Symbols(workloads.program(name, learned)), Symbols(workloads.program(name, place))

    def site(found: re.Match[str]) -> str:
        return f"{found[1]}{here.same_place_in(there, int(found[2], 16)):#x}"
    return re.sub(rf"^(site {re.escape(name)}\+)(0x[0-9a-f]+)", site, policy, flags=re.MULTILINE)
