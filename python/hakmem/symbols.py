"""Names of places in a program, from the modules that were mapped and their symbol tables."""

import bisect
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile


@dataclass(frozen=True)
class Mapping:
    start: int
    end: int
    offset: int  # in the file
    file: str


def mappings(maps: str) -> list[Mapping]:
    """The lines of a /proc/PID/maps file that have a file."""
    found = []
    for line in maps.splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            start, _, end = words[0].partition("-")
            found.append(Mapping(int(start, 16), int(end, 16), int(words[2], 16), words[5]))
    return sorted(found, key=lambda one: one.start)


class Symbols:
    """Functions of one file, by address."""

    def __init__(self, file: Path):
        self.starts: list[int] = []
        self.functions: list[tuple[str, int]] = []  # name and length
        self.segments: list[tuple[int, int, int]] = []  # offset, length, address
        try:
            with file.open("rb") as stream:
                self._read(ELFFile(stream))
        except (OSError, ELFError):
            return

    def _read(self, elf: ELFFile) -> None:
        self.segments = [(one["p_offset"], one["p_filesz"], one["p_vaddr"]) for one in elf.iter_segments("PT_LOAD")]
        functions = {}
        for name in (".dynsym", ".symtab"):
            section = elf.get_section_by_name(name)
            for symbol in section.iter_symbols() if section else []:
                if symbol["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC") and symbol["st_value"]:
                    functions[symbol["st_value"]] = (symbol.name, symbol["st_size"])
        self.starts = sorted(functions)
        self.functions = [functions[start] for start in self.starts]

    def name_at_offset(self, offset: int) -> str | None:
        for start, length, address in self.segments:
            if start <= offset < start + length:
                return self._name_at(offset - start + address)
        return None

    def _name_at(self, address: int) -> str | None:
        place = self._place_of(address)
        return None if place is None else self.functions[place][0]

    def _place_of(self, address: int) -> int | None:
        place = bisect.bisect_right(self.starts, address) - 1
        if place < 0:
            return None
        length = self.functions[place][1]
        return place if length == 0 or address < self.starts[place] + length else None

    def same_place_in(self, other: "Symbols", address: int) -> int:
        """Of a program that was linked twice: the address in the other one. What is in no function lies where it lay."""
        place = self._place_of(address)
        begins = {name: start for start, (name, _) in zip(other.starts, other.functions, strict=True)}
        name = None if place is None else self.functions[place][0]
        return address if name not in begins else address - self.starts[place] + begins[name]


@lru_cache(maxsize=256)
def _symbols(file: str) -> Symbols:
    return Symbols(Path(file))


def name_of(address: int, mapped: list[Mapping]) -> str:
    """`function (file)`, `file+offset` or the bare address. A return address belongs to the call before it."""
    place = bisect.bisect_right([one.start for one in mapped], address) - 1
    if place < 0 or address > mapped[place].end:
        return f"{address:#x}"
    mapping = mapped[place]
    offset = address - 1 - mapping.start + mapping.offset
    function = _symbols(mapping.file).name_at_offset(offset)
    short = Path(mapping.file).name
    return f"{function} ({short})" if function else f"{short}+{offset:#x}"


def demangled(names: list[str]) -> list[str]:
    """C++ names as they are written, where c++filt is there."""
    if not names or shutil.which("c++filt") is None:
        return names
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 and len(done.stdout.splitlines()) == len(names) else names
