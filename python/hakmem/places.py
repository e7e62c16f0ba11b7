"""Where things are: the tree, what is built from it, and the cache that outlives it."""

import os
from pathlib import Path

TREE = Path(__file__).absolute().parents[2]  # as the launcher named it: LD_PRELOAD can't hold every path
WORKLOADS = TREE / "bench" / "workloads"
BUILD = TREE / "build" / "bench"
HAKMEM_LIBRARY = TREE / "build" / "release" / "libhakmem.so"
RECORDS = BUILD / "records.jsonl"


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hakmem"


def peers_cache() -> Path:
    return cache() / "peers"


def told(file: Path) -> str:
    """From where the tree is, if it is in there: for what goes from machine to machine."""
    return str(file.relative_to(TREE) if file.is_relative_to(TREE) else file)
