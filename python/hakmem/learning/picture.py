"""The picture: for each row what is learned over the defaults, and over the fastest fixed setting; and what each part
gains, where that was measured."""

from pathlib import Path

import altair

from hakmem import pictures
from hakmem.intervals import Interval
from hakmem.learning import findings, judging
from hakmem.learning.rows import CHANGING, GROUPS
from hakmem.learning.judging import Compared, Ratios
from hakmem.learning.settings import DEFAULT, LEARNED, LEARNING
from hakmem.learning.store import Store

_OVER_DEFAULT, _OVER_FASTEST, _LEARNING = "learned / default", "learned / fastest fixed", "learning / default"
_PEAK, _MEAN = "learned / default: peak", "learned / default: mean"
_LEARNING_PEAK, _LEARNING_MEAN = "learning / default: peak", "learning / default: mean"
_SPEEDS, _MEMORIES = [_OVER_FASTEST, _OVER_DEFAULT, _LEARNING], [_PEAK, _MEAN, _LEARNING_PEAK, _LEARNING_MEAN]
_ALONE, _WITHIN, _LEARNS = "alone / default", "all / all but it", "learning with it / without it"
_PARTS = [_ALONE, _WITHIN, _LEARNS]
ALL_CHANGING = "changing: all together"
WIDTH, ROW_HEIGHT, LETTER_WIDTH, MARGIN = 340, 28, 7, 1.02
TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 7, 10)


def _point(row: str, series: str, interval: Interval | None) -> list[dict]:
    if interval is None:
        return []
    return [{"row": row, "series": series, "ratio": interval.value, "low": interval.low, "high": interval.high}]


def _values(store: Store) -> tuple[list[dict], list[dict]]:
    speeds, memories = [], []
    for row, (over, best, learns) in _compared(store).items():
        if best is not None:
            speeds += _point(row, _OVER_FASTEST, best.speed)
        for series, compared in ((_OVER_DEFAULT, over), (_LEARNING, learns)):
            speeds += _point(row, series, compared.speed)
        memories += _point(row, _PEAK, over.peak) + _point(row, _MEAN, over.mean)
        memories += _point(row, _LEARNING_PEAK, learns.peak) + _point(row, _LEARNING_MEAN, learns.mean)
    return speeds, memories


def _compared(store: Store) -> dict[str, tuple[Compared, Compared | None, Compared]]:
    """By row: learned over the default, over the fastest fixed setting where there are several, learning over the default;
    and of the changing programs all pairs together, by which they are judged."""
    made: dict[str, list[Ratios]] = {}
    compared: dict[str, list[Compared]] = {}
    has_fixed = {row: len(findings.fixed_settings(store, row)) > 1 for row in _rows(store)}
    for group in GROUPS:
        best = findings.fastest_fixed(store, group)
        for row in store.rows_of(group):
            rounds = store.rounds(row)
            made[row] = [judging.ratios(rounds, LEARNED, DEFAULT.name),
                         judging.ratios_to_fastest(rounds, LEARNED, best[row])[0],
                         judging.ratios(rounds, LEARNING.name, DEFAULT.name)]
        compared |= {row: [one.compared() for one in made[row]] for row in store.rows_of(group)}
    if rows := store.rows_of(CHANGING):
        compared[ALL_CHANGING] = [judging.joined(some) for some in zip(*(made[row] for row in rows), strict=True)]
        has_fixed[ALL_CHANGING] = any(has_fixed[row] for row in rows)
    return {row: (over, best if has_fixed.get(row) else None, learns) for row, (over, best, learns) in compared.items()}


def _part_values(effects: list[findings.PartEffect]) -> tuple[list[dict], list[dict]]:
    """As in the table: mean memory, the peak where there is no mean."""
    speeds, memories = [], []
    for one in effects:
        for series, compared in zip(_PARTS, (one.alone, one.within, one.learns), strict=True):
            speeds += _point(_part_row(one), series, compared.speed)
            memories += _point(_part_row(one), series, compared.mean or compared.peak)
    return speeds, memories


