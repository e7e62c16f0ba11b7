"""Statistics that programs left (option stats=json): one JSON object for each process, one behind the other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ToldFailed(Exception):
    """Its message says what is wrong."""


def is_told(content: bytes) -> bool:
    """Does it look like statistics, not like a policy file?"""
    return content[:64].lstrip()[:1] == b"{"


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Whoever reads on in statistics of another version, or that were changed, says what is missing."""
    try:
        yield
    except KeyError as missing:
        raise ToldFailed(f"{path}: the statistics lack {missing}, or are of another version of hakmem") from None
    except (TypeError, ValueError, AttributeError, IndexError) as reason:
        raise ToldFailed(f"{path}: the statistics are not as hakmem writes them: {reason}") from None


def read(path: Path, content: bytes) -> list[dict]:
    """Those of each process that appended to the file."""
    text, place, made = content.decode(errors="replace"), 0, []
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


def that_learned(path: Path, content: bytes, process: int | None = None) -> dict:
    """The process with that number, else the one that looked most often."""
    all_of_them = read(path, content)
    numbers = [one.get("process") for one in all_of_them]
    if process is not None and process not in numbers:
        raise ToldFailed(f"{path}: no process {process}, but {', '.join(map(str, numbers))}")
    found = [one for one in all_of_them if "learning" in one and process in (None, one.get("process"))]
    if not found:
        raise ToldFailed(f"{path}: nothing was learned; HAKMEM_MODE=learning learns")
    with complete(path):
        one = max(found, key=lambda one: one["learn_looks"])
        if one["learning"]["history"]:
            return one
    raise ToldFailed(f"{path}: it ended before its first look")
