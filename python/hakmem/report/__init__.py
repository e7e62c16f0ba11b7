"""One page from records: tables, bars, scatter, curves."""

from hakmem.report.page import NothingToShow, make, picture

__all__ = ["NothingToShow", "make", "picture"]
