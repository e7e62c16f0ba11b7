"""The report: which records it shows, what it says it left out, and that it needs nothing but itself."""

import json
import re
import shutil
import subprocess

import pytest
from hakmem import comparison, records, report
from hakmem.allocator import Allocator
from hakmem.cli import app
from hakmem.suites import ROWS
from typer.testing import CliRunner

ALLOCATORS = [Allocator("hakmem", is_bar=False), Allocator("glibc", version="2.36"), Allocator("mimalloc3", version="3.3.2")]
LATENCY = {"p50": 20, "p99": 90, "p999": 400, "max": 9000, "curve": [[0.0, 10], [0.5, 20], [0.99, 90], [0.9999, 9000]]}


def write(file, rows, seconds, settings=None, failure=None):
    """A comparison of made-up runs: three of each allocator on each row."""
    recorder = comparison.Recorder(file, ALLOCATORS, {"runs": 3, "quick": False} | (settings or {}))
    for row in rows:
        for name, time in seconds.items():
            for turn in range(4):
                made = {"seconds": time * (1 + turn / 100), "operations": 1_000_000, "peak_kib": 2048, "final_kib": 1024,
                        "malloc_cycles": LATENCY, "free_cycles": LATENCY, "fragmentation": 1.5,
                        "timeline": [[0.0, 100, 50], [0.5, 2000, 900], [1.0, 1500, 0]]}
                recorder.append({"kind": "run", "row": row, "allocator": name, "turn": turn, "failure": failure,
                                 "counted": turn > 0 and failure is None, "report": None if failure else made})


ROWS_SHOWN = ["tiny/8-64/400/1t", "bulk/64/lifo", "latency/16-1024/400/2t", "programs/lua", "trace/lua"]


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "records.jsonl"
    write(file, ROWS_SHOWN, {"hakmem": 1.0, "glibc": 2.0, "mimalloc3": 0.5})
    return file


def page(file, with_quick=False):
    return report.make(records.read(file), with_quick, str(file))


def text(made):
    """The page without scripts, styles and tags."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", made, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def test_page_has_every_row_and_marks_the_best(file):
    made = page(file)
    for row in ROWS_SHOWN:
        assert row in text(made)
    # mimalloc3 is twice as fast: 1 M operations in 0.51 s.
    assert re.search(r'<span class="best">1.96 M/s</span>', made)
    assert "Where hakmem is not first" in text(made) and re.search(r"tiny/8-64/400/1t 0.50 mimalloc3 yes", text(made))


def test_page_needs_nothing_else(file):
    made = page(file)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//", made)
    assert made.count("class=\"chart\"") >= 8 and "vegaEmbed" in made


def test_page_says_what_it_leaves_out(file):
    write(file, ["tiny/8-64/400/1t"], {"hakmem": 9.0}, {"quick": True})
    write(file, ["bulk/64/lifo"], {"hakmem": 0.25, "glibc": 2.0})
    write(file, ["bulk/16/lifo"], {"hakmem": 0.25}, failure="signal 11")
    made = text(page(file))
    assert "1 quick comparisons" in made and "older measurements of 1 rows" in made
    assert "4 runs did not, or failed" not in made  # that comparison has no counted run at all
    assert "bulk/16/lifo" not in made


def test_other_builds_are_not_mixed(file, monkeypatch):
    monkeypatch.setattr(comparison.machine, "digest", lambda library: "another build")
    write(file, ["bulk/16/lifo"], {"hakmem": 1.0})
    made = text(page(file))
    assert "1 comparisons of another machine, kernel, C library, build of hakmem, or choice of huge pages" in made
    assert "bulk/16/lifo" in made and "tiny/8-64/400/1t" not in made


def test_text_from_records_is_not_markup(tmp_path):
    file = tmp_path / "records.jsonl"
    write(file, ["trace/<img src=x onerror=alert(1)>'"], {"hakmem": 1.0})
    made = page(file)
    assert "<img src=x" not in re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    for chart in re.findall(r'data-chart="([^"]*)"', made):
        json.loads(chart.replace("&#34;", '"').replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")
                   .replace("&amp;", "&"))


@pytest.mark.parametrize("content, said", [
    ("", "no counted run"), ("nonsense\n{}\n", "line 1: not a record"),
    ('{"comparison":"a","kind":"run"}\n{"x":1}', "a comparison that does not come before")])
def test_files_that_are_no_records_are_refused_clearly(tmp_path, content, said):
    file = tmp_path / "records.jsonl"
    file.write_text(content)
    done = CliRunner().invoke(app, ["report", str(file), "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 2 and said in done.output.replace("\n", " ")


def test_a_last_line_that_was_cut_off_does_no_harm(file):
    whole = page(file)
    with file.open("a") as stream:
        stream.write('{"comparison": "x", "kind": "ru')
    assert text(page(file)) == text(whole)


def test_every_suite_has_its_question():
    from hakmem import suites
    assert {row.suite for row in ROWS} == set(suites.QUESTIONS)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser; the tests of all programs install chromium")
def test_a_browser_draws_every_chart_and_sorts_a_table(file, tmp_path):
    target = tmp_path / "page.html"
    # A head is clicked once the charts are there; what the page then is comes back as its document.
    click = ("<script>const look = () => document.body.dataset.drawn ? document.querySelector('#tiny th.number').click() : "
             "setTimeout(look, 50); look();</script></body>")
    before, _, after = page(file).rpartition("</body>")  # the drawing library has one in a text, too
    target.write_text(before + click + after)
    for width in (1200, 390):
        done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
                               "--virtual-time-budget=20000", "--dump-dom", target.as_uri()], capture_output=True, text=True,
                              timeout=120)
        made = done.stdout
        assert 'data-drawn="yes"' in made, done.stderr[-2000:]
        charts = made.count('data-chart="')
        assert charts >= 8 and len(re.findall(r'<svg[^>]*class="marks"', made)) == charts
        assert 'aria-sort="descending"' in made
