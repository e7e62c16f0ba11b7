"""What was found: for each row and subject how it compares, against which bound, and the verdict; then by group."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from hakmem.learning import judging
from hakmem.learning.judging import Compared, Ratios, all_of, any_of, at_least, at_most
from hakmem.learning.rows import ADVERSARIAL, CHANGING, MEMORY, PROGRAMS, STATIONARY
from hakmem.learning.settings import DEFAULT, HINDSIGHT, LEARNED, LEARNING, PARTS
from hakmem.learning.store import Store

NEAR_BEST = 0.98  # of the fastest fixed setting's speed
NOT_WORSE = 0.98  # of another's speed
FASTER, LEANER = 1.10, 0.90  # what pays
PROGRAMS_FASTER = 1.03
HELD = 1.10  # of the default's peak: the most that learning may take
LEAST_PAIRS = 40  # below that nothing is decided

# Whose figures each group is judged by: what runs with a file, or what learns while it runs, or both.
SUBJECTS = {STATIONARY: (LEARNED, LEARNING.name), CHANGING: (LEARNED, LEARNING.name), MEMORY: (LEARNED, LEARNING.name),
            ADVERSARIAL: (LEARNING.name, LEARNED), PROGRAMS: (LEARNED, LEARNING.name)}
ALL_ROWS = "all rows"
FASTEST = "fastest fixed"


@dataclass(frozen=True)
class Finding:
    """One subject against one reference on one row, or on all rows of a group."""

    group: str
    row: str
    subject: str
    reference: str
    bound: str
    compared: Compared
    verdict: str


def not_worse(compared: Compared) -> str:
    return at_least(compared.speed, NOT_WORSE)


def no_slower(compared: Compared) -> str:
    """Beyond noise: the paired interval holds the same time, or less."""
    if compared.speed is None:
        return judging.UNDECIDED
    return judging.MET if compared.speed.high >= 1 else judging.MISSED


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
    "no slower": ("no slower beyond noise", no_slower),
    "held": (f"peak memory ≤ {HELD} of its", lambda one: at_most(one.peak, HELD)),
}


def _finding(group: str, row: str, subject: str, reference: str, bound: str, some: Ratios) -> Finding:
    compared = some.compared()
    text, judge = BOUNDS[bound]
    return Finding(group, row, subject, reference, text, compared,
                   judge(compared) if compared.pairs >= LEAST_PAIRS else judging.UNDECIDED)


# What each group asks of a row: against whom, and which bound.
_ASKED = {STATIONARY: [(FASTEST, "near"), (DEFAULT.name, "not worse")], CHANGING: [(FASTEST, "pays")],
          MEMORY: [(DEFAULT.name, "leaner")], ADVERSARIAL: [(DEFAULT.name, "not worse")],
          PROGRAMS: [(DEFAULT.name, "no slower")]}
# And of all rows together, by the geometric mean of their ratios.
_ASKED_OF_ALL = {STATIONARY: _ASKED[STATIONARY], CHANGING: [(FASTEST, "pays"), (DEFAULT.name, "pays")],
                 MEMORY: _ASKED[MEMORY], ADVERSARIAL: _ASKED[ADVERSARIAL], PROGRAMS: [(DEFAULT.name, "program")]}


def _asked(questions: dict[str, list[tuple[str, str]]], group: str, subject: str) -> list[tuple[str, str]]:
    """The memory bound is for what learns while it runs."""
    held = [(DEFAULT.name, "held")] if group == ADVERSARIAL and subject == LEARNING.name else []
    return questions[group] + held


def fixed_settings(store: Store, row: str) -> list[str]:
    """Those of a row's paired runs that somebody could have made by hand. Where nothing changes, what several learning runs
    have found counts as such; where the question is whether it is better to learn than to set by hand, it does not."""
    group = next(one["group"] for one in store.rows() if one["name"] == row)
    others = {DEFAULT.name, *store.head["grid"], *([HINDSIGHT] if group == STATIONARY else [])}
    return [name for name in store.chosen.get(row, []) if name in others]


def _ratios(store: Store, row: str, subject: str, reference: str) -> tuple[Ratios, str]:
    rounds = store.rounds(row)
    if reference != FASTEST:
        return judging.ratios(rounds, subject, reference), reference
    made, best = judging.ratios_to_fastest(rounds, subject, fixed_settings(store, row))
    return made, ", ".join(best) or FASTEST


def of_rows(store: Store) -> list[Finding]:
    found = []
    for row in store.rows():
        for subject in SUBJECTS[row["group"]]:
            for reference, bound in _asked(_ASKED, row["group"], subject):
                some, named = _ratios(store, row["name"], subject, reference)
                found.append(_finding(row["group"], row["name"], subject, named, bound, some))
            if row["group"] == CHANGING:
                found += _against_each_fixed(store, row["name"], subject)
    return found


def _against_each_fixed(store: Store, row: str, subject: str) -> list[Finding]:
    """The one that is hardest to beat: every fixed setting has to be beaten in time, or in memory at the same time."""
    rounds = store.rounds(row)
    found = [_finding(CHANGING, row, subject, name, "pays", judging.ratios(rounds, subject, name))
             for name in fixed_settings(store, row)]
    if not found:
        return []
    verdict = all_of(one.verdict for one in found)
    worst = min((one for one in found if one.verdict == verdict or verdict == judging.UNDECIDED), key=_score)
    return [Finding(CHANGING, row, subject, f"every fixed; hardest: {worst.reference}", worst.bound, worst.compared, verdict)]


def _score(one: Finding) -> float:
    """The lower, the less it pays."""
    memory = [part.value for part in (one.compared.peak, one.compared.mean) if part is not None]
    speed = one.compared.speed.value if one.compared.speed else 0
    return max(math.log(max(speed, 1e-9)), -math.log(max(min(memory, default=1), 1e-9)))


def of_groups(store: Store) -> list[Finding]:
    found = []
    for group in _ASKED_OF_ALL:
        rows = [row["name"] for row in store.rows() if row["group"] == group]
        for subject in SUBJECTS[group] if rows else ():
            for reference, bound in _asked(_ASKED_OF_ALL, group, subject):
                some = [made for row in rows if (made := _ratios(store, row, subject, reference)[0]).speed]
                found.append(_finding(group, ALL_ROWS, subject, reference, bound, judging.pooled(some)))
    return found


@dataclass(frozen=True)
class Answer:
    """A group's verdict, as its question has it."""

    group: str
    subject: str
    question: str
    verdict: str
    met: int  # rows
    missed: int
    undecided: int


