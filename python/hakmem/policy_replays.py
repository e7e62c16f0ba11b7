"""What the library's decisions would have done to a program that was recorded: its own code, run over the trace by the
trace's own clock (tools/policy_replay.c)."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from hakmem import policies, traces, written
from hakmem.places import BUILD, TREE
from hakmem.policies import PolicyFailed

DEFAULTS, LEARNING, LEARNED = "defaults", "learning", "learned"
_SOURCES = [TREE / "tools/policy_replay.c", traces.SOURCES / "read.c", traces.SOURCES / "merge.c"]
_INCLUDED = ["src/**/*.[ch]", "src/**/*.def", "bench/trace/*.h", "include/hakmem/*.h"]
# What belongs to a run that writes statistics or learns; all other options of the user's count in a replay, too.
_NOT_PASSED_ON = ("HAKMEM_MODE", "HAKMEM_POLICY", "HAKMEM_STATS", "HAKMEM_STATS_FILE")
_MIB = 1 << 20


def tool(folder: Path = BUILD) -> Path:
    """The program that replays, with the library inside; compiled if need be."""
    target = folder / "policy-replay"
    newest = max(file.stat().st_mtime for file in [*_SOURCES, *(file for one in _INCLUDED for file in TREE.glob(one))])
    if target.exists() and target.stat().st_mtime > newest:
        return target
    traces.check_zstd()
    folder.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{target.name}.{os.getpid()}")
    command = ["cc", "-std=gnu11", "-O2", f"-I{TREE}/src", f"-I{TREE}/include", f"-I{traces.SOURCES}",
               *map(str, _SOURCES), "-o", str(made), "-pthread", "-lzstd", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise PolicyFailed(f"{' '.join(command)}\n{done.stderr}")
    made.replace(target)  # who runs it meanwhile keeps the old one
    return target


def run(trace: Path, mode: str = "balanced", policy: Path | None = None, out: Path | None = None,
        partial: bool = False, seconds: float | None = None,
        progress: Callable[[int], None] = lambda percent: None) -> dict:
    """The figures of one replay. `policy`: a file to begin with; `out`: where what was learned is written; `seconds`: how
    long the program takes when it is not recorded."""
    env = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    command = [str(tool()), str(trace), *(["--partial"] if partial else []),
               *(["--seconds", str(seconds)] if seconds else []),
               *(["--policy", str(policy)] if policy else []), *(["--output", str(out.absolute())] if out else [])]
    with subprocess.Popen(command, env={**env, "HAKMEM_MODE": mode}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace") as process:
        said = []
        for line in process.stderr:
            word, _, rest = line.strip().partition(" ")
            if word == "progress":
                progress(int(rest))
            else:
                said.append(line.strip().removeprefix("hakmem trace: ").removeprefix("hakmem policy: "))
        figures = process.stdout.read()
    if process.returncode != 0:
        raise PolicyFailed(" ".join(said) or f"{command[0]} ended with {process.returncode}")
    return json.loads(figures)


def compare(trace: Path, policy: Path | None = None, out: Path | None = None, partial: bool = False,
            seconds: float | None = None, progress: Callable[[str, int], None] = lambda name, percent: None) -> dict[str, dict]:
    """Replays with the defaults, while it learns, and with what was learned from the start. `policy`: with that instead
    of learning; `out`: where what was learned is kept."""
    if out is not None:
        with written.replacing(out, [trace], policies.BEGINNING) as made:
            runs, learned = _compare(trace, policy, partial, seconds, progress)
            made.write_bytes(learned)
        return runs
    return _compare(trace, policy, partial, seconds, progress)[0]


def _compare(trace: Path, policy: Path | None, partial: bool, seconds: float | None,
             progress: Callable[[str, int], None]) -> tuple[dict[str, dict], bytes]:
    """The replays, and the file of what was learned."""

    def replayed(name: str, **settings) -> dict:
        return run(trace, partial=partial, seconds=seconds, progress=lambda percent: progress(name, percent), **settings)

    runs = {DEFAULTS: replayed(DEFAULTS)}
    if policy is not None:
        runs[LEARNED] = replayed(LEARNED, policy=policy)
        return runs, b""
    with tempfile.TemporaryDirectory() as folder:
        learned = Path(folder) / "learned.policy"
        runs[LEARNING] = replayed(LEARNING, mode="learning", out=learned)
        runs[LEARNED] = replayed(LEARNED, policy=learned)
        return runs, learned.read_bytes()


def program_of(trace: Path, partial: bool = False) -> str:
    """What the library calls the program that was recorded; empty where that is not known. Its executable is mapped lowest."""
    maps = traces.stat(trace, partial)["modules"]
    path = maps[maps.find("/"):].partition("\n")[0] if "/" in maps else ""
    return "".join("_" if letter <= " " or letter == "#" else letter for letter in path.rpartition("/")[2])[:63]


def gain(before: dict, after: dict) -> dict[str, float]:
    """What one replay spares against another: processor time by the formula, and memory that no call asked for."""

    def spare_bytes(figures: dict) -> float:
        return figures["held_mean_bytes"] - figures["asked_mean_bytes"]

    return {
        "batches": before["refills"] + before["flushes"] - after["refills"] - after["flushes"],
        "processor_ns_per_second": before["spent_ns_per_second"] - after["spent_ns_per_second"],
        "mean_bytes": spare_bytes(before) - spare_bytes(after),
        "peak_bytes": before["held_peak_bytes"] - after["held_peak_bytes"],
        "cost_ns_per_second": before["cost_ns_per_second"] - after["cost_ns_per_second"],
    }
