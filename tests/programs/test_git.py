"""git: many commits by fast-import, branches, gc --aggressive with threads, fsck, clone, bisect of content."""

import hashlib
import random

import pytest
from under_hakmem import run

pytestmark = pytest.mark.core

COMMITS, FILES = 1000, 60
IDENTITY = "A U Thor <author@example.org>"


def history(seed):
    """A fast-import stream, and the content of every file after its last commit."""
    draw, content, stream = random.Random(seed), {}, []
    for commit in range(COMMITS):
        message = f"commit {commit}"
        stream.append(f"commit refs/heads/main\ncommitter {IDENTITY} {1700000000 + commit} +0000\n"
                      f"data {len(message)}\n{message}\n")
        for _ in range(4):
            name = f"dir{draw.randrange(8)}/file{draw.randrange(FILES)}"
            old = content.get(name, "").splitlines(keepends=True)
            new = [f"line {draw.randrange(10**9)} of {name}\n" for _ in range(draw.randrange(1, 60))]
            at = draw.randrange(len(old) + 1)
            content[name] = "".join(old[:at] + new + old[at:])
            stream.append(f"M 100644 inline {name}\ndata {len(content[name])}\n{content[name]}\n")
    return "".join(stream), content


@pytest.fixture
def git(need, tmp_path):
    path = need("git")
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(tmp_path),
           "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
           "GIT_COMMITTER_EMAIL": "a@example.org"}

    def call(*words, cwd=tmp_path / "work", **settings):
        return run([path, *words], cwd=cwd, env=env, timeout=180, brief=True, **settings)

    return call


@pytest.mark.learns
def test_a_repository_from_its_first_commit_to_its_clone(git, tmp_path):
    stream, content = history(seed=1)
    git("init", "-q", "-b", "main", tmp_path / "work", cwd=tmp_path)
    git("fast-import", "--quiet", stdin=stream)
    git("checkout", "-q", "-f", "main")
    git("gc", "--aggressive", "--prune=now", "-q")
    git("repack", "-adfq", "--threads=4", "--depth=30", "--window=40")
    assert "error" not in git("fsck", "--full", "--strict").stderr
    git("clone", "-q", "--no-local", tmp_path / "work", tmp_path / "clone", cwd=tmp_path)
    for name, text in content.items():
        assert (tmp_path / "clone" / name).read_text() == text
    assert git("rev-list", "--count", "HEAD", cwd=tmp_path / "clone").stdout.strip() == str(COMMITS)
    busiest = max(content, key=lambda name: len(content[name]))
    blame = git("blame", "--line-porcelain", busiest).stdout
    assert "".join(line[1:] + "\n" for line in blame.splitlines() if line[:1] == "\t") == content[busiest]
    assert git("log", "--stat", "-p").stdout == git("log", "--stat", "-p", preload=False).stdout


def test_branches_merge_and_grep(git, tmp_path):
    git("init", "-q", "-b", "main", tmp_path / "work", cwd=tmp_path)
    for number in range(12):
        (tmp_path / "work" / f"f{number}").write_text(f"{number}\n" * 500)
    git("add", ".")
    git("commit", "-q", "-m", "start")
    for number in range(6):
        git("checkout", "-q", "-b", f"b{number}", "main")
        (tmp_path / "work" / f"f{number}").write_text(f"changed {number}\n" * 500)
        git("commit", "-q", "-am", f"change {number}")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-edit", *(f"b{number}" for number in range(6)))
    assert git("grep", "-c", "--threads=4", "changed").stdout.splitlines() == [
        f"f{number}:500" for number in range(6)]
    blob = git("hash-object", "f0").stdout.strip()
    text = b"changed 0\n" * 500
    assert blob == hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest()
