"""Compiles the workload programs when their sources are newer than they: each at several places.

What a processor expects of a load, or of a jump, it keeps by a part of the instruction's address. Where a program's loop
and malloc or free share such a part, a run takes up to a third longer, for any allocator and by chance; runs that are
compared over several places have that in their spread, not in their median (docs/decisions/0041)."""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from hakmem.places import BUILD, WORKLOADS

SHARED = ["harness.c", "report.c"]
# -fno-builtin: else the compiler may drop a malloc whose block is freed unused, or merge malloc and memset.
FLAGS = ["-std=gnu11", "-O2", "-g", "-fno-builtin", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Wvla",
         "-Wmissing-prototypes", "-Wstrict-prototypes", "-Wcast-qual", "-Werror"]
PLACES = 16
# From one place to the next: another one in a range of 256 bytes as well as in a page.
PLACE_BYTES = 272


class WorkloadCannotBeBuilt(Exception):
    """Its message is the compiler's."""


def program(name: str, place: int = 0, folder: Path = BUILD) -> Path:
    """The workload's program, compiled if need be. place: any number, such as a round's; its code lies elsewhere by it."""
    target = _target(name, place % PLACES, folder)
    sources = [WORKLOADS / f"{name}.c", *[WORKLOADS / file for file in SHARED]]
    newest = max(file.stat().st_mtime for file in [*sources, WORKLOADS / "harness.h"])
    if target.exists() and target.stat().st_mtime > newest:
        return target
    with tempfile.TemporaryDirectory() as scratch:
        # No path is in what is compiled: the build id is the same on all machines.
        unseen = [f"-ffile-prefix-map={path}=." for path in (scratch, WORKLOADS)]
        _run(["cc", *FLAGS, *unseen, "-c", *map(str, sources)], Path(scratch))
        _link(name, sorted(Path(scratch).glob("*.o")), folder)
    return target


def _target(name: str, place: int, folder: Path) -> Path:
    return folder / f"place-{place}" / name if place else folder / name


def _link(name: str, objects: list[Path], folder: Path) -> None:
    """At every place with the same build id: what was learned at one holds for all."""
    build_id = hashlib.sha1(b"".join(file.read_bytes() for file in objects)).hexdigest()
    for place in range(PLACES):
        target = _target(name, place, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        before = f'.text\n.skip {place * PLACE_BYTES}, 0x90\n.section .note.GNU-stack,"",%progbits\n'
        _run(["cc", "-x", "assembler", "-", "-x", "none", *map(str, objects), "-o", str(target), "-pthread", "-lm",
              f"-Wl,--build-id=0x{build_id}"], target.parent, before)


def _run(command: list[str], where: Path, source: str = "") -> None:
    done = subprocess.run(command, cwd=where, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkloadCannotBeBuilt(f"{' '.join(command)}\n{done.stderr}")
