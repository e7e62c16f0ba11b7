"""The settings that are compared: the defaults, what is learned, and the grid of all that can be set by hand."""

import itertools
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Setting:
    """Options, as the environment has them, and lines of a policy file for what has no option."""

    name: str
    options: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()

    def variables(self, folder: Path) -> dict[str, str]:
        """The environment of a run; a policy file that it needs is written into the folder."""
        made = dict(self.options)
        if self.lines:
            file = folder / f"{self.name}.policy"
            file.write_text(policy_of(self.lines))
            made["HAKMEM_POLICY"] = str(file)
        return made


def policy_of(lines: Iterable[str]) -> str:
    """A policy file made by hand, for whatever program."""
    return "\n".join(["hakmem-policy 1", *lines, "end", ""])


DEFAULT = Setting("default")
LEARNING = Setting("learning", (("HAKMEM_MODE", "learning"),))
LEARNED, HINDSIGHT = "learned", "hindsight"  # files that learning runs have made
HINDSIGHT_RUNS = 3


def learned_from(name: str, file: Path) -> dict[str, str]:
    """The environment of a run with what was learned: a file, or a folder with one per program, with / at its end."""
    return {"HAKMEM_POLICY": f"{file}{os.sep if file.is_dir() else ''}"}


# --- the grid -----------------------------------------------------------------------------------------------------------

# The arms of the tournament (src/learn/tournament.c); the last is the default.
BIG_THRESHOLDS = (512 * KIB, 768 * KIB, MIB, 1536 * KIB, 2 * MIB, 3 * MIB, 4 * MIB, 6 * MIB, 8 * MIB, 16 * MIB, 24 * MIB,
                  32 * MIB)
RETAINED = {"0": (0, 1_000_000), "64m": (64 * MIB, 8), "256m": (256 * MIB, 8), "all": (1024 * GIB, 8)}  # least, share
STACKS = (MIB, 4 * MIB, 32 * MIB)  # of a thread; all threads may have eight times as much, as by default
STACKS_OF_ALL = 8
PURGE_DELAYS = (100, 1000)  # milliseconds
W_MAX = (1.25, 1.40, 1.50, 1.60, 1.75)


def _size(count: int) -> str:
    return f"{count // MIB}m" if count % MIB == 0 else f"{count // KIB}k"


def _option(axis: str, **options: object) -> Setting:
    """Named by its first option's value."""
    pairs = tuple((f"HAKMEM_{name.upper()}", str(value)) for name, value in options.items())
    return Setting(f"{axis}={pairs[0][1]}", pairs)


