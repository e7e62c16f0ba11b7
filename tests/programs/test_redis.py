"""redis-server: all its types checked against a model, snapshots (fork), log rewrites, reloads."""

import os
import random

import pytest
from resp import Client
from under_hakmem import free_port, port_answers, run, serving, wait_until

pytestmark = pytest.mark.core


@pytest.fixture
def redis(need, tmp_path):
    """redis(option, …) serves from tmp_path; gives the context manager and the port."""
    server, port = need("redis-server"), free_port()

    def start(*options):
        argv = [server, "--port", port, "--bind", "127.0.0.1", "--dir", tmp_path, "--save", "",
                "--enable-debug-command", "local", *options]
        return serving(argv, ready=lambda: has_loaded(port), log=tmp_path / "log",
                       expect=executable(server))

    start.port = port
    return start


def has_loaded(port):
    """A server that reads its files back answers before it has all of them."""
    if not port_answers(port):
        return False
    with Client(port) as client:
        return info(client, "persistence")["loading"] == "0"


def executable(path):
    """Debian's redis-server is a link to another name."""
    return os.path.basename(os.path.realpath(path))


def fill(client, seed, count):
    """Random commands on every type; returns the model that the server must agree with."""
    draw = random.Random(seed)
    strings, hashes, lists, scores, sets, commands = {}, {}, {}, {}, {}, []
    for _ in range(count):
        key, field = draw.randrange(300), f"f{draw.randrange(200)}"
        value = bytes([97 + draw.randrange(26)]) * draw.choice((3, 20, 70, 200, 1500, 20000))
        kind = draw.randrange(7)
        if kind == 0:
            strings[f"s{key}"] = value
            commands.append(("SET", f"s{key}", value))
        elif kind == 1:
            hashes.setdefault(f"h{key}", {})[field] = value[:300]
            commands.append(("HSET", f"h{key}", field, value[:300]))
        elif kind == 2:
            lists.setdefault(f"l{key}", []).append(value[:500])
            commands.append(("RPUSH", f"l{key}", value[:500]))
        elif kind == 3:
            scores.setdefault(f"z{key}", {})[field] = draw.randrange(10**6)
            commands.append(("ZADD", f"z{key}", scores[f"z{key}"][field], field))
        elif kind == 4:
            sets.setdefault(f"m{key}", set()).add(field)
            commands.append(("SADD", f"m{key}", field))
        elif kind == 5:
            strings.pop(f"s{key}", None)
            commands.append(("DEL", f"s{key}"))
        else:
            strings[f"s{key}"] = strings.get(f"s{key}", b"")[:40000] + value[:300]
            commands.append(("SET", f"s{key}", strings[f"s{key}"]))
    client.pipeline(commands)
    return strings, hashes, lists, scores, sets


def check(client, model):
    strings, hashes, lists, scores, sets = model
    for key, value in strings.items():
        assert client.call("GET", key) == value
    for key, fields in hashes.items():
        flat = client.call("HGETALL", key)
        assert dict(zip(flat[::2], flat[1::2])) == {f.encode(): v for f, v in fields.items()}
    for key, values in lists.items():
        assert client.call("LRANGE", key, 0, -1) == values
    for key, members in scores.items():
        ordered = sorted((score, name.encode()) for name, score in members.items())
        assert client.call("ZRANGE", key, 0, -1) == [name for _, name in ordered]
    for key, members in sets.items():
        assert set(client.call("SMEMBERS", key)) == {name.encode() for name in members}
    kept = sum(len(part) for part in model)
    assert client.call("DBSIZE") == kept


def info(client, section):
    text = client.call("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


@pytest.mark.learns
def test_every_type_and_a_reload_from_a_snapshot(redis):
    with redis(), Client(redis.port) as client:
        model = fill(client, seed=1, count=60_000)
        check(client, model)
        client.call("BGSAVE")
        more = [("SET", f"during{i}", b"x" * (i % 900)) for i in range(20_000)]
        client.pipeline(more)  # written while the child saves
        wait_until(lambda: info(client, "persistence")["rdb_bgsave_in_progress"] == "0", 60, "save")
        assert info(client, "persistence")["rdb_last_bgsave_status"] == "ok"
        client.pipeline([("DEL", key) for _, key, _ in more])
        client.call("SAVE")
    with redis(), Client(redis.port) as client:
        check(client, model)
        before = client.call("DEBUG", "DIGEST")
        client.call("DEBUG", "RELOAD")
        assert client.call("DEBUG", "DIGEST") == before


def test_a_log_that_is_rewritten_while_clients_write(redis, need, tmp_path):
    options = ("--appendonly", "yes", "--appendfsync", "no")
    with redis(*options), Client(redis.port) as client:
        fill(client, seed=2, count=20_000)
        client.call("BGREWRITEAOF")
        client.pipeline([("INCR", f"counter{i % 50}") for i in range(50_000)])
        wait_until(lambda: info(client, "persistence")["aof_rewrite_in_progress"] == "0", 60, "log")
        assert info(client, "persistence")["aof_last_bgrewrite_status"] == "ok"
        before = client.call("DEBUG", "DIGEST")
    with redis(*options), Client(redis.port) as client:
        assert client.call("DEBUG", "DIGEST") == before
        assert all(client.call("GET", f"counter{i}") == b"1000" for i in range(50))


@pytest.mark.learns
def test_values_that_another_thread_frees(redis):
    """UNLINK: a background thread frees what the main thread took."""
    with redis(), Client(redis.port) as client:
        for round_number in range(3):
            client.pipeline([("HSET", f"h{i % 20}", f"{round_number}{i}", b"v" * (i % 400))
                             for i in range(60_000)])
            client.pipeline([("UNLINK", f"h{i}") for i in range(20)])
        assert client.call("DBSIZE") == 0
        wait_until(lambda: info(client, "memory")["lazyfree_pending_objects"] == "0", 30, "frees")
        model = fill(client, seed=3, count=5_000)
        check(client, model)


def test_redis_benchmark_with_io_threads(redis, need):
    benchmark = need("redis-benchmark")
    with redis("--io-threads", "2", "--io-threads-do-reads", "yes"), Client(redis.port) as client:
        model = fill(client, seed=4, count=5_000)
        tests = "set,get,incr,lpush,lpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset"
        outcome = run([benchmark, "-p", redis.port, "-n", "20000", "-c", "50", "-P", "8", "-d", "200",
                       "-r", "5000", "-t", tests, "--csv"], timeout=200)
        assert outcome.stdout.count("\n") >= 12 and "ERR" not in outcome.stdout + outcome.stderr
        for key, value in model[0].items():
            assert client.call("GET", key) == value
        assert client.call("EXISTS", "key:__rand_int__") == 0
