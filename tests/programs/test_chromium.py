"""Chromium draws a local page without a screen; every band of the picture must have its colour.

Its renderers use an allocator of their own (PartitionAlloc) for what the browser itself allocates and
take malloc over inside the executable; libraries it loads still bind to the preloaded one first.
"""

import os
import struct
import zlib

from under_hakmem import run

WIDTH, HEIGHT, BANDS = 600, 400, 8

PAGE = """<!doctype html><meta charset=utf-8><style>body {{ margin: 0 }} div {{ height: {height}px }}</style>
<body><script>
const kept = [];
for (let i = 0; i < 200000; i++) {{ kept.push({{ i, text: 'x'.repeat(i % 50) }}); if (i % 3 == 0) kept.shift(); }}
const sum = [...Array(1000).keys()].reduce((a, b) => a + b, 0);
for (let i = 0; i < {bands}; i++) {{
  const div = document.createElement('div');
  div.style.background = sum === 499500 ? `rgb(${{i * 30}}, ${{255 - i * 30}}, ${{i * 7}})` : 'black';
  document.body.append(div);
}}
</script>"""

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars
    --disable-background-networking --disable-component-update --disable-sync""".split()


def pixels(png):
    """The rows of an 8-bit RGB or RGBA picture, each a list of (r, g, b)."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[colour]
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and depth == 8
    packed, at = b"", 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        packed += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    data, stride, rows, above = zlib.decompress(packed), width * channels, [], None
    for y in range(height):
        line = data[y * (stride + 1):(y + 1) * (stride + 1)]
        above = unfiltered(line[0], bytearray(line[1:]), above or bytes(stride), channels)
        rows.append([tuple(above[x:x + 3]) for x in range(0, stride, channels)])
    return rows


def unfiltered(kind, line, above, channels):
    """Undoes the filter of one row (PNG specification, section 9)."""
    for x in range(len(line)):
        left = line[x - channels] if x >= channels else 0
        corner = above[x - channels] if x >= channels else 0
        line[x] = (line[x] + (0, left, above[x], (left + above[x]) // 2,
                              nearest(left, above[x], corner))[kind]) & 255
    return bytes(line)


def nearest(a, b, c):
    """Paeth's predictor."""
    distances = (abs(b - c), abs(a - c), abs(a + b - 2 * c))
    return (a, b, c)[distances.index(min(distances))]


def test_a_page_is_drawn(need, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    page.write_text(PAGE.format(height=HEIGHT // BANDS, bands=BANDS))
    chromium = need("chromium")
    outcome = run([chromium, *FLAGS, f"--user-data-dir={tmp_path}/profile", f"--screenshot={picture}",
                   f"--window-size={WIDTH},{HEIGHT}", f"file://{page}"],
                  expect={"chromium"}, env={"HOME": str(tmp_path)}, timeout=180)
    assert "chromium" in outcome.on_library and os.path.exists(picture)
    rows = pixels(picture.read_bytes())
    assert len(rows) == HEIGHT and len(rows[0]) == WIDTH
    for y, row in enumerate(rows):
        band = y * BANDS // HEIGHT
        assert set(row) == {(band * 30, 255 - band * 30, band * 7)}
