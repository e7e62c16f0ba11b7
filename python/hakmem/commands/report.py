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
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="An overview in place of the page, as .svg or "
                                                                      ".png.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Quick comparisons too.")] = False,
) -> None:
    """Makes one self-contained HTML page: tables, bars, time against memory, latency curves, memory over time."""
    sources = files or [places.RECORDS]
    try:
        comparisons = [one for file in sources for one in records.read(file)]
        if picture is not None:
            if picture.suffix not in (".svg", ".png"):
                raise fail(f"--picture {picture}: the name must end in .svg or .png")
            out = picture
            report.picture(comparisons, quick, ", ".join(map(str, sources)), picture)
        else:
            out.write_text(report.make(comparisons, quick, ", ".join(map(str, sources))))
    except (records.RecordsUnreadable, report.NothingToShow) as reason:
        raise fail(str(reason)) from None
    except OSError as reason:
        raise fail(f"{out} can't be written: {reason.strerror}") from None
    output.print(f"{out}, {out.stat().st_size / 1e6:.1f} MB", highlight=False)
