"""hakmem run, learn, build and test: the launcher's, listed here for help and completion."""

import os
from typing import Annotated

import typer

from hakmem import places

_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
Words = Annotated[list[str] | None, typer.Argument(metavar="...")]


def _launch(command: str, words: list[str] | None) -> None:
    launcher = str(places.TREE / "hakmem")
    os.execv(launcher, [launcher, command, *(words or [])])


def run(words: Words = None) -> None:
    """Runs a program with hakmem as its memory allocator."""
    _launch("run", words)


def learn(words: Words = None) -> None:
    """Runs a program and learns from it what suits it."""
    _launch("learn", words)


def build(words: Words = None) -> None:
    """Builds the library."""
    _launch("build", words)


def test(words: Words = None) -> None:
    """Builds every flavour and runs the tests."""
    _launch("test", words)


def add_to(app: typer.Typer) -> None:
    for command in (run, learn, build, test):
        app.command(command.__name__, context_settings=_PASSED_ON)(command)
