"""A client of the Redis protocol, as small as the tests of redis-server need it."""

import socket


class ErrorReply(Exception):
    """The server answered with an error."""


class Client:
    """One connection; call() sends one command, pipeline() many before it reads the answers."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.stream = self.socket.makefile("rb", buffering=1 << 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def call(self, *words):
        return self.pipeline([words])[0]

    def pipeline(self, commands, batch=500):
        answers = []
        for start in range(0, len(commands), batch):
            part = commands[start:start + batch]
            self.socket.sendall(b"".join(encoded(words) for words in part))
            answers.extend(self.answer() for _ in part)
        return answers

    def answer(self):
        line = self.stream.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ErrorReply(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.stream.read(size + 2)[:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        assert kind == b"+", line
        return rest


def encoded(words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
