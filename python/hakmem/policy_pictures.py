"""Pictures of learning: what became of it over time, and what a policy file decides."""

import altair

from hakmem import pictures, policies
from hakmem.policies import Policy
from hakmem.trace_pictures import bytes_text

Charts = list[tuple[str, altair.TopLevelMixin]]

MIB = 2**20
STATES = {"LEARN": "#E69F00", "CANARY": "#CC79A7", "FROZEN": "#56B4E9"}
# Why a state began, as short as a picture wants it.
REASONS = {"begun": "", "still": "nothing moves", "restless": "tried as it is", "no_worse": "no worse: kept",
           "worse": "worse: given up", "slower": "calls are slower", "dearer": "it costs more", "sizes": "other sizes"}
LABEL_SHARE = 0.02  # of the time, which a state must last for its reason to stand beside it
LINE_COLOURS = ["#D55E00", "#0072B2", "#009E73", "#7F3C8D", "#000000"]  # none of a state's
BEST_ARMS = 3
TIME_HEIGHT, TIME_TICKS, GAIN_TICKS = 170, 8, 6
ROOM_FOR_LABEL = 1.15  # behind a bar, of its length
FEWEST_POWERS = 3  # of two, on the axis of sizes; where there are fewer the sizes themselves stand there


def value_text(unit: str, value: int) -> str:
    """A decision's value, as one reads it."""
    if unit == "bytes":
        return bytes_text(value)
    if unit == "hundredths":
        return f"{value / 100:.2f} x"
    return f"1/{value}" if unit == "parts" else f"{value} ms" if unit == "milliseconds" else str(value)


# --- over time ---------------------------------------------------------------------------------------------------------


def bands(told: dict) -> list[dict]:
    """From when to when each state lasted. Of very many changes the oldest are gone: the rows say what was before."""
    learning, end = told["learning"], told["learn_run_ns"] / 1e9
    begins = [(one["ms"] / 1000, one["state"], REASONS.get(one["reason"], one["reason"])) for one in learning["changes"]]
    begins = [(one["ms"] / 1000, one["state"], "") for one in learning["history"]
              if one["ms"] / 1000 < begins[0][0]] + begins
    made = []
    for at, state, reason in begins:
        if made and made[-1]["state"] == state and not reason:
            continue
        made.append({"from": at, "state": state, "why": reason})
    for one, following in zip(made, [*[one["from"] for one in made[1:]], end], strict=True):
        one["to"] = following
    return made


def _time(name: str, told: dict) -> altair.X:
    return altair.X(f"{name}:Q", title="seconds since learning began",
                    axis=altair.Axis(grid=False, tickCount=TIME_TICKS),
                    scale=altair.Scale(domain=[0, told["learn_run_ns"] / 1e9], nice=False))


def _state_colour(legend: altair.Legend | None) -> altair.Color:
    return altair.Color("state:N", title=None, legend=legend,
                        scale=altair.Scale(domain=list(STATES), range=list(STATES.values())))


def _state_chart(told: dict) -> altair.LayerChart:
    """The states as one band, with why each began where there is room for it."""
    values = bands(told)
    room = told["learn_run_ns"] / 1e9 * LABEL_SHARE
    base = altair.Chart(altair.Data(values=[
        one | {"label": one["why"] if one["to"] - one["from"] >= room else ""} for one in values]))
    x = _time("from", told)
    return altair.layer(
        base.mark_rect(opacity=0.75).encode(x=x, x2="to:Q", tooltip=["state:N", "from:Q", "to:Q", "why:N"],
                                            color=_state_colour(altair.Legend(orient="top"))),
        base.mark_rule(color="#333333", strokeWidth=0.7).encode(x=x),
        base.mark_text(angle=270, align="center", baseline="top", dy=3, fontSize=10).encode(x=x, text="label:N"))


def _behind(told: dict) -> altair.Chart:
    """The states, pale, for what is drawn on top."""
    return altair.Chart(altair.Data(values=bands(told))).mark_rect(opacity=0.12).encode(
        x=_time("from", told), x2="to:Q", color=_state_colour(None))


