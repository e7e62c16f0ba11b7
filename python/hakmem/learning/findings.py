"""What was found: for each row and subject how it compares, against which bound, and the verdict; then by group."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hakmem.intervals import Interval
from hakmem.learning import changing, judging
from hakmem.learning.judging import Compared, Ratios, Rounds, all_of, any_of, at_least, at_most
from hakmem.learning.rows import ADVERSARIAL, CHANGING, GROUPS, MEMORY, PROGRAMS, SETTLED, STATIONARY
from hakmem.learning.settings import DEFAULT, HINDSIGHT, LEARNED, LEARNING, PARTS, PARTS_ON, RESEARCHED
from hakmem.learning.store import Store

NEAR_BEST = 0.98  # of the fastest fixed setting's speed
NOT_WORSE = 0.98  # of another's speed
FASTER, LEANER = 1.10, 0.90  # what pays
PROGRAMS_FASTER = 1.03
HELD = 1.10  # of the default's peak: the most that what is learned may take
LEAST_PAIRS = 40  # below that nothing is decided

# Whose figures each group is judged by: what runs with a file, or what learns while it runs, or both.
SUBJECTS = {STATIONARY: (LEARNED, LEARNING.name), CHANGING: (LEARNED, LEARNING.name), MEMORY: (LEARNED, LEARNING.name),
            ADVERSARIAL: (LEARNING.name, LEARNED), PROGRAMS: (LEARNED, LEARNING.name)}
ALL_ROWS = "all rows"
FEW = 2  # names that are told
FASTEST = "fastest fixed"


@dataclass(frozen=True)
class Finding:
    """One subject against one reference on one row, or on all rows of a group."""

    group: str
    row: str
    subject: str
    reference: str
    asked: str  # which of BOUNDS
    bound: str  # its words
    compared: Compared
    verdict: str


def not_worse(compared: Compared) -> str:
    return at_least(compared.speed, NOT_WORSE)


def no_slower(compared: Compared) -> str:
    return at_least(compared.speed, 1)


def leaner(compared: Compared) -> str:
    """By the peak or by the mean, at the same time."""
    memory = [at_most(one, LEANER) for one in (compared.peak, compared.mean) if one is not None]
    return all_of([any_of(memory), no_slower(compared)])


def pays(compared: Compared, faster: float = FASTER) -> str:
    return any_of([at_least(compared.speed, faster), leaner(compared)])


BOUNDS: dict[str, tuple[str, Callable[[Compared], str]]] = {
    "near": (f"speed ≥ {NEAR_BEST} of it", lambda one: at_least(one.speed, NEAR_BEST)),
    "not worse": (f"speed ≥ {NOT_WORSE} of it", not_worse),
    "pays": (f"speed ≥ {FASTER}, or no slower with memory ≤ {LEANER}", pays),
    "leaner": (f"memory ≤ {LEANER}, no slower", leaner),
    "program": (f"speed ≥ {PROGRAMS_FASTER}, or no slower with memory ≤ {LEANER}", lambda one: pays(one, PROGRAMS_FASTER)),
    "no slower": ("no slower", no_slower),
    "held": (f"peak memory ≤ {HELD} of its", lambda one: at_most(one.peak, HELD)),
}


def _finding(group: str, row: str, subject: str, reference: str, bound: str, compared: Compared) -> Finding:
    text, judge = BOUNDS[bound]
    return Finding(group, row, subject, reference, bound, text, compared,
                   judge(compared) if compared.pairs >= LEAST_PAIRS else judging.UNDECIDED)


# What each group asks of a row: against whom, and which bound.
_ASKED = {STATIONARY: [(FASTEST, "near"), (DEFAULT.name, "not worse")],
          CHANGING: [(FASTEST, "pays"), (DEFAULT.name, "pays")], MEMORY: [(DEFAULT.name, "leaner")],
          ADVERSARIAL: [(DEFAULT.name, "not worse"), (DEFAULT.name, "held")],
          PROGRAMS: [(FASTEST, "near"), (DEFAULT.name, "no slower")]}
ABOUT_FIXED = tuple(group for group, asked in _ASKED.items() if FASTEST in dict(asked))
# And of all rows together.
_ASKED_OF_ALL = _ASKED | {PROGRAMS: [(FASTEST, "near"), (DEFAULT.name, "program")]}


def fixed_settings(store: Store, row: str) -> list[str]:
    """Those of a row's paired runs that somebody could have made by hand. Where nothing changes, what several learning runs
    have found counts as such; where the question is whether it is better to learn than to set by hand, it does not."""
    group = next(one["group"] for one in store.rows() if one["name"] == row)
    others = {DEFAULT.name, *store.head["grid"], *([HINDSIGHT] if group in SETTLED else [])}
    return [name for name in store.chosen.get(row, []) if name in others]


def _fixed_of_changing(store: Store) -> list[str]:
    """One set for all rows."""
    return list(dict.fromkeys(name for row in store.rows_of(CHANGING) for name in fixed_settings(store, row)))


def fastest_fixed(store: Store, group: str) -> dict[str, list[str | None]]:
    """By row, for each round: the one to be held against, chosen by other runs. Of changing programs by other rows."""
    rows = {row: store.rounds(row) for row in store.rows_of(group)}
    if group == CHANGING and rows:
        best = changing.fastest_elsewhere(list(rows.values()), _fixed_of_changing(store))
        return dict(zip(rows, best, strict=True))
    return {row: judging.fastest_by_round(rounds, fixed_settings(store, row)) for row, rounds in rows.items()}


def _ratios(rounds: Rounds, subject: str, reference: str, best: list[str | None]) -> tuple[Ratios, list[str]]:
    if reference != FASTEST:
        return judging.ratios(rounds, subject, reference), [reference]
    return judging.ratios_to_fastest(rounds, subject, best)


def of_rows(store: Store, groups: Iterable[str] = GROUPS) -> list[Finding]:
    found = []
    for group in groups:
        best = fastest_fixed(store, group)
        for row in store.rows_of(group):
            rounds = store.rounds(row)
            for subject in SUBJECTS[group]:
                for reference, bound in _ASKED[group]:
                    some, named = _ratios(rounds, subject, reference, best[row])
                    found.append(_finding(group, row, subject, ", ".join(named) or reference, bound, some.compared()))
    return found


def of_groups(store: Store, groups: Iterable[str] = GROUPS) -> list[Finding]:
    """By the geometric mean of the rows' ratios, round by round; changing programs by all pairs of all rows."""
    found = []
    for group in groups:
        rows, best = store.rows_of(group), fastest_fixed(store, group)
        fixed = of_fixed(store) if group == CHANGING else []
        for subject in SUBJECTS[group] if rows else ():
            for reference, bound in _ASKED_OF_ALL[group]:
                made = [_ratios(store.rounds(row), subject, reference, best[row]) for row in rows]
                found.append(_of_all(group, subject, _named(reference, made), bound, [ratios for ratios, _ in made]))
            found += _hardest([one for one in fixed if one.subject == subject])
    return found


