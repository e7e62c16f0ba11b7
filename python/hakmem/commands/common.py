"""What the commands share: where they print, how they fail, which allocators they run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hakmem import comparison, figures, peers, places, quiet
from hakmem.allocator import Allocator

TABLE_WIDTH = 150  # at least: names and figures are not cut when the output is a file or a narrow terminal
output = Console(width=max(TABLE_WIDTH, Console().width))
errors = Console(stderr=True)

CANNOT, INTERRUPTED = 2, 130  # exit statuses

AllocatorsOption = Annotated[str, typer.Option(
    "--allocators", metavar="NAMES", help="bars: hakmem and the peers it must beat; all: also those that are only "
                                          "reported; or names, with commas between.")]
LibraryOption = Annotated[list[str] | None, typer.Option(
    "--lib", metavar="NAME=FILE", help="Another library to measure, or hakmem's; may be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
RecordsOption = Annotated[Path, typer.Option("--records", metavar="FILE", help="Every run is appended here, a JSON object "
                                                                               "a line.")]


def fail(message: str, status: int = CANNOT) -> typer.Exit:
    errors.print(f"[bold red]hakmem:[/bold red] {escape(message)}", highlight=False, soft_wrap=True)
    return typer.Exit(status)


def warn(what: str, why: str) -> None:
    errors.print(f"[bold yellow]{escape(what)}:[/bold yellow] {escape(why)}", highlight=False, soft_wrap=True)


class _Bar(Progress):
    """Is there from its first task on: who fails before that leaves no empty line."""

    def add_task(self, *words: Any, **settings: Any) -> TaskID:
        self.start()
        return super().add_task(*words, **settings)


@contextmanager
def progress_bar(left: ProgressColumn | None = None) -> Iterator[Progress]:
    """`left`: the time that is left, where steps differ too much for the mean of all to tell."""
    progress = _Bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    left or TimeRemainingColumn(), console=errors)
    try:
        yield progress
    finally:
        if progress.live.is_started:
            progress.stop()


def look_at_the_machine() -> dict:
    """Says so where it is too restless for small differences; what was seen, for the records."""
    seen = quiet.look()
    if seen.complaint is not None:
        warn("small differences can't be told now", seen.complaint)
    return seen.as_json()


def libraries_of(options: list[str] | None) -> dict[str, Path]:
    libraries = {}
    for option in options or []:
        name, sign, path = option.partition("=")
        if not sign or not name or not Path(path).is_file():
            raise fail(f"--lib {option}: NAME=FILE is needed, and FILE must be a library that exists")
        libraries[name] = Path(path).resolve()
    return libraries


def hakmem_library() -> Allocator | None:
    """hakmem as it was built last, or None."""
    if not places.HAKMEM_LIBRARY.exists():
        return None
    return Allocator(figures.HAKMEM, comparison.frozen(places.HAKMEM_LIBRARY), source=str(places.HAKMEM_LIBRARY),
                     is_bar=False)


BARS = [name for name in peers.NAMES if name not in peers.REPORTED_ONLY]


def allocators_of(wanted: str, libraries: dict[str, Path]) -> list[Allocator]:
    """The allocators to run: the subject first, then the peers that can be had; what is left out is said."""
    names = [one.strip() for one in wanted.split(",")]
    known = (*peers.NAMES, *libraries, figures.HAKMEM, "bars", "all")
    if unknown := [name for name in names if name not in known]:
        raise fail(f"--allocators: {', '.join(unknown)} not known; there are bars, all, hakmem, {', '.join(peers.NAMES)}, "
                   "and names given with --lib")
    own = [Allocator(name, comparison.frozen(path), source=str(path), is_bar=False) for name, path in libraries.items()]
    if figures.HAKMEM not in libraries:
        subject = hakmem_library()
        if subject is None:
            warn("hakmem is left out", f"{places.HAKMEM_LIBRARY} is not there; ./hakmem build makes it, "
                                       "--lib hakmem=FILE names another")
        else:
            own.insert(0, subject)
    is_group = bool({"bars", "all"} & set(names))
    chosen = peers.NAMES if "all" in names else BARS if "bars" in names else [n for n in peers.NAMES if n in names]
    found = [one for one in own if is_group or one.name in names or one.name in libraries]
    for name in chosen:
        if name in libraries:
            continue
        try:
            with errors.status(f"building {name}" if peers.found(name) is None else name):
                found.append(peers.get(name))
        except peers.PeerCannotBeBuilt as reason:
            warn(f"{name} is left out, it can't be built", str(reason))
    if not found:
        raise fail("no allocator to run is left")
    return found
