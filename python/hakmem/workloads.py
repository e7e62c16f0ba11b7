"""Compiles the workload programs when their sources are newer than they."""

import subprocess
from pathlib import Path

from hakmem.places import BUILD, WORKLOADS

SHARED = ["harness.c", "report.c"]
# -fno-builtin: else the compiler may drop a malloc whose block is freed unused, or merge malloc and memset.
FLAGS = ["-std=gnu11", "-O2", "-g", "-fno-builtin", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Wvla",
         "-Wmissing-prototypes", "-Wstrict-prototypes", "-Wcast-qual", "-Werror"]


class WorkloadCannotBeBuilt(Exception):
    """Its message is the compiler's."""


def program(name: str, folder: Path = BUILD) -> Path:
    """The workload's program, compiled if need be."""
    target = folder / name
    sources = [WORKLOADS / f"{name}.c", *[WORKLOADS / file for file in SHARED]]
    newest = max(file.stat().st_mtime for file in [*sources, WORKLOADS / "harness.h"])
    if target.exists() and target.stat().st_mtime > newest:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    command = ["cc", *FLAGS, *map(str, sources), "-o", str(target), "-pthread", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkloadCannotBeBuilt(f"{' '.join(command)}\n{done.stderr}")
    return target
