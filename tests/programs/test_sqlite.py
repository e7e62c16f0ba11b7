"""sqlite3: a long script of tables, indexes, views, triggers, text search and JSON, with known sums."""

import hashlib

import pytest
from under_hakmem import run

pytestmark = pytest.mark.core

# Every row follows from its number, so that what is asked below is known without the program.
ROWS = 60_000
SCRIPT = f"""
PRAGMA journal_mode = WAL;
CREATE TABLE item (id INTEGER PRIMARY KEY, grp INTEGER, name TEXT, weight REAL, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO item SELECT i, (i * 7919) % 101, printf('name-%05d', (i * 104729) % {ROWS}), i / 4.0,
                        zeroblob(i % 500) FROM n;
CREATE INDEX item_grp ON item(grp, weight);
CREATE UNIQUE INDEX item_name ON item(name);
CREATE VIEW heavy AS SELECT grp, count(*) AS how_many, sum(weight) AS weight FROM item GROUP BY grp;
CREATE TABLE audit (id INTEGER, what TEXT);
CREATE TRIGGER on_delete AFTER DELETE ON item BEGIN INSERT INTO audit VALUES (old.id, 'gone'); END;
SELECT count(*), sum(id), sum(length(body)) FROM item;
SELECT sum(how_many), sum(weight), count(*) FROM heavy;
BEGIN; DELETE FROM item WHERE id % 3 = 0; SELECT count(*) FROM audit; ROLLBACK;
SELECT count(*) FROM audit;
DELETE FROM item WHERE id % 10 = 0;
SELECT count(*), sum(id) FROM audit;
UPDATE item SET name = name || '-' || grp WHERE grp < 50;
SELECT count(*) FROM item WHERE name LIKE '%-%-%';
SELECT count(*) FROM item a JOIN item b ON b.id = a.id + 1 WHERE a.grp < 10;
SELECT sum(rank) FROM (SELECT rank() OVER (PARTITION BY grp ORDER BY weight) AS rank FROM item WHERE grp = 5);
SELECT sum(json_extract(j, '$.v[1]')) FROM (SELECT json_object('v', json_array(id, id * 2)) AS j FROM item);
CREATE VIRTUAL TABLE words USING fts5(body);
INSERT INTO words SELECT 'common word' || (id % 1000) || ' and number ' || id FROM item;
SELECT count(*) FROM words WHERE words MATCH 'word77';
SELECT length(group_concat(id, ',')) FROM item;
VACUUM;
PRAGMA integrity_check;
"""


def expected_lines():
    ids = range(1, ROWS + 1)
    kept = [i for i in ids if i % 10]
    group = {i: (i * 7919) % 101 for i in ids}
    of_five = sum(1 for i in kept if group[i] == 5)
    joined = sum(1 for i in kept if group[i] < 10 and (i + 1) % 10 and i < ROWS)
    gone = [i for i in ids if i % 10 == 0]
    return ["wal",
            f"{ROWS}|{sum(ids)}|{sum(i % 500 for i in ids)}",
            f"{ROWS}|{sum(ids) / 4}|101",
            f"{ROWS // 3}",
            "0",
            f"{len(gone)}|{sum(gone)}",
            f"{sum(1 for i in kept if group[i] < 50)}",
            f"{joined}",
            f"{of_five * (of_five + 1) // 2}",
            f"{2 * sum(kept)}",
            f"{sum(1 for i in kept if i % 1000 == 77)}",
            f"{len(','.join(map(str, kept)))}",
            "ok"]


@pytest.mark.learns
def test_a_long_script_in_a_file(need, tmp_path):
    outcome = run([need("sqlite3"), "-batch", "-bail", tmp_path / "data"], stdin=SCRIPT)
    assert outcome.stdout.splitlines() == expected_lines()
    again = run([need("sqlite3"), "-batch", tmp_path / "data"],
                stdin="SELECT sum(id) FROM item; PRAGMA integrity_check;")
    assert again.stdout.split() == [str(sum(i for i in range(1, ROWS + 1) if i % 10)), "ok"]


def test_a_long_script_in_memory_without_lookaside(need):
    """Without its own pool of small blocks sqlite takes each of them from the allocator."""
    script = SCRIPT.replace("PRAGMA journal_mode = WAL;", "SELECT 'wal';")
    argv = [need("sqlite3"), "-batch", "-bail", "-lookaside", "0", "0", ":memory:"]
    assert run(argv, stdin=script).stdout.splitlines() == expected_lines()


def test_a_dump_reads_back_as_the_same_dump(need, tmp_path):
    script = "".join(f"INSERT INTO t VALUES ({i}, '{hashlib.md5(b'%d' % i).hexdigest() * (i % 9)}');\n"
                     for i in range(30_000))
    sqlite = need("sqlite3")
    run([sqlite, "-batch", tmp_path / "first"],
        stdin="CREATE TABLE t (i INTEGER, v TEXT); BEGIN;" + script + "COMMIT;")
    dump = run([sqlite, tmp_path / "first", ".dump"]).stdout
    assert dump.count("INSERT") == 30_000
    run([sqlite, "-batch", tmp_path / "second"], stdin=dump)
    assert run([sqlite, tmp_path / "second", ".dump"]).stdout == dump
