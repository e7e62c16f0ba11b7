"""Which of the records a report shows. What is left out is said on the page."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hakmem import figures, suites
from hakmem.records import Comparison
from hakmem.suites import Row


@dataclass
class Selection:
    """The newest counted runs of each row, of the machine and the hakmem of the newest comparison."""

    newest: Comparison
    reports: dict[tuple[str, str], list[dict]] = field(default_factory=dict)  # by row and allocator name
    allocators: dict[str, dict] = field(default_factory=dict)
    taken: list[Comparison] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # sentences
    thrown_out: list[dict] = field(default_factory=list)  # runs

    def rows(self) -> list[figures.RowFigures]:
        by_name = {row.name: row for row in suites.ROWS}
        names = dict.fromkeys(row for row, _ in self.reports)
        bars = [name for name, one in self.allocators.items() if one["is_bar"]]
        found = []
        for name in names:
            row = by_name.get(name) or Row(name, name.partition("/")[0], "", (), 0)
            reports = {allocator: made for (one, allocator), made in self.reports.items() if one == name}
            cells = {allocator: figures.cell(made) for allocator, made in reports.items()}
            found.append(figures.RowFigures(row, cells, bars, reports))
        order = {suite: place for place, suite in enumerate([*suites.SUITES, "programs", "trace"])}
        return sorted(found, key=lambda one: order.get(one.row.suite, len(order)))


def _key(comparison: Comparison) -> tuple:
    machine = comparison.head["machine"]
    subject = next((one["sha256"] for one in comparison.allocators if one["name"] == figures.HAKMEM), None)
    huge_pages = comparison.head["settings"].get("huge_pages", "default")
    return (machine["cpu"], machine["kernel"], machine["glibc"], subject, huge_pages)


def select(comparisons: Iterable[Comparison], with_quick: bool) -> Selection | None:
    usable = [one for one in comparisons if any(one.counted()) and not one.head["settings"].get("ab")]
    full = [one for one in usable if with_quick or not one.is_quick]
    if not full:
        return None
    selection = Selection(full[-1])
    key = _key(selection.newest)
    others = [one for one in full if _key(one) != key]
    if len(usable) > len(full):
        selection.left_out.append(f"{len(usable) - len(full)} quick comparisons, whose figures are for a look only")
    if others:
        selection.left_out.append(f"{len(others)} comparisons of another machine, kernel, C library, build of hakmem, or "
                                  "choice of huge pages")
    older = 0
    for comparison in reversed(full):  # the newest first
        if _key(comparison) != key:
            continue
        fresh: dict[tuple[str, str], list[dict]] = {}
        for run in comparison.counted():
            fresh.setdefault((run["row"], run["allocator"]), []).append(run["report"])
        rows_there = {row for row, _ in selection.reports}
        wanted = {pair: reports for pair, reports in fresh.items() if pair[0] not in rows_there}
        older += len({row for row, _ in fresh} & rows_there)
        if wanted:
            selection.reports.update(wanted)
            selection.taken.append(comparison)
            for one in comparison.allocators:
                selection.allocators.setdefault(one["name"], one)
        selection.thrown_out += [run for run in comparison.runs if run.get("failure")]
    if older:
        selection.left_out.append(f"older measurements of {older} rows that were measured again")
    return selection
