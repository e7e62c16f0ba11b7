"""The file of records: JSON lines, only ever appended to. What is shown of them is chosen by whoever reads them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


class RecordsUnreadable(Exception):
    """Its message is one line for the user."""


@dataclass
class Comparison:
    """What was measured together: the machine, the settings, the allocators, and every run, counted or not."""

    identity: str
    head: dict
    runs: list[dict] = field(default_factory=list)

    @property
    def allocators(self) -> list[dict]:
        return self.head["allocators"]

    @property
    def is_quick(self) -> bool:
        return bool(self.head["settings"].get("quick"))

    def counted(self) -> Iterator[dict]:
        return (run for run in self.runs if run.get("counted"))


def read(file: Path) -> list[Comparison]:
    """The comparisons of a file, in their order. A last line that is cut off, by a run that was stopped, is left out;
    any other line that is no record is an error."""
    try:
        lines = file.read_text().split("\n")
    except (OSError, UnicodeDecodeError) as reason:
        raise RecordsUnreadable(f"{file} can't be read: {reason}") from None
    found: dict[str, Comparison] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            identity, kind = record["comparison"], record["kind"]
        except (ValueError, KeyError, TypeError):
            if number == len(lines):  # nothing follows, not even a newline
                break
            raise RecordsUnreadable(f"{file}, line {number}: not a record; hakmem bench --json writes them") from None
        if kind == "comparison":
            found[identity] = Comparison(identity, record)
        elif identity in found:
            found[identity].runs.append(record)
        else:
            raise RecordsUnreadable(f"{file}, line {number}: a run of a comparison that does not come before it")
    return list(found.values())
