"""Files that commands leave: whole or not at all, and never in place of what is no file. A new one is made beside the
old one and takes its place at the end, so that a full disk or a stop leaves the old one as it was."""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"  # ends the name of a file that is being written


class CannotWrite(Exception):
    """Its message is one line for the user."""


def begin(file: Path, inputs: Iterable[Path] = (), beginning: bytes = b"") -> Path:
    """An empty file beside FILE, which says that FILE can be written. Where FILE is a link, what it leads to is meant.
    `beginning`: of what may be replaced; an empty file may be, too."""
    target = file.resolve()
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            raise CannotWrite(f"{file} is no regular file: it stays as it is")
        if any(_is_same(target, one) for one in inputs):
            raise CannotWrite(f"{file} is read: the output must be another file")
        if target.exists() and _first_bytes(target, len(beginning)) not in (b"", beginning):
            raise CannotWrite(f"{file} is there and is something else: it stays as it is")
        if target.exists() and not os.access(target, os.W_OK):
            raise CannotWrite(f"{file}: you may not write to it")
        descriptor, made = tempfile.mkstemp(prefix=f"{target.name}.", suffix=PART, dir=target.parent)
        os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_mask())
        os.close(descriptor)
    except OSError as reason:
        raise CannotWrite(f"{file} can't be written: {reason.strerror}") from None
    return Path(made)


def finish(made: Path, file: Path) -> None:
    """What was begun beside FILE takes its place."""
    try:
        made.replace(file.resolve())
    except OSError as reason:
        raise CannotWrite(f"{file} can't be written: {reason.strerror}; it is in {made}") from None


def check(file: Path, inputs: Iterable[Path] = ()) -> None:
    """Says so before long work where FILE can't be written at its end."""
    begin(file, inputs).unlink()


@contextmanager
def replacing(file: Path, inputs: Iterable[Path] = (), beginning: bytes = b"") -> Iterator[Path]:
    """The file to write to; nothing is left of it where that fails."""
    made = begin(file, inputs, beginning)
    try:
        yield made
    except OSError as reason:
        made.unlink(missing_ok=True)
        raise CannotWrite(f"{file} can't be written: {reason.strerror}") from None
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    finish(made, file)


def write(file: Path, content: str | bytes) -> None:
    with replacing(file) as made:
        made.write_bytes(content.encode() if isinstance(content, str) else content)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _first_bytes(file: Path, count: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(count)


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
