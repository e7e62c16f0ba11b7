"""nginx: several workers, many clients, a reload under load, a graceful stop; every body checked."""

import gzip
import http.client
import os
import random
import signal
import threading

from under_hakmem import (descendants, executable_name, free_port, maps_library, port_answers,
                          serving, wait_until)

CONFIGURATION = """
daemon off;
{user}
worker_processes 4;
pid {place}/pid;
error_log {place}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
    gzip on; gzip_types *; gzip_min_length 100;
    server {{
        listen 127.0.0.1:{port};
        root {place}/files;
        location /again/ {{ proxy_pass http://127.0.0.1:{port}/; proxy_buffers 4 4k; }}
    }}
}}
"""


def content(name, size):
    return bytes(random.Random(name).choices(b"abcdefgh\n", k=size))


def fetch(port, files, number, problems, stop):
    """Reads files over a connection that is kept, made anew now and then, until told to stop."""
    try:
        draw, count = random.Random(number), 0
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not (stop.is_set() and count >= 100):
            count += 1
            name = draw.choice(sorted(files))
            headers = {"Accept-Encoding": "gzip"} if draw.random() < 0.5 else {}
            path = ("/again/" if draw.random() < 0.3 else "/") + name
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                connection.close()  # a worker that a reload retires closes idle connections
                continue
            assert answer.status == 200, answer.status
            if answer.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert body == files[name]
            if draw.random() < 0.05:
                connection.close()
        connection.close()
    except Exception as problem:  # handed to the test's own thread
        problems.append(problem)


def workers(server):
    return {p for p in descendants(server.pid) if p != server.pid and executable_name(p) == "nginx"}


def test_a_reload_under_load_and_a_graceful_stop(need, open_dir):
    port = free_port()
    files = {f"f{size}": content(f"f{size}", size) for size in (0, 1, 99, 1000, 9000, 70000, 900000)}
    (open_dir / "files").mkdir()
    for name, body in files.items():
        (open_dir / "files" / name).write_bytes(body)
    user = "user root;" if os.geteuid() == 0 else ""
    (open_dir / "conf").write_text(CONFIGURATION.format(place=open_dir, port=port, user=user))
    problems, stop = [], threading.Event()
    argv = [need("nginx", "/usr/sbin/nginx"), "-p", open_dir, "-c", open_dir / "conf",
            "-e", open_dir / "error.log"]
    with serving(argv, ready=lambda: port_answers(port), stop_signal=signal.SIGQUIT,
                 log=open_dir / "log") as server:
        wait_until(lambda: len(workers(server)) == 4, 10, "four workers")
        clients = [threading.Thread(target=fetch, args=(port, files, number, problems, stop))
                   for number in range(8)]
        for thread in clients:
            thread.start()
        for _ in range(3):
            old = workers(server)
            assert all(maps_library(p) for p in old)
            server.send_signal(signal.SIGHUP)
            wait_until(lambda old=old: len(workers(server) - old) == 4, 30, "new workers")
        stop.set()
        for thread in clients:
            thread.join()
        wait_until(lambda: len(workers(server)) == 4, 30, "the old workers to go")
    assert not problems, problems
    assert "[alert]" not in (open_dir / "error.log").read_text()