QUESTIONS = {
    STATIONARY: f"on every row ≥ {NEAR_BEST} of the fastest fixed setting's speed and ≥ {NOT_WORSE} of the default's",
    CHANGING: "over all rows faster by 10 % than each row's fastest fixed setting, or no slower with 10 % less memory",
    MEMORY: "on every row 10 % less peak or mean memory than the default, no slower",
    ADVERSARIAL: f"on every row at most 2 % slower than the default; memory bound held: the peak of what learns at most "
                 f"{HELD} of the default's",
    PROGRAMS: "over all programs 3 % faster than the default, or 10 % leaner; none slower beyond noise",
}


def answers(rows: list[Finding], groups: list[Finding]) -> list[Answer]:
    """changing and programs are judged by all rows together, the others by each row."""
    found = []
    for group in dict.fromkeys(one.group for one in rows):
        for subject in SUBJECTS[group]:
            mine = [one for one in rows if one.group == group and one.subject == subject]
            by_row = {row: all_of(one.verdict for one in mine if one.row == row) for row in dict.fromkeys(o.row for o in mine)}
            whole = [one for one in groups if one.group == group and one.subject == subject]
            if group == CHANGING:
                verdict = all_of(one.verdict for one in whole)
            elif group == PROGRAMS:
                verdict = all_of([*(one.verdict for one in whole), *by_row.values()])
            else:
                verdict = all_of(by_row.values())
            count = [list(by_row.values()).count(one) for one in (judging.MET, judging.MISSED, judging.UNDECIDED)]
            found.append(Answer(group, subject, QUESTIONS[group], verdict, *count))
    return found


@dataclass(frozen=True)
class PartEffect:
    """What a part does: alone over the default; and all over all without it."""

    row: str
    part: str
    alone: Compared
    within: Compared
    learns: Compared  # learning over learning without it; no pairs where no option keeps it from learning


def parts(store: Store) -> list[PartEffect]:
    found = []
    for row in (row["name"] for row in store.rows()):
        rounds = store.rounds(row)
        for part in PARTS:
            effect = PartEffect(row, part, judging.ratios(rounds, f"only-{part}", DEFAULT.name).compared(),
                                judging.ratios(rounds, LEARNED, f"without-{part}").compared(),
                                judging.ratios(rounds, LEARNING.name, f"learning-{part}").compared())
            if any(one.pairs for one in (effect.alone, effect.within, effect.learns)):
                found.append(effect)
    return found
