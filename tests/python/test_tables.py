"""The tables as they are printed and as they are kept."""

from hakmem import figures, tables, verdicts
from hakmem.allocator import Allocator
from hakmem.comparison import Results
from hakmem.suites import ROWS

ALLOCATORS = [Allocator(name, None, source="made up") for name in ("hakmem", "glibc", "mimalloc3")]


def report(seconds, peak_kib):
    return {"seconds": seconds, "operations": 1_000_000, "peak_kib": peak_kib, "final_kib": peak_kib}


def some_tables():
    results = Results()
    row = next(row for row in ROWS if row.is_core)
    for name, seconds, peak in (("hakmem", 1.0, 3072), ("glibc", 0.5, 2048), ("mimalloc3", 4.0, 1024)):
        results.reports[row.name, name] = [report(seconds, peak)]
    rows = figures.rows_of([row], results, [one.name for one in ALLOCATORS], ["glibc", "mimalloc3"])
    return row, tables.tables_of(rows, ALLOCATORS, verdicts.verdicts(rows))


def test_markdown_has_a_heading_a_rule_and_a_line_for_each_row():
    row, made = some_tables()
    speed = tables.as_markdown(made[0]).splitlines()
    assert speed[0].startswith("### Speed")
    assert speed[2] == "| row | hakmem | glibc | mimalloc3 |"
    assert speed[3] == "|---|--:|--:|--:|"
    assert speed[4] == f"| {row.name} | 1.0 | **2.0** | 0.250 |"  # the fastest is marked
    assert len(speed) == 5


def test_markdown_marks_what_was_missed():
    _, made = some_tables()
    ratios = next(table for table in made if table.title.startswith("hakmem over"))
    last = tables.as_markdown(ratios).splitlines()[-1]
    assert last.endswith("| 4.00 | **0.50** |  | glibc | **1.50** | glibc |")
    verdict = tables.as_markdown(made[-1])
    assert "**missed so far**" in verdict and "[" not in verdict
