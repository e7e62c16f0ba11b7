#!/usr/bin/env python3
"""Checks the house rules that a script can check. Prints `file:line: rule: message`, ends with 1 when there is any.

usage: tools/tidy.py [ROOT]
Every rule is a function that takes the tree and yields findings; RULES, at the end, lists them.
"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FILE_LINES = 500
FUNCTION_LINES = 70
FAST_FUNCTION_LINES = 15
LINE_COLUMNS = 120
CLANG_FORMAT_VERSION = "14"

C_SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
CODE_SUFFIXES = C_SUFFIXES | {".def", ".py", ".sh", ".cmake", ".map", ".rs"}
CODE_NAMES = {"hakmem", "run", "CMakeLists.txt"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".md", ".txt", ".json", ".in", ".toml", ".ini"}
SKIPPED_FOLDERS = {"build", ".git", "__pycache__", ".cache", ".pytest_cache", "node_modules", "target"}

# Headers of the C library that change nothing outside the file that includes them.
FREE_HEADERS = {"errno.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"}
# What a layer may use beyond those and its own: the folder, or one header of it.
LAYER_HEADERS = {"sys": {"*"}, "api": {"malloc.h", "stdio.h", "hakmem/hakmem.h"}}
# malloc_info writes to the stream it is given.
API_STDIO = {"FILE", "fwrite"}

# Words of the glossary's last column that have no other use in this library.
FOREIGN_WORDS = {"arena", "chunk", "decommit", "extent", "magazine", "segment", "superslab"}

ALLOCATING = ("malloc calloc realloc reallocarray free aligned_alloc memalign posix_memalign valloc pvalloc cfree strdup "
              "strndup asprintf vasprintf getline getdelim qsort opendir scandir setenv putenv").split()
STDIO = ("printf fprintf dprintf sprintf snprintf vprintf vfprintf vdprintf vsprintf vsnprintf puts fputs putchar fputc "
         "fopen fdopen freopen fclose fread fwrite fflush fgets fgetc getc sscanf fscanf popen perror FILE stdin stdout "
         "stderr").split()

# Reserved names that the compiler or the C library defines and this library uses or exports.
RESERVED_NAMES = re.compile(
    r"_(Static_assert|Atomic|Alignas|Alignof|Generic|Noreturn|Thread_local|Exit|exit|GNU_SOURCE|Z\w+|Unwind_\w+)"
    r"|__(\w+__|builtin_\w+|atomic_\w+|ATOMIC_\w+|libc_\w+|cxa_\w+|gxx_\w+|has_\w+|thread|restrict|environ|VA_ARGS__"
    r"|posix_memalign|errno_location|alignof|register_atfork|GLIBC\w*|GLIBC_PREREQ|dso_handle)")


class Finding(NamedTuple):
    path: Path
    line: int
    rule: str
    message: str


class Source:
    """A text file: its lines, and for C also the lines without comments and without what strings hold."""

    def __init__(self, root, path):
        self.path = path.relative_to(root)
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.is_c = path.suffix in C_SUFFIXES | {".def"}
        self.code = strip_c(self.text).split("\n")[:len(self.lines)] if self.is_c else self.lines

    @property
    def layer(self):
        """The folder of src/ the file is in; None for all.c and files elsewhere."""
        parts = self.path.parts
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None

    def is_explained(self, index):
        """Is there a comment on the line, the one before, or a later one of the same statement?"""
        last = index
        while last + 1 < len(self.code) and not re.search(r"[;{}]\s*$|^\s*$", self.code[last]):
            last += 1
        return any("//" in line or "*/" in line for line in self.lines[max(index - 1, 0):last + 1])


def strip_c(text):
    """Blanks out comments and the inside of strings; lines and columns stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

    def blank(match):
        token = match.group()
        quote = token[0] if token[0] in "\"'" else ""
        inner = token[1:-1] if quote else token
        return quote + re.sub(r"[^\n]", " ", inner) + quote

    return pattern.sub(blank, text)


