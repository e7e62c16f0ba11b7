"""cargo and rustc build and test a small workspace; its programs use the system allocator, which is ours."""

import re
import shutil

import pytest
from under_hakmem import program, run

pytestmark = pytest.mark.core


@pytest.fixture
def cargo(need, source, tmp_path):
    """cargo(word, …) in a copy of the workspace, without network."""
    shutil.copytree(source("workspace"), tmp_path / "workspace")
    path = need("cargo")
    rustc = toolchain(need("rustc"))

    def call(*words, **settings):
        env = {"CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(tmp_path / "target")}
        return run([path, *words], cwd=tmp_path / "workspace", env=env, timeout=300, **settings)

    call.rustc, call.target = rustc, tmp_path / "target"
    return call


def toolchain(rustc):
    """The real compiler: what is on the PATH may be a chooser between toolchains."""
    root = run([rustc, "--print", "sysroot"], preload=False).stdout.strip()
    return program(f"{root}/bin/rustc") or rustc


def area_and_name(count):
    names = "+".join(f"square{n}" for n in range(count))
    return sum(n * n for n in range(count)) + len(names)


def test_a_workspace_is_built_and_its_program_runs(cargo):
    cargo("build", "--release", expect={"cargo", "rustc"})
    total = sum(area_and_name((n + p) % 30) for p in range(4) for n in range(5000))
    counts = '{"alpha": 40000, "beta": 20000}'
    assert run([cargo.target / "release" / "app"], brief=True).stdout == f"{total} {counts} child\n"


def test_a_workspace_passes_its_tests(cargo):
    outcome = cargo("test", "--", "--test-threads=4", expect={"cargo", "rustc"})
    assert passed(outcome) == 5
    programs = [path for path in (cargo.target / "debug" / "deps").iterdir()
                if re.fullmatch(r"(shapes|queue|app)-[0-9a-f]+", path.name)]
    assert sum(passed(run([path], brief=True)) for path in programs) == 5


def passed(outcome):
    return sum(map(int, re.findall(r"test result: ok. (\d+) passed; 0 failed", outcome.stdout)))


def test_rustc_compiles_the_same_with_and_without_the_library(cargo, source, tmp_path):
    built = []
    for preload in (True, False):
        run([cargo.rustc, "--crate-type", "lib", "--edition", "2021", "-O", "--emit", "llvm-ir", "-o", "shapes.ll",
             source("workspace") / "shapes" / "src" / "lib.rs"], cwd=tmp_path, preload=preload)
        built.append((tmp_path / "shapes.ll").read_text())
    assert built[0] == built[1] and "define" in built[0]
