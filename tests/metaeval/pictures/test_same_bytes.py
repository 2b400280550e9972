"""The same picture gives the same file, in any process."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, json
from pathlib import Path
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.pictures.rendering import to_csv, to_pdf, to_png, to_svg
from metaeval.reports.pictures import report_pictures
from metaeval.reports.report import report_of
from tests.metaeval.pictures.test_specs import SPECS

report = report_of(json.loads(Path("tests/metaeval/reports/stored/pairwise.json").read_text()))
drawn = [Picture(name, name, "Words.", spec, (PictureColumn("A"),), (("a",),)) for name, spec in SPECS.items()]
for picture in [*drawn, *report_pictures(report)]:
    for draw in (to_svg, to_pdf, to_png, to_csv):
        made = draw(picture)
        made = made if isinstance(made, bytes) else made.encode()
        print(picture.name, draw.__name__, hashlib.sha256(made).hexdigest())
"""


@pytest.mark.slow
def test_every_kind_of_picture_is_the_same_bytes_in_two_processes() -> None:
    pytest.importorskip("vl_convert", reason="needs the extra `pictures`")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate()[0].splitlines() for process in running)
    assert all(process.returncode == 0 for process in running)
    assert len(first) > 40
    assert first == second
