"""Processes and threads from outside: small programs of src/ that start, load, fork, signal and end in every way."""

import shutil
import time
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "src"
TIMEOUT_SECONDS = 300
LIBRARIES = 50
ENDS_UNDER_LOAD = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def compile_source(folder, root, tool, run):
    """compile_source("daemon.c", "-DX", libraries=["-la"]) is the program; equal calls give the same file."""

    def call(source, *flags, name=None, libraries=()):
        program = folder / (name or source.replace(".", "_"))
        if not program.exists():
            compiler = tool("g++") if source.endswith(".cpp") else tool("gcc")
            run(compiler, "-O1", "-g", "-Wall", "-Wextra", "-I", root / "include", *flags, SOURCES / source,
                "-o", program, *libraries, "-lpthread", "-ldl")
        return program

    return call


@pytest.fixture(scope="module", params=["tls", "pointer", "tls@learning", "pointer@research"])
def preloaded(request, variant, run):
    """preloaded(program, …) runs it on a variant of the library; the programs prove that it is in use."""
    served_by, options = variant(request.param)

    def call(*command, **settings):
        environment = {"LD_PRELOAD": str(served_by), **options, **settings.pop("env", {})}
        return run(*command, env=environment, timeout=TIMEOUT_SECONDS, **settings)

    return call


@pytest.fixture(scope="module")
def tls_libraries(compile_source, folder):
    """Many libraries with thread-local data; copies, which the dynamic linker takes for different ones."""
    first = compile_source("tls_library.c", "-shared", "-fPIC", name="libtls.so")
    copies = [folder / f"libtls_{number}.so" for number in range(LIBRARIES)]
    for copy in copies:
        shutil.copy(first, copy)
    return copies


def test_children_are_served_however_they_are_started(compile_source, preloaded):
    preloaded(compile_source("start_others.c"))


def test_libraries_with_thread_local_data_can_be_loaded(compile_source, tls_libraries, preloaded):
    preloaded(compile_source("load_libraries.c"), *tls_libraries)


def test_static_thread_local_room_is_left_to_libraries(compile_source, folder, preloaded, tls_libraries):
    """The preloaded library must not use up what the C library keeps for libraries loaded later (some 500 bytes)."""
    first = compile_source("static_tls_library.c", "-shared", "-fPIC", name="libstatic.so")
    program = compile_source("load_static_tls.c")
    copies = [folder / f"libstatic_{number}.so" for number in range(6)]
    for copy in copies:
        shutil.copy(first, copy)
    preloaded(program, *copies)


def test_allocator_can_be_loaded_by_a_running_program(compile_source, dl_library, folder, run):
    """The one-pointer variant is loaded into a plain process whose static thread-local room is almost used up."""
    first = compile_source("static_tls_library.c", "-shared", "-fPIC", name="libstatic.so")
    copies = [folder / f"libused_{number}.so" for number in range(6)]
    for copy in copies:
        shutil.copy(first, copy)
    run(compile_source("load_allocator.c"), dl_library, *copies, timeout=TIMEOUT_SECONDS)


def test_namespace_of_its_own_keeps_its_own_malloc(compile_source, preloaded):
    first = compile_source("tls_library.c", "-shared", "-fPIC", name="libtls.so")
    preloaded(compile_source("own_namespace.c"), first)


def test_signals_inside_malloc_disturb_nothing(compile_source, preloaded):
    preloaded(compile_source("signal_storm.c"))


@pytest.mark.parametrize("bind_now", ["1", ""])
def test_smallest_stacks_are_enough(compile_source, preloaded, bind_now):
    preloaded(compile_source("small_stacks.c"), env={"LD_BIND_NOW": bind_now})


def test_fork_handlers_may_allocate(compile_source, preloaded):
    preloaded(compile_source("fork_handlers.c"))


def test_program_with_all_files_closed_becomes_a_daemon(compile_source, preloaded, tmp_path):
    result = tmp_path / "result"
    preloaded(compile_source("daemon.c"), result)
    end = time.monotonic() + 60
    while (not result.exists() or len(result.read_bytes()) < 5) and time.monotonic() < end:
        time.sleep(0.05)
    assert result.read_text() == "done\n"


