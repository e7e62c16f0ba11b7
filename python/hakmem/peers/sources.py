"""Fetches the sources that peers are built from: crates by cargo, one Debian package by apt."""

import re
import shutil
import subprocess
import tomllib
from functools import cached_property
from pathlib import Path

from hakmem.peers.build import PeerCannotBeBuilt, run

CRATES = ["libmimalloc-sys", "snmalloc-sys", "tikv-jemalloc-sys", "libtcmalloc-sys", "rpmalloc-sys",
          "hardened-malloc-sys"]

MANIFEST = """[package]
name = "peers"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
"""


class Sources:
    """The newest versions at the time of the first fetch; they stay until the cache is removed."""

    def __init__(self, cache: Path):
        self.cache = cache

    @cached_property
    def _vendored(self) -> Path:
        home = self.cache / "sources"
        vendor = home / "vendor"
        if not (home / "fetched").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            (home / "Cargo.toml").write_text(MANIFEST + "".join(f'{crate} = "*"\n' for crate in CRATES))
            (home / "lib.rs").write_text("")
            run(["cargo", "vendor", "--versioned-dirs", "vendor"], home)
            (home / "fetched").touch()
        return vendor

    def crate(self, name: str) -> tuple[Path, str]:
        """The folder of a crate's sources, and the crate's version."""
        for folder in self._vendored.glob(f"{name}-[0-9]*"):
            package = tomllib.loads((folder / "Cargo.toml").read_text())["package"]
            if package["name"] == name:
                return folder, package["version"]
        raise PeerCannotBeBuilt(f"crate {name} was not fetched, see {self._vendored.parent}")

    def crate_copy(self, name: str, work: Path, part: str = "") -> tuple[Path, str]:
        """A copy that a build may write to."""
        folder, version = self.crate(name)
        target = work / "source"
        shutil.copytree(folder / part, target)
        return target, version

    def debian(self, package: str, work: Path) -> tuple[Path, str]:
        """A Debian package unpacked (not installed), and its version."""
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise PeerCannotBeBuilt(f"{package} needs apt-get and dpkg-deb")
        try:
            run(["apt-get", "download", package], work)
        except PeerCannotBeBuilt:  # no package lists yet
            run(["apt-get", "update"], work)
            run(["apt-get", "download", package], work)
        file = next(work.glob(f"{package}_*.deb"))
        run(["dpkg-deb", "-x", file, work / "unpacked"], work)
        return work / "unpacked", run(["dpkg-deb", "-f", file, "Version"], work).strip()


def search(file: Path, pattern: str) -> str:
    """The first group of a pattern in a file; raises when it isn't there, so that no version is guessed."""
    match = re.search(pattern, file.read_text(errors="replace"), re.MULTILINE)
    if match is None:
        raise PeerCannotBeBuilt(f"no version found in {file}")
    return match.group(1)


def compiler(command: str) -> str:
    return subprocess.run([command, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