class Tree:
    """The files of a checkout and the order of its layers."""

    def __init__(self, root):
        self.root = root
        self.sources = [Source(root, path) for path in sorted(self.files())]
        self.layers = self.read_layers()

    def files(self):
        for path in self.root.rglob("*"):
            parts = path.relative_to(self.root).parts
            if not path.is_file() or path.is_symlink() or SKIPPED_FOLDERS & set(parts):
                continue
            if path.suffix in TEXT_SUFFIXES or path.name in CODE_NAMES:
                yield path

    def under(self, *folders):
        return [source for source in self.sources if source.path.parts[0] in folders]

    def read_layers(self):
        """Layer -> every layer below it, in order from the lowest."""
        below = {}
        for line in (self.root / "cmake/layers.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                layer, *direct = line.split()
                below[layer] = set(direct).union(*(below[name] for name in direct))
        return below


def is_code(source):
    return source.path.suffix in CODE_SUFFIXES or source.path.name in CODE_NAMES


# --- shape -------------------------------------------------------------------------------------------------------------


def file_length(tree):
    for source in tree.sources:
        if is_code(source) and len(source.lines) > FILE_LINES:
            yield Finding(source.path, FILE_LINES + 1, "file-length", f"{len(source.lines)} lines, at most {FILE_LINES}")


def c_functions(source):
    """(first line, last line, name) of each function, counted from 0. In formatted code what begins in the first column
    ends with a brace in the first column."""
    start = head = None
    for index, line in enumerate(source.code):
        if start is None:
            if not re.match(r"[A-Za-z_]", line):
                continue
            start, head = index, ""
        if "{" not in head:
            head += line + " "
            if "{" not in head:
                if ";" in line or not line.strip():
                    start = None
                continue
            if re.match(r'(extern\s*"|namespace\b)', head):  # what it holds begins in the first column too
                start = None
                continue
            closed = line.rstrip().endswith(("}", "};"))
        else:
            closed = line.startswith("}")
        if closed:
            before = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head.split("{")[0])
            name = re.search(r"(\w+)\s*\(", before)
            if name and "=" not in before:
                yield start, index, name.group(1)
            start = None


def python_functions(source):
    try:
        module = ast.parse(source.text)
    except SyntaxError:
        return
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno - 1, node.end_lineno - 1, node.name


def function_length(tree):
    for source in tree.sources:
        functions = python_functions(source) if source.path.suffix == ".py" else \
            c_functions(source) if source.is_c else ()
        most = FAST_FUNCTION_LINES if source.path.name == "heap_fast.h" else FUNCTION_LINES
        for first, last, name in functions:
            if last - first + 1 > most:
                yield Finding(source.path, first + 1, "function-length",
                              f"{name} has {last - first + 1} lines, at most {most}")


def first_comment(tree):
    for source in tree.sources:
        lines = [line for line in source.lines if line and not line.startswith("#!")]
        if is_code(source) and lines and not lines[0].startswith(("//", "/*", "#", '"""', 'r"""')):
            yield Finding(source.path, 1, "first-comment", "the file does not begin by saying what it is for")


def white_space(tree):
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            if line != line.rstrip():
                yield Finding(source.path, number, "white-space", "trailing white space")
            if source.is_c and "\t" in line:
                yield Finding(source.path, number, "white-space", "a tab")
        if source.text and not source.text.endswith("\n"):
            yield Finding(source.path, len(source.lines), "white-space", "no newline at the end of the file")


def line_length(tree):
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            if source.is_c and source.path.suffix != ".def" and len(line) > LINE_COLUMNS:
                yield Finding(source.path, number, "line-length", f"{len(line)} columns, at most {LINE_COLUMNS}")


def left_notes(tree):
    pattern = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            if match := pattern.search(line):
                yield Finding(source.path, number, "left-note", f"{match.group()}: do it, or take it out")


