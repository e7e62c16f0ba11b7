"""hakmem report: one page from records."""

from pathlib import Path
from typing import Annotated

import typer

from hakmem import places, records, report
from hakmem.commands.common import fail, output


def make_report(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[RECORDS]...", help="Files that bench, ab or trace "
                                                                                  "replay wrote.")] = None,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page.")] = Path("hakmem-report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Quick comparisons too.")] = False,
) -> None:
    """Makes one self-contained HTML page: tables, bars, time against memory, latency curves, memory over time."""
    sources = files or [places.RECORDS]
    try:
        comparisons = [one for file in sources for one in records.read(file)]
        out.write_text(report.make(comparisons, quick, ", ".join(map(str, sources))))
    except (records.RecordsUnreadable, report.NothingToShow) as reason:
        raise fail(str(reason)) from None
    except OSError as reason:
        raise fail(f"{out} can't be written: {reason.strerror}") from None
    output.print(f"{out}, {out.stat().st_size / 1e6:.1f} MB", highlight=False)