def test_program_started_without_open_files_is_served(compile_source, preloaded, tmp_path, tool):
    result = tmp_path / "result"
    program = compile_source("daemon.c")
    preloaded(tool("sh"), "-c", f"exec '{program}' '{result}' <&- >&- 2>&-")
    end = time.monotonic() + 60
    while (not result.exists() or len(result.read_bytes()) < 5) and time.monotonic() < end:
        time.sleep(0.05)
    assert result.read_text() == "done\n"


@pytest.mark.parametrize("way", ["exit", "last-thread", "cancel"])
def test_process_may_end_while_threads_allocate(compile_source, preloaded, way):
    program = compile_source("end_under_load.c")
    for _ in range(1 if way == "cancel" else ENDS_UNDER_LOAD):
        preloaded(program, way)


def expect_begin_and_end(outcome):
    assert (outcome.stdout, outcome.stderr) == ("buffered until the end\n", "end\n")


def test_calls_before_and_after_everything_are_served(compile_source, preloaded):
    expect_begin_and_end(preloaded(compile_source("early_and_late_calls.c")))


@pytest.mark.parametrize("binding", ["now", "lazy"])
def test_indirect_functions_of_the_program_may_allocate(compile_source, preloaded, binding):
    """Their resolvers run while the program is relocated; the first thread's data is not what it will be then."""
    expect_begin_and_end(preloaded(compile_source("early_and_late_calls.c", "-DWITH_RESOLVER", f"-Wl,-z,{binding}",
                                                  name=f"resolver_{binding}")))


def test_libraries_may_allocate_while_they_are_loaded(compile_source, preloaded, folder):
    early = compile_source("early_library.c", "-shared", "-fPIC", name="libearly.so")
    expect_begin_and_end(preloaded(compile_source("early_and_late_calls.c", "-DWITH_LIBRARY", name="early_library",
                                                  libraries=[early, f"-Wl,-rpath,{folder}"])))


def test_indirect_functions_of_libraries_may_allocate(compile_source, library, folder, run):
    """Their resolvers run while the library is relocated. It depends on the allocator, which is therefore relocated
    before it; a preloaded allocator comes too late for this, and no allocator can help that."""
    early = compile_source("early_library.c", "-shared", "-fPIC", "-DEARLY_IFUNC", name="libearly_ifunc.so",
                           libraries=["-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}"])
    program = compile_source("early_and_late_calls.c", "-DWITH_LIBRARY", name="early_ifunc",
                             libraries=[early, library, f"-Wl,-rpath,{folder}:{library.parent}"])
    expect_begin_and_end(run(program, timeout=TIMEOUT_SECONDS))


def uses_malloc_of_libc(program, tool, run):
    symbols = run(tool("nm"), program).stdout.split()
    return "_int_malloc" in symbols or "main_arena" in symbols


@pytest.fixture(scope="module")
def archive(library):
    found = library.with_name("libhakmem.a")
    assert found.exists(), f"{found} is missing"
    return found


@pytest.mark.parametrize("source", ["static_program.c", "static_program.cpp"])
def test_static_program_contains_no_other_malloc(compile_source, archive, tool, run, source):
    program = compile_source(source, "-static", name=source.replace(".", "_") + "_static", libraries=[archive])
    assert not uses_malloc_of_libc(program, tool, run)
    assert run(program, timeout=TIMEOUT_SECONDS).stdout.startswith("hakmem ")


def test_program_may_link_the_archive_dynamically(compile_source, archive, run):
    program = compile_source("static_program.c", name="archive_program", libraries=[archive])
    assert run(program, timeout=TIMEOUT_SECONDS).stdout.startswith("hakmem ")


def test_program_may_link_the_shared_library(compile_source, library, run):
    program = compile_source("static_program.c", name="linked_program",
                             libraries=[library, f"-Wl,-rpath,{library.parent}"])
    assert run(program, timeout=TIMEOUT_SECONDS).stdout.startswith("hakmem ")
