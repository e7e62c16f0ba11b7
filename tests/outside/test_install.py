"""What `cmake --install` leaves can be used: by CMake projects, through pkg-config, by the C++ compiler, from anywhere."""

import os
import shutil

import pytest

PROGRAM = """// Says which library serves malloc, from inside.
#include <dlfcn.h>
#include <hakmem/hakmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    void *block = malloc(1000), *own = hakmem_malloc(1000);
    if (block == NULL || own == NULL || hakmem_stats(&stats) != 0)
        return 1;
    printf("%s %d %d\\n", hakmem_version(), stats.allocated_bytes >= 2000, hakmem_usable_size(block) >= 1000);
    free(own);
    hakmem_free(block);
    return 0;
}
"""

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(hakmem {version} REQUIRED)
foreach(kind hakmem static dl)
    add_executable(with_${{kind}} user.c)
    target_link_libraries(with_${{kind}} PRIVATE hakmem::${{kind}})
endforeach()
"""


@pytest.fixture(scope="module")
def version(root):
    header = (root / "include/hakmem/hakmem.h").read_text()
    return ".".join(header.split(f"#define HAKMEM_VERSION_{part} ")[1].split()[0] for part in ("MAJOR", "MINOR", "PATCH"))


@pytest.fixture(scope="module")
def installed(root, run, tool, tmp_path_factory):
    """The tree that an installation leaves, moved away from where it was installed. No tests, no C++ compiler needed."""
    folder = tmp_path_factory.mktemp("install")
    run(tool("cmake"), "-S", root, "-B", folder / "build", "-G", "Unix Makefiles" if shutil.which("make") else "Ninja",
        f"-DCMAKE_INSTALL_PREFIX={folder / 'first'}", "-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_CXX_COMPILER=/nowhere")
    run(tool("cmake"), "--build", folder / "build")
    run(tool("cmake"), "--install", folder / "build")
    return (folder / "first").rename(folder / "my prefix")


def test_what_is_installed(installed, version):
    files = {str(path.relative_to(installed)) for path in installed.rglob("*") if not path.is_dir()}
    assert {"include/hakmem/hakmem.h", "lib/libhakmem.a", "lib/pkgconfig/hakmem.pc",
            "lib/cmake/hakmem/hakmem-config.cmake"} <= files
    for name in ("libhakmem.so", "libhakmem-dl.so"):
        assert os.readlink(installed / "lib" / name) == f"{name}.1"
        assert os.readlink(installed / "lib" / f"{name}.1") == f"{name}.{version}"


def test_a_cmake_project_finds_and_uses_it(installed, version, run, tool, tmp_path):
    (tmp_path / "user.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version=version))
    run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run(tool("cmake"), "--build", tmp_path / "build")
    for kind in ("hakmem", "static", "dl"):
        program = tmp_path / "build" / f"with_{kind}"
        assert run(program).stdout == f"{version} 1 1\n", kind
        shared = "libhakmem" in run(tool("readelf"), "-dW", program).stdout
        assert shared == (kind != "static")


def test_a_program_that_never_calls_malloc_takes_it_from_the_archive(installed, run, tool, tmp_path):
    (tmp_path / "user.c").write_text('int main(void) { return 0; }\n')
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version=""))
    run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run(tool("cmake"), "--build", tmp_path / "build")
    assert " T malloc\n" in run(tool("nm"), tmp_path / "build/with_static").stdout


def test_a_later_major_version_is_not_found(installed, run, tool, tmp_path):
    (tmp_path / "user.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version="99.0"))
    outcome = run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja",
                  f"-DCMAKE_PREFIX_PATH={installed}", status=1)
    assert "hakmem" in outcome.stderr


def test_pkg_config_finds_it(installed, version, run, tool, tmp_path):
    (tmp_path / "user.c").write_text(PROGRAM)
    env = {"PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")}
    assert run(tool("pkg-config"), "--modversion", "hakmem", env=env).stdout == f"{version}\n"
    run("sh", "-c", f"eval set -- $({tool('pkg-config')} --cflags --libs hakmem | sed 's/^/ /');"
        'gcc user.c -o user "$@"', cwd=tmp_path, env=env)
    assert run(tmp_path / "user", env={"LD_LIBRARY_PATH": str(installed / "lib")}).stdout == f"{version} 1 1\n"


@pytest.mark.parametrize("compiler, flags", [
    ("gcc", ["-std=c11", "-x", "c"]), ("g++", ["-std=c++11", "-x", "c++"]), ("clang", ["-std=c99", "-x", "c"]),
    ("clang++", ["-std=c++20", "-x", "c++"])])
def test_the_header_stands_alone_in_every_language(installed, run, tool, compiler, flags):
    run(tool(compiler), *flags, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
        installed / "include/hakmem/hakmem.h")


def test_as_part_of_another_project(root, run, tool, tmp_path):
    (tmp_path / "user.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        f'cmake_minimum_required(VERSION 3.25)\nproject(user C)\nadd_subdirectory("{root}" hakmem)\n'
        "add_executable(user user.c)\ntarget_link_libraries(user PRIVATE hakmem::hakmem)\n")
    run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja")
    run(tool("cmake"), "--build", tmp_path / "build", "--target", "user")
    assert run(tmp_path / "build/user").stdout.endswith(" 1 1\n")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_both_compilers_have_nothing_to_warn_of(root, run, tool, tmp_path, compiler):
    run(tool("cmake"), "-S", root, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_C_COMPILER={tool(compiler)}",
        "-DHAKMEM_WERROR=ON")
    run(tool("cmake"), "--build", tmp_path)


def test_a_flavour_that_does_not_exist_is_named(root, run, tool, tmp_path):
    outcome = run(tool("cmake"), "-S", root, "-B", tmp_path, "-G", "Ninja", "-DHAKMEM_FLAVOUR=fast", status=1)
    assert "HAKMEM_FLAVOUR is 'fast'; it can be release, checked, asan or tsan" in outcome.stderr
