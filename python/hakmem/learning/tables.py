"""What was found, as tables for the terminal and as a page."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.table import Table

from hakmem import policies, quiet
from hakmem.intervals import Interval
from hakmem.learning import findings, judging, settings
from hakmem.learning.changing import Switching
from hakmem.learning.findings import Answer, Compared, Finding
from hakmem.learning.rows import CHANGING, GROUPS, phase_work_of
from hakmem.learning.settings import HINDSIGHT, LEARNED
from hakmem.learning.store import Store, failures_by_row
from hakmem.tables import as_markdown

STYLES = {judging.MET: "green", judging.NOT_EXCLUDED: "cyan", judging.MISSED: "bold red", judging.UNDECIDED: "yellow"}
HAD_RUN = " (runs that had been made just before count)"
_FIGURES = ("speed", "peak memory", "mean memory")


def as_json(store: Store, made: list[Finding], whole: list[Finding], answers: list[Answer]) -> dict:
    switching = findings.switching(store)
    return {"rows": [asdict(one) for one in made], "groups": [asdict(one) for one in whole],
            "answers": [asdict(one) for one in answers], "fixed": [asdict(one) for one in findings.of_fixed(store)],
            "switching": asdict(switching) if switching else None}


def tables_of(store: Store, made: list[Finding], whole: list[Finding], answers: list[Answer]) -> list[Table]:
    tables = [_answers(answers), _findings("All rows of a group together: geometric means of the ratios; of changing programs "
                                           "all pairs", whole)]
    for group in dict.fromkeys(one.group for one in made):
        tables.append(_findings(f"{group}: each row", [one for one in made if one.group == group]))
        if group == CHANGING:
            tables += _of_changing(store)
    if effects := findings.parts(store):
        tables.append(_parts(effects))
    tables.append(_learned(store))
    if store.failures:
        tables.append(_failures(store))
    return tables


def as_page(store: Store, made: list[Finding], whole: list[Finding], answers: list[Answer], picture: str) -> str:
    head = store.head
    rounds = {row["name"]: judging.count_of(store.rounds(row["name"])) for row in store.rows()}
    of_groups = [f"{group} {_span(rounds[row] for row in store.rows_of(group))}" for group in GROUPS if store.rows_of(group)]
    facts = [f"{_machines(store)}; commit `{(head['machine']['commit'] or 'unknown')[:12]}`, library sha256 `{head['sha256'][:16]}`.",
             *_caveats(store), f"Rounds of each row: {', '.join(of_groups)}; nothing is decided by fewer than {findings.LEAST_PAIRS} pairs."]
    if any(map(store.rows_of, findings.ABOUT_FIXED)):
        facts.append(f"Fixed settings tried: {len(head['grid'])} ({head['grid_kind']}).")
    if seeds := [str(seed) for seed in head["seeds"] if f"{CHANGING}/{seed}" in rounds]:
        facts.append(f"Seeds of the changing programs: {', '.join(seeds)}.")
        facts.append(f"Work of each of their phases: {phase_work_of(head)}.")
    if head["quick"]:
        facts.append("**Made with --quick: for a look, not for figures.**")
    text = "\n\n".join(["# Does learning pay?", *facts, f"![what is learned over the defaults, and over the fastest fixed "
                                                        f"setting]({picture})"])
    return text + "\n\n" + "\n".join(as_markdown(table) for table in tables_of(store, made, whole, answers))


def _machines(store: Store) -> str:
    """Of several each with its part: a measurement that takes long goes from one to another."""
    told = [(f"{one['cpu']}, {one['cores']} processors, Linux {one['kernel']}, glibc {one['glibc']}", runs)
            for one, runs in store.machines()]
    if len(told) == 1:
        return f"Machine: {told[0][0]}"
    return f"Machines: {'; '.join(f'{machine} ({runs} of the paired runs)' for machine, runs in told)}"


def _caveats(store: Store) -> list[str]:
    """What makes one doubt the figures, or which sources they are of."""
    begun = [("at the start", store.head["machine"]), *(("where it went on", machine) for machine in store.went_on)]
    loads = [(when, machine["load_before"][0] / machine["cores"]) for when, machine in begun if "load_before" in machine]
    changed = [f"{machine['changed_files']} {when}" for when, machine in begun if machine.get("changed_files")]
    said = []
    if busy := [f"{load:.2f} {when}" for when, load in loads if load > quiet.BUSY]:
        said.append(f"**The machine was busy**: load a processor {', '.join(busy)}{HAD_RUN if busy[-1].endswith('went on') else ''}.")
    if changed:
        said.append(f"**The tree was changed** from its commit, files: {', '.join(changed)}.")
    return said


def _span(counts: Iterable[int]) -> str:
    some = list(counts)
    return f"{min(some)}" if min(some) == max(some) else f"{min(some)} to {max(some)}"


def _table(title: str, left: Sequence[str], right: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(left):
        table.add_column(name, no_wrap=place == 0, overflow="fold", min_width=8)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name)
    return table


def _styled(verdict: str) -> str:
    return f"[{STYLES[verdict]}]{verdict}[/{STYLES[verdict]}]"


def between(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.value:.3f}\n{interval.low:.3f} … {interval.high:.3f}"


def _cells(compared: Compared) -> list[str]:
    return [between(compared.speed), between(compared.peak), between(compared.mean)]


def _answers(answers: list[Answer]) -> Table:
    table = _table("Does learning pay?", ("group", "what runs", "bound"), ("met", "not excluded", "missed", "not decided"),
                   ("verdict",))
    for one in answers:
        table.add_row(one.group, one.subject, one.question, str(one.met), str(one.not_excluded), str(one.missed),
                      str(one.undecided), _styled(one.verdict))
    return table


def _findings(title: str, some: list[Finding]) -> Table:
    table = _table(title, ("row", "what runs", "over", "bound"), (*_FIGURES, "pairs"), ("verdict",))
    for one in some:
        table.add_row(one.group if one.row == findings.ALL_ROWS else one.row, one.subject, one.reference, one.bound,
                      *_cells(one.compared), str(one.compared.pairs), _styled(one.verdict))
    return table


def _of_changing(store: Store) -> list[Table]:
    fixed, switching = findings.of_fixed(store), findings.switching(store)
    tables = [_fixed(fixed)] if fixed else []
    kinds = {subject: findings.by_kind(store, subject) for subject in findings.SUBJECTS[CHANGING]}
    return tables + ([_switching(switching)] if switching else []) + ([_kinds(kinds)] if any(kinds.values()) else [])


def _kinds(kinds: dict[str, dict[str, Interval]]) -> Table:
    table = _table("changing: speed over the default by kind of phase", ("kind",), tuple(kinds))
    for kind in sorted({kind for some in kinds.values() for kind in some}):
        table.add_row(kind, *(between(some.get(kind)) for some in kinds.values()))
    return table


def _fixed(some: list[Finding]) -> Table:
    table = _table("changing: over each fixed setting that is left, all rows", ("fixed setting", "what runs"),
                   (*_FIGURES, "pairs"), ("verdict",))
    for one in some:
        table.add_row(one.reference, one.subject, *_cells(one.compared), str(one.compared.pairs), _styled(one.verdict))
    return table


def _switching(one: Switching) -> Table:
    """What it is stands in the title, which the page has too."""
    table = _table("changing: bound by hindsight per phase. What somebody could reach at most who switched between all these "
                   "fixed settings at no cost: each phase with the one that was fastest there in the other rounds",
                   ("speed of",), ("over the default", "mean of the seeds", "over the fastest fixed", "mean of the seeds",
                                   "seeds", "pairs"))
    table.add_row("switching", between(one.over_default), f"{one.mean_over_default:.3f}", between(one.over_fastest),
                  f"{one.mean_over_fastest:.3f}", str(one.rows), str(one.pairs))
    return table


def _parts(effects: list[findings.PartEffect]) -> Table:
    table = _table("Parts: speed, then mean memory (the peak where there is no mean)", ("row", "part"),
                   ("alone, over the default", "all, over all but it", "learning with it, over without it"))
    for one in effects:
        table.add_row(one.row, one.part, *(_effect(some) for some in (one.alone, one.within, one.learns)))
    return table


def _effect(compared: Compared) -> str:
    if not compared.pairs:
        return "–"
    return f"{between(compared.speed)}\n{between(compared.mean or compared.peak)}"


def _learned(store: Store) -> Table:
    known = policies.decisions()
    learners = {LEARNED: "learned, in one run", HINDSIGHT: f"in {settings.HINDSIGHT_RUNS} runs"}
    for part in settings.RESEARCHED:
        if any(name == (setting := settings.research_of(part).name) for _, name in store.learned):
            learners[setting] = f"{part}, by mode research"
    table = _table("What was learned, and who was left of the fixed settings", ("row", *learners.values(), "fixed"), ())
    for row in (one["name"] for one in store.rows()):
        fixed = [name for name in store.chosen.get(row, []) if name in store.head["grid"]]
        table.add_row(row, *(_learned_by(store, row, name, known) for name in learners), ", ".join(fixed) or "–")
    return table


def _learned_by(store: Store, row: str, name: str, known: dict) -> str:
    if (row, name) not in store.learned:
        return "–"
    return "; ".join(filter(None, (_summary(text, known) for text in store.learned[row, name].values()))) or "nothing"


def _summary(text: str, known: dict) -> str:
    """Numbers as they are, of the rest how many there are."""
    lines = [line.split() for line in settings.decisions_in(text)]
    words = [f"{line[0]} {line[1]}" for line in lines if line[0] in known]
    for kind in ("class", "close", "depth", "site"):
        if count := sum(line[0] == kind for line in lines):
            words.append(f"{kind} × {count}")
    return ", ".join(words)


def _failures(store: Store) -> Table:
    table = _table("Runs that don't count", ("row", "setting", "why"), ())
    for row, some in failures_by_row(store).items():
        for setting, reason in some:
            table.add_row(row, setting, reason)
    return table
