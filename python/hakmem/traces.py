"""Traces of programs: recorded by a library that is preloaded before the allocator, replayed by a program on any
allocator, and told as figures. The C sources are in bench/trace; docs/traces.md describes the file."""

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hakmem import workloads, written
from hakmem.allocator import Allocator
from hakmem.places import BUILD, TREE
from hakmem.run import complaint_in

SOURCES = TREE / "bench" / "trace"
TOUCHES = ("none", "ends", "pages", "all")
SUFFIX = ".hktrace"
REPLAY_SECONDS_MOST = 3600
KILLED = 128  # a status from here on is a signal's, as a shell says it

# struct trace_header, for its own length; struct trace_chunk, for its kind and how much follows it.
_HEADER, _CHUNK = struct.Struct("<12xI24x"), struct.Struct("<4xI12xI8x")
_END = 4

_READERS = ["read.c", "merge.c"]
# What is made, of which sources, with which flags beside those of the workloads.
_PARTS = {
    "libhakmem-trace.so": (["record.c", "stream.c", "file.c"],
                           ["-fPIC", "-shared", "-fvisibility=hidden", "-fexceptions", "-Wl,-z,now", "-Wl,-z,nodelete"]),
    "trace-replay": ([*_READERS, "plan.c", "replay.c", "../workloads/harness.c", "../workloads/report.c"], []),
    "trace-stat": ([*_READERS, "stat.c"], []),
}


class TraceFailed(Exception):
    """Its message is one line for the user."""


def part(name: str, folder: Path = BUILD) -> Path:
    """The recorder, the replayer or the reader, compiled if need be."""
    target = folder / name
    sources, flags = _PARTS[name]
    files = [SOURCES / file for file in sources]
    newest = max(file.stat().st_mtime for file in [*files, *SOURCES.glob("*.h"), *workloads.WORKLOADS.glob("*.h")])
    if target.exists() and target.stat().st_mtime > newest:
        return target
    check_zstd()
    folder.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{name}.{os.getpid()}")
    # Where it can, zstd is linked into the recorder, and not shown: the program may have one of its own.
    archive = subprocess.run(["cc", "-print-file-name=libzstd.a"], capture_output=True, text=True).stdout.strip()
    zstd = [archive, "-Wl,--exclude-libs,ALL"] if Path(archive).is_absolute() else ["-lzstd"]
    command = ["cc", *workloads.FLAGS, *flags, *map(str, files), "-o", str(made), "-pthread", *zstd, "-ldl", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise TraceFailed(f"{' '.join(command)}\n{done.stderr}")
    made.replace(target)  # who runs it meanwhile keeps the old one
    return target


def check_zstd() -> None:
    """Says so where what reads traces can't be compiled."""
    probe = subprocess.run(["cc", "-E", "-x", "c", "-"], input="#include <zstd.h>\n", capture_output=True, text=True)
    if probe.returncode != 0:
        raise TraceFailed("zstd's library and header are missing, which traces are packed with (Debian: libzstd-dev)")


@dataclass(frozen=True)
class Recording:
    file: Path
    status: int  # the program's, as a shell would say it
    is_whole: bool = True


def record(command: Sequence[str], file: Path, allocator: Allocator, children: bool = False) -> Recording:
    """Runs a program with its input and output untouched, and writes its trace, which takes the place of an old one only
    when there is something in it. `children`: those of its children go into files of their own, FILE.PID."""
    file = file.resolve()
    made = written.begin(file)
    try:
        status = _record(command, made, file if children else None, allocator)
    except BaseException:
        made.unlink()
        raise
    if made.stat().st_size == 0:
        made.unlink()
        raise TraceFailed(f"{command[0]} left no trace: it is statically linked, gains rights, or never started")
    whole = is_whole(made)
    if not whole and status < KILLED and file.exists():  # it could not be written to
        return Recording(made, status, is_whole=False)
    written.finish(made, file)
    return Recording(file, status, whole)


def _record(command: Sequence[str], file: Path, children: Path | None, allocator: Allocator) -> int:
    recorder = part("libhakmem-trace.so")
    preload = [str(recorder), *([str(allocator.library)] if allocator.library else []),
               *filter(None, [os.environ.get("LD_PRELOAD")])]
    variables = {**os.environ, **allocator.environment, "HKTRACE_FILE": str(file)}
    if children is not None:
        variables["HKTRACE_CHILDREN"] = str(children)
    # The recorder must know which process is the one that was asked for; exec keeps its number.
    shell = 'HKTRACE_PID=$$ LD_PRELOAD=$0 exec "$@"'
    return _wait(subprocess.Popen(["sh", "-c", shell, ":".join(preload), *command], env=variables))


def is_whole(file: Path) -> bool:
    """Has a trace its last chunk? By the lengths alone; bench/trace/format.h has them."""
    length, kind = file.stat().st_size, None
    with file.open("rb") as opened:
        head = opened.read(_HEADER.size)
        place = _HEADER.unpack(head)[0] if len(head) == _HEADER.size else length
        while place + _CHUNK.size <= length:
            opened.seek(place)
            kind, stored_bytes = _CHUNK.unpack(opened.read(_CHUNK.size))
            place += _CHUNK.size + stored_bytes
    return kind == _END and place == length


def _wait(process: subprocess.Popen) -> int:
    """Signals from the terminal are for the program: whether it ends is its affair."""
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return 128 - status if status < 0 else status


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess:
    try:
        done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=REPLAY_SECONDS_MOST)
    except subprocess.TimeoutExpired:
        raise TraceFailed(f"not done after {REPLAY_SECONDS_MOST} s") from None
    if done.returncode != 0:
        words = done.stderr.strip().removeprefix("hakmem trace: ")
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        raise TraceFailed(words if done.returncode == 2 and words else f"{how} {words}".strip())
    return done


def replay(files: Path | Sequence[Path], allocator: Allocator, variables: dict[str, str], touch: str = "pages",
           partial: bool = False) -> dict:
    """One replay in a process of its own, of one trace or of several, one after another."""
    several = [files] if isinstance(files, Path) else files
    command = [str(part("trace-replay")), touch, "partial" if partial else "whole", *map(str, several)]
    if allocator.library:
        variables = variables | {"LD_PRELOAD": str(allocator.library)}
    done = _run(command, variables)
    if (complaint := complaint_in(done.stderr)) is not None:
        raise TraceFailed(complaint)
    return json.loads(done.stdout)


def stat(file: Path, partial: bool = False) -> dict:
    """What is in a trace. Sites have a name where their module can be read."""
    return json.loads(_run([str(part("trace-stat")), str(file), *(["partial"] if partial else [])], dict(os.environ)).stdout)
