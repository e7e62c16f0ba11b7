"""GCC and Clang compile something large on the allocator; what they built runs on it too."""

import hashlib
import os

import pytest
from generate_cpp import answer, program
from under_hakmem import run

pytestmark = pytest.mark.core

PARTS = 30


def compiled(compiler, tmp_path, expect):
    source, binary = tmp_path / "large.cpp", tmp_path / "large"
    source.write_text(program(PARTS))
    run([compiler, "-std=c++17", "-O1", "-g", "-pthread", "-o", binary, source], expect=expect,
        timeout=300)
    return binary


def test_gcc_compiles_a_large_program_that_runs(need, tmp_path):
    binary = compiled(need("g++"), tmp_path, {"cc1plus", real_name(need("ld"))})
    assert run([binary], brief=True).stdout == answer(PARTS)


def real_name(path):
    return os.path.basename(os.path.realpath(path))


def test_clang_compiles_a_large_program_that_runs(need, tmp_path):
    clang = need("clang++")
    binary = compiled(clang, tmp_path, {real_name(clang)})
    assert run([binary], brief=True).stdout == answer(PARTS)


def test_gcc_writes_the_same_assembly_with_and_without_the_library(need, tmp_path):
    """The order of the compiler's own tables must not follow addresses, nor what fresh memory holds."""
    (tmp_path / "large.cpp").write_text(program(8))
    digests = set()
    for preload in (True, False):
        run([need("g++"), "-std=c++17", "-O2", "-S", "-o", "large.s", "large.cpp"], cwd=tmp_path,
            preload=preload, expect={"cc1plus"}, timeout=300)
        digests.add(hashlib.sha256((tmp_path / "large.s").read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.mark.learns
def test_make_with_jobs_builds_and_links_many_sources(need, tmp_path):
    for number in range(40):
        (tmp_path / f"u{number}.c").write_text(f"int u{number}(void) {{ return {number}; }}\n")
    calls = " + ".join(f"u{number}()" for number in range(40))
    declarations = "".join(f"int u{number}(void);\n" for number in range(40))
    (tmp_path / "main.c").write_text(f'#include <stdio.h>\n{declarations}int main(void) {{ printf("%d\\n", {calls}); }}\n')
    (tmp_path / "Makefile").write_text(
        "OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\n\t$(CC) -o all $(OBJECTS)\n")
    run([need("make"), "-j4", f"CC={need('gcc')}"], cwd=tmp_path, expect={"make", "cc1"})
    assert run([tmp_path / "all"], brief=True).stdout == f"{sum(range(40))}\n"