def size_classes() -> list[int]:
    """As src/slab/size_class.c makes them: 16-byte steps, then eight to a doubling, then four."""
    fine = [256 << doubling for doubling in range(7)]
    large = [32 * KIB << doubling for doubling in range(5)]
    return [*range(16, 257, 16), *(base + base // 8 * step for base in fine for step in range(1, 9)),
            *(base + base // 4 * step for base in large for step in range(1, 5))]


def closed_within(most: float) -> list[int]:
    """The classes that may close: the next larger one is at most so many times as large as the smallest request that it
    then serves. Powers of two stay open, whatever a policy file says."""
    classes, closed, kept = size_classes(), [], 0
    for place, size in enumerate(classes):
        is_last = place + 1 == len(classes)
        if not is_last and size & (size - 1) and classes[place + 1] <= most * (kept + 1):
            closed.append(size)
        else:
            kept = size
    return closed


def _axes() -> dict[str, list[Setting]]:
    """The arms of each axis but the default."""
    return {
        "big_threshold": [_option("big_threshold", big_threshold=_size(one)) for one in BIG_THRESHOLDS[:-1]],
        "retain": [Setting(f"retain={name}", (("HAKMEM_RETAIN_MIN", str(least)), ("HAKMEM_RETAIN_SHARE", str(share))))
                   for name, (least, share) in RETAINED.items()],
        "stacks": [Setting(f"stacks={_size(one)}", (), (f"thread_bytes {one}", f"all_threads_bytes {STACKS_OF_ALL * one}"))
                   for one in STACKS],
        "purge_delay": [_option("purge_delay", purge_delay=one) for one in PURGE_DELAYS],
        "huge_pages": [_option("huge_pages", huge_pages=one) for one in ("off", "on")],
        "w_max": [Setting(f"w_max={most:.2f}", (), tuple(f"close {size}" for size in closed_within(most)))
                  for most in W_MAX],
        "mode": [_option("mode", mode=one) for one in ("minimal", "fast")],
        "profile": [_option("profile", profile=one) for one in ("mixed", "c6-heavy", "service", "batch")],
    }


AXES = _axes()
SAMPLED = 60  # 1 - 0.95 ** 60 = 0.954
WHOLE = ("mode", "profile")  # which are sets of the others: alone in the product too


def combined(parts: Iterable[Setting]) -> Setting:
    chosen = list(parts)
    return Setting("+".join(one.name for one in chosen), tuple(pair for one in chosen for pair in one.options),
                   tuple(line for one in chosen for line in one.lines))


def grid_of_axes(thin: bool = False) -> list[Setting]:
    """Each arm alone; thin: the first and the last of each axis."""
    return [arm for arms in AXES.values() for arm in ((arms[0], arms[-1]) if thin else arms)]


def grid_in_full() -> list[Setting]:
    """The product of the axes, without the point where all are at their defaults."""
    axes = [[None, *arms] for name, arms in AXES.items() if name not in WHOLE]
    points = ([arm for arm in point if arm is not None] for point in itertools.product(*axes))
    return [combined(point) for point in points if point] + [arm for name in WHOLE for arm in AXES[name]]


def grid_sampled(seed: int) -> list[Setting]:
    """Each arm alone, and SAMPLED points of the product, drawn by the seed: with 95 % the best of those is among the best
    5 % of all (Bergstra, Bengio, "Random search for hyper-parameter optimization", 2012)."""
    alone = grid_of_axes()
    others = sorted({one.name: one for one in grid_in_full()}.items())
    known = {one.name for one in alone}
    return alone + random.Random(seed).sample([one for name, one in others if name not in known], SAMPLED)


# --- parts --------------------------------------------------------------------------------------------------------------

# What learning consists of: the first words of its lines in a policy file.
PARTS = {
    "cap": ("thread_bytes", "all_threads_bytes", "depth"),
    "dyn": ("class",),
    "w_max": ("close", "w_max"),
    "retention": ("retain_min", "retain_share", "allowance_first", "allowance_least", "held_most"),
    "idle": ("purge_delay",),
    "big": ("big_threshold", "fifo_least"),
    "huge_pages": ("huge_pages", "huge_least", "prefault"),
    "collapse": ("collapse",),
    "realloc": ("headroom_share",),
}
# What mode research alone learns, by long runs: the lines of its files, and the learner's own names. A tournament decides
# about what other parts decide about, too.
RESEARCHED = {"elo": ("big_threshold", "fifo_least", "prefault", "huge_pages"), "sites": ("site",)}
_RESEARCHERS = {"elo": "tournaments", "sites": "sites"}
# The learner's own names of parts that do something while a program runs (src/learn/parts.h); others decide for its next
# run, or in mode research alone.
_LEARNERS = {"cap": "depths", "dyn": "classes", "retention": "memory", "collapse": "collapse", "realloc": "headroom"}
_OFF_BY_DEFAULT = {"huge_pages": "huge"}
ALL_LEARNERS = ("depths", "classes", "memory", "headroom", "huge", "collapse", "mappings", "tolerance", "tournaments", "sites")
# What keeps a part from being learned while a program runs. An option that the user has set stays as it is, also at its
# default.
PARTS_OFF = {
    "idle": {"HAKMEM_PURGE_DELAY": "0"},
    **{part: {"HAKMEM_LEARN_PARTS": "+".join(
        one for one in ALL_LEARNERS if one not in (own, *_OFF_BY_DEFAULT.values(), *_RESEARCHERS.values()))}
       for part, own in _LEARNERS.items()},
}
# And what lets one be learned that is off by default.
PARTS_ON = {part: {"HAKMEM_LEARN_PARTS": f"default+{own}"} for part, own in _OFF_BY_DEFAULT.items()}
_NOT_DECISIONS = ("hakmem-policy", "program", "build", "runs", "seconds", "end")


def _word(line: str) -> str:
    return line.split(maxsplit=1)[0] if line.strip() else ""


def decisions_in(text: str) -> list[str]:
    """The lines of a policy file that decide something."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and _word(line) not in _NOT_DECISIONS]


def words_of(part: str) -> tuple[str, ...]:
    return RESEARCHED.get(part) or PARTS[part]


def only_part(text: str, part: str) -> str:
    """A policy file with one part's lines."""
    return _kept(text, lambda word: word in words_of(part))


def without_part(text: str, part: str) -> str:
    return _kept(text, lambda word: word not in words_of(part))


def with_part(text: str, part: str, other: str) -> str:
    """A policy file with one part's lines of another one."""
    lines = "".join(f"{line}\n" for line in decisions_in(only_part(other, part)))
    return without_part(text, part).replace("\nend\n", f"\n{lines}end\n")


def _kept(text: str, is_kept) -> str:
    return "".join(line for line in text.splitlines(keepends=True)
                   if _word(line) in _NOT_DECISIONS or is_kept(_word(line)))


def parts_in(text: str) -> list[str]:
    """The parts of which a policy file has lines."""
    words = {_word(line) for line in decisions_in(text)}
    return [part for part, its in PARTS.items() if words & set(its)]


def learning_without(part: str) -> Setting:
    return Setting(f"learning-{part}", LEARNING.options + tuple(PARTS_OFF[part].items()))


def learning_with(part: str) -> Setting:
    return Setting(f"learning+{part}", LEARNING.options + tuple(PARTS_ON[part].items()))


def research_of(part: str) -> Setting:
    """That part alone, so that its search does not wait for others; and for as long as it takes, since the run is made for
    nothing else."""
    return Setting(f"research-{part}", (("HAKMEM_MODE", "research"), ("HAKMEM_LEARN_PARTS", _RESEARCHERS[part]),
                                        ("HAKMEM_TRIAL_SHARE", "1")))


def that_learn_more() -> dict[str, Setting]:
    """By part: with what its lines are learned, where mode learning does not do it by itself."""
    return {part: learning_with(part) for part in PARTS_ON} | {part: research_of(part) for part in RESEARCHED}


def learning_by_parts() -> list[Setting]:
    """Without each part that does something while a program runs, and with each that is off by default."""
    return [*map(learning_without, PARTS_OFF), *map(learning_with, PARTS_ON)]
