"""A dataset whose file is still being imported is seen nowhere: no address answers otherwise than without it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import models
from django.http import HttpResponse

from annotation.models import Dataset, Item, Label, StagedImport
from annotation.selectors.datasets import DatasetNotFound, dataset_get
from annotation.services.staged_imports import staged_remove
from tests.access_world import World, addresses, ask
from tests.judges.services.test_file_imports import items, killed, killed_at, load

MARK = "zyzzyva"
CHANGES = re.compile(rb'nonce="[^"]*"|nonce-[^\']*|csrf[^>]*value="[^"]*"|"X-CSRFToken": "[^"]*"')
PEOPLE = ("owner", "administrator")
TOLD = {("/imports/", "owner"), ("/datasets/", "owner")}
"""Where its owner is told that a file isn't finished: the list of such, and the link there with their number."""
LOGGED = re.compile("/audit/.*")
"""The audit log says to administrators that the dataset was begun."""


def text_of(response: HttpResponse) -> bytes:
    content = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[arg-type]
    return CHANGES.sub(b"", content)


def answers(world: World) -> dict[tuple[str, str], tuple[int, bytes]]:
    """What each address answers to a GET, by address and person."""
    found = {}
    for address in addresses():
        where = world.address_of(address)
        for who in PEOPLE:
            token = world.tokens[who] if address.name.startswith("api:") else ""
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            response = ask(world.browsers[who], "GET", where, {}, **headers)
            found[where, who] = response.status_code, text_of(response)
    return found


def stage(folder: Path, world: World) -> Dataset:
    """Half of a file, with all that a dataset may have but verdicts, under a name that says what it is."""
    rows = items(9, category=MARK, gold=1, labels=[{"annotator": MARK, "value": 1}])
    rows = [
        row | {"id": f"{MARK}{n}", "instruction": f"{MARK} {n}", "subset": f"{MARK}/x"}
        for n, row in enumerate(rows)
    ]
    rows[0]["criteria"] = [{"key": MARK, "question": "Good?", "scale": {"low": 0, "high": 2}}]
    file = folder / "data.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with killed():
        load(file, MARK, after=killed_at(3), owner=world.alice, split="public")
    return Dataset.with_staged.get(name=MARK)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_no_address_knows_of_it(tmp_path: Path) -> None:
    world = World(split="public")
    before, again = answers(world), answers(world)
    steady = {key for key in before if before[key] == again[key]}
    assert len(steady) > 0.8 * len(before)
    staged = stage(tmp_path, world)
    assert Item.objects.filter(dataset=staged).count() == 6
    now = answers(world)
    assert [key for key, (status, _) in now.items() if status >= 500 and status != before[key][0]] == []
    assert [key for key, (status, _) in before.items() if status == 500] == []
    naming = [key for key, (_, text) in now.items() if MARK.encode() in text]
    logged = [key for key in naming if LOGGED.fullmatch(key[0])]
    assert {who for _, who in logged} == {"administrator"}
    assert [key for key in naming if key not in logged] == [("/imports/", "owner")]
    others = [key for key in steady - TOLD if now[key] != before[key]]

    # Nor does one who names it, or a row of it.
    parts, known_rows, checklists = dict(world.parts), dict(world.rows), world.checklists
    world.parts |= {"name": MARK, "item_id": Item.objects.filter(dataset=staged)[0].pk}
    world.checklists = MARK
    rows: dict[str, models.Model] = {
        "datasets/<slug:name>/items/": Item.objects.filter(dataset=staged)[0],
        "api/v1/items/": Item.objects.filter(dataset=staged)[0],
        "api/v1/labels/": Label.objects.filter(item__dataset=staged)[0],
    }
    world.rows |= {route: row.pk for route, row in rows.items()}
    named: Any = [
        key for key in answers(world).items() if MARK in key[0][0] or key[0][0].endswith(_ends(rows))
    ]
    wrong = [(where, status) for (where, _), (status, text) in named if status < 400 or MARK.encode() in text]
    assert wrong == []
    assert len(named) > 40

    if others:  # a page that says the time answers otherwise without it too
        world.parts, world.rows, world.checklists = parts, known_rows, checklists
        staged_remove(StagedImport.objects.get(dataset=staged))
        later = answers(world)
        assert [key for key in others if later[key] == before[key]] == []


def _ends(rows: dict[str, models.Model]) -> tuple[str, ...]:
    return tuple(f"/{name.split('/')[-2]}/{row.pk}/" for name, row in rows.items() if name.startswith("api"))


@pytest.mark.django_db
def test_no_command_knows_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(split="public")
    stage(tmp_path, world)
    with pytest.raises(DatasetNotFound):
        dataset_get(MARK)
    for words in (("report", MARK), ("export", MARK), ("dataset_changes", MARK)):
        with pytest.raises(CommandError):
            call_command(*words)
    (tmp_path / "v.csv").write_text("item,judge,verdict\nx,j,1\n")
    with pytest.raises(CommandError):
        call_command("import_judgments", "generic", str(tmp_path / "v.csv"), dataset=MARK)