def _traces(told: dict, seen: dict[str, str], decided: dict[str, str]) -> altair.LayerChart:
    """Columns of the history as lines over the states, and what they are called: what was seen, and what was decided,
    which holds until the next row. A point is a look."""
    rows, names = told["learning"]["history"], [*seen.values(), *decided.values()]

    def lines(columns: dict[str, str], **look: str | altair.OverlayMarkDef) -> altair.Chart:
        values = [{"s": row["ms"] / 1000, "what": label, "MiB": row[name] / MIB, "size": bytes_text(row[name])}
                  for name, label in columns.items() for row in rows]
        return altair.Chart(altair.Data(values=values)).mark_line(strokeWidth=1.6, **look).encode(
            x=_time("s", told), y=altair.Y("MiB:Q", axis=altair.Axis(format="~s")),
            color=altair.Color("what:N", title=None, sort=names, legend=altair.Legend(orient="top"),
                               scale=altair.Scale(domain=names, range=LINE_COLOURS[:len(names)])),
            tooltip=["what:N", "s:Q", "size:N"])

    both = altair.layer(lines(seen, point=altair.OverlayMarkDef(size=9)), lines(decided, interpolate="step-after"))
    return altair.layer(_behind(told), both).resolve_scale(color="independent")


def rates(told: dict) -> list[dict]:
    """Batches a second between each two rows."""
    rows = told["learning"]["history"]
    return [{"s": before["ms"] / 1000, "to": row["ms"] / 1000,
             "batches": 1000 * (row["batches"] - before["batches"]) / (row["ms"] - before["ms"])}
            for before, row in zip(rows, rows[1:], strict=False) if row["ms"] > before["ms"]]


def _rate(told: dict) -> altair.LayerChart:
    bars = altair.Chart(altair.Data(values=rates(told))).mark_rect(color=pictures.COLOURS[1], opacity=0.7).encode(
        x=_time("s", told), x2="to:Q", y2=altair.datum(0),
        y=altair.Y("batches:Q", title="a second", axis=altair.Axis(format="~s"), scale=altair.Scale(domainMin=0)),
        tooltip=["s:Q", "to:Q", "batches:Q"])
    return altair.layer(_behind(told), bars)


def _ratings(told: dict) -> altair.LayerChart:
    """The best and the default in colours of their own, all others grey."""
    learning = told["learning"]
    names = [f"from {bytes_text(bytes)}" for bytes in learning["thresholds"]]
    rows = [row for row in learning["history"] if "ratings" in row]
    last = dict(zip(names, rows[-1]["ratings"], strict=True))
    named = sorted({*sorted(names, key=lambda name: -last[name])[:BEST_ARMS], names[-1]}, key=names.index)
    values = [{"s": row["ms"] / 1000, "threshold": name, "rating": rating,
               "line": name if name in named else "others"}
              for row in rows for name, rating in zip(names, row["ratings"], strict=True)]
    domain = [*named, "others"]
    colours = [*LINE_COLOURS[:len(named)], "#bbbbbb"]
    lines = altair.Chart(altair.Data(values=values)).mark_line(interpolate="step-after").encode(
        x=_time("s", told), y=altair.Y("rating:Q", scale=altair.Scale(zero=False), title="ELO rating"),
        color=altair.Color("line:N", title=None, sort=domain, legend=altair.Legend(orient="top"),
                           scale=altair.Scale(domain=domain, range=colours)),
        detail="threshold:N", strokeWidth=altair.condition("datum.line == 'others'", altair.value(1), altair.value(2)),
        tooltip=["threshold:N", "rating:Q", "s:Q"])
    return altair.layer(_behind(told), lines).resolve_scale(color="independent")


def _decided_text(told: dict) -> str:
    """What is in force at the end, as far as it is not the default."""
    rows = policies.decisions()
    words = [f"{name} {value_text(rows[name].unit if name in rows else '', value)}"
             for name, value in told["decisions"]["value"].items()]
    words += [f"class {size}" for size in told["decisions"]["class"]]
    words += [f"close {size}" for size in told["decisions"]["close"]]
    return ", ".join(words) or "no numbers but the defaults"


def headline(told: dict, name: str) -> str:
    share = 100 * told["learn_look_ns"] / max(told["learn_run_ns"], 1)
    return (f"{name}: {told['learning']['state']} after {told['learn_run_ns'] / 1e9:.1f} s; {told['learn_looks']} looks "
            f"took {share:.2g} % of the time, {told['learn_changes']} decided something")


