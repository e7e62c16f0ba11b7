"""One allocator as it is measured: which library is preloaded, with which version, flags and environment."""

from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Allocator:
    name: str
    library: Path | None = None  # None: the C library's own malloc
    version: str = ""
    flags: str = ""
    source: str = ""  # where the sources or the binary came from
    environment: dict[str, str] = field(default_factory=dict)
    is_bar: bool = True  # its figures are what hakmem must reach; else they are only reported

    @property
    def is_hakmem(self) -> bool:
        return self.library is not None and "hakmem" in self.library.name

    def as_json(self) -> dict:
        values = asdict(self)
        values["library"] = str(self.library) if self.library else None
        return values

    @staticmethod
    def from_json(values: dict) -> "Allocator":
        library = values["library"]
        return Allocator(**{**values, "library": Path(library) if library else None})
