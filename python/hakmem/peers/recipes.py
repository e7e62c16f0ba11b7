"""How each peer is built: with its own build system and its release defaults where the sources carry one."""

import re
from dataclasses import replace
from pathlib import Path

from hakmem.allocator import Allocator
from hakmem.peers.build import compile_flags, jobs, run
from hakmem.peers.sources import Sources, compiler, search


def _mimalloc(major: int, sources: Sources, work: Path, is_secure: bool = False) -> Allocator:
    """Its CMake project, Release. The crate leaves out three helper files of installing and of tests; the stand-ins say
    as little as CMake needs."""
    source, crate = sources.crate_copy("libmimalloc-sys", work, f"c_src/mimalloc/v{major}")
    helpers = source / "cmake"
    helpers.mkdir(exist_ok=True)
    number = int(search(source / "include" / "mimalloc.h", r"#define MI_MALLOC_VERSION\s+(\d+)"))
    version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    (helpers / "mimalloc-config-version.cmake").write_text(
        f"set(mi_version_major {number // 10000})\nset(mi_version_minor {number // 100 % 100})\n"
        f"set(mi_version_patch {number % 100})\nset(mi_version {number // 10000}.{number // 100 % 100})\n")
    (helpers / "JoinPaths.cmake").write_text("function(join_paths joined)\nendfunction()\n")
    run(["cmake", "-S", source, "-B", "made", "-DCMAKE_BUILD_TYPE=Release", "-DMI_BUILD_TESTS=OFF",
         "-DMI_BUILD_STATIC=OFF", "-DMI_BUILD_OBJECT=OFF", f"-DMI_SECURE={'ON' if is_secure else 'OFF'}"], work)
    output = run(["cmake", "--build", "made", "--verbose", f"-j{jobs()}"], work)
    library = work / "made" / f"libmimalloc{'-secure' if is_secure else ''}.so"
    return Allocator(f"mimalloc{major}", library, version, f"{compiler('cc')}: {compile_flags(output)}",
                     f"crate libmimalloc-sys {crate}", is_bar=not is_secure)


def mimalloc2(sources: Sources, work: Path) -> Allocator:
    return _mimalloc(2, sources, work)


def mimalloc3(sources: Sources, work: Path) -> Allocator:
    return _mimalloc(3, sources, work)


def mimalloc3_secure(sources: Sources, work: Path) -> Allocator:
    """With all of its mitigations but guard pages around each block."""
    return _mimalloc(3, sources, work, is_secure=True)


def snmalloc(sources: Sources, work: Path) -> Allocator:
    return _snmalloc("snmallocshim", sources, work)


def snmalloc_checked(sources: Sources, work: Path) -> Allocator:
    """With its checks and mitigations."""
    return replace(_snmalloc("snmallocshim-checks", sources, work), is_bar=False)


def _snmalloc(target: str, sources: Sources, work: Path) -> Allocator:
    """Its CMake project, Release. The sources carry no version: it is the crate's, which follows snmalloc's."""
    source, crate = sources.crate_copy("snmalloc-sys", work, "upstream")
    run(["cmake", "-S", source, "-B", "made", "-DCMAKE_BUILD_TYPE=Release", "-DSNMALLOC_BUILD_TESTING=OFF"], work)
    output = run(["cmake", "--build", "made", "--verbose", f"-j{jobs()}", "--target", target], work)
    return Allocator("snmalloc", work / "made" / f"lib{target}.so", crate,
                     f"{compiler('c++')}: {compile_flags(output)}", f"crate snmalloc-sys {crate}")


def jemalloc(sources: Sources, work: Path) -> Allocator:
    """configure && make with default options, hence without a prefix."""
    crate_source, crate = sources.crate("tikv-jemalloc-sys")
    source, _ = sources.crate_copy("tikv-jemalloc-sys", work, "jemalloc")
    configure = source / "configure"
    configure.write_bytes((crate_source / "configure" / "configure").read_bytes())
    configure.chmod(0o755)
    # Away from the git history configure can't find its version; the crate's version names it.
    version = re.sub(r"^[^+]*\+", "", crate)
    run([configure, f"--with-version={version}"], source, work / "build.log")
    output = run(["make", f"-j{jobs()}", "build_lib_shared"], source, work / "build.log")
    made = search(source / "include" / "jemalloc" / "jemalloc.h", r'#define JEMALLOC_VERSION "([^"]+)"')
    return Allocator("jemalloc", source / "lib" / "libjemalloc.so.2", made.split("-")[0],
                     f"{compiler('cc')}: {compile_flags(output)}", f"crate tikv-jemalloc-sys {crate}")


