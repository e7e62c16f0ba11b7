"""What the library exports and needs: exactly the symbols of the interface, and the C library alone."""

import re

import pytest

C_NAMES = """malloc calloc realloc free reallocarray posix_memalign aligned_alloc memalign valloc pvalloc cfree
    malloc_usable_size mallinfo mallinfo2 malloc_trim mallopt malloc_info malloc_stats free_sized free_aligned_sized
    __libc_malloc __libc_calloc __libc_realloc __libc_free __libc_memalign __libc_valloc __libc_pvalloc
    __posix_memalign prctl""".split()  # prctl: src/api/confined.c

CXX_NAMES = [
    f"operator {name}({parameters})"
    for name, forms in {
        "new": ("{size}", "{size}, std::nothrow_t const&", "{size}, std::align_val_t",
                "{size}, std::align_val_t, std::nothrow_t const&"),
        "delete": ("void*", "void*, std::nothrow_t const&", "void*, {size}", "void*, std::align_val_t",
                   "void*, {size}, std::align_val_t", "void*, std::align_val_t, std::nothrow_t const&"),
    }.items()
    for name in (name, f"{name}[]")
    for parameters in (form.format(size="unsigned long") for form in forms)
]

# Functions of the C library that may call malloc: in an allocator they never end, or fail when memory is short. (fwrite is
# not among them: malloc_info writes to the stream it is given. Nor is pthread_create, which an option asks for: it is called
# outside of locks, by threads that may allocate once more; src/heap/helper.h.)
ALLOCATING = """malloc calloc realloc free strdup strndup asprintf vasprintf fopen fdopen popen opendir scandir qsort
    getline getdelim setenv putenv unsetenv printf fprintf vfprintf puts fputs fread setvbuf dlopen dlclose
    backtrace_symbols getpwuid getaddrinfo syslog localtime tzset setlocale atexit on_exit""".split()

C_LIBRARY = re.compile(r"(libc|ld-linux.*|ld64)\.so\.\d+")


def own_names(root):
    header = (root / "include/hakmem/hakmem.h").read_text()
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"\b(hakmem_\w+)\s*\(", code))


def dynamic_symbols(run, tool, library, *flags):
    """Names in the dynamic symbol table, with the version where there is one, C++ names readable."""
    lines = run(tool("nm"), "-D", "--demangle", "--format=posix", *flags, library).stdout.splitlines()
    return {re.sub(r" [A-Za-z] ?[0-9a-f ]*$", "", line) for line in lines}


@pytest.fixture(params=["library", "dl_library"])
def each_library(request):
    return request.getfixturevalue(request.param)


def test_exactly_the_interface_is_exported(root, run, tool, each_library):
    exported = dynamic_symbols(run, tool, each_library, "--defined-only")
    expected = {*C_NAMES, *CXX_NAMES, *own_names(root)}
    if each_library.name.startswith("libhakmem.so"):
        expected.add("dlopen")  # takes RTLD_DEEPBIND away: src/api/dlopen.c
    assert sorted(exported - expected) == [], "exported but not part of the interface"
    assert sorted(expected - exported) == [], "part of the interface but not exported"


def test_the_archive_defines_the_same_names(root, run, tool, library):
    archive = library.parent / "libhakmem.a"
    lines = run(tool("nm"), "--demangle", "--format=posix", "--extern-only", "--defined-only", archive).stdout.splitlines()
    defined = {re.sub(r" [A-Za-z] ?[0-9a-f ]*$", "", line) for line in lines if not line.endswith(":")}
    assert defined == {*C_NAMES, *CXX_NAMES, *own_names(root)}


@pytest.mark.parametrize("flavour", ["asan", "tsan"])
def test_sanitized_flavours_export_their_own_names_alone(root, run, tool, flavour):
    sanitized = root / f"build/{flavour}/lib/libhakmem.so"
    if not sanitized.exists():
        pytest.skip(f"{flavour} is not built")
    exported = {name for name in dynamic_symbols(run, tool, sanitized, "--defined-only") if not name.startswith("__odr_")}
    assert exported == own_names(root)


def test_the_c_library_is_all_it_needs(run, tool, each_library):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(tool("readelf"), "-dW", each_library).stdout)
    assert needed and [name for name in needed if not C_LIBRARY.fullmatch(name)] == []


def test_it_calls_nothing_that_allocates(run, tool, each_library):
    undefined = dynamic_symbols(run, tool, each_library, "--undefined-only")
    names = {name.split("@")[0] for name in undefined}
    assert "mmap" in names or "mmap64" in names  # the list is no empty one
    assert sorted(names & set(ALLOCATING)) == []


def test_nothing_is_bound_late_written_or_executable_that_need_not_be(run, tool, each_library):
    headers = run(tool("readelf"), "-lW", each_library).stdout
    assert "GNU_RELRO" in headers
    assert re.search(r"GNU_STACK .* RW ", headers)
    assert re.search(r"LOAD .* RWE ", headers) is None
    dynamic = run(tool("readelf"), "-dW", each_library).stdout
    assert "NOW" in dynamic and "NODELETE" in dynamic and "TEXTREL" not in dynamic
