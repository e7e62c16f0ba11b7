"""Servers with fixed load: the load runs without the allocator; the server's memory counts."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hakmem.allocator import Allocator
from hakmem.programs.running import (
    SECONDS_MOST,
    Outcome,
    ProgramFailed,
    Subject,
    is_mapped,
    preloaded,
    refuse_complaints,
    wait_for_port,
)
from hakmem.run import environment


def peak_kib_of(pid: int) -> int:
    """The highest resident memory of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))


class Watch:
    """Looks at a process and its children until it is ended: the highest sum of their anonymous resident memory."""

    def __init__(self, pid: int):
        self.pid, self.peak_kib = pid, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.peak_kib = max(self.peak_kib, self._sum())

    def _sum(self) -> int:
        total = 0
        for pid in [str(self.pid), *_text(f"/proc/{self.pid}/task/{self.pid}/children").split()]:
            found = re.search(r"^RssAnon:\s+(\d+)", _text(f"/proc/{pid}/status"), re.MULTILINE)
            total += int(found.group(1)) if found else 0
        return total

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        return self.peak_kib


def seconds_of_load(command: list, **settings) -> tuple[float, str]:
    """Time and output of a load generator. Its output is read until it ends: a wait with a limit of time alone looks every
    50 ms whether the process is there, which was a thirtieth of redis' load."""
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=SECONDS_MOST, **settings)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise ProgramFailed(f"{Path(command[0]).name} ended with {done.returncode}: {done.stdout[-300:]}")
    return seconds, done.stdout


def _text(path: str) -> str:
    """Nothing where the process has ended meanwhile."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


@dataclass(frozen=True)
class Redis(Subject):
    """redis-benchmark's commands, pipelined."""

    name: str = "redis"
    package: str = "redis-server redis-tools"
    executable: str = "redis-server"
    TESTS = "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"

    def run(self, allocator: Allocator, folder: Path) -> Outcome:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        log = open(folder / "log", "wb")
        server = subprocess.Popen(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=preloaded(allocator))
        try:
            if not is_mapped(server.pid, allocator):
                raise ProgramFailed(f"{allocator.library} was never mapped")
            wait_for_port(int(port))
            seconds, _ = seconds_of_load(["redis-benchmark", "-p", port, "-n", "60000", "-r", "100000", "-P", "16", "-d", "100",
                                          "-q", "-t", self.TESTS], env=environment(allocator))
            peak = peak_kib_of(server.pid)
        finally:
            server.terminate()  # it ends as a program should, and keeps what it has learned
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            log.close()
        refuse_complaints((folder / "log").read_text(errors="replace"))
        return Outcome(seconds, peak)


def postgresql_program(name: str) -> str:
    """Debian keeps the server's programs off the PATH, by version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda file: int(file.parts[-3].split(".")[0]))
    return str(found[-1]) if found else name


@dataclass(frozen=True)
class PostgreSQL(Subject):
    """pgbench with four clients against a cluster of its own, which is made once, without the allocator: four reads and an
    update by turns, as its full script makes the clients wait for each other's rows most of the time. Memory is the highest
    sum of anonymous resident memory over the server's processes, looked at every 20 ms of the load."""

    executable: str
    name: str = "postgresql"
    package: str = "postgresql"
    SCALE, CLIENTS, TRANSACTIONS = 2, 4, 20000

    def run(self, allocator: Allocator, folder: Path) -> Outcome:
        programs = Path(self.executable).parent
        user = None if os.geteuid() else "nobody"  # the server refuses to run as root
        if user:
            shutil.chown(folder, user)
            folder.chmod(0o755)
        settings = {"cwd": folder, "user": user, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                    "stderr": subprocess.DEVNULL}
        client = environment(allocator) | {"PGHOST": str(folder), "PGUSER": "tester", "PGDATABASE": "postgres",
                                           "HOME": str(folder)}
        plain = {name: value for name, value in client.items() if name != "GLIBC_TUNABLES"}
        if not (folder / "data").exists():
            subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8",
                            "--no-sync"], env=plain, check=True, **settings)
        if user and allocator.library:  # which that user may not be able to read where it is
            copy = folder / allocator.library.name
            shutil.copyfile(allocator.library, copy)
            copy.chmod(0o755)
            allocator = replace(allocator, library=copy)
        server_variables = preloaded(allocator) | {"HOME": str(folder)}
        with self._server(programs, folder, allocator, server_variables, settings, client) as server:
            subprocess.run([programs / "pgbench", "-i", "-s", str(self.SCALE), "-q"], env=plain, check=True, **settings)
            watch = Watch(server.pid)
            seconds, said = seconds_of_load([programs / "pgbench", "-c", str(self.CLIENTS), "-j", "2", "-t",
                                             str(self.TRANSACTIONS), "-M", "prepared", "-b", "select-only@4", "-b",
                                             "simple-update@1"], env=plain, cwd=folder, user=user)
            total = self.CLIENTS * self.TRANSACTIONS
            if f"{total}/{total}" not in said:
                raise ProgramFailed(f"pgbench did not do its {total} transactions: {said[-300:]}")
            peak = watch.end()
        return Outcome(seconds, peak)

    @contextmanager
    def _server(self, programs: Path, folder: Path, allocator: Allocator, variables: dict, settings: dict,
                client: dict) -> Iterator[subprocess.Popen]:
        words = ["-D", folder / "data", "-c", f"unix_socket_directories={folder}", "-c", "listen_addresses=", "-c",
                 "fsync=off", "-c", "synchronous_commit=off", "-c", "shared_buffers=32MB", "-c", "autovacuum=off"]
        with open(folder / "log", "wb") as log:
            server = subprocess.Popen([self.executable, *words], env=variables, **settings | {"stdout": log, "stderr": log})
        try:
            if not is_mapped(server.pid, allocator):
                raise ProgramFailed(f"{allocator.library} was never mapped")
            for _ in range(600):
                if subprocess.run([programs / "psql", "-X", "-c", "SELECT 1"], env=client, **settings).returncode == 0:
                    break
                time.sleep(0.05)
            else:
                raise ProgramFailed("the server does not answer")
            yield server
        finally:
            server.send_signal(signal.SIGINT)  # fast shutdown
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        refuse_complaints((folder / "log").read_text(errors="replace"))