def tcmalloc(sources: Sources, work: Path) -> Allocator:
    """Google's. Its own build is Bazel; the list of files is the crate's, less its bridge to Rust, and the definitions are
    those of the default target (8 KiB pages). Per-CPU caches need the C library's rseq registration turned off."""
    source, crate = sources.crate("libtcmalloc-sys")
    listed = re.findall(r'"(c_src/[^"]+\.(?:cc|S))"', (source / "build.rs").read_text())
    files = [file for file in listed if "bridge" not in file] + ["c_src/tcmalloc/tcmalloc/tcmalloc.cc"]
    flags = "-O3 -DNDEBUG -std=c++17 -fPIC -w -DTCMALLOC_INTERNAL_8K_PAGES"
    lines = [f"FLAGS = {flags} -I{source}/c_src/abseil-cpp -I{source}/c_src/tcmalloc", ""]
    objects = [file.replace("/", "_") + ".o" for file in files]
    lines.append(f"libtcmalloc.so: {' '.join(objects)}\n\tc++ -shared -o $@ $^ -pthread\n")
    lines += [f"{made}:\n\tc++ $(FLAGS) -c {source / file} -o $@\n" for made, file in zip(objects, files)]
    (work / "Makefile").write_text("\n".join(lines))
    run(["make", f"-j{jobs()}"], work)
    return Allocator("tcmalloc", work / "libtcmalloc.so", f"crate {crate}", f"{compiler('c++')}: {flags}",
                     f"crate libtcmalloc-sys {crate} (the sources carry no version)",
                     environment={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})


def gperftools(sources: Sources, work: Path) -> Allocator:
    """The other tcmalloc, as Debian builds it."""
    unpacked, version = sources.debian("libtcmalloc-minimal4", work)
    return Allocator("gperftools", next(unpacked.glob("usr/lib/*/libtcmalloc_minimal.so.4")), version,
                     "Debian's build", f"Debian package libtcmalloc-minimal4 {version}", is_bar=False)


def rpmalloc(sources: Sources, work: Path) -> Allocator:
    """The flags of its own generator for a release, less those for floating point."""
    source, crate = sources.crate("rpmalloc-sys")
    code = source / "rpmalloc"
    flags = ("-O3 -funroll-loops -DNDEBUG -std=c11 -D_GNU_SOURCE=1 -DBUILD_RELEASE=1 -DENABLE_PRELOAD=1 "
             "-DENABLE_OVERRIDE=1 -funit-at-a-time -fstrict-aliasing -fvisibility=hidden -fno-stack-protector "
             "-fomit-frame-pointer -fPIC")
    library = work / "librpmallocwrap.so"
    run(["cc", *flags.split(), "-w", "-shared", code / "rpmalloc" / "rpmalloc.c", "-o", library, "-pthread"], work)
    return Allocator("rpmalloc", library, search(code / "CHANGELOG", r"^(\d+\.\d+\.\d+)"),
                     f"{compiler('cc')}: {flags}", f"crate rpmalloc-sys {crate}", is_bar=False)


def hardened(sources: Sources, work: Path) -> Allocator:
    """hardened_malloc with its default configuration and the flags of its Makefile. stdalign.h is for compilers whose C23
    has no keyword alignas yet."""
    source, crate = sources.crate("hardened-malloc-sys")
    code = source / "vendor" / "hardened-malloc"
    settings = [line for line in (source / "config-default.conf").read_text().splitlines() if re.match(r"\w+=", line)]
    flags = ["-O3", "-flto", "-march=native", "-std=c2x", "-include", "stdalign.h", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-fno-plt",
             "-fstack-clash-protection", "-fcf-protection", "-fstack-protector-strong"]
    files = [code / f"{name}.c" for name in ("chacha", "h_malloc", "memory", "pages", "random", "util")]
    library = work / "libhardened_malloc.so"
    run(["cc", *flags, *[f"-D{setting}" for setting in settings], "-w", f"-I{code}", f"-I{code / 'include'}",
         f"-I{code / 'third_party'}", "-shared", *files, "-o", library, "-pthread"], work)
    return Allocator("hardened", library, crate, f"{compiler('cc')}: {' '.join(flags)}, default configuration",
                     f"crate hardened-malloc-sys {crate}", is_bar=False)


def empty(sources: Sources, work: Path) -> Allocator:
    del sources
    code, library = work / "empty.c", work / "libempty.so"
    code.write_text("// Nothing: what preloading alone costs.\n")
    run(["cc", "-O2", "-fPIC", "-shared", code, "-o", library], work)
    return Allocator("empty", library, "", compiler("cc"), "made here", is_bar=False)
