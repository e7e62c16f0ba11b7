"""Node, Java and Go with cgo: managed runtimes whose native half uses the allocator from many threads."""

import os

import pytest
from under_hakmem import run

pytestmark = pytest.mark.core

NODE_CHECKSUM = "6fdbe9b0ad2ecf6b2e4573dd4f01fb8fdf6eb5f2733d364e129f309f8e6d04a9"
JAVA_OUTPUT = "f274533f3f604db1 124750 c00e2500 child 0"


@pytest.mark.learns
def test_node_with_worker_threads(need, source):
    assert run([need("node", "nodejs"), source("load.js")]).stdout.strip() == NODE_CHECKSUM


def test_java_compiles_and_runs_a_threaded_program(need, source, tmp_path):
    run([need("javac"), "-d", tmp_path, source("Threads.java")])
    outcome = run([need("java"), "-cp", tmp_path, "Threads"])
    assert outcome.stdout.strip() == JAVA_OUTPUT


def test_java_with_the_serial_collector_interpreted(need, source, tmp_path):
    run([need("javac"), "-d", tmp_path, source("Threads.java")], preload=False)
    flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx200m", "-XX:NativeMemoryTracking=summary"]
    outcome = run([need("java"), *flags, "-cp", tmp_path, "Threads"])
    assert outcome.stdout.strip() == JAVA_OUTPUT


@pytest.mark.learns
def test_go_with_cgo(need, source, tmp_path):
    """The go command is static and stays off the library; what it builds with cgo does not."""
    binary = tmp_path / "cgo-load"
    home = os.environ.get("HOME", str(tmp_path))
    flags = {"CGO_ENABLED": "1", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local",
             "HOME": home}
    run([need("go"), "build", "-o", binary, "."], cwd=source("cgo"), env=flags, expect=(),
        timeout=300)
    total = sum((1 + (i * 7919 + n * 104729) % 3000) * (100 if i % 500 == 0 else 1) * ((i + n) & 255)
                for n in range(6) for i in range(20000))
    c_total = 16 * sum(i * (i & 7) for i in range(1, 2000))
    children = "".join(str(i) for i in range(40))
    assert run([binary]).stdout == f"{total} {c_total} {children} a string of C\n"
