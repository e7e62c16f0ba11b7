"""PostgreSQL: initdb, pgbench with several clients, a stop, a restart and a check of the sums."""

import contextlib
import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
from under_hakmem import descendants, executable_name, maps_library, run, serving

pytestmark = pytest.mark.core

SCALE, CLIENTS, TRANSACTIONS = 5, 4, 1000


class Cluster:
    """A database cluster in a directory of its own, reached through a unix socket only."""

    def __init__(self, programs, place):
        self.programs, self.place = programs, place
        self.user = unprivileged(place)
        self.env = {"PGHOST": str(place), "PGUSER": "tester", "PGDATABASE": "postgres",
                    "HOME": str(place), "TZ": "UTC"}

    def call(self, name, *words, **settings):
        settings = {"cwd": self.place, "env": self.env, "user": self.user, "timeout": 180} | settings
        return run([self.programs / name, *words], **settings)

    def ask(self, query, **settings):
        return self.call("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", query,
                         preload=False, **settings).stdout.strip()

    def make(self):
        self.call("initdb", "-D", self.place / "data", "-U", "tester", "-A", "trust", "-E", "UTF8",
                  "--no-sync", expect={"postgres", "initdb"})

    @contextlib.contextmanager
    def running(self):
        options = ["-c", f"unix_socket_directories={self.place}", "-c", "listen_addresses=",
                   "-c", "fsync=off", "-c", "max_parallel_workers_per_gather=2"]
        with serving([self.programs / "postgres", "-D", self.place / "data", *options],
                     ready=self.answers, cwd=self.place, env=self.env, log=self.place / "log",
                     user=self.user) as server:
            yield server

    def answers(self):
        return self.call("psql", "-X", "-c", "SELECT 1", preload=False, status=None).status == 0


def unprivileged(place):
    """The server refuses to run as root; as root, it runs as nobody in a directory of nobody's."""
    if os.geteuid() != 0:
        return None
    shutil.chown(place, "nobody")
    return "nobody"


def programs_directory():
    """The newest installed server's programs; Debian keeps them off the PATH."""
    def version(path):
        return [int(number) for number in re.findall(r"\d+", str(path))]
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=version, default=Path("/nonexistent"))


@pytest.fixture
def cluster(need, open_dir):
    programs = programs_directory()
    if not programs.exists():
        programs = Path(need("initdb")).resolve().parent
    return Cluster(programs, open_dir)


@pytest.mark.learns
def test_pgbench_keeps_the_sums(cluster):
    cluster.make()
    with cluster.running() as server:
        cluster.call("pgbench", "-i", "-s", SCALE, "-q")
        bench = cluster.call("pgbench", "-c", CLIENTS, "-j", "2", "-t", TRANSACTIONS, "-M", "prepared")
        processed = f"number of transactions actually processed: {CLIENTS * TRANSACTIONS}/"
        assert processed in bench.stdout
        check_sums(cluster)
        assert work(cluster) == work_answer()
        running = [p for p in descendants(server.pid) if executable_name(p) == "postgres"]
        assert len(running) > 4 and all(maps_library(p) for p in running)
    with cluster.running():
        check_sums(cluster)


def check_sums(cluster):
    sums = cluster.ask("SELECT (SELECT sum(abalance) FROM pgbench_accounts) = sum(delta), "
                       "(SELECT sum(bbalance) FROM pgbench_branches) = sum(delta), "
                       "(SELECT sum(tbalance) FROM pgbench_tellers) = sum(delta), count(*) "
                       "FROM pgbench_history")
    assert sums == f"t|t|t|{CLIENTS * TRANSACTIONS}"


def work(cluster):
    """Sorts, hashes, aggregates, JSON, text and parallel plans, with a known answer."""
    return cluster.ask("""
        CREATE TEMP TABLE t AS SELECT i, i % 97 AS g, repeat(md5(i::text), i % 20) AS body
                               FROM generate_series(1, 100000) i;
        CREATE INDEX ON t (g, i); ANALYZE t;
        SELECT md5(string_agg(x, ',')) FROM (
            SELECT g || ':' || count(*) || ':' || sum(length(body)) || ':' || max(md5(body)) AS x
            FROM t GROUP BY g ORDER BY g) grouped;
        SELECT count(*) FROM t a JOIN t b ON a.i = b.i + 1 AND b.g < 50;
        SELECT sum((j->'v'->>1)::int) FROM (SELECT jsonb_build_object('v', jsonb_build_array(i, i * 2)) j FROM t) o;
        SELECT count(*) FROM regexp_matches((SELECT string_agg(i::text, ' ') FROM t), '\\m7\\d+7\\M', 'g')
    """).splitlines()[-4:]


def work_answer():
    """What work() must say, worked out here."""
    groups = {}
    for i in range(1, 100_001):
        body = hashlib.md5(b"%d" % i).hexdigest() * (i % 20)
        groups.setdefault(i % 97, []).append((len(body), hashlib.md5(body.encode()).hexdigest()))
    lines = (f"{g}:{len(rows)}:{sum(size for size, _ in rows)}:{max(md5 for _, md5 in rows)}"
             for g, rows in sorted(groups.items()))
    return [hashlib.md5(",".join(lines).encode()).hexdigest(),
            str(sum(1 for i in range(1, 100_000) if i % 97 < 50)),
            str(sum(2 * i for i in range(1, 100_001))),
            str(sum(1 for i in range(1, 100_001) if re.fullmatch(r"7\d+7", str(i))))]
