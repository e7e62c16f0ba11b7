"""Where things are: the tree, what is built from it, and the cache that outlives it."""

import os
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
WORKLOADS = TREE / "bench" / "workloads"
BUILD = TREE / "build" / "bench"
HAKMEM_LIBRARY = TREE / "build" / "release" / "libhakmem.so"
RECORDS = BUILD / "records.jsonl"


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hakmem"


def peers_cache() -> Path:
    return cache() / "peers"
