"""Runs the commands that build a peer, keeps their output, and says what failed."""

import os
import subprocess
from pathlib import Path

LOG = "build.log"


class PeerCannotBeBuilt(Exception):
    """Its message is one line for the user."""


def jobs() -> int:
    return max(1, len(os.sched_getaffinity(0)))


def run(command: list[str | Path], work: Path, log: Path | None = None) -> str:
    """Runs a command in `work` and returns its output, which is also appended to the peer's log."""
    log = log or work / LOG
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
    except FileNotFoundError:
        raise PeerCannotBeBuilt(f"{words[0]} is not installed") from None
    with log.open("a") as file:
        file.write(f"$ {' '.join(words)}\n{done.stdout}\n")
    if done.returncode != 0:
        raise PeerCannotBeBuilt(f"{' '.join(words[:4])} … failed with {done.returncode}, see {log}")
    return done.stdout


def compile_flags(output: str) -> str:
    """The flags of the last compile line in a build's output, without paths and warnings."""
    for line in reversed(output.splitlines()):
        words = line.split()
        if "-c" not in words or not any(word.endswith((".c", ".cc", ".cpp")) for word in words):
            continue
        kept, skip = [], False
        for word in words[1:]:
            if skip or word in ("-o", "-MF", "-MT", "-c", "-isystem"):
                skip = not skip
            elif word.startswith("-") and not word.startswith(("-I", "-M", "-W")):
                kept.append(word)
        return " ".join(kept)
    return ""
