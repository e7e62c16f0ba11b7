"""A small checkout to try the launcher on: its own files as they are, around a library of one function."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SMALL_LIBRARY = """// A library that is quick to build and says, when asked, that it is loaded.
#include "hakmem/hakmem.h"
#include <stdlib.h>
#include <unistd.h>
__attribute__((visibility("default"))) const char *hakmem_version(void) {
    return "7.8.9";
}
__attribute__((constructor)) static void say(void) {
    if (getenv("SAY_LOADED") != NULL && write(2, "loaded" EXTRA "\\n", sizeof "loaded" EXTRA) < 0)
        _exit(1);
}
"""


class Checkout:
    """A checkout and how to call its launcher."""

    def __init__(self, path):
        self.path = path
        self.launcher = path / "hakmem"
        self.release = path / "build/release"
        self.library = self.release / "libhakmem.so"
        self.source = path / "src/all.c"

    def make(self):
        for folder in ("cmake", "src/api", "include/hakmem", "tools"):
            (self.path / folder).mkdir(parents=True)
        shutil.copy(ROOT / "hakmem", self.launcher)
        for file in ("cmake/flags.txt", "tools/launcher.sh"):
            shutil.copy(ROOT / file, self.path / file)
        (self.path / "include/hakmem/hakmem.h").write_text(
            '// The interface.\n#define HAKMEM_VERSION_MAJOR 7\n#define HAKMEM_VERSION_MINOR 8\n'
            '#define HAKMEM_VERSION_PATCH 9\n#define EXTRA ""\nconst char *hakmem_version(void);\n')
        self.source.write_text(SMALL_LIBRARY)
        (self.path / "src/api/exports.map").write_text("{ global: hakmem_version; local: *; };\n")
        return self

    def change(self, extra):
        """Makes the library say something else."""
        header = self.path / "include/hakmem/hakmem.h"
        header.write_text(header.read_text().replace('EXTRA ""', f'EXTRA "{extra}"'))

    def start(self, *arguments, env=None, launcher=None, **settings):
        clean = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CC", "AR")}
        settings.setdefault("stdin", subprocess.DEVNULL)
        # A session of its own has no terminal to ask on. What the tests were told to ignore, as by nohup, it is not.
        return subprocess.Popen([*(launcher or [self.launcher]), *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**clean, **(env or {})},
                                start_new_session=True,
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL), **settings)

    def call(self, *arguments, status=0, input=None, **settings):
        if input is not None:
            settings["stdin"] = subprocess.PIPE
        with self.start(*arguments, **settings) as process:
            process.stdout_text, process.stderr_text = process.communicate(input, timeout=300)
        assert status is None or process.returncode == status, (process.returncode, process.stderr_text)
        return process

    def built(self):
        self.call("build")
        return self


@pytest.fixture
def checkout(tmp_path):
    """A fresh checkout."""
    return Checkout(tmp_path / "checkout").make()


@pytest.fixture(scope="module")
def built_checkout(tmp_path_factory):
    """A checkout that was built, for tests that leave it as it is."""
    return Checkout(tmp_path_factory.mktemp("built") / "checkout").make().built()


@pytest.fixture
def checkout_at():
    """checkout_at(path) makes a checkout there."""
    return lambda path: Checkout(path).make()
