"""What is in a trace, as tables and as pictures."""

from pathlib import Path

import altair
from rich.markup import escape
from rich.table import Table

from hakmem import pictures, symbols

SITES_SHOWN = 20
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def bytes_text(count: float) -> str:
    """As 16 B, 4 KiB, 1.5 MiB."""
    power = 0
    while count >= 1024 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.3g} {_UNITS[power]}" if count < 1000 else f"{count:.0f} {_UNITS[power]}"


def exact_text(count: int) -> str:
    """As 4 KiB, but 1040 bytes."""
    text = bytes_text(count)
    number, unit = text.split()
    return text if float(number) * 1024 ** _UNITS.index(unit) == count else f"{count} bytes"


def time_text(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def named_sites(facts: dict) -> list[dict]:
    mapped = symbols.mappings(facts["modules"])
    sites = facts["sites"]
    names = [symbols.name_of(site["address"], mapped) for site in sites]
    functions = symbols.demangled([name.partition(" (")[0] for name in names])
    return [site | {"name": f"{function} ({name.partition(' (')[2]}" if " (" in name else function}
            for site, name, function in zip(sites, names, functions, strict=True)]


def tables(facts: dict, name: str) -> list[Table]:
    return [_overview(facts, name), _lives(facts), _sites(facts)]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    return table


def _overview(facts: dict, name: str) -> Table:
    table = _table(escape(f"{name}: {facts['command']}"), "", "")
    table.show_header = False
    given = max(facts["gives"], 1)
    rows = [
        ("calls", f"{facts['events']:,} in {facts['seconds']:.2f} s, by {facts['thread_count']} threads"),
        ("allocations", f"{facts['takes']:,}, of them zeroed {facts['zeroed']:,}, aligned {facts['aligned']:,}"),
        ("reallocs", f"{facts['moves']:,}, of them growing {facts['moves_up']:,}"),
        ("frees", f"{facts['gives']:,}, of them by another thread {100 * facts['given_elsewhere'] / given:.1f} %"),
        ("asked for", bytes_text(facts["bytes_taken"])),
        ("at most at a time", f"{bytes_text(facts['peak_live_bytes'])} in {facts['peak_live_blocks']:,} blocks, after "
                              f"{facts['peak_seconds']:.2f} s"),
        ("never freed", f"{facts['never_given']:,} blocks, {bytes_text(facts['never_given_bytes'])}"),
        ("commonest sizes", ", ".join(f"{one['bytes']} B ({100 * one['count'] / max(facts['takes'], 1):.1f} %)"
                                      for one in facts["commonest_sizes"][:6])),
    ]
    if facts["failed"] or facts["unknown"] or facts["missed"]:
        rows.append(("irregular", f"{facts['failed']:,} calls failed, {facts['unknown']:,} frees of blocks from before, "
                                  f"{facts['missed']:,} frees not seen"))
    for label, text in rows:
        table.add_row(label, text)
    return table


def _lives(facts: dict) -> Table:
    table = _table("Lifetimes of freed blocks", "below", "blocks", "share", "bytes")
    total = max(sum(one["count"] for one in facts["lives"]), 1)
    for one in facts["lives"]:
        table.add_row(time_text(one["below_ns"] * 1e-9), f"{one['count']:,}", f"{100 * one['count'] / total:.1f} %",
                      bytes_text(one["bytes"]))
    return table


def _sites(facts: dict) -> Table:
    table = _table(f"Sites that asked for the most, of {facts['site_count']:,}", "site", "allocations", "bytes",
                   "most at a time", "mean life", "freed elsewhere")
    for site in named_sites(facts)[:SITES_SHOWN]:
        table.add_row(escape(site["name"]), f"{site['takes']:,}", bytes_text(site["bytes"]), bytes_text(site["peak_live_bytes"]),
                      time_text(site["mean_life_seconds"]) if site["given"] else "–",
                      f"{100 * site['given_elsewhere'] / site['given']:.0f} %" if site["given"] else "–")
    return table


def charts(facts: dict) -> list[tuple[str, altair.TopLevelMixin]]:
    """Titled charts: what lived when, sizes, lifetimes, sites."""
    lived = [{"seconds": seconds, "MiB": live / 2**20, "blocks": blocks} for seconds, live, blocks in facts["timeline"]]
    sizes = [{"from": max(one["from"], 1), "below": max(one["below"], 2), "blocks": one["count"],
              "bytes": one["bytes"], "size": f"{bytes_text(one['from'])} to {bytes_text(one['below'])}"}
             for one in facts["sizes"]]
    lives = [{"from": one["below_ns"] / 2e9, "below": one["below_ns"] / 1e9, "blocks": one["count"],
              "life": f"below {time_text(one['below_ns'] / 1e9)}"} for one in facts["lives"]]
    sites = [{"site": site["name"][:70], "MiB asked for": site["bytes"] / 2**20,
              "MiB at a time": site["peak_live_bytes"] / 2**20, "allocations": site["takes"]}
             for site in named_sites(facts)[:SITES_SHOWN]]
    x = altair.X
    return [
        ("Requested bytes that lived", altair.Chart(altair.Data(values=lived)).mark_area(opacity=0.7).encode(
            x=x("seconds:Q", title="seconds since the start"), y=altair.Y("MiB:Q", title="MiB requested"),
            tooltip=["seconds:Q", "MiB:Q", "blocks:Q"])),
        ("Allocations by size", pictures.histogram(sizes, "from", "below", "blocks", "size", "bytes")),
        ("Lifetimes of freed blocks", pictures.histogram(lives, "from", "below", "blocks", "life", "seconds")),
        ("Sites that asked for the most", altair.Chart(altair.Data(values=sites)).mark_bar().encode(
            y=altair.Y("site:N", sort=None, title=None, axis=altair.Axis(labelLimit=420)), x=x("MiB asked for:Q"),
            tooltip=["site:N", "allocations:Q", "MiB asked for:Q", "MiB at a time:Q"])),
    ]


def save(facts: dict, name: str, file: Path) -> None:
    pictures.save(charts(facts), f"{name}: {facts['command']}", file)
