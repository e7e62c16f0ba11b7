"""Real programs with fixed input as rows."""

import fnmatch
import shutil

from hakmem.programs.listed import PROGRAMS
from hakmem.programs.running import SUITE, Outcome, Program, ProgramFailed, Subject

__all__ = ["PROGRAMS", "SUITE", "Outcome", "Program", "ProgramFailed", "Subject", "is_there", "select"]


def select(globs: list[str]) -> list[Subject]:
    return [one for one in PROGRAMS if not globs or any(fnmatch.fnmatch(one.row, glob) for glob in globs)]


def is_there(program: Subject) -> bool:
    return shutil.which(program.executable) is not None
