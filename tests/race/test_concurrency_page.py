"""docs/concurrency.md knows every word that is accessed atomically and every lock, and none that is gone."""

import re

import pytest

OPERATION = re.compile(
    r"\b(?:(?:load|store)_(?:relaxed|acquire|release|total|fast)|(?:or|and|exchange|swap)_(?:total|acquire|release)"
    r"|shared_add|count_add)\(((?:[^(),]|\((?:[^()]|\([^()]*\))*\))+)")

# Names that a word has where a pointer to it is at hand.
POINTERS = {"word": "bits", "lease": "slab", "place": "mapping_root", "root": "mapping_root", "name": "counters",
            "view": "views"}


def accessed_words(root):
    """The last name of each atomically accessed place: slab->bits[i] is `bits`."""
    words = set()
    for path in (root / "src").rglob("*.[ch]"):
        if path.name == "atomics.h":
            continue
        for place in OPERATION.findall(path.read_text()):
            name = re.findall(r"\w+", re.sub(r"\[.*?\]|\(.*?\)", "", re.sub(r"\[.*\]$", "", place.strip())))[-1]
            words.add(POINTERS.get(name, name))
    return words


@pytest.fixture
def page(root):
    return (root / "docs/concurrency.md").read_text()


@pytest.fixture
def documented_words(page):
    rows = page.split("## Shared words")[1].split("\n## ")[0].splitlines()
    columns = [row.split("|")[1] for row in rows if row.startswith("| `")]
    return {word.split(".")[-1] for column in columns for word in re.findall(r"`([\w.]+)`", column)}


def test_every_word_is_a_row(root, documented_words):
    assert accessed_words(root) - documented_words == set()


def test_every_row_is_a_word(root, documented_words):
    assert documented_words - accessed_words(root) - {"counters"} == set()


def test_locks_are_those_of_the_table_in_its_order(root, page):
    ranks = re.findall(r"^LOCK\((\w+)", (root / "src/sys/locks.def").read_text(), re.MULTILINE)
    rows = page.split("## Locks")[1].split("\n## ")[0].splitlines()
    assert [row.split("|")[1].strip() for row in rows if re.match(r"\| [a-z]+ \| `", row)] == ranks


def test_the_tests_it_names_are_there(root, page):
    named = set(re.findall(r"`((?:unit|api|race|oom|misuse)/[\w/*]+)`", page))
    assert named
    for name in named:
        folder, last = name.rsplit("/", 1)
        places = [f"{name}", f"{folder}/test_{last}.c", f"{folder}/{last}.c", f"{folder}/slab/{last}_scripts.c"]
        found = any((root / "tests" / place).exists() for place in (places if last != "*" else [folder]))
        assert found, name


def test_words_of_the_shape_in_use_are_seen(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/x.c").write_text(
        "store_relaxed(&slab->state, load_relaxed(&other.count[i + 1]));\nor_total(word, mask);\n"
        "swap_acquire(&entry_of(leaf_find(a.b), c)->block, expected, 0);\n")
    assert accessed_words(tmp_path) == {"state", "count", "bits", "block"}
