"""Statistics that programs left (option stats=json): one JSON object for each process, one behind the other."""

import json
from pathlib import Path


class ToldFailed(Exception):
    """Its message says what is wrong."""


def is_told(path: Path) -> bool:
    """Does it look like statistics, not like a policy file?"""
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] == b"{"


def read(path: Path) -> list[dict]:
    """Those of each process that appended to the file."""
    text, place, made = path.read_text(errors="replace"), 0, []
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        try:
            one, place = json.JSONDecoder().raw_decode(text, place)
        except ValueError as reason:
            raise ToldFailed(f"{path}: these are no statistics: {reason}") from None
        if not isinstance(one, dict) or one.get("allocator") != "hakmem":
            raise ToldFailed(f"{path}: these are no statistics of hakmem")
        made.append(one)
    if not made:
        raise ToldFailed(f"{path}: the file is empty")
    return made


def that_learned(path: Path, process: int | None = None) -> dict:
    """The process with that number, else the one that looked most often."""
    all_of_them = read(path)
    if process is not None and process not in {one["process"] for one in all_of_them}:
        known = ", ".join(str(one["process"]) for one in all_of_them)
        raise ToldFailed(f"{path}: no process {process}, but {known}")
    found = [one for one in all_of_them if "learning" in one and process in (None, one["process"])]
    if not found:
        raise ToldFailed(f"{path}: nothing was learned; HAKMEM_MODE=learning learns")
    one = max(found, key=lambda one: one["learn_looks"])
    if not one["learning"]["history"]:
        raise ToldFailed(f"{path}: it ended before its first look")
    return one
