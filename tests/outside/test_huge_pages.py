"""Huge pages under each of the system's settings: dense heaps get them where there are any, small and sparse ones never."""

import os
from pathlib import Path

import pytest

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MIB_KIB = 1024


@pytest.fixture(scope="module")
def program(tmp_path_factory, root, tool, run):
    made = tmp_path_factory.mktemp("huge") / "fill"
    run(tool("gcc"), "-O1", "-fno-builtin", "-Wall", "-Wextra", root / "tests/outside/src/fill.c", "-o", made)
    return made


@pytest.fixture(scope="module", params=["always", "madvise", "never"])
def setting(request):
    """The system's setting, put back afterwards."""
    if not os.access(SETTING, os.W_OK):
        pytest.skip(f"{SETTING} can't be written here")
    before = SETTING.read_text().split("[")[1].split("]")[0]
    try:
        SETTING.write_text(request.param)
    except OSError as reason:
        pytest.skip(f"{SETTING} can't be written here: {reason}")
    yield request.param
    SETTING.write_text(before)


@pytest.fixture
def fill(program, library, run):
    def call(size, mebibytes, written, milliseconds=0, **options):
        """Resident memory and what of it is in huge pages, in KiB."""
        variables = {f"HAKMEM_{name.upper()}": value for name, value in options.items()}
        done = run(program, str(size), str(mebibytes), written, str(milliseconds),
                   env=os.environ | {"LD_PRELOAD": str(library)} | variables)
        return map(int, done.stdout.split())
    return call


def test_dense_heaps_get_them(fill, setting):
    resident, huge = fill(1000, 128, "all")
    assert resident < 150 * MIB_KIB
    assert huge == 0 if setting == "never" else huge > 64 * MIB_KIB


def test_large_blocks_that_are_filled_get_them(fill, setting):
    resident, huge = fill(200_000, 128, "all")
    assert resident < 170 * MIB_KIB
    assert huge == 0 if setting == "never" else huge > 64 * MIB_KIB


def test_small_heaps_do_not(fill, setting):
    resident, huge = fill(1000, 8, "all")
    assert huge == 0 and resident < 16 * MIB_KIB


def test_sparse_heaps_do_not(fill, setting):
    resident, huge = fill(65_536, 256, "first")
    assert huge == 0 and resident < 40 * MIB_KIB


def test_off_means_none(fill, setting):
    _, huge = fill(1000, 64, "all", huge_pages="off")
    assert huge == 0


def test_learning_makes_them_of_what_large_blocks_have_touched(fill, setting):
    _, huge = fill(262_144, 12, "all", 1000, mode="learning")
    assert huge == 0 if setting == "never" else huge > 0
    _, huge = fill(262_144, 12, "all", 1000, mode="learning", learn_parts="depths")
    assert huge == 0


def test_a_file_that_says_so_makes_them_of_what_large_blocks_have_touched(fill, setting, tmp_path):
    file = tmp_path / "by-hand.policy"
    for value in (0, 1):
        file.write_text(f"hakmem-policy 1\ncollapse {value}\nend\n")
        resident, huge = fill(262_144, 12, "all", 1000, policy=file)
        assert resident < 24 * MIB_KIB
        assert huge > 0 if value == 1 and setting != "never" else huge == 0


def test_learning_makes_none_of_small_blocks(fill, setting):
    for parts in ("default", "default+huge"):
        _, huge = fill(1000, 12, "all", 1000, mode="learning", learn_parts=parts)
        assert huge == 0
