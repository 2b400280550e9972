"""Malformed files of every format, by command, in the browser and by the API: refused whole, with place and reason."""

from __future__ import annotations

import json
import time
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Annotator, Dataset, Instruction, Item, Label, Response, StagedImport
from annotation.peers.formats import FORMATS, GENERIC
from annotation.services.tokens import token_create
from judges.models import DatasetImport
from judges.services.dataset_imports import dataset_import_confirm, dataset_imports_work, import_errors
from tests.annotation.cast import client_of
from tests.annotation.factories import user_make
from tests.judges.malformed_files import FILES, MalformedFile, write

pytestmark = pytest.mark.django_db

WITHIN = 20
"""Seconds, on a machine that does other things too; most take a hundredth of it."""
MOST_SAID = 20_000
MOST_SHOWN = 120_000
FOLDER_ALONE = ("llmbar", "pandalm", "stackexchange")
"""Formats of which the command reads the folder."""


def called(one: MalformedFile) -> str:
    return f"{one.format}: {one.name}, {one.file}"


def refused(one: MalformedFile, said: str) -> None:
    """The error names the file, the place in it and what was expected, and repeats nothing long."""
    assert one.words in said, said[:500]
    assert one.place in said, said[:500]
    assert len(said) < MOST_SAID


def nothing_is_stored() -> None:
    for model in (Dataset, Instruction, Response, Item, Label, Annotator, StagedImport):
        assert not model._base_manager.exists(), model


def test_every_format_has_some():
    assert {one.format for one in FILES} == set(FORMATS)
    assert len(FILES) > 100
    assert len({(one.format, one.name, one.file) for one in FILES}) == len(FILES)


@pytest.mark.parametrize("one", FILES, ids=called)
def test_by_command(one, tmp_path):
    path = write(one, tmp_path / one.format / one.name.replace("/", ""))
    options: dict[str, Any] = {"mapping": str(path.parent / "mapping.yaml")} if one.mapping else {}
    if one.format in FOLDER_ALONE:
        path = path.rename(path.parent / FORMATS[one.format].member).parent
    started = time.monotonic()
    with pytest.raises(CommandError) as caught:
        call_command("import_dataset", one.format, str(path), name="new", verbosity=0, **options)
    assert time.monotonic() - started < WITHIN
    refused(one, str(caught.value))
    assert (str(path) in str(caught.value)) or one.mapping
    nothing_is_stored()


@pytest.mark.django_db(
    transaction=True
)  # a decoder takes seconds, in which another thread says that work goes on
@pytest.mark.parametrize("one", [one for one in FILES if not one.mapping and one.data], ids=called)
def test_in_the_browser(one, settings, tmp_path):
    settings.IMPORTS_DIR = tmp_path
    browser = client_of(user_make())
    content = one.data
    sent = {
        "file": SimpleUploadedFile(one.file, content),
        "format": one.format,
        "name": "new",
        "split": "private",
    }
    started = time.monotonic()
    response = browser.post(reverse("judges:dataset-upload"), sent)
    if one.format == GENERIC:
        dataset_imports_work()
        response = browser.get(response["Location"])
        job = DatasetImport.objects.get()
        assert not dataset_import_confirm(job=job, skip_bad_rows=False)
    assert time.monotonic() - started < WITHIN
    assert response.status_code == 200
    said = unescape(response.text)
    assert one.words in said
    assert one.file in said
    assert len(said) < MOST_SHOWN
    assert "/tmp" not in said
    if one.format != GENERIC:
        assert one.place in said
        assert "Traceback" not in said
    elif one.place:
        places = [(each["row"], each["field"]) for each in (*job.errors, *import_errors(job, 0, 20))]
        assert any(one.place in _place(*place) for place in places), places
    nothing_is_stored()


def _place(row: int | None, field: str | None) -> str:
    parts = [*([] if row is None else [f"row {row}"]), *([] if field is None else [f"field {field}"])]
    return ", ".join(parts)


@pytest.mark.parametrize(
    "one", [one for one in FILES if one.format == GENERIC and one.file == "a.jsonl"], ids=called
)
def test_by_the_api(one, client):
    """The rows of JSONL as they are in the body: it may not be JSON, and nothing of it is repeated at length."""
    _, secret = token_create(user=user_make(), name="t")
    rows = ", ".join(line for line in one.data.decode(errors="replace").splitlines() if line)
    started = time.monotonic()
    response = client.post(
        "/api/v1/datasets/",
        f'{{"name": "new", "split": "private", "items": [{rows}]}}',
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert time.monotonic() - started < WITHIN
    assert 400 <= response.status_code < 500
    assert len(response.content) < MOST_SAID
    assert json.loads(response.content)["title"]
    nothing_is_stored()