def _part_row(one: findings.PartEffect) -> str:
    return f"{one.row}: {one.part}"


def _rows(store: Store) -> list[str]:
    return [one["name"] for one in store.rows()]


def _order(store: Store) -> list[str]:
    """The changing programs together come before each of them."""
    rows, changing = _rows(store), store.rows_of(CHANGING)
    if changing:
        rows.insert(rows.index(changing[0]), ALL_CHANGING)
    return rows


def _panel(values: list[dict], order: list[str], colours: list[str], rows: list[str], title: str,
           has_labels: bool) -> altair.TopLevelMixin:
    there = [place for place, series in enumerate(order) if any(one["series"] == series for one in values)] or [0]
    order, colours = [order[place] for place in there], [colours[place] for place in there]
    ends = [one[key] for one in values for key in ("low", "high")] + [1.0]
    least, most = min(ends) / MARGIN, max(ends) * MARGIN
    scale = altair.Scale(type="log", domain=[least, most], nice=False)
    ticks = [tick for tick in TICKS if least <= tick <= most]
    base = altair.Chart(altair.Data(values=values)).encode(
        y=altair.Y("row:N", scale=altair.Scale(domain=rows), title=None,
                   axis=altair.Axis(labels=has_labels, labelLimit=300, grid=True, tickBand="extent",
                                    minExtent=LETTER_WIDTH * max(map(len, rows)) if has_labels else 0)),
        yOffset=altair.YOffset("series:N", scale=altair.Scale(domain=order)),
        color=altair.Color("series:N", scale=altair.Scale(domain=order, range=colours), title=None,
                           legend=altair.Legend(orient="top", columns=1, labelLimit=300)))
    axis = altair.X("ratio:Q", scale=scale, title=title, axis=altair.Axis(format=".2f", values=ticks, labelOverlap=True))
    lines = base.mark_rule(strokeWidth=1.5).encode(x=altair.X("low:Q", scale=scale, title=title), x2="high:Q")
    points = base.mark_point(filled=True, size=36, opacity=1).encode(x=axis)
    one = altair.Chart(altair.Data(values=[{"ratio": 1}])).mark_rule(color="#555555", strokeDash=[3, 3]).encode(x="ratio:Q")
    return (one + lines + points).properties(width=WIDTH, height=ROW_HEIGHT * len(rows))


def _side_by_side(values: tuple[list[dict], list[dict]], series: tuple[list[str], list[str]],
                  colours: tuple[list[str], list[str]], rows: list[str]) -> altair.TopLevelMixin:
    left = _panel(values[0], series[0], colours[0], rows, "speed: to the right is better", True)
    right = _panel(values[1], series[1], colours[1], rows, "memory: to the left is better", False)
    return altair.hconcat(left, right).resolve_scale(color="independent", y="independent")


def chart(store: Store) -> altair.TopLevelMixin:
    speed_colours = pictures.COLOURS[:3]
    whole = _side_by_side(_values(store), (_SPEEDS, _MEMORIES),
                          (speed_colours, [pictures.COLOURS[place] for place in (3, 1, 4, 2)]), _order(store))
    effects = findings.parts(store)
    if not effects:
        return whole
    parts = _side_by_side(_part_values(effects), (_PARTS, _PARTS), (speed_colours, speed_colours),
                          [_part_row(one) for one in effects])
    return altair.vconcat(whole, parts.properties(title="each part")).resolve_scale(color="independent")


def save(store: Store, file: Path) -> None:
    rounds = max((len(next(iter(store.rounds(row["name"]).values()), [])) for row in store.rows()), default=0)
    quick = "; --quick, not for figures" if store.head["quick"] else ""
    pictures.save_one(chart(store), "Does learning pay?",
                      f"medians of paired ratios with 95 % intervals, {rounds} rounds at most{quick}", file)