def formatting(tree):
    tool = next((name for name in (f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format") if shutil.which(name)), None)
    if tool is None or f"version {CLANG_FORMAT_VERSION}." not in run([tool, "--version"]).stdout:
        print(f"tidy: clang-format {CLANG_FORMAT_VERSION} is not here: formatting is not checked", file=sys.stderr)
        return
    # In all.c the order of the includes means something.
    paths = [str(source.path) for source in tree.sources
             if source.path.suffix in C_SUFFIXES and source.path != Path("src/all.c")]
    if not paths:
        return
    complaints = run([tool, "--dry-run", "--style=file", *paths], cwd=tree.root).stderr
    seen = set()
    for match in re.finditer(r"^(.+?):(\d+):\d+: \w+: code should be clang-formatted", complaints, re.MULTILINE):
        if match.group(1) not in seen:
            seen.add(match.group(1))
            yield Finding(Path(match.group(1)), int(match.group(2)), "formatting",
                          f"differs from here on; put right by: {tool} -i {match.group(1)}")


def run(command, **settings):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **settings)


# --- layers ------------------------------------------------------------------------------------------------------------


def layer_includes(tree):
    for source in tree.under("src"):
        if source.layer is None:
            continue
        if source.layer not in tree.layers:
            yield Finding(source.path, 1, "layer-include", f"{source.layer} is no layer of cmake/layers.txt")
            continue
        extra = LAYER_HEADERS.get(source.layer, set())
        for number, line in enumerate(source.lines, 1):
            if not (match := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)):
                continue
            kind, name = match.groups()
            if name in extra or (kind == "<" and ("*" in extra or name in FREE_HEADERS)):
                continue
            if kind == "<":
                yield Finding(source.path, number, "layer-include", f"<{name}>: the system is known to sys alone")
            elif name.split("/")[0] not in tree.layers[source.layer] | {source.layer} or "/" not in name:
                yield Finding(source.path, number, "layer-include",
                              f"{name}: {source.layer} includes its own headers and those of "
                              f"{' '.join(sorted(tree.layers[source.layer])) or 'no other layer'}")


def all_in_order(tree):
    path = tree.root / "src/all.c"
    if not path.exists():
        return
    order = list(tree.layers)
    highest, included = -1, set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.match(r'#include "((\w+)/\w+\.c)"', line):
            included.add(match.group(1))
            rank = order.index(match.group(2)) if match.group(2) in order else len(order)
            if rank < highest:
                yield Finding(Path("src/all.c"), number, "all-in-order", f"{match.group(1)} belongs before {order[highest]}")
            highest = max(highest, rank)
    for source in tree.under("src"):
        if source.layer and source.path.suffix == ".c" and str(source.path.relative_to("src")) not in included:
            yield Finding(Path("src/all.c"), 1, "all-in-order", f"{source.path} is not included")


# --- code --------------------------------------------------------------------------------------------------------------


def fast_path(tree):
    forbidden = {
        "a preprocessor condition": r"^\s*#\s*(if|ifdef|elif|else|ifndef)\b",
        "a loop": r"\b(for|while|do|goto)\b",
        "a lock": r"\block_\w+",
        "a read-modify-write": r"__atomic_\w*(fetch|exchange)\w*|\b(shared_add|(or|and|exchange|swap)_\w+)\(",
        "a counter": r"\bcount_\w+\(|\bcounters?\b",
        "an option": r"\boptions?\b\s*[.]",
    }
    for source in tree.under("src"):
        if source.path.name != "heap_fast.h":
            continue
        guard = next((index for index, line in enumerate(source.code) if line.startswith("#ifndef")), None)
        for index, line in enumerate(source.code):
            for what, pattern in forbidden.items():
                if index != guard and re.search(pattern, line):
                    yield Finding(source.path, index + 1, "fast-path", f"{what} on the fast path")


def no_library_calls(tree):
    calls = re.compile(r"(?<![\w.>])(" + "|".join(ALLOCATING) + r")\s*\(")
    stdio = re.compile(r"(?<![\w.>])(" + "|".join(STDIO) + r")\b")
    for source in tree.under("src"):
        inside = set()
        for first, last, _ in c_functions(source):
            body = next((i for i in range(first, last + 1) if "{" in source.code[i]), first)
            inside.update(range(body + 1, last + 1))
        for index, line in enumerate(source.code):
            if (match := stdio.search(line)) and not (source.layer == "api" and match.group(1) in API_STDIO):
                yield Finding(source.path, index + 1, "no-stdio", f"{match.group(1)}: the C library may allocate for it")
            if (match := calls.search(line)) and (source.layer != "api" or index in inside):
                yield Finding(source.path, index + 1, "no-malloc", f"{match.group(1)}: the allocator may not call one")


def ordering_names(tree):
    """Macros of the base layer that stand for an atomic stronger than relaxed."""
    names = set()
    for source in tree.under("src"):
        if source.layer == "base":
            text = re.sub(r"\\\s*\n", " ", "\n".join(source.code))
            for match in re.finditer(r"^#define (\w+)\([^)]*\)(.*)$", text, re.MULTILINE):
                if re.search(r"__ATOMIC_(?!RELAXED)", match.group(2)):
                    names.add(match.group(1))
    return names


def explained_order(tree):
    pattern = r"__ATOMIC_(?!RELAXED)[A-Z_]+|memory_order_(?!relaxed)[a-z_]+|\batomic_(?!\w*_explicit|signal)\w+\s*\("
    if names := ordering_names(tree):
        pattern += r"|\b(" + "|".join(sorted(names)) + r")\("
    for source in tree.under("src"):
        for index, line in enumerate(source.code):
            match = re.search(pattern, line)
            if match and not source.is_explained(index):
                yield Finding(source.path, index + 1, "explained-order",
                              f"{match.group().rstrip('( ')} without a comment: why, and with what it pairs")


def words(tree):
    for source in tree.under("src"):
        for index, line in enumerate(source.code):
            if line.lstrip().startswith("#include"):
                continue
            # A member's name was chosen where it was declared, an M_ name by <malloc.h>.
            for name in re.findall(r"(?<![\w.])(?<!->)(?!M_)[A-Za-z_]\w*", line):
                if name.startswith("_") and not RESERVED_NAMES.fullmatch(name):
                    yield Finding(source.path, index + 1, "underscore", f"{name} begins with an underscore")
                for part in name.lower().split("_"):
                    if part in FOREIGN_WORDS or (part.endswith("s") and part[:-1] in FOREIGN_WORDS):
                        yield Finding(source.path, index + 1, "glossary", f"{name}: {part} has another name here")


def bool_parameters(tree):
    for source in tree.under("src"):
        if source.path.suffix != ".h":
            continue
        for match in re.finditer(r"^INTERNAL [^;{]*;", "\n".join(source.code), re.MULTILINE):
            if "(" in match.group() and re.search(r"\bbool \w", match.group().split("(", 1)[1]):
                line = "\n".join(source.code)[:match.start()].count("\n") + 1
                yield Finding(source.path, line, "bool-parameter", "a bool parameter across files says nothing at the call")


# --- tests and pages ---------------------------------------------------------------------------------------------------


def unit_tests(tree):
    for source in tree.under("src"):
        if source.layer and source.path.suffix == ".c":
            test = Path("tests/unit") / source.layer / f"test_{source.path.name}"
            if not (tree.root / test).exists():
                yield Finding(source.path, 1, "unit-test", f"{test} is missing")


def faults(tree):
    table = next((source for source in tree.under("src") if source.path.name == "faults.def"), None)
    if table is None:
        return
    page = tree.root / "docs/faults.md"
    programs = [path.stem for path in (tree.root / "tests/misuse").glob("*.c*")]
    for number, line in enumerate(table.lines, 1):
        if not (match := re.match(r"FAULT\((\w+)", line)):
            continue
        name = match.group(1)
        title = re.compile(r"^#+ .*\b" + name.replace("_", "[ _-]") + r"\b", re.MULTILINE | re.IGNORECASE)
        if page.exists() and not title.search(page.read_text()):
            yield Finding(table.path, number, "fault", f"{name} has no paragraph in docs/faults.md")
        if programs and not any(program.removeprefix("test_").startswith(name) for program in programs):
            yield Finding(table.path, number, "fault", f"{name} has no program in tests/misuse")


def decisions(tree):
    numbers = {}
    for path in sorted((tree.root / "docs/decisions").glob("*.md")):
        match = re.fullmatch(r"(\d{4})-[a-z0-9-]+\.md", path.name)
        where = path.relative_to(tree.root)
        if path.name == "README.md":
            continue
        if not match:
            yield Finding(where, 1, "decision", "the name is not NNNN-what-was-decided.md")
        elif match.group(1) in numbers:
            yield Finding(where, 1, "decision", f"{match.group(1)} is also the number of {numbers[match.group(1)]}")
        else:
            numbers[match.group(1)] = path.name


def versions(tree):
    """hakmem.h says the version; what has to repeat it agrees."""
    header = tree.root / "include/hakmem/hakmem.h"
    parts = re.findall(r"^#define HAKMEM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text() if header.exists() else "",
                       re.MULTILINE)
    for name, pattern in (("CHANGELOG.md", r"^## ([\d.]+)"), ("python/pyproject.toml", r'^version = "(.*)"')):
        path = tree.root / name
        match = re.search(pattern, path.read_text(), re.MULTILINE) if path.exists() else None
        if parts and match and match.group(1) != ".".join(parts):
            line = path.read_text()[:match.start()].count("\n") + 1
            yield Finding(Path(name), line, "version", f"{match.group(1)}, but hakmem.h says {'.'.join(parts)}")


RULES = (file_length, function_length, first_comment, white_space, line_length, left_notes, layer_includes, all_in_order,
         fast_path, no_library_calls, explained_order, words, bool_parameters, unit_tests, faults, decisions, versions,
         formatting)


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parents[1]).resolve()
    tree = Tree(root)
    findings = sorted({finding for rule in RULES for finding in rule(tree)})
    for path, line, rule, message in findings:
        print(f"{path}:{line}: {rule}: {message}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
