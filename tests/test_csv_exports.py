"""Every CSV file of the site comes from one writer, and no spreadsheet runs a cell of it."""

import ast
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.http import HttpResponse

from annotation.models import Annotator, Dataset, Instruction, Item, Response, Study
from annotation.models.datasets import Aspect
from judges.models import Judge
from tests.access_world import Address, World, addresses
from web.csv_text import csv_cell, csv_cell_text

ROOT = Path(__file__).resolve().parents[1]
WRITER = ROOT / "web" / "csv_text.py"
APPS = ("annotation", "judges", "metaeval", "config", "web")
HOSTILE = "=cmd|' /C calc'!A0"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def modules() -> Iterator[Path]:
    for app in APPS:
        yield from (ROOT / app).rglob("*.py")


def test_nobody_else_writes_csv() -> None:
    """Also commands and reports, which have no address."""
    for path in modules():
        source = path.read_text(encoding="utf-8")
        if path == WRITER or not re.search(r"writer|DictWriter|to_csv", source):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and node.attr in ("writer", "DictWriter", "to_csv"):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                assert owner != "csv", f"{path}:{node.lineno} writes CSV by itself; web.csv_text does"
                assert node.attr != "to_csv", f"{path}:{node.lineno}"


def test_what_is_escaped_can_be_read_back() -> None:
    for text in (HOSTILE, "'tis", "plain", "＝1", ""):
        assert csv_cell_text(str(csv_cell(text))) == text


def csv_addresses() -> list[Address]:
    """Addresses that answer with CSV by their route, or by the format or suffix in it."""
    return [
        one for one in addresses() if "csv" in one.route or re.search(r"<\w+:(format|suffix)>", one.route)
    ]


@pytest.fixture
def world(db: None) -> World:
    """A study, a sweep and a report in which every text that somebody brought begins as a formula."""
    made = World(split="public")
    for model, field in (
        (Item, "external_id"),
        (Instruction, "external_id"),
        (Instruction, "category"),
        (Instruction, "subset"),
        (Response, "system"),
        (Aspect, "text"),
        (Annotator, "external_id"),
        (Judge, "name"),
    ):
        for row in model._default_manager.all():
            model._default_manager.filter(pk=row.pk).update(**{field: f"{HOSTILE}{row.pk}"})
    Study.objects.update(title=HOSTILE)
    Dataset.objects.update(title=HOSTILE)
    return made


def test_every_address_of_csv(world: World) -> None:
    asked = set()
    for address in csv_addresses():
        world.parts["suffix"] = world.parts["format"] = "csv"
        route = world.address_of(address)
        for query in ("", "?history=1", "?identify=1", "?shape=parts"):
            response = world.browsers["administrator"].get(route + query)
            if response.status_code == 405:  # of what was selected in a form
                response = world.browsers["administrator"].post(route + query, {"which": "all"})
            if not str(response.headers.get("Content-Type", "")).startswith("text/csv"):
                continue
            asked.add(address.name)
            for cell in cells(response):
                assert not cell.startswith(FORMULA) or is_number(cell), f"{route}{query}: {cell!r}"
    assert len(asked) >= 8
    assert "metaeval:dataset-items-export" in asked


def cells(response: HttpResponse) -> Iterator[str]:
    streamed = getattr(response, "streaming_content", None)
    content = b"".join(streamed) if streamed is not None else response.content
    for row in csv.reader(io.StringIO(content.decode(), newline="")):
        yield from row


def is_number(cell: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell) is not None
