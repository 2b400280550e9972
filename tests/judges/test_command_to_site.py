"""Verdicts of `touchstone judge` on a site's exported items come back to the site: by page, command and API."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from annotation.models import Role
from annotation.services.item_exports import items_table
from annotation.services.tokens import token_create
from judges.backends.mock_server import running_mock_server
from judges.models import BackendKind, Judge, Judgment, VerdictImport
from judges.services.judge_imports import judge_import
from judges.standalone.main import main
from judges.strategies.documents import document_make
from judges.strategies.spec import JudgeSpec
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, kinds_dataset_make
from tests.judges.standalone.files import at, rows_of, rows_write
from tests.judges.standalone.test_same_as_the_site import judges_of_all_strategies
from web.tables import table_bytes

pytestmark = [pytest.mark.django_db, pytest.mark.service]
STORED = (
    "status",
    "choice",
    "probability",
    "value",
    "raw_text",
    "requests",
    "prompt_tokens",
    "completion_tokens",
)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.IMPORTS_DIR = tmp_path / "imports"


@pytest.fixture
def alice():
    return user_make(username="alice", role=Role.RESEARCHER)


@pytest.fixture
def dataset(alice):
    return dataset_make(pairs=3, name="pairs", owner=alice)


def exported(dataset, path):
    path.write_bytes(b"".join(table_bytes(items_table(dataset.items.all()), "jsonl")))
    return path


def judged(items, out, *options):
    assert main(["judge", str(items), *map(str, options), "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture
def lines(dataset, tmp_path):
    """The file that the real command writes about the real export."""
    with running_mock_server() as server:
        return judged(
            exported(dataset, tmp_path / "items.jsonl"), tmp_path / "verdicts.jsonl",
            "--strategy", "cot", *at(server),
        )  # fmt: skip


def imported(file):
    call_command("import_judgments", "generic", str(file), dataset="pairs", verbosity=0)


def stored(judgments=None):
    rows = (Judgment.objects.all() if judgments is None else judgments).select_related("item")
    return {
        (row.item.external_id, row.order, row.sample): tuple(getattr(row, name) for name in STORED)
        for row in rows
    }


def said(file):
    return {
        (row["item"], row["order"], row["sample"]): tuple(row[name] for name in STORED)
        for row in rows_of(file)
        if row["status"] != "failed"
    }


def test_the_page_takes_the_file_twice(alice, dataset, lines):
    browser = client_of(alice)
    for created in (6, 0):
        file = SimpleUploadedFile("verdicts.jsonl", lines.read_bytes())
        address = "/datasets/pairs/judgments/import/"
        assert browser.post(address, {"file": file, "format": "generic"}).status_code == 302
        assert f"6 verdicts, {created} not stored yet" in text_of(browser.get(address))
        browser.post(f"/imports/{VerdictImport.objects.first().pk}/", {"action": "confirm"})
        assert stored() == said(lines)
    judge = Judge.objects.get()
    assert (judge.name, judge.model, judge.strategy, judge.backend) == (
        "cot",
        "mock-longer",
        "cot",
        "imported",
    )
    assert judge.spec["fingerprint"] == rows_of(lines)[0]["fingerprint"]
    row = Judgment.objects.first()
    assert (row.answered_by.split("\t")[:2], row.source) == (
        ["mock-longer", "mock-longer"],
        "verdicts.jsonl:1",
    )


def test_the_command_takes_the_file_twice_and_parquet_too(dataset, lines, tmp_path, capsys):
    imported(lines)
    imported(lines)
    assert stored() == said(lines)
    with running_mock_server() as server:
        out = judged(tmp_path / "items.jsonl", tmp_path / "v.parquet", "--strategy", "vanilla", *at(server))
        # As the same judge that has judged at this address.
        again = judged(tmp_path / "items.jsonl", tmp_path / "v.jsonl", "--strategy", "vanilla", *at(server))
    imported(out)
    assert Judgment.objects.count() == 12
    imported(again)
    assert Judgment.objects.count() == 12
    assert Judge.objects.count() == 2


def test_the_judge_is_the_sites_of_this_fingerprint(dataset, tmp_path):
    with running_mock_server() as server:
        own = judge_make(endpoint_make(server.url), strategy="rules", name="Ours")
        path = tmp_path / "judge.json"
        path.write_text(json.dumps(document_make("Theirs", JudgeSpec.from_dict(own.spec))))
        lines = judged(exported(dataset, tmp_path / "items.jsonl"), tmp_path / "v.jsonl", "--judge", path)
    imported(lines)
    assert set(Judgment.objects.values_list("judge__name", flat=True)) == {"Ours"}
    assert Judge.objects.count() == 1


def test_a_judge_that_comes_later_takes_its_name_and_not_its_verdicts(dataset, tmp_path):
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        own = judge_make(endpoint, strategy="rules", name="Ours")
        document = document_make("Ours", JudgeSpec.from_dict(own.spec))
        own.delete()
        path = tmp_path / "judge.json"
        path.write_text(json.dumps(document))
        lines = judged(exported(dataset, tmp_path / "items.jsonl"), tmp_path / "v.jsonl", "--judge", path)
        imported(lines)
        assert judge_import(values=document, user=None).judge.name == "Ours (2)"
    assert Judge.objects.get(backend=BackendKind.IMPORTED).name == "Ours"


def test_a_name_that_is_taken_gets_a_number(dataset, lines):
    Judge.objects.create(name="cot", backend="imported", strategy="imported", spec={}, fingerprint="x")
    imported(lines)
    imported(lines)
    assert sorted(Judge.objects.values_list("name", flat=True)) == ["cot", "cot (2)"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_strategy_comes_back_as_it_judged(tmp_path, capsys):
    dataset = kinds_dataset_make(2)
    items = exported(dataset, tmp_path / "items.jsonl")
    n = 0
    with running_mock_server() as server:
        for number, judge in enumerate(judges_of_all_strategies(endpoint_make(server.url))):
            path = tmp_path / f"judge-{number}.json"
            path.write_text(json.dumps(document_make(judge.name, JudgeSpec.from_dict(judge.spec))))
            out = judged(items, tmp_path / f"verdicts-{number}.jsonl", "--judge", path)
            call_command("import_judgments", "generic", str(out), dataset=dataset.name, verbosity=0)
            found = stored(Judgment.objects.filter(judge=judge))
            assert found, judge.strategy
            assert found == said(out), judge.strategy
            n += len(found)
    assert n > 100


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"content": "0" * 16}, "row 2, field content: expected '"),
        ({"item": "none"}, "row 2, field item: expected the id of an item"),
        ({"sample": -1}, "row 2, field sample: expected a whole number from 0"),
        ({"order": 2}, "row 2, field order: expected 0 or 1"),
        ({"status": "great"}, "row 2, field status: expected parsed, unparsed or failed"),
        ({"value": {"choice": 7}}, "row 2, field value.choice"),
        ({"value": None}, "row 2, field value: expected a value"),
        ({"choice": 0}, "as in value, found 0"),
        ({"probability": 1.5}, "row 2, field probability: expected a number from 0 to 1"),
        ({"requests": 10**9}, "row 2, field requests: expected a whole number from 0 to 32,767"),
        ({"fingerprint": ""}, "row 2, field fingerprint"),
        ({"surprise": 1}, "row 2, field surprise: unknown field"),
        ({"strategy": "vanilla"}, "row 2, field judge: expected model and strategy"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_stored(dataset, lines, tmp_path, changed, words):
    # As answers arrive they come in any order; here both of an item stand together.
    first, second, *rest = sorted(rows_of(lines), key=lambda row: (row["item"], row["order"]))
    bad = rows_write(tmp_path / "bad.jsonl", [first, second | changed, *rest])
    with pytest.raises(CommandError) as refusal:
        imported(bad)
    assert words in str(refusal.value)
    assert not Judge.objects.exists()
    assert not Judgment.objects.exists()


def test_failed_rows_are_left_out_and_counted(alice, dataset, lines, tmp_path):
    rows = rows_of(lines)
    rows[0] |= {"status": "failed", "choice": None, "value": None, "raw_text": "HTTP 400"}
    some = rows_write(tmp_path / "some.jsonl", rows)
    file = SimpleUploadedFile("verdicts.jsonl", some.read_bytes())
    client_of(alice).post("/datasets/pairs/judgments/import/", {"file": file, "format": "generic"})
    page = text_of(client_of(alice).get("/datasets/pairs/judgments/import/"))
    assert "5 verdicts, 5 not stored yet" in page
    assert "1 row left out in which the judge failed" in page
    none = rows_write(tmp_path / "none.jsonl", [rows[0]])
    with pytest.raises(CommandError, match="The judge failed in all 1 rows"):
        imported(none)
    imported(some)
    imported(lines)  # asked again, as by --retry-failed
    assert stored() == said(lines)


def test_the_api_takes_lines_as_they_are(alice, dataset, lines):
    _, secret = token_create(user=alice, name="t")
    rows = rows_of(lines)
    rows[0] |= {"status": "failed", "choice": None, "value": None}

    def post(rows):
        return client_of(None).post(
            "/api/v1/judgments/", {"dataset": "pairs", "judgments": rows}, "application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )  # fmt: skip

    for created in (5, 0):
        answer = post(rows)
        assert answer.status_code == 200, answer.content
        assert answer.json()["judgments_created"] == created
        assert answer.json()["notes"][0].startswith("1 row left out")
    refused = post([rows[1] | {"content": "other"}])
    assert refused.status_code == 400
    assert "the texts of item" in refused.content.decode()
    assert post([rows[1] | {"nonsense": 1}]).status_code == 400