def charts_of_life(told: dict) -> Charts:
    """What a process's statistics say of its learning."""
    made: Charts = [
        (f"The life cycle; at the end: {_decided_text(told)}", _state_chart(told).properties(height=90)),
        ("Memory: in use, and what is free and held for later",
         _traces(told, {"in_use_bytes": "in use", "retained_bytes": "free and resident"},
                 {"allowance_least": "allowance, as decided"}).properties(height=TIME_HEIGHT)),
        ("Free blocks in threads' stacks",
         _traces(told, {"stacked_bytes": "of all threads"},
                 {"thread_bytes": "budget of each, as decided"}).properties(height=TIME_HEIGHT))]
    if any(one["batches"] > 0 for one in rates(told)):
        made.append(("Batches between stacks and slabs: how often stacks ran empty or full",
                     _rate(told).properties(height=TIME_HEIGHT)))
    if any("ratings" in row for row in told["learning"]["history"]):
        made.append(("The tournament: from which size on blocks have mappings of their own",
                     _ratings(told).properties(height=TIME_HEIGHT)))
    depths = {one["block_bytes"]: one["depth"] for one in told["decisions"]["depth"]}
    if depths:
        made.append(("Depths of stacks at the end, beside the default (grey)", _depths(depths)))
    return made


# --- of a policy file --------------------------------------------------------------------------------------------------


def _depths(depths: dict[int, int]) -> altair.LayerChart:
    """A line from the default to what was decided, for each class."""
    usual = policies.default_depths(list(depths))
    names = ("datum.value % 1048576 == 0 ? datum.value / 1048576 + ' MiB' : "
             "datum.value % 1024 == 0 ? datum.value / 1024 + ' KiB' : datum.value + ' B'")
    low, high = min(depths) / 1.2, max(depths) * 1.2
    powers = [2**power for power in range(4, 21) if low <= 2**power <= high]
    ticks = powers if len(powers) >= FEWEST_POWERS else list(depths)
    values = [{"bytes": bytes, "class": bytes_text(bytes), "depth": depth, "default": default}
              for (bytes, depth), default in zip(depths.items(), usual, strict=True)]
    base = altair.Chart(altair.Data(values=values)).encode(
        x=altair.X("bytes:Q", title="size of the blocks",
                   axis=altair.Axis(grid=False, labelExpr=names, values=ticks),
                   scale=altair.Scale(type="log", base=2, nice=False, domain=[low, high])),
        tooltip=["class:N", "depth:Q", "default:Q"])
    y = altair.Y("depth:Q", title="blocks that a stack may hold")
    return altair.layer(
        base.mark_rule(color="#999999").encode(y=y, y2="default:Q"),
        base.mark_point(shape="stroke", size=60, color="#999999", strokeWidth=2).encode(y=altair.Y("default:Q")),
        base.mark_point(filled=True, size=40, color=pictures.COLOURS[0], opacity=1).encode(y=y))


def _classes(policy: Policy) -> altair.LayerChart:
    """Own and closed classes with what they save of the memory in use, by estimate."""
    values = [{"class": f"{'own' if line.kind == 'class' else 'closed'}: {line.value} bytes",
               "gain": int(line.evidence["gain"]) / 10 if "gain" in line.evidence else 0,
               "label": f"{int(line.evidence['gain']) / 10:.1f} %" if "gain" in line.evidence else "by hand, or not recorded"}
              for line in sorted(policy.lines, key=lambda line: (line.kind, line.value)) if line.kind in ("class", "close")]
    ends = [ROOM_FOR_LABEL * one["gain"] for one in values]
    low, high = min(0, *ends), max(0, *ends)
    base = altair.Chart(altair.Data(values=values)).encode(
        y=altair.Y("class:N", sort=None, title=None),
        x=altair.X("gain:Q", title="saved, % of the memory in use when it was decided", axis=altair.Axis(tickCount=GAIN_TICKS),
                   scale=altair.Scale(domain=[low, high if low < high else 1])))

    def labels(which: str, align: str, dx: int) -> altair.Chart:
        return base.transform_filter(which).mark_text(align=align, dx=dx).encode(text="label:N")

    return altair.layer(base.mark_bar(color=pictures.COLOURS[2]), labels("datum.gain >= 0", "left", 4),
                        labels("datum.gain < 0", "right", -4)).properties(height=20 + 22 * len(values))


def charts_of_policy(policy: Policy) -> Charts:
    """What a policy file decides of classes and stacks; nothing where it has neither."""
    made: Charts = []
    depths = {int(line.subject): line.value for line in policy.lines if line.kind == "depth"}
    if depths:
        made.append(("Depths of stacks, beside the default (grey)", _depths(depths)))
    if any(line.kind in ("class", "close") for line in policy.lines):
        made.append(("Size classes, and the memory lost to rounding that each saves", _classes(policy)))
    return made
