"""Shells that fork a great deal, pipelines of threads and processes, a terminal multiplexer."""

import hashlib
import random

import pytest
from under_hakmem import descendants, executable_name, maps_library, run, wait_until

pytestmark = pytest.mark.core

FORKS = """
total=0; i=0
while [ $i -lt 300 ]; do
    n=$(echo $i | cat)
    total=$((total + $(printf '%s' "$n" | wc -c)))
    ( : "$n$n$n"; exit 3 ) && exit 1
    i=$((i + 1))
done
for i in 1 2 3 4 5 6 7 8 9 10; do ( sleep 0.$((i % 3)); echo $i ) & done | sort -n | tr '\\n' ' '
wait
trap 'echo trapped' USR1; kill -USR1 $$
case $(set) in *total=*) echo "total $total" ;; esac
"""


@pytest.mark.learns
@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_script_that_forks_a_great_deal(need, shell):
    outcome = run([need(shell), "-c", FORKS], timeout=60)
    total = sum(len(str(i)) for i in range(300))
    assert outcome.stdout == f"1 2 3 4 5 6 7 8 9 10 trapped\ntotal {total}\n"


def test_bash_with_large_arrays_and_strings(need):
    script = """
        declare -A table; list=()
        for ((i = 0; i < 60000; i++)); do table[key$((i % 5000))]=$i; list+=("$i-$((i * 7 % 100))"); done
        text="${list[*]}"; changed=${text//-7/+}
        echo ${#table[@]} ${table[key77]} ${#list[@]} ${#text} ${#changed}
    """
    items = [f"{i}-{i * 7 % 100}" for i in range(60000)]
    text = " ".join(items)
    last = max(i for i in range(60000) if i % 5000 == 77)
    expected = f"5000 {last} 60000 {len(text)} {len(text.replace('-7', '+'))}\n"
    assert run([need("bash"), "-c", script]).stdout == expected


def test_a_pipeline_of_tar_and_xz_keeps_every_byte(need, tmp_path):
    draw, digests = random.Random(3), {}
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for number in range(200):
        data = bytes(draw.choices(b"abcdefghijklmnop\n", k=draw.randrange(60_000)))
        (tmp_path / "in" / f"f{number}").write_bytes(data)
        digests[f"f{number}"] = hashlib.sha256(data).hexdigest()
    need("tar"), need("xz")
    run(["bash", "-c", "set -o pipefail; tar -C in -c . | xz -T2 --block-size=1MiB -6 | tee packed.xz "
         "| xz -dc -T2 | gzip -c | gzip -dc | tar -C out -x"], cwd=tmp_path, expect={"bash", "xz", "gzip"})
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (tmp_path / "out").iterdir()} == digests
    run(["xz", "-t", "-T2", "packed.xz"], cwd=tmp_path, brief=True)


def test_sort_with_threads_and_small_memory(need, tmp_path):
    draw = random.Random(4)
    lines = [f"{draw.randrange(10**9)} line {draw.randrange(10**6)}" for _ in range(300_000)]
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    run([need("sort"), "--parallel=4", "-S", "4M", "-T", tmp_path, "-k1,1n", "-k2", "-o", "out", "in"],
        cwd=tmp_path, env={"LC_ALL": "C"})
    expected = sorted(lines, key=lambda line: (int(line.split(" ", 1)[0]), " " + line.split(" ", 1)[1]))
    assert (tmp_path / "out").read_text().splitlines() == expected


def test_tmux_serves_several_windows(need, tmp_path):
    tmux = [need("tmux"), "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    env = {"HOME": str(tmp_path), "TERM": "xterm"}

    def call(*words):
        return run([*tmux, *words], expect=(), cwd=tmp_path, env=env).stdout

    call("new-session", "-d", "-s", "s", "-x", "100", "-y", "30", "sh")
    try:
        server = int(call("display-message", "-p", "#{pid}"))
        for number in range(8):
            call("new-window", "-t", "s:", f"sh -c 'seq 1 3000; echo window $(({number} * 7)); sleep 60'")
        wait_until(lambda: "window 49" in call("capture-pane", "-p", "-t", "s:8", "-S", "-"), 20, "output")
        text = call("capture-pane", "-p", "-t", "s:8", "-S", "-2000").split()
        assert [word for word in text if word.isdigit()][-3:] == ["2999", "3000", "49"]
        for number in range(1, 8):
            call("split-window", "-t", f"s:{number}", "sleep 60")
            call("swap-pane", "-s", f"s:{number}.0", "-t", f"s:{number}.1")
            call("resize-window", "-t", f"s:{number}", "-x", str(40 + number * 9), "-y", "20")
        assert len(call("list-panes", "-a").splitlines()) == 16
        names = {executable_name(p): maps_library(p) for p in descendants(server)}
        assert names.pop("tmux") and all(names.values()) and "sleep" in names
    finally:
        run([*tmux, "kill-server"], expect=(), status=None)
