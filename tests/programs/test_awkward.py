"""Programs that stand in an allocator's way: own operators, static, other preloads, RTLD_DEEPBIND, setuid."""

import os
import shutil

import pytest
from under_hakmem import NotUnderTheLibrary, library, run

pytestmark = pytest.mark.core


@pytest.fixture
def build(need, source, tmp_path):
    """build("name.c", flags…) compiles a source of sources/awkward and gives the binary."""

    def compile_it(name, *flags, place=tmp_path):
        compiler = need("g++" if name.endswith(".cpp") else "gcc")
        binary = place / (name.split(".")[0] + (".so" if "-shared" in flags else ""))
        run([compiler, "-O2", "-pthread", "-o", binary, source("awkward") / name, *flags], preload=False)
        return binary

    return compile_it


def test_a_program_with_its_own_operator_new(build):
    assert run([build("own_operator_new.cpp")], brief=True).stdout == "left behind: nothing\n"


def test_a_static_program_runs_without_the_library(build):
    binary = build("says_who.c", "-static")
    assert run([binary], expect=(), brief=True).stdout == "plain\n"
    with pytest.raises(NotUnderTheLibrary):
        run([binary], brief=True)


def test_a_static_program_that_starts_others(need):
    busybox = need("busybox")
    script = "i=0; while [ $i -lt 50 ]; do /usr/bin/env true || exit 1; i=$((i + 1)); done; echo done"
    outcome = run([busybox, "sh", "-c", script], expect={"env", "true"}, brief=True)
    assert outcome.stdout == "done\n"


def test_another_preloaded_library_in_front(build, need, tmp_path):
    front, log = build("interposer.c", "-shared", "-fPIC", "-ldl"), tmp_path / "calls"
    env = {"LD_PRELOAD": f"{front}:{library()}", "INTERPOSER_LOG": str(log)}
    code = "my @a = map { 'x' x $_ } 1 .. 5000; print scalar @a"
    assert run([need("perl"), "-e", code], env=env, brief=True).stdout == "5000"
    assert int(log.read_text()) > 5000


def test_another_preloaded_library_behind(build, need, tmp_path):
    behind = build("interposer.c", "-shared", "-fPIC", "-ldl")
    env = {"LD_PRELOAD": f"{library()}:{behind}"}
    assert run([need("perl"), "-e", "print 'x' x 5000"], env=env, brief=True).stdout == "x" * 5000


def test_a_library_that_skips_flushes_to_disk(need, tmp_path):
    """libeatmydata looks its functions up with dlsym before the program's own start."""
    found = [path for path in ("/usr/lib/x86_64-linux-gnu/libeatmydata.so",
                               "/usr/lib/aarch64-linux-gnu/libeatmydata.so") if os.path.exists(path)]
    preload = found[0] if found else need("libeatmydata.so")
    env = {"LD_PRELOAD": f"{preload}:{library()}"}
    script = "CREATE TABLE t (i); INSERT INTO t VALUES (41); UPDATE t SET i = i + 1; SELECT i FROM t;"
    assert run([need("sqlite3"), tmp_path / "data", script], env=env, brief=True).stdout == "42\n"


@pytest.mark.learns
def test_a_module_opened_with_deepbind(build):
    """Such a module finds the C library's free before a preloaded one, yet is given our blocks."""
    module = build("deepbind_module.c", "-shared", "-fPIC")
    assert run([build("deepbind.c", "-ldl"), module], brief=True).stdout == "handed over\n"


def setuid_copy(binary, place):
    """A copy that belongs to root and runs as root; skips where the file system forbids that."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid program of another user")
    if os.statvfs(place).f_flag & os.ST_NOSUID:
        pytest.skip(f"{place} is mounted nosuid")
    copy = place / f"{binary.name}-setuid"
    shutil.copy(binary, copy)
    copy.chmod(0o4755)
    return copy


def test_a_setuid_program_drops_the_preload_and_runs(build, open_dir):
    binary = setuid_copy(build("says_who.c"), open_dir)
    settings = {"user": "nobody", "cwd": open_dir, "brief": True}
    assert run([binary], expect=(), **settings).stdout == "secure\n"
    with pytest.raises(NotUnderTheLibrary):
        run([binary], **settings)


def test_a_setuid_program_that_is_linked_with_the_library_ignores_paths(build, open_dir):
    """Its user must not make it write files: HAKMEM_STATS_FILE counts for plain programs only."""
    shutil.copy(library(), open_dir / f"{library().name}.1")  # its soname
    linked = build("says_who.c", str(library()), f"-Wl,-rpath,{open_dir}", place=open_dir)
    files = {"plain": open_dir / "plain.json", "secure": open_dir / "secure.json"}
    open_dir.chmod(0o777)
    for answer, binary in (("plain", linked), ("secure", setuid_copy(linked, open_dir))):
        env = {"HAKMEM_STATS": "json", "HAKMEM_STATS_FILE": str(files[answer])}
        outcome = run([binary], preload=False, env=env, user="nobody", cwd=open_dir)
        assert outcome.stdout == f"{answer}\n"
    assert not files["secure"].exists()
    if library().name == "libhakmem.so":
        assert files["plain"].exists()
