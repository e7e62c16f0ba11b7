"""The peers: built once from their sources into a cache directory, then found there."""

import json
import platform
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hakmem.allocator import Allocator
from hakmem.peers import recipes
from hakmem.peers.build import PeerCannotBeBuilt
from hakmem.peers.sources import Sources
from hakmem.places import peers_cache

DESCRIPTION = "peer.json"

# In the order of the tables. Bars first; the others are reported and set no bar.
RECIPES: dict[str, Callable[[Sources, Path], Allocator]] = {
    "mimalloc3": recipes.mimalloc3,
    "mimalloc2": recipes.mimalloc2,
    "snmalloc": recipes.snmalloc,
    "jemalloc": recipes.jemalloc,
    "tcmalloc": recipes.tcmalloc,
    "gperftools": recipes.gperftools,
    "rpmalloc": recipes.rpmalloc,
    "mimalloc3-secure": recipes.mimalloc3_secure,
    "snmalloc-checked": recipes.snmalloc_checked,
    "hardened": recipes.hardened,
}
NAMES = ["glibc", *RECIPES]
REPORTED_ONLY = ("gperftools", "rpmalloc", "mimalloc3-secure", "snmalloc-checked", "hardened")

# What asks each for huge pages; those without such an option are run as they are.
HUGE_PAGES = {
    "hakmem": {"HAKMEM_HUGE_PAGES": "on"},
    "glibc": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "mimalloc3": {"MIMALLOC_ALLOW_LARGE_OS_PAGES": "1"},
    "mimalloc2": {"MIMALLOC_ALLOW_LARGE_OS_PAGES": "1"},
    "jemalloc": {"MALLOC_CONF": "thp:always,metadata_thp:always"},
}


def with_huge_pages(peer: Allocator) -> Allocator:
    """The same, with its own option for huge pages on."""
    return replace(peer, environment=peer.environment | HUGE_PAGES.get(peer.name, {}))


def glibc() -> Allocator:
    _name, version = platform.libc_ver()
    return Allocator("glibc", version=version, source="the system's C library")


def empty_library() -> Allocator:
    """A library without content, for what preloading alone costs."""
    return _built("empty", recipes.empty, Sources(peers_cache()))


def found(name: str) -> Allocator | None:
    """The peer as it lies in the cache, or None."""
    if name == "glibc":
        return glibc()
    file = peers_cache() / "lib" / name / DESCRIPTION
    if not file.exists():
        return None
    peer = Allocator.from_json(json.loads(file.read_text()))
    return peer if peer.library is not None and peer.library.exists() else None


def get(name: str, rebuild: bool = False) -> Allocator:
    """The peer, built first when it isn't in the cache. Raises PeerCannotBeBuilt."""
    if name == "glibc":
        return glibc()
    return _built(name, RECIPES[name], Sources(peers_cache()), rebuild)


def _built(name: str, recipe: Callable[[Sources, Path], Allocator], sources: Sources, rebuild: bool = False) -> Allocator:
    peer = None if rebuild else found(name)
    if peer is not None:
        return peer
    work = sources.cache / "build" / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    made = recipe(sources, work)
    if made.library is None or not made.library.exists():
        raise PeerCannotBeBuilt(f"{name}: the build left no library, see {work}")
    # One plain file under one stable path: the proof of use compares real paths.
    home = sources.cache / "lib" / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    library = home / made.library.name.split(".so")[0]
    library = library.with_name(library.name + ".so")
    shutil.copyfile(made.library.resolve(), library)
    library.chmod(0o755)
    peer = replace(made, name=name, library=library)
    (home / DESCRIPTION).write_text(json.dumps(peer.as_json(), indent=1) + "\n")
    return peer
