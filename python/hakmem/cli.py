"""The commands: `compare` measures allocators, `peers` builds them and says where they are."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hakmem import comparison, figures, peers, places, suites, tables, workloads
from hakmem import programs as real
from hakmem import run as runner
from hakmem.allocator import Allocator

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False)
TABLE_WIDTH = 150  # at least: names and figures are not cut when the output is a file or a narrow terminal
output = Console(width=max(TABLE_WIDTH, Console().width))
errors = Console(stderr=True)
QUICK_RUNS, RUNS = 3, 7


def main() -> None:
    app(prog_name="hakmem")


def fail(message: str) -> typer.Exit:
    errors.print(f"[bold red]hakmem:[/bold red] {message}", highlight=False)
    return typer.Exit(2)


@app.command("peers")
def peers_command(rebuild: Annotated[bool, typer.Option(help="Build again what is in the cache.")] = False) -> None:
    """Builds the peers that are not in the cache yet, and prints where each is and what it is."""
    missing = 0
    for name in peers.NAMES:
        try:
            peer = peers.get(name, rebuild)
        except peers.PeerCannotBeBuilt as reason:
            errors.print(f"[bold red]{name} can't be built:[/bold red] {reason}", highlight=False)
            missing += 1
            continue
        extra = "".join(f" {key}={value}" for key, value in peer.environment.items())
        output.print(f"{name}: {peer.version}; {peer.library or 'preloads nothing'};{extra} {peer.source}; {peer.flags}",
                     highlight=False, markup=False, soft_wrap=True)
    if missing:
        raise typer.Exit(1)


def _libraries(options: list[str]) -> dict[str, Path]:
    libraries = {}
    for option in options:
        name, sign, path = option.partition("=")
        if not sign or not name or not Path(path).is_file():
            raise fail(f"--lib {option}: NAME=FILE is needed, and FILE must be a library that exists")
        libraries[name] = Path(path).resolve()
    return libraries


def _allocators(wanted: str, libraries: dict[str, Path]) -> list[Allocator]:
    """The allocators to compare: the subject first, then the peers that can be had; what is left out is said."""
    if figures.HAKMEM not in libraries and places.HAKMEM_LIBRARY.exists():
        libraries = {figures.HAKMEM: places.HAKMEM_LIBRARY, **libraries}
    own = [Allocator(name, comparison.frozen(path), source=str(path), is_bar=False)
           for name, path in libraries.items()]
    if figures.HAKMEM not in libraries:
        errors.print(f"[bold yellow]hakmem is left out:[/bold yellow] {places.HAKMEM_LIBRARY} is not there; "
                     "./hakmem build makes it, --lib hakmem=FILE names another", highlight=False)
    names = [one.strip() for one in wanted.split(",")]
    unknown = [name for name in names if name not in (*peers.NAMES, *libraries, figures.HAKMEM, "bars", "all")]
    if unknown:
        raise fail(f"--allocators: {', '.join(unknown)} not known; there are bars, all, hakmem, "
                   f"{', '.join(peers.NAMES)}, and names given with --lib")
    chosen = peers.NAMES if "all" in names else BARS if "bars" in names else [n for n in peers.NAMES if n in names]
    if not {"bars", "all"} & set(names):
        own = [one for one in own if one.name in names]
    for name in chosen:
        if name in libraries:
            continue
        try:
            with errors.status(f"building {name}") if peers.found(name) is None else errors.status(name):
                own.append(peers.get(name))
        except peers.PeerCannotBeBuilt as reason:
            errors.print(f"[bold red]{name} is left out, it can't be built:[/bold red] {reason}", highlight=False)
    return own


BARS = [name for name in peers.NAMES if name not in ("gperftools", "rpmalloc", "hardened")]


@app.command()
def compare(
    suite: Annotated[list[str] | None, typer.Option(help=f"{', '.join(suites.SUITES)} or all; may be repeated.")] = None,
    rows: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Rows by name; may be repeated.")] = None,
    runs: Annotated[int, typer.Option(min=0, help="Counted runs, 7 or with --quick 3 if not given.")] = 0,
    allocators: Annotated[str, typer.Option(
        help="bars: hakmem and the peers it must beat; all: also those that are only reported; or names.")] = "bars",
    lib: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="Another library, or hakmem's.")] = None,
    json: Annotated[Path, typer.Option(help="Records are appended here, a JSON object a line.")] = places.RECORDS,
    markdown: Annotated[Path | None, typer.Option(help="The tables are written here too, as Markdown.")] = None,
    quick: Annotated[bool, typer.Option(help="A tenth of the operations: for a look, not for figures.")] = False,
    list_rows: Annotated[bool, typer.Option("--list", help="Print the rows and stop.")] = False,
) -> None:
    """Runs the workloads under each allocator, interleaved, each run in a process of its own, and prints the figures."""
    suite, rows, lib = suite or ["all"], rows or [], lib or []
    unknown = [one for one in suite if one not in (*suites.SUITES, "all")]
    if unknown:
        raise fail(f"--suite {', '.join(unknown)}: not known; there are {', '.join(suites.SUITES)} and all")
    chosen = suites.select(suite, rows)
    if not chosen:
        raise fail(f"no row of {', '.join(suite)} matches {', '.join(rows)}; --list prints them")
    if list_rows:
        for row in chosen:
            output.print(row.name, highlight=False)
        return
    try:
        for row in chosen:
            workloads.program(row.workload)
    except workloads.WorkloadCannotBeBuilt as reason:
        raise fail(f"a workload can't be compiled: {reason}") from None
    compared = _allocators(allocators, _libraries(lib))
    if not compared:
        raise fail("nothing to compare")
    _compare(chosen, compared, runs or (QUICK_RUNS if quick else RUNS), quick, json, markdown)


def _compare(rows: list[suites.Row], compared: list[Allocator], runs: int, quick: bool, file: Path,
             markdown: Path | None) -> None:
    empty = peers.empty_library() if any(row.suite == "startup" for row in rows) else None
    shown = [*compared, empty] if empty else compared
    recorder = comparison.Recorder(file, shown, {"runs": runs, "quick": quick})

    def allocators_of(row: suites.Row) -> list[Allocator]:
        return shown if row.suite == "startup" else compared

    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                  console=errors) as progress:
        task = progress.add_task("", total=sum((runs + 1) * len(allocators_of(row)) for row in rows))

        def on_run(row: suites.Row, allocator: Allocator, turn: int, made: runner.Run) -> None:
            if made.failure is not None:
                progress.console.print(f"[bold red]THROWN OUT:[/bold red] {row.name} with {allocator.name}, run {turn}: "
                                       f"{made.failure}", highlight=False)
                progress.advance(task, runs - turn)
            progress.update(task, advance=1, description=f"{row.name} {allocator.name}")

        results = comparison.compare(rows, allocators_of, runs, quick, recorder, on_run)
    bars = [one.name for one in compared if one.is_bar]
    measured = figures.rows_of(rows, results, [one.name for one in shown], bars)
    made = tables.tables_of(measured, shown, figures.verdicts(measured))
    output.print(*made, sep="\n")
    if markdown is not None:
        markdown.write_text("\n".join(tables.as_markdown(table) for table in made))
    output.print(f"{runs} runs each{', quick: not for figures' if quick else ''}; glibc {peers.glibc().version}; "
                 f"records in {file}", highlight=False, soft_wrap=True)
    if results.failures:
        errors.print(f"[bold red]{len(results.failures)} runs were thrown out, see above.[/bold red]")
        raise typer.Exit(1)


@app.command()
def programs(
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="This program; may be repeated.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Counted runs of each, after one that is not counted.")] = RUNS,
    allocators: Annotated[str, typer.Option(help="As for compare.")] = "bars",
    lib: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="Another library, or hakmem's.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="The tables are written here too, as Markdown.")] = None,
) -> None:
    """Runs real programs under each allocator, interleaved: time from outside, peak resident memory, result checked."""
    there, missing = real.available()
    for name in missing:
        errors.print(f"[bold yellow]left out, not installed:[/bold yellow] {name}", highlight=False)
    names = [program.name for program in real.PROGRAMS]
    if unknown := [name for name in only or [] if name not in names]:
        raise fail(f"--only {', '.join(unknown)}: not known; there are {', '.join(names)}")
    chosen = [program for program in there if not only or program.name in only]
    compared = _allocators(allocators, _libraries(lib or []))
    outcomes, failures = {}, 0
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                  console=errors) as progress:
        task = progress.add_task("", total=len(chosen) * (runs + 1) * len(compared))
        for program in chosen:
            with tempfile.TemporaryDirectory() as folder:
                for turn, allocator in comparison.order(compared, runs):
                    progress.update(task, advance=1, description=f"{program.name} {allocator.name}")
                    try:
                        outcome = program.run(allocator, Path(folder))
                    except real.ProgramFailed as reason:
                        failures += 1
                        progress.console.print(f"[bold red]THROWN OUT:[/bold red] {program.name} with {allocator.name}: "
                                               f"{reason}", highlight=False)
                        continue
                    if turn > 0:
                        outcomes.setdefault((program.name, allocator.name), []).append(outcome)
    made = tables.program_tables([program.name for program in chosen], [one.name for one in compared], outcomes)
    output.print(*made, sep="\n")
    if markdown is not None:
        markdown.write_text("\n".join(tables.as_markdown(table) for table in made))
    if failures:
        raise typer.Exit(1)
