"""Pictures of figures: charts of one look, and files of several charts as a page or an image."""

import html
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

import altair
import vl_convert

from hakmem import written

WIDTH, HEIGHT = 640, 260
SUFFIXES = (".html", ".svg", ".png")
# Okabe and Ito's colours, which most people can tell apart; the subject comes first.
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#000000", "#F0E442"]
# An image is laid out by these, as wide as any: who shows it with a narrower font has room to spare, but cuts nothing.
IMAGE_FONTS = "DejaVu Sans, Verdana, sans-serif"
TITLE_LETTERS, CHART_TITLE_LETTERS = 92, 88  # that are as wide as a chart
PADDING = {"left": 12, "right": 24, "top": 8, "bottom": 8}  # of an image: labels at the ends of an axis stand out


def histogram(values: list[dict], low: str, high: str, count: str, label: str, unit: str) -> altair.Chart:
    """Bars from `low` to `high` over a logarithmic axis."""
    return altair.Chart(altair.Data(values=values)).mark_rect(color=COLOURS[1], stroke="white", strokeWidth=0.5).encode(
        x=altair.X(f"{low}:Q", scale=altair.Scale(type="log"), title=unit,
                   axis=altair.Axis(format="~s", tickCount=6, grid=False)),
        x2=f"{high}:Q", y=altair.Y(f"{count}:Q", axis=altair.Axis(format="~s")), y2=altair.datum(0),
        tooltip=[f"{label}:N", f"{count}:Q"])


def specification(chart: altair.TopLevelMixin, title: list[str] | None = None) -> dict:
    """A chart as Vega-Lite, in the common look."""
    made = json.loads(chart.to_json())
    made.setdefault("width", WIDTH)
    made.setdefault("height", HEIGHT)
    if title is not None:
        made["title"] = {"text": title, "anchor": "start"}
    made["config"] = {"font": "system-ui, sans-serif", "range": {"category": COLOURS},
                      "view": {"stroke": None}, "axis": {"labelFontSize": 11, "titleFontSize": 12, "labelFlush": False},
                      "axisQuantitative": {"labelSeparation": 8},
                      "bar": {"color": COLOURS[1]}, "area": {"color": COLOURS[1]}}
    return made


def save_one(chart: altair.TopLevelMixin, title: str, subtitle: str, file: Path) -> None:
    """Writes one chart, with its own sizes."""
    whole = specification(chart)
    for key in ("width", "height"):
        whole.pop(key, None)
    whole["title"] = {"text": title, "subtitle": subtitle, "anchor": "start", "offset": 12}
    whole["background"] = "white"
    _write_image(whole, file)


def _write_image(whole: dict, file: Path) -> None:
    whole["config"]["font"] = IMAGE_FONTS
    whole.setdefault("padding", PADDING)
    is_svg = file.suffix.lower() == ".svg"
    written.write(file, vl_convert.vegalite_to_svg(whole) if is_svg else vl_convert.vegalite_to_png(whole, scale=2))


def check(file: Path, source: Path) -> None:
    """Before something is read and drawn: can the picture be written?"""
    if file.suffix.lower() not in SUFFIXES:
        raise written.CannotWrite(f"{file}: the name of a picture must end in {', '.join(SUFFIXES)}")
    written.check(file, [source])


def script() -> str:
    """Vega-Lite and Vega, whole, for pages that need nothing else."""
    return vl_convert.javascript_bundle()


def _height(chart: altair.TopLevelMixin) -> int:
    return HEIGHT if chart.height is altair.Undefined else chart.height


def save(charts: Sequence[tuple[str, altair.TopLevelMixin]], title: str, file: Path) -> None:
    """Writes titled charts, one below the other, as what the file's suffix says."""
    if file.suffix.lower() == ".html":
        written.write(file, page(charts, title))
        return
    titled = [chart.properties(title=altair.TitleParams(textwrap.wrap(name, CHART_TITLE_LETTERS), anchor="start", frame="group", fontSize=12), width=WIDTH,
                               height=_height(chart)) for name, chart in charts]
    whole = specification(altair.vconcat(*titled).resolve_scale(color="independent"),
                          textwrap.wrap(title, TITLE_LETTERS))
    whole["title"]["offset"] = 16
    whole["background"] = "white"
    for key in ("width", "height"):
        whole.pop(key, None)
    _write_image(whole, file)


def page(charts: Sequence[tuple[str, altair.TopLevelMixin]], title: str) -> str:
    """One HTML file that needs no other."""
    parts = [f"<h2>{html.escape(name)}</h2><div class=chart data-chart='{html.escape(json.dumps(specification(chart)))}'>"
             "</div>" for name, chart in charts]
    return ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>{html.escape(title)}</title><style>body{{font-family:system-ui,sans-serif;max-width:60rem;"
            "margin:1rem auto;padding:0 1rem}.chart{width:100%}</style>"
            f"<h1>{html.escape(title)}</h1>{''.join(parts)}<script type=module>{script()}\n"
            "for (const place of document.querySelectorAll('.chart')) {"
            "const chart = JSON.parse(place.dataset.chart); chart.width = 'container';"
            "await vegaEmbed(place, chart, {actions: false}); }</script></html>")
