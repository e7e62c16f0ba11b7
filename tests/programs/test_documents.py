"""Ghostscript renders pages to pictures, exactly those that it renders without the library."""

import hashlib

from under_hakmem import run


def pages(place):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(place.iterdir())}


def render(need, source, place, preload, *options):
    place.mkdir()
    run([need("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-r100", *options,
         f"-sOutputFile={place}/page%d", source], preload=preload)
    return pages(place)


def test_postscript_to_png(need, source, tmp_path):
    options = ("-sDEVICE=png16m", "-dTextAlphaBits=4", "-dGraphicsAlphaBits=4")
    pictures = [render(need, source("picture.ps"), tmp_path / str(preload), preload, *options)
                for preload in (True, False)]
    assert pictures[0] == pictures[1] and len(pictures[0]) == 3
    assert all((tmp_path / "True" / name).stat().st_size > 20_000 for name in pictures[0])


def test_postscript_in_bands_by_several_threads(need, source, tmp_path):
    options = ("-sDEVICE=ppmraw", "-dNumRenderingThreads=4", "-dMaxBitmap=10000", "-dBufferSpace=1000000")
    pictures = [render(need, source("picture.ps"), tmp_path / str(preload), preload, *options)
                for preload in (True, False)]
    assert pictures[0] == pictures[1] and len(pictures[0]) == 3


def test_postscript_to_pdf_and_back(need, source, tmp_path):
    gs = need("gs")
    run([gs, "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", f"-sOutputFile={tmp_path}/out.pdf",
         source("picture.ps")])
    pictures = [render(need, tmp_path / "out.pdf", tmp_path / str(preload), preload, "-sDEVICE=png16m")
                for preload in (True, False)]
    assert pictures[0] == pictures[1] and len(pictures[0]) == 3