def _of_all(group: str, subject: str, reference: str, bound: str, rows: Sequence[Ratios]) -> Finding:
    """A row without pairs, whose runs all failed for example, leaves all of them together undecided."""
    some = [one for one in rows if one.speed]
    found = _finding(group, ALL_ROWS, subject, reference, bound,
                     judging.joined(some) if group == CHANGING else judging.pooled(some).compared())
    if len(some) == len(rows):
        return found
    return replace(found, reference=f"{reference} ({len(some)} of {len(rows)} rows)", verdict=judging.UNDECIDED)


def _named(reference: str, made: list[tuple[Ratios, list[str]]]) -> str:
    """The fastest fixed one by its name, where it is the same few on all rows."""
    names = list(dict.fromkeys(name for _, some in made for name in some))
    return f"{reference}: {', '.join(names)}" if reference == FASTEST and 0 < len(names) <= FEW else reference


def of_fixed(store: Store) -> list[Finding]:
    """Every fixed setting of the changing programs that is left, over all pairs of all rows on which it ran."""
    rows = [store.rounds(row) for row in store.rows_of(CHANGING)]
    return [_of_all(CHANGING, subject, name, "pays",
                    [judging.ratios(rounds, subject, name) for rounds in rows if any(rounds.get(name, []))])
            for name in _fixed_of_changing(store) for subject in SUBJECTS[CHANGING]]


def _hardest(fixed: Sequence[Finding]) -> list[Finding]:
    """Every fixed setting has to be beaten in time, or in memory at the same time; shown is the hardest to beat."""
    if not fixed:
        return []
    verdict = all_of(one.verdict for one in fixed)
    worst = min((one for one in fixed if one.verdict == verdict), key=_score)
    return [replace(worst, reference=f"every fixed; hardest: {worst.reference}")]


