"""Policy files: read, checked and merged by the library's own code, and made readable."""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hakmem.places import BUILD, TREE

SUFFIX = ".policy"
MOST_BYTES = 1 << 20  # that the tool reads
BEGINNING = b"hakmem-policy "  # of each file
_SOURCES = ["tools/policy.c", "src/policy/*.c", "src/learn/say.c", "src/sys/report.c"]
_HEADERS = ["src/policy/*.h", "src/policy/*.def", "src/base/*.h", "src/learn/say.h"]


class PolicyFailed(Exception):
    """Its message says what is wrong."""


@dataclass(frozen=True)
class Decision:
    """A row of src/policy/decisions.def."""
    name: str
    unit: str
    what: str


@dataclass(frozen=True)
class Line:
    """What a line of a policy file decides."""
    kind: str  # the name of a decision, or class, close, depth, site
    subject: str  # of a depth the class's bytes, of a site the call; else empty
    value: int
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.subject or (str(self.value) if self.kind in ("class", "close") else "")


@dataclass(frozen=True)
class Policy:
    path: Path
    program: str
    build: str
    runs: int
    seconds: int
    lines: tuple[Line, ...]
    text: bytes = b""  # as it was read


def _files(patterns: list[str]) -> list[Path]:
    return [file for pattern in patterns for file in sorted(TREE.glob(pattern))]


def tool() -> Path:
    """The program that reads and merges policy files, compiled if need be."""
    target = BUILD / "policy"
    sources = _files(_SOURCES)
    if target.exists() and target.stat().st_mtime > max(file.stat().st_mtime for file in sources + _files(_HEADERS)):
        return target
    BUILD.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{target.name}.{os.getpid()}")
    command = ["cc", "-std=gnu11", "-O1", f"-I{TREE}/src", *map(str, sources), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise PolicyFailed(f"{' '.join(command)}\n{done.stderr}")
    made.replace(target)  # who runs it meanwhile keeps the old one
    return target


def _run(words: list[str]) -> bytes:
    done = subprocess.run([str(tool()), *words], capture_output=True)
    if done.returncode != 0:
        raise PolicyFailed(done.stderr.decode(errors="replace").strip().removeprefix("hakmem: "))
    return done.stdout


def _run_on(command: str, texts: Sequence[tuple[Path, bytes]]) -> bytes:
    """On what was read, which may have come from a pipe and can't be read again; told by the names it had there."""
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(number) for number in range(len(texts))]
        for copy, (_, text) in zip(copies, texts, strict=True):
            copy.write_bytes(text)
        try:
            return _run([command, *map(str, copies)])
        except PolicyFailed as reason:
            said = str(reason)
            for copy, (path, _) in zip(copies, texts, strict=True):
                said = said.replace(f"{copy},", f"{path},")
            raise PolicyFailed(said) from None


def merge(files: Sequence[Policy]) -> bytes:
    """The text of one file made of all; each counts by the time it was learned from."""
    return _run_on("merge", [(policy.path, policy.text) for policy in files])


def default_depths(class_bytes: list[int]) -> list[int]:
    """How deep a stack of each class is where nothing was learned."""
    return [int(line) for line in _run(["depth", *map(str, class_bytes)]).split()] if class_bytes else []


def read(path: Path) -> Policy:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as reason:
        raise PolicyFailed(f"{path} can't be read: {reason.strerror}") from None
    return parse(path, text)


def parse(path: Path, content: bytes) -> Policy:
    _run_on("check", [(path, content)])
    facts = {"program": "", "build": "", "runs": "0", "seconds": "0"}
    lines = []
    for text in content.decode(errors="replace").split("\n")[1:]:
        words = text.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "end":
            break
        if words[0] in facts:
            facts[words[0]] = words[1]
            continue
        plain = words[:3 if words[0] in ("depth", "site") else 2]
        evidence = dict(word.split("=", 1) for word in words[len(plain):])
        subject = plain[1] if words[0] in ("depth", "site") else ""
        lines.append(Line(words[0], subject, int(plain[-1]), evidence))
    return Policy(path, facts["program"], facts["build"], int(facts["runs"]), int(facts["seconds"]), tuple(lines), content)


def decisions() -> dict[str, Decision]:
    text = (TREE / "src/policy/decisions.def").read_text()
    rows = re.findall(r"^DECISION\((\w+), .*, (\w+), \"(.*)\"\)$", text, re.MULTILINE)
    return {name: Decision(name, unit, what) for name, unit, what in rows}
