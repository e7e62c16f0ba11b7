"""hakmem health: is hakmem on this machine still as fast and as lean as it was?"""

import datetime
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hakmem import comparison, intervals, machine, places, suites, workloads
from hakmem import run as runner
from hakmem.commands.common import JsonOption, fail, hakmem_library, output, progress_bar

# Named after those of the system's record, and one for each other part that a program feels.
PROFILES = {
    "mixed": "mixed/16-1024/400/1t",
    "c6-heavy": "tiny/16-1024/100000/1t",
    "mid": "mid/2048-32768/400/1t",
    "remote": "remote/16-1024/400/2t/90%",
    "bulk": "bulk/64/random",
    "give-back": "give-back/16-262144/1GiB/4t",
}
RUNS = 7
TOLERANCE = 0.1


def baseline_file() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "hakmem" / "health.json"


def _identity() -> str:
    """What makes figures comparable: the processor, the kernel's release, the C library."""
    facts = machine.describe()
    return " | ".join(str(facts[key]) for key in ("cpu", "cores", "memory_kib", "kernel", "glibc"))


def health(
    profile: Annotated[list[str] | None, typer.Option(help=f"{', '.join(PROFILES)}; may be repeated.")] = None,
    tolerance: Annotated[float, typer.Option(min=0.001, max=10, help="How much worse is ill: 0.1 is 10 %.")] = TOLERANCE,
    runs: Annotated[int, typer.Option(min=3, help="Runs of each profile, after one that is not counted.")] = RUNS,
    save: Annotated[bool, typer.Option("--save", help="Keep what is measured as the good figures.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Runs named profiles and compares speed and memory with the last good figures of this machine.

    Exit status: 0 well, or the first figures of this machine were kept; 1 ill; 2 the runs failed.
    """
    names = profile or list(PROFILES)
    if unknown := [name for name in names if name not in PROFILES]:
        raise fail(f"--profile {', '.join(unknown)}: not known; there are {', '.join(PROFILES)}")
    subject = hakmem_library()
    if subject is None:
        raise fail(f"{places.HAKMEM_LIBRARY} is not there; ./hakmem build makes it")
    measured = _measure(names, runs, subject)
    file, identity = baseline_file(), _identity()
    kept = _read(file)
    good = kept.get(identity, {})
    findings = [_finding(name, measured[name], good.get(name), tolerance) for name in names]
    fresh = {name: measured[name] for name in names if save or name not in good}
    if fresh:
        _write(file, kept | {identity: good | fresh})
    is_ill = not save and any(one["verdict"] == "ILL" for one in findings)
    _print(findings, file, fresh, is_ill, as_json)
    if is_ill:
        raise typer.Exit(1)


def _measure(names: list[str], runs: int, subject) -> dict[str, dict]:
    measured = {}
    with progress_bar() as progress:
        task = progress.add_task("", total=len(names) * (runs + 1))
        for name in names:
            row = next(one for one in suites.ROWS if one.name == PROFILES[name])
            workloads.program(row.workload)
            reports = []
            for turn, one in comparison.order([subject], runs):
                progress.update(task, advance=1, description=name)
                made = runner.run(replace(row, place=turn), one, quick=False)
                if made.failure is not None:
                    raise fail(f"profile {name} can't be run: {made.failure}")
                if turn > 0:
                    reports.append(made.report)
            speed = intervals.median([one["operations"] / one["seconds"] for one in reports])
            peak = intervals.median([one.get("kept_kib", one["peak_kib"]) for one in reports])
            measured[name] = {"operations_per_second": speed.as_json(), "kib": peak.as_json(),
                              "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                              "commit": machine.describe()["commit"]}
    return measured


def _finding(name: str, now: dict, good: dict | None, tolerance: float) -> dict:
    """Ill is what is worse by more than the tolerance, and surely so: the intervals do not overlap."""
    finding = {"profile": name, "row": PROFILES[name], "now": now, "good": good, "verdict": "NEW"}
    if good is None:
        return finding
    speed, was = intervals.Interval(*now["operations_per_second"]), intervals.Interval(*good["operations_per_second"])
    memory, memory_was = intervals.Interval(*now["kib"]), intervals.Interval(*good["kib"])
    slower = speed.value < was.value * (1 - tolerance) and speed.high < was.low
    larger = memory.value > memory_was.value * (1 + tolerance) and memory.low > memory_was.high
    finding["speed_ratio"] = speed.value / was.value
    finding["memory_ratio"] = memory.value / memory_was.value if memory_was.value else 1.0
    finding["verdict"] = "ILL" if slower or larger else "WELL"
    return finding


def _read(file: Path) -> dict:
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise fail(f"{file} is not what hakmem health wrote; move it away to start anew") from None


def _write(file: Path, content: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps(content, indent=1) + "\n")
    made.replace(file)


def _print(findings: list[dict], file: Path, fresh: dict, is_ill: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"findings": findings, "file": str(file), "ill": is_ill}))
        return
    table = Table(title="Health", title_justify="left")
    for column in ("profile", "row", "M operations/s", "of the good", "MiB", "of the good", ""):
        table.add_column(column, justify="left" if column in ("profile", "row", "") else "right")
    colours = {"ILL": "bold red", "WELL": "green", "NEW": "yellow"}
    for one in findings:
        ratios = [f"{one[key]:.2f}" if key in one else "–" for key in ("speed_ratio", "memory_ratio")]
        table.add_row(one["profile"], one["row"], f"{one['now']['operations_per_second'][0] / 1e6:.1f}", ratios[0],
                      f"{one['now']['kib'][0] / 1024:.1f}", ratios[1],
                      f"[{colours[one['verdict']]}]{one['verdict']}[/]")
    output.print(table)
    if fresh:
        output.print(f"kept as good figures in {file}: {', '.join(fresh)}", highlight=False)
    if is_ill:
        output.print("[bold red]hakmem is slower or larger here than it was.[/bold red]")