def _score(one: Finding) -> float:
    """The lower, the less it pays. Who is slower gains nothing by being leaner."""
    memory = [part.value for part in (one.compared.peak, one.compared.mean) if part is not None]
    speed = one.compared.speed.value if one.compared.speed else 0
    leanness = -math.log(max(min(memory, default=1), 1e-9)) if no_slower(one.compared) != judging.MISSED else -math.inf
    return max(math.log(max(speed, 1e-9)), leanness)


def by_kind(store: Store, subject: str) -> dict[str, Interval]:
    """Speed over the default of each kind of phase."""
    return changing.by_kind([store.rounds(row) for row in store.rows_of(CHANGING)], subject)


def switching(store: Store) -> changing.Switching | None:
    return changing.switching([store.rounds(row) for row in store.rows_of(CHANGING)], _fixed_of_changing(store))


@dataclass(frozen=True)
class Question:
    """Of a group: the bounds that each of its rows is judged by, and those of all of them together."""

    text: str
    of_rows: tuple[str, ...] = ()
    of_all: tuple[str, ...] = ()


_NEAR_BEST = f"≥ {NEAR_BEST} of the fastest fixed setting's speed"
QUESTIONS = {
    STATIONARY: (Question(f"on every row {_NEAR_BEST} and ≥ {NOT_WORSE} of the default's", ("near", "not worse")),),
    CHANGING: (Question("over all pairs of all rows 10 % faster than the fastest fixed setting and than every other one, or no "
                        "slower with 10 % less memory", of_all=("pays",)),),
    MEMORY: (Question("on every row 10 % less peak or mean memory than the default, no slower", ("leaner",)),),
    ADVERSARIAL: (Question(f"on every row at most 2 % slower than the default; memory bound held: the peak at most "
                           f"{HELD} of the default's", ("not worse", "held")),),
    PROGRAMS: (Question("over all programs 3 % faster than the default, or 10 % leaner; none slower",
                        ("no slower",), ("program",)),
               Question(f"of every program {_NEAR_BEST}", ("near",))),
}


@dataclass(frozen=True)
class Answer:
    """To one of a group's questions."""

    group: str
    subject: str
    question: str
    verdict: str
    met: int  # rows
    not_excluded: int
    missed: int
    undecided: int


def answers(rows: list[Finding], groups: list[Finding]) -> list[Answer]:
    return [_answer(group, subject, question, [one for one in rows if (one.group, one.subject) == (group, subject)],
                    [one for one in groups if (one.group, one.subject) == (group, subject)])
            for group in dict.fromkeys(one.group for one in rows) for subject in SUBJECTS[group]
            for question in QUESTIONS[group]]


def _answer(group: str, subject: str, question: Question, rows: list[Finding], whole: list[Finding]) -> Answer:
    """Rows are counted whatever the question is judged by."""
    mine = [one for one in rows if one.asked in (question.of_rows or question.of_all)]
    by_row = [all_of(one.verdict for one in mine if one.row == row) for row in dict.fromkeys(one.row for one in mine)]
    verdict = all_of([*(one.verdict for one in whole if one.asked in question.of_all), *(by_row if question.of_rows else ())])
    count = [by_row.count(one) for one in (judging.MET, judging.NOT_EXCLUDED, judging.MISSED, judging.UNDECIDED)]
    return Answer(group, subject, question.text, verdict, *count)


@dataclass(frozen=True)
class PartEffect:
    """What a part does: alone over the default; and all over all but it. Of one that is off by default all is with it."""

    row: str
    part: str
    alone: Compared
    within: Compared
    learns: Compared  # learning with it over learning without it; no pairs where no option makes that difference


def parts(store: Store) -> list[PartEffect]:
    found = []
    for row in (row["name"] for row in store.rows()):
        rounds = store.rounds(row)
        for part in (*PARTS, *RESEARCHED):
            within, learns = (LEARNED, f"without-{part}"), (LEARNING.name, f"learning-{part}")
            if part in PARTS_ON or part in RESEARCHED:
                within, learns = (f"{LEARNED}+{part}", LEARNED), (f"learning+{part}", LEARNING.name)
            effect = PartEffect(row, part, *(judging.ratios(rounds, *pair).compared()
                                             for pair in ((f"only-{part}", DEFAULT.name), within, learns)))
            if any(one.pairs for one in (effect.alone, effect.within, effect.learns)):
                found.append(effect)
    return found
