"""The pictures of a report, as Vega-Lite."""

import altair

from hakmem import pictures
from hakmem.figures import HAKMEM, RowFigures, geometric_mean

_TOOLTIP = ["row:N", "allocator:N", "speed:N", "memory:N"]


def _colour(names: list[str]) -> altair.Color:
    """The same colour on all charts of a page, whoever is on them."""
    colours = [pictures.COLOURS[place % len(pictures.COLOURS)] for place in range(len(names))]
    return altair.Color("allocator:N", sort=names, scale=altair.Scale(domain=names, range=colours), title=None,
                        legend=altair.Legend(orient="top", columns=4))


def _values(rows: list[RowFigures]) -> list[dict]:
    values = []
    for row in rows:
        fastest = min(cell.seconds for cell in row.cells.values())
        leanest = min(cell.peak_kib for cell in row.cells.values())
        for name, cell in row.cells.items():
            values.append({"row": row.row.name, "suite": row.suite, "allocator": name,
                           "relative speed": fastest / cell.seconds, "relative memory": cell.peak_kib / max(leanest, 1),
                           "speed": f"{cell.operations / cell.seconds:,.0f} operations a second",
                           "memory": f"{cell.peak_kib / 1024:.1f} MiB at the peak"})
    return values


def overview(rows: list[RowFigures], names: list[str]) -> altair.TopLevelMixin:
    """One point per suite and allocator: how far from the fastest, and from the leanest, over the suite's rows."""
    values = []
    for suite in dict.fromkeys(row.suite for row in rows):
        mine = [one for one in _values([row for row in rows if row.suite == suite])]
        for name in names:
            here = [one for one in mine if one["allocator"] == name]
            if here:
                values.append({"suite": suite, "allocator": name, "is hakmem": name == HAKMEM,
                               "speed": geometric_mean(one["relative speed"] for one in here),
                               "memory": geometric_mean(one["relative memory"] for one in here)})
    base = altair.Chart(altair.Data(values=values)).mark_point(filled=True, opacity=0.85).encode(
        y=altair.Y("suite:N", sort=None, title=None, axis=altair.Axis(grid=True)), color=_colour(names),
        size=altair.Size("is hakmem:N", scale=altair.Scale(domain=[False, True], range=[45, 130]), legend=None),
        shape=altair.Shape("is hakmem:N", scale=altair.Scale(domain=[False, True], range=["circle", "diamond"]),
                           legend=None),
        order=altair.Order("is hakmem:N"))
    height = altair.Step(19)
    speed = base.encode(x=altair.X("speed:Q", title=["speed: to the right is better;", "the fastest of each row is 1"],
                                   scale=altair.Scale(domain=[0, 1]))).properties(width=360, height=height)
    memory = base.encode(x=altair.X("memory:Q", scale=altair.Scale(type="log"),
                                    title=["peak memory: to the left is better;", "the leanest of each row is 1"]),
                         y=altair.Y("suite:N", sort=None, title=None, axis=altair.Axis(grid=True, labels=False)))
    return altair.hconcat(speed, memory.properties(width=360, height=height))


def bars(rows: list[RowFigures], names: list[str]) -> dict:
    """Speed of each allocator on each row, the fastest being 1."""
    chart = altair.Chart(altair.Data(values=_values(rows))).mark_bar().encode(
        y=altair.Y("row:N", sort=None, title=None, axis=altair.Axis(labelLimit=260)),
        yOffset=altair.YOffset("allocator:N", sort=names),
        x=altair.X("relative speed:Q", title="speed, the fastest of the row is 1", scale=altair.Scale(domain=[0, 1])),
        color=_colour(names), tooltip=_TOOLTIP)
    made = pictures.specification(chart)
    made["height"] = {"step": max(5, 60 // len(names))}
    made["autosize"] = {"type": "fit-x", "contains": "padding"}
    return made


def scatter(rows: list[RowFigures], names: list[str]) -> dict:
    """Time against memory: each point an allocator on a row, the corner at the lower left is best."""
    values = [one | {"relative time": 1 / one["relative speed"]} for one in _values(rows)]
    chart = altair.Chart(altair.Data(values=values)).mark_point(filled=True, opacity=0.75, size=45).encode(
        x=altair.X("relative time:Q", scale=altair.Scale(type="log"), title="time over the fastest of the row"),
        y=altair.Y("relative memory:Q", scale=altair.Scale(type="log"), title="peak memory over the leanest of the row"),
        color=_colour(names), tooltip=_TOOLTIP).interactive()
    return pictures.specification(chart) | {"height": 420}


def latency(row: RowFigures, reports: dict[str, list[dict]], function: str, names: list[str]) -> dict:
    """Cycles of single calls against the part of calls that took no longer; the middle run of each allocator."""
    values = []
    for name in names:
        made = sorted(reports.get(name, []), key=lambda report: report[function]["p999"])
        if not made:
            continue
        for part, cycles in made[len(made) // 2][function]["curve"]:
            values.append({"allocator": name, "one in": 1 / (1 - part) if part < 1 else 1e6, "cycles": max(cycles, 1),
                           "part": f"{100 * part:.4f} %"})
    chart = altair.Chart(altair.Data(values=values)).mark_line(interpolate="monotone").encode(
        x=altair.X("one in:Q", scale=altair.Scale(type="log"), title="one call in so many takes longer",
                   axis=altair.Axis(format="~s")),
        y=altair.Y("cycles:Q", scale=altair.Scale(type="log"), title="cycles"),
        color=_colour(names), tooltip=["allocator:N", "part:N", "cycles:Q"])
    return pictures.specification(chart)


def resident(reports: dict[str, list[dict]], names: list[str]) -> dict:
    """Resident memory over a replay's time, beside what was requested; the middle run of each allocator."""
    values, requested = [], []
    for name in names:
        made = sorted(reports.get(name, []), key=lambda report: report["seconds"])
        if not made:
            continue
        middle = made[len(made) // 2]
        length = middle["timeline"][-1][0] or 1
        values += [{"allocator": name, "part": seconds / length, "MiB": kib / 1024}
                   for seconds, kib, _ in middle["timeline"]]
        requested = requested or [{"part": seconds / length, "MiB": kib / 1024} for seconds, _, kib in middle["timeline"]]
    lines = altair.Chart(altair.Data(values=values)).mark_line().encode(
        x=altair.X("part:Q", title="part of the replay", axis=altair.Axis(format="%")),
        y=altair.Y("MiB:Q", title="resident MiB; the area is what was requested"), color=_colour(names),
        tooltip=["allocator:N", "MiB:Q"])
    area = altair.Chart(altair.Data(values=requested)).mark_area(color="#bbbbbb", opacity=0.5).encode(x="part:Q", y="MiB:Q")
    return pictures.specification(area + lines)
