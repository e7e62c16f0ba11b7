"""memcached: many connections over several threads, values checked."""

import random
import socket
import threading

from under_hakmem import free_port, port_answers, serving

CONNECTIONS, THREADS, ROUNDS = 200, 4, 15


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream = self.socket.makefile("rb")

    def store(self, key, value):
        self.socket.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        assert self.stream.readline() == b"STORED\r\n"

    def get(self, keys):
        self.socket.sendall(b"get %s\r\n" % b" ".join(keys))
        found = {}
        while (line := self.stream.readline()) != b"END\r\n":
            word, key, _, size = line.split()
            assert word == b"VALUE"
            found[key] = self.stream.read(int(size) + 2)[:-2]
        return found

    def close(self):
        self.stream.close()
        self.socket.close()


def client(port, number, problems):
    """Many connections at once, some dropped and made anew each round."""
    try:
        draw = random.Random(number)
        connections = [Connection(port) for _ in range(CONNECTIONS // THREADS)]
        model = {}
        for _ in range(ROUNDS):
            for at, connection in enumerate(connections):
                key = b"k%d-%d" % (number, draw.randrange(400))
                model[key] = bytes([draw.randrange(256)]) * draw.choice((5, 90, 1000, 30000))
                connection.store(key, model[key])
                wanted = draw.sample(sorted(model), min(20, len(model)))
                assert connection.get(wanted) == {k: model[k] for k in wanted}
                if draw.random() < 0.1:
                    connection.close()
                    connections[at] = Connection(port)
        for connection in connections:
            connection.close()
    except Exception as problem:  # handed to the test's own thread
        problems.append(problem)


def test_many_connections(need, tmp_path):
    port, problems = free_port(), []
    argv = [need("memcached"), "-p", port, "-U", "0", "-l", "127.0.0.1", "-t", "4", "-m", "256",
            "-u", "nobody"]
    with serving(argv, ready=lambda: port_answers(port), log=tmp_path / "log"):
        clients = [threading.Thread(target=client, args=(port, number, problems))
                   for number in range(THREADS)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
    assert not problems, problems
