"""Makes the package and made_up.py importable, and builds the library that counts a workload's calls."""

import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "python"), str(Path(__file__).resolve().parent)]


@pytest.fixture(scope="session")
def counting_library(tmp_path_factory) -> Path:
    """Preloaded, it counts malloc and free, hashes the sizes in order, and prints both at exit."""
    library = tmp_path_factory.mktemp("counting") / "libcounting.so"
    source = Path(__file__).with_name("counting.c")
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", str(source), "-o", str(library)], check=True)
    return library
