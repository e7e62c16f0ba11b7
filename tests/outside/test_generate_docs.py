"""docs/options.md, docs/counters.md and docs/policy.md say what the tables say, and tools/generate_docs.py sees where they don't."""

import importlib.util
import shutil
import sys

import pytest

TABLES = ("src/sys/options.def", "src/count/counters.def", "src/policy/decisions.def", "src/policy/modes.def",
          "src/base/tuning.h", "include/hakmem/hakmem.h")


@pytest.fixture(scope="module")
def generate_docs(root):
    spec = importlib.util.spec_from_file_location("generate_docs", root / "tools/generate_docs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate_docs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(root, tmp_path):
    """A tree of the tables and the pages alone, to be changed."""
    for path in (*TABLES, "docs/options.md", "docs/counters.md", "docs/policy.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, tmp_path / path)
    return tmp_path


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_pages_of_this_tree_are_up_to_date(root, run):
    outcome = run(sys.executable, root / "tools/generate_docs.py", "--check", status=None)
    assert outcome.returncode == 0 and outcome.stdout == "", outcome.stdout


@pytest.mark.parametrize(("table", "old", "new", "page"), [
    ("src/sys/options.def", "OPTION_TEXT(stats_file", "OPTION_TEXT(stats_path", "docs/options.md"),
    ("src/sys/options.def", '"off|text|json"', '"off|text|json|xml"', "docs/options.md"),
    ("src/base/tuning.h", "#define RETAIN_SHARE 8", "#define RETAIN_SHARE 9", "docs/options.md"),
    ("src/count/counters.def", '"blocks handed to threads"', '"blocks given to threads"', "docs/counters.md"),
    ("include/hakmem/hakmem.h", "uint64_t faults;", "uint64_t misuses;", "docs/counters.md"),
])
def test_a_changed_table_is_noticed_and_writing_puts_it_right(generate_docs, tree, capsys, table, old, new, page):
    assert generate_docs.main(["--check", str(tree)]) == 0
    change(tree / table, old, new)
    before = (tree / page).read_text()
    assert generate_docs.main(["--check", str(tree)]) == 1
    assert page in capsys.readouterr().out
    assert (tree / page).read_text() == before  # checking writes nothing
    assert generate_docs.main([str(tree)]) == 0
    assert (tree / page).read_text() != before
    assert generate_docs.main(["--check", str(tree)]) == 0


def test_a_changed_or_missing_page_is_noticed(generate_docs, tree):
    change(tree / "docs/options.md", "`fastlane`", "`fastline`")
    assert generate_docs.main(["--check", str(tree)]) == 1
    (tree / "docs/options.md").unlink()
    assert generate_docs.main(["--check", str(tree)]) == 1
    assert generate_docs.main([str(tree)]) == 0
    assert generate_docs.main(["--check", str(tree)]) == 0


def test_rows_are_read_whole(generate_docs):
    text = '// OPTION_TEXT(comment, 0, "no")\nOPTION_SIZE(a, (1 + 2) * GIB, 0, F(1, 2), 1, "x, (y) " "z")\nOPTION_TEXT(b, 0, "c")\n'
    assert list(generate_docs.rows(text)) == [
        ("OPTION_SIZE", ["a", "(1 + 2) * GIB", "0", "F(1, 2)", "1", "x, (y) z"]), ("OPTION_TEXT", ["b", "0", "c"])]


def test_constants_are_computed(generate_docs, root):
    numbers = generate_docs.read_numbers(root)
    assert generate_docs.value_of("16 * MIB", numbers) == 16 << 20
    assert generate_docs.value_of("GROUP_BYTES - SLICE_BYTES", numbers) == (2 << 20) - (64 << 10)
    with pytest.raises((KeyError, ValueError)):
        generate_docs.value_of("SOMETHING_ELSE", numbers)
    with pytest.raises((KeyError, ValueError)):
        generate_docs.value_of("exit()", numbers)


def test_every_option_and_counter_is_on_its_page(generate_docs, root):
    options, counters = (root / "docs/options.md").read_text(), (root / "docs/counters.md").read_text()
    assert len(generate_docs.read_options(root)) == (root / "src/sys/options.def").read_text().count("\nOPTION_")
    for option in generate_docs.read_options(root):
        assert f"| `{option.name}` |" in options and option.what in options
    assert len(generate_docs.read_counters(root)) == (root / "src/count/counters.def").read_text().count("\nCOUNTER(")
    for counter in [*generate_docs.read_counters(root), *generate_docs.read_statistics(root)]:
        assert f"| `{counter.name}` |" in counters and counter.what in counters
