"""The rows that are measured: which workload with which parameters, and how many operations.

Operations are fixed per row, so that every allocator does the same; chosen so that the fastest takes about a second
on a quiet current machine. Every suite has its question; docs/benchmarking.md lists them.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch

QUICK_DIVISOR = 10  # of the operations, with --quick
MILLION = 1_000_000
GIB = 1 << 30
QUICK_BYTES = GIB


@dataclass(frozen=True)
class Row:
    name: str
    suite: str
    workload: str
    arguments: tuple[str, ...]  # "{operations}", "{library}" and "{place}" are filled in
    operations: int  # of one thread, or rounds, runs or repeats, as the workload counts
    is_core: bool = False  # one of the rows whose geometric means are the figures to reach
    needs_bytes: int = 0  # memory for the greediest allocator, where that is much
    fresh_mebibytes: int = 0  # which it takes from the system while it is timed, where that is much of what it does
    place: int = 0  # where its program's code lies (workloads.py)

    @property
    def is_quick(self) -> bool:
        """Whether the row is short when its operations are few: filling much memory is not."""
        return self.needs_bytes < QUICK_BYTES

    def command(self, quick: bool, library: str) -> list[str]:
        operations = max(1, self.operations // QUICK_DIVISOR) if quick else self.operations
        return [word.format(operations=operations, library=library, place=self.place) for word in self.arguments]


QUESTIONS = {
    "tiny": "Random replacement of blocks up to 1 KiB: the fast path, and the caches of the processor.",
    "mid": "The same from 2 to 32 KiB: how few pages are touched, and how cheaply slabs change hands.",
    "large": "The same from 64 KiB to 1 MiB, each page written: is memory reused while it is warm?",
    "big": "The same from 2 to 4 MiB: what does the operating system get to do?",
    "mixed": "One thread, 400 slots, 16 to 1024 B, no block touched: the record's main figure.",
    "remote": "Blocks freed by another thread than the one that allocated them: 0, 50 or 90 of 100.",
    "larson": "Threads end and leave their blocks to successors: does what they held stay usable?",
    "loop": "One block of 64 KiB (json), 256 KiB (mir) or 2 MiB (vm), written and freed, again and again.",
    "bulk": "10,000 blocks of one size allocated, then all freed, in three orders.",
    "growth": "Blocks that are only allocated: the price of fresh memory, and what of it is overhead.",
    "long-lived": "Half of the blocks live on while the rest changes its sizes: what can be reused?",
    "fragmentation": "Small blocks die in random order, larger ones follow: what does the first phase leave behind?",
    "bursts": "Load and idle time in turn: what is kept while idle, what must be paid again?",
    "false-sharing": "Two threads write to small blocks of their own: are they on one cache line?",
    "producer-consumer": "Some threads only allocate, one only frees.",
    "churn": "Threads that live for a moment: what do a first malloc and an end cost?",
    "realloc": "Blocks that grow step by step, several at a time.",
    "zeroed": "calloc in place of malloc: is memory cleared that is zero already?",
    "aligned": "posix_memalign in place of malloc.",
    "latency": "The distribution of single calls of malloc and of free.",
    "threads": "64 and 256 threads on two cores.",
    "idle": "1,000 threads that have used ten size classes a little: what each keeps.",
    "give-back": "1 GiB of mixed blocks freed in random order: what is resident right after.",
    "startup": "A program that does nothing, with the allocator preloaded.",
}


def _thread_counts() -> list[int]:
    """One, four, and all cores where there are more."""
    return sorted({1, 4, max(4, len(os.sched_getaffinity(0)))})


# Millions of operations of all threads together, by (smallest size, blocks of a thread).
_REPLACED = {(8, 400): 300, (8, 100_000): 120, (16, 400): 200, (16, 100_000): 30, (2048, 400): 60, (2048, 100_000): 5,
             (65536, 64): 1.6, (2 << 20, 16): 0.1}
_TIERS = {"tiny": [(8, 64), (16, 1024)], "mid": [(2048, 32768)], "large": [(64 << 10, 1 << 20)],
          "big": [(2 << 20, 4 << 20)]}
_BLOCKS = {"tiny": (400, 100_000), "mid": (400, 100_000), "large": (64,), "big": (16,)}
_CORE_THREADS = (1, 4)


def _tiers(suite: str) -> Iterator[Row]:
    for low, high in _TIERS[suite]:
        for blocks in _BLOCKS[suite]:
            for threads in _thread_counts():
                needs = 2 * blocks * threads * (low + high) // 2
                yield Row(f"{suite}/{low}-{high}/{blocks}/{threads}t", suite, "tiers",
                          (str(low), str(high), str(blocks), str(threads), "{operations}"),
                          int(_REPLACED[low, blocks] * MILLION) // threads,
                          suite in ("tiny", "mid") and threads in _CORE_THREADS, needs,
                          min(400, needs >> 20) if suite in ("large", "big") else 0)


# The rows of the figures to reach, then those of the system's record: millions of operations of both threads.
_SENT = {(8, 64, 400): 50, (8, 64, 100_000): 80, (16, 1024, 400): 80, (16, 1024, 100_000): 40,
         (2048, 32768, 400): 20, (2048, 32768, 100_000): 4}
_SENT_SHARES = {(16, 2048, 400): 100, (16, 2048, 100_000): 30, (16, 32768, 400): 30, (16, 32768, 100_000): 5,
                (16, 131072, 400): 5}
_SENT_LARGE = (65536, 1 << 20, 64)


def _remote() -> Iterator[Row]:
    rows = [(key, (90,), True) for key in _SENT] + [(key, (0, 50, 90), False) for key in _SENT_SHARES]
    rows.append((_SENT_LARGE, (90,), False))
    for (low, high, blocks), shares, is_core in rows:
        millions = _SENT.get((low, high, blocks)) or _SENT_SHARES.get((low, high, blocks), 0.4)
        for share in shares:
            yield Row(f"remote/{low}-{high}/{blocks}/2t/{share}%", "remote", "remote",
                      (str(low), str(high), str(blocks), "2", str(share), "{operations}"), int(millions * MILLION) // 2,
                      is_core, 4 * blocks * (low + high) // 2)


def _bulk() -> Iterator[Row]:
    rounds = {16: 20_000, 64: 20_000, 256: 10_000, 1024: 5_000, 8192: 1_000}
    for size, count in rounds.items():
        for order in ("lifo", "fifo", "random"):
            yield Row(f"bulk/{size}/{order}", "bulk", "bulk", (str(size), "10000", "{operations}", order), count)


def _threads() -> Iterator[Row]:
    for threads in (64, 256):
        for low, high in _TIERS["tiny"]:
            yield Row(f"threads/{low}-{high}/400/{threads}t", "threads", "tiers",
                      (str(low), str(high), "400", str(threads), "{operations}"), 100 * MILLION // threads)
            yield Row(f"threads/{low}-{high}/400/{threads}t/90%", "threads", "remote",
                      (str(low), str(high), "400", str(threads), "90", "{operations}"), 20 * MILLION // threads)


def _behaviours() -> Iterator[Row]:
    yield Row("mixed/16-1024/400/1t", "mixed", "random_mixed", ("{operations}",), 100 * MILLION)
    for high, operations in ((128, 1_000_000), (1024, 600_000)):
        for lines in (1, 4):
            yield Row(f"larson/8-{high}/1000/{lines}t", "larson", "larson",
                      ("8", str(high), "1000", str(lines), "100", "{operations}"), operations // lines)
    for name, size, rounds in (("json", 64 << 10, 6_000_000), ("mir", 256 << 10, 2_000_000), ("vm", 2 << 20, 300_000)):
        for threads, suffix in ((1, ""), (4, "/4t")):
            yield Row(f"loop/{name}{suffix}", "loop", "single_block", (str(size), "{operations}", str(threads)),
                      rounds // threads)
    for low, high, threads in ((16, 256, 1), (16, 256, 4), (256, 8192, 1), (4096, 262144, 1)):
        yield Row(f"growth/{low}-{high}/{threads}t", "growth", "growth", (str(low), str(high), str(threads),
                                                                        "{operations}"), 512 * 1024,
                  fresh_mebibytes=700)
    yield Row("long-lived/16-8192/20000/1t", "long-lived", "long_lived", ("20000", "16", "{operations}"), 8 * MILLION,
              fresh_mebibytes=200)
    yield Row("fragmentation/256MiB/1t", "fragmentation", "fragmentation", ("{operations}",), 256,
              fresh_mebibytes=900)
    yield Row("bursts/1000/50ms/1t", "bursts", "bursts", ("1000", "50", "{operations}", "4"), 10, fresh_mebibytes=400)
    for mode in ("active", "passive"):
        yield Row(f"false-sharing/{mode}/2t", "false-sharing", "false_sharing", (mode, "8", "100", "2", "{operations}"),
                  3 * MILLION)
    for producers in (1, 3):
        yield Row(f"producer-consumer/16-1024/{producers}+1t", "producer-consumer", "producer_consumer",
                  ("16", "1024", str(producers), "{operations}"), 60 * MILLION // producers)
    for blocks in (1, 1000):
        yield Row(f"churn/{blocks}/2t", "churn", "thread_churn", (str(blocks), "2", "{operations}"),
                  30_000 if blocks == 1 else 8_000)
    for name, top, percent, step, operations in (("4KiB", 4 << 10, 0, 16, 30 * MILLION), ("4MiB", 4 << 20, 50, 16, 30_000),
                                                 ("256MiB", 256 << 20, 0, 1 << 20, 1_000)):
        yield Row(f"realloc/{name}/1t", "realloc", "realloc_growth",
                  (str(top), str(percent), str(step), "8" if top < 256 << 20 else "2", "{operations}"), operations,
                  fresh_mebibytes=0 if top < 1 << 20 else 100 if top < 256 << 20 else 1200)
    for low, high, operations, fresh in ((16, 1024, 100 * MILLION, 0), (4096, 262144, 500_000, 200)):
        yield Row(f"zeroed/{low}-{high}/400/1t", "zeroed", "zeroed_aligned",
                  ("calloc", str(low), str(high), "400", "{operations}"), operations, fresh_mebibytes=fresh)
    yield Row("aligned/16-1024/400/1t", "aligned", "zeroed_aligned", ("aligned", "16", "1024", "400", "{operations}"),
              50 * MILLION)
    for low, high, blocks, operations in ((16, 1024, 400, 10 * MILLION), (16, 1024, 100_000, 5 * MILLION),
                                          (2048, 65536, 1000, 3 * MILLION)):
        yield Row(f"latency/{low}-{high}/{blocks}/2t", "latency", "latency",
                  (str(low), str(high), str(blocks), "2", "{operations}"), operations)
    yield Row("idle/16-1024/1000t", "idle", "threads_idle", ("16", "1024", "4", "{operations}", "1000"), 100)
    yield Row("idle/16-32768/1000t", "idle", "threads_idle", ("16", "32768", "1", "{operations}", "1000"), 100)
    yield Row("give-back/16-262144/1GiB/4t", "give-back", "give_back", ("16", "262144", "1024", "4"), 1,
              fresh_mebibytes=1400)
    yield Row("give-back/16-262144/1GiB/4t/bursts", "give-back", "give_back", ("16", "262144", "1024", "4", "{operations}"),
              20, fresh_mebibytes=1400)
    yield Row("startup/true", "startup", "startup", ("{operations}", "{library}", "/bin/true"), 1000)


ROWS = [row for suite in _TIERS for row in _tiers(suite)] + [*_remote(), *_bulk(), *_threads(), *_behaviours()]
SUITES = [suite for suite in QUESTIONS if any(row.suite == suite for row in ROWS)]


def select(suites: list[str], globs: list[str]) -> list[Row]:
    """Rows of the suites ("all": every one) whose names match one of the patterns, if there are any."""
    chosen = [row for row in ROWS if "all" in suites or row.suite in suites]
    return [row for row in chosen if not globs or any(fnmatch(row.name, glob) for glob in globs)]


def fits(row: Row) -> bool:
    """Whether this machine has the memory for it."""
    return row.needs_bytes < 0.75 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
