"""tools/tidy.py: this tree keeps the house rules, and each rule sees what it is there to see."""

import importlib.util
import shutil
import sys

import pytest

LAYERS = "base\nsys base\nslab sys\nheap slab\napi heap\n"
SOURCE = "// A part.\n{}\n"


@pytest.fixture
def tidy(root):
    spec = importlib.util.spec_from_file_location("tidy", root / "tools/tidy.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["tidy"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def findings(tidy, root, tmp_path, capsys):
    """findings({path: text}) lays a small tree out and returns the lines that tidy prints for it."""

    def check(files):
        shutil.copy(root / ".clang-format", tmp_path)
        for path, text in {"cmake/layers.txt": LAYERS, **files}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        status = tidy.main([str(tmp_path)])
        lines = capsys.readouterr().out.splitlines()
        assert status == (1 if lines else 0)
        return lines

    return check


def function(lines, name="long_one"):
    return f"int {name}(void) {{\n" + "    base_step();\n" * (lines - 3) + "    return 0;\n}"


def test_this_tree_is_tidy(root, run):
    outcome = run(sys.executable, root / "tools/tidy.py", status=None)
    assert outcome.stdout == "" and outcome.returncode == 0, outcome.stdout


def test_a_tidy_tree_has_no_findings(findings):
    assert findings({
        "src/all.c": '// All.\n#include "base/step.c"\n#include "heap/heap.c"\n',
        "src/base/step.c": SOURCE.format(function(70)),
        "src/heap/heap.c": SOURCE.format('#include "base/step.h"\n#include <stdint.h>\n\nint heap_count;'),
        "tests/unit/base/test_step.c": "// Tests.\n",
        "tests/unit/heap/test_heap.c": "// Tests.\n",
        "src/sys/faults.def": '// Faults.\nFAULT(double_free, "double free")\n',
        "tests/misuse/double_free.c": "// Frees twice.\n",
        "docs/faults.md": "## Double free\n",
        "docs/decisions/0001-one-stack.md": "# One\n",
    }) == []


BROKEN = {
    "file-length": ("src/base/x.h", "// A part.\n" + "int x;\n" * 500, 501),
    "function-length": ("src/base/x.h", SOURCE.format(function(71)), 2),
    "function-length of python": ("tools/x.py", '"""A tool."""\n\n\ndef x():\n' + "    print()\n" * 70, 4),
    "function-length on the fast path": ("src/heap/heap_fast.h", SOURCE.format(function(16)), 2),
    "first-comment": ("src/base/x.h", "int x;\n", 1),
    "white-space": ("src/base/x.h", "// A part. \n", 1),
    "white-space tab": ("src/base/x.h", "// A\tpart.\n", 1),
    "white-space end": ("src/base/x.h", "// A part.", 1),
    "line-length": ("src/base/x.h", "// " + "x" * 118 + "\n", 1),
    "left-note": ("docs/x.md", "Fine.\n\n" + "TO" + "DO: more\n", 3),
    "formatting": ("src/base/x.h", SOURCE.format("int  x;"), 2),
    "layer-include upwards": ("src/slab/x.h", SOURCE.format('#include "heap/heap.h"'), 2),
    "layer-include without layer": ("src/slab/x.h", SOURCE.format('#include "x.h"'), 2),
    "layer-include of the system": ("src/slab/x.h", SOURCE.format("#include <sys/mman.h>"), 2),
    "layer-include unknown layer": ("src/front/x.h", SOURCE.format("int x;"), 1),
    "fast-path condition": ("src/heap/heap_fast.h", SOURCE.format("#ifndef X\n#define X\n#ifdef Y\n#endif\n#endif"), 4),
    "fast-path loop": ("src/heap/heap_fast.h", SOURCE.format("void x(void) {\n    while (y())\n        z();\n}"), 3),
    "fast-path lock": ("src/heap/heap_fast.h", SOURCE.format("void x(void) {\n    lock_acquire(&l);\n}"), 3),
    "fast-path read": ("src/heap/heap_fast.h", SOURCE.format("void x(void) {\n    shared_add(&y, 1);\n}"), 3),
    "fast-path counter": ("src/heap/heap_fast.h", SOURCE.format("void x(void) {\n    count_add(&y, 1);\n}"), 3),
    "fast-path option": ("src/heap/heap_fast.h", SOURCE.format("int x(void) {\n    return options.fastlane;\n}"), 3),
    "no-stdio": ("src/sys/x.h", SOURCE.format("void x(void) {\n    printf(y);\n}"), 3),
    "no-stdio inside api": ("src/api/x.h", SOURCE.format("void x(void) {\n    printf(y);\n}"), 3),
    "no-malloc": ("src/slab/x.h", SOURCE.format("void *x(void) {\n    return malloc(1);\n}"), 3),
    "no-malloc inside api": ("src/api/x.h", SOURCE.format("void *calloc(size_t n) {\n    return malloc(n);\n}"), 3),
    "explained-order builtin": ("src/base/x.h", SOURCE.format("\nint x = __atomic_load_n(&y, __ATOMIC_ACQUIRE);"), 3),
    "explained-order C11": ("src/base/x.h", SOURCE.format("\nint x = atomic_load(&y);"), 3),
    "underscore": ("src/base/x.h", SOURCE.format("int _x;"), 2),
    "underscore double": ("src/base/x.h", SOURCE.format("int __x;"), 2),
    "glossary": ("src/base/x.h", SOURCE.format("int first_arena;"), 2),
    "glossary plural": ("src/base/x.h", SOURCE.format("int MAX_CHUNKS;"), 2),
    "bool-parameter": ("src/base/x.h", SOURCE.format("INTERNAL void x(int y,\n                bool z);"), 2),
    "decision": ("docs/decisions/one-stack.md", "# One\n", 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_breach_is_found(findings, tidy, name):
    path, text, line = BROKEN[name]
    if name == "formatting" and not tidy_has_clang_format(tidy):
        pytest.skip(f"clang-format {tidy.CLANG_FORMAT_VERSION} is not here")
    found = findings({path: text})
    assert any(entry.startswith(f"{path}:{line}: {name.split()[0]}: ") for entry in found), found


def tidy_has_clang_format(tidy):
    return shutil.which("clang-format") and \
        f"version {tidy.CLANG_FORMAT_VERSION}." in tidy.run(["clang-format", "--version"]).stdout


def test_orders_hidden_in_macros_of_the_base_need_a_comment_too(findings):
    found = findings({
        "src/base/atomics.h": SOURCE.format("#define or_total(a, m) __atomic_fetch_or(a, m, __ATOMIC_SEQ_CST) // order: caller"),
        "src/slab/x.h": SOURCE.format("void x(void) {\n    y = 1;\n    or_total(&y, 1);\n    or_total(&y, 2); // total: z\n}"),
    })
    assert [entry.split(" ")[:2] for entry in found] == [["src/slab/x.h:4:", "explained-order:"]]


def test_definitions_in_api_are_no_calls(findings):
    assert findings({"src/api/x.h": SOURCE.format("void free(void *block) {\n    heap_free(block);\n}")}) == []


def test_what_malloc_h_asks_for_is_allowed_in_api(findings):
    assert findings({"src/api/x.h": SOURCE.format(
        "#include <stdio.h>\nint malloc_info(int settings, FILE *stream) {\n    info.arena = M_ARENA_MAX;\n"
        "    return fwrite(text, 1, 2, stream);\n}")}) == []


def test_names_the_compiler_reserves_are_allowed(findings):
    assert findings({"src/base/x.h": SOURCE.format(
        '_Static_assert(__SIZEOF_POINTER__ == 8, "64 bits");\nextern char __libc_single_threaded __attribute__((weak));')}) == []


def test_what_comments_and_strings_say_is_not_code(findings):
    assert findings({"src/base/x.h": SOURCE.format('// malloc(1), printf, arena, _x\nchar *x = "malloc(1) arena _x";')}) == []


def test_all_c_includes_everything_in_order(findings):
    found = findings({
        "src/all.c": '// All.\n#include "heap/heap.c"\n#include "base/step.c"\n',
        "src/base/step.c": "// A part.\n", "src/heap/heap.c": "// A part.\n", "src/heap/left_out.c": "// A part.\n",
        **{f"tests/unit/{name}.c": "// Tests.\n" for name in ("base/test_step", "heap/test_heap", "heap/test_left_out")},
    })
    assert found == ["src/all.c:1: all-in-order: src/heap/left_out.c is not included",
                     "src/all.c:3: all-in-order: base/step.c belongs before heap"]


def test_a_source_needs_a_unit_test(findings):
    assert findings({"src/base/step.c": "// A part.\n"}) == \
        ["src/base/step.c:1: unit-test: tests/unit/base/test_step.c is missing"]


def test_a_fault_needs_a_paragraph_and_a_program(findings):
    found = findings({
        "src/sys/faults.def": '// Faults.\nFAULT(double_free, "double free")\nFAULT(lost_page, "lost page")\n',
        "docs/faults.md": "## Double free\n", "tests/misuse/double_free_small.c": "// Frees twice.\n",
    })
    assert found == ["src/sys/faults.def:3: fault: lost_page has no paragraph in docs/faults.md",
                     "src/sys/faults.def:3: fault: lost_page has no program in tests/misuse"]


def test_decisions_have_numbers_of_their_own(findings):
    found = findings({"docs/decisions/0001-a.md": "# A\n", "docs/decisions/0001-b.md": "# B\n"})
    assert found == ["docs/decisions/0001-b.md:1: decision: 0001 is also the number of 0001-a.md"]


def test_versions_agree(findings):
    header = "// H.\n" + "".join(f"#define HAKMEM_VERSION_{part} 1\n" for part in ("MAJOR", "MINOR", "PATCH"))
    assert findings({"include/hakmem/hakmem.h": header, "CHANGELOG.md": "# C\n\n## 1.1.0 (soon)\n## 1.0.0\n",
                     "python/pyproject.toml": 'name = "x"\nversion = "1.1.1"\n'}) == \
        ["CHANGELOG.md:3: version: 1.1.0, but hakmem.h says 1.1.1"]
