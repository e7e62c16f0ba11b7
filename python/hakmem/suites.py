"""The rows that are measured: which workload with which parameters, and how many operations.

Operations are fixed per row, so that every allocator does the same; chosen so that the fastest takes about a second
on a quiet current machine.
"""

from dataclasses import dataclass
from fnmatch import fnmatch

QUICK_DIVISOR = 10  # of the operations, with --quick
MILLION = 1_000_000


@dataclass(frozen=True)
class Row:
    name: str
    suite: str
    workload: str
    arguments: tuple[str, ...]  # "{operations}" and "{library}" are filled in
    operations: int  # of one thread, or rounds, runs or repeats, as the workload counts
    is_core: bool = False  # one of the rows whose geometric means are the figures to reach

    def command(self, quick: bool, library: str) -> list[str]:
        operations = max(1, self.operations // QUICK_DIVISOR) if quick else self.operations
        return [word.format(operations=operations, library=library) for word in self.arguments]


SIZES = {"tiny": [(8, 64), (16, 1024)], "mid": [(2048, 32768)]}

# Millions of operations of all threads together, by (smallest size, blocks of a thread).
_REPLACED = {(8, 400): 300, (8, 100_000): 120, (16, 400): 200, (16, 100_000): 30, (2048, 400): 60, (2048, 100_000): 5}
_SENT = {(8, 400): 50, (8, 100_000): 80, (16, 400): 80, (16, 100_000): 40, (2048, 400): 20, (2048, 100_000): 4}


def _tiers(suite: str) -> list[Row]:
    rows = []
    for low, high in SIZES[suite]:
        for blocks in (400, 100_000):
            for threads in (1, 4):
                rows.append(Row(f"{suite}/{low}-{high}/{blocks}/{threads}t", suite, "tiers",
                                (str(low), str(high), str(blocks), str(threads), "{operations}"),
                                _REPLACED[low, blocks] * MILLION // threads, True))
    return rows


def _remote() -> list[Row]:
    rows = []
    for low, high in [size for sizes in SIZES.values() for size in sizes]:
        for blocks in (400, 100_000):
            rows.append(Row(f"remote/{low}-{high}/{blocks}/2t/90%", "remote", "remote",
                            (str(low), str(high), str(blocks), "2", "90", "{operations}"),
                            _SENT[low, blocks] * MILLION // 2, True))
    return rows


def _bulk() -> list[Row]:
    blocks = 10_000
    rounds = {16: 20_000, 64: 20_000, 256: 10_000, 1024: 5_000, 8192: 1_000}
    return [Row(f"bulk/{size}/{order}", "bulk", "bulk", (str(size), str(blocks), "{operations}", order), rounds[size])
            for size in rounds for order in ("lifo", "fifo", "random")]


def _threads() -> list[Row]:
    rows = []
    for threads in (64, 256):
        for low, high in SIZES["tiny"]:
            rows.append(Row(f"threads/{low}-{high}/400/{threads}t", "threads", "tiers",
                            (str(low), str(high), "400", str(threads), "{operations}"), 100 * MILLION // threads))
            rows.append(Row(f"threads/{low}-{high}/400/{threads}t/90%", "threads", "remote",
                            (str(low), str(high), "400", str(threads), "90", "{operations}"), 20 * MILLION // threads))
    return rows


def _single() -> list[Row]:
    return [
        Row("mixed/16-1024/400/1t", "mixed", "random_mixed", ("{operations}",), 100 * MILLION),
        Row("idle/16-1024/1000t", "idle", "threads_idle", ("16", "1024", "4", "{operations}", "1000"), 100),
        Row("idle/16-32768/1000t", "idle", "threads_idle", ("16", "32768", "1", "{operations}", "1000"), 100),
        Row("give-back/16-262144/1GiB/4t", "give-back", "give_back", ("16", "262144", "1024", "4"), 1),
        Row("startup/true", "startup", "startup", ("{operations}", "{library}", "/bin/true"), 1000),
    ]


ROWS = [*_tiers("tiny"), *_tiers("mid"), *_remote(), *_bulk(), *_threads(), *_single()]
SUITES = list(dict.fromkeys(row.suite for row in ROWS))


def select(suites: list[str], globs: list[str]) -> list[Row]:
    """Rows of the suites ("all": every one) whose names match one of the patterns, if there are any."""
    chosen = [row for row in ROWS if "all" in suites or row.suite in suites]
    return [row for row in chosen if not globs or any(fnmatch(row.name, glob) for glob in globs)]
