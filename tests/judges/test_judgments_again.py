"""An export of judgments is a file of verdicts: in every format, on a copy of the dataset, with the same figures."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models import F, Value
from django.db.models.functions import Concat

from annotation.importers import read_generic
from annotation.models import Dataset, Item, Role
from annotation.services.datasets import dataset_import
from judges.backends.mock_server import running_mock_server
from judges.models import Judge, Judgment, VerdictImport
from judges.services.exports import ExportSubject, export_write
from metaeval.selectors.inputs import inputs_read, kinds_of
from tests.annotation.cast import client_of, labels_make, text_of
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.judges.props import endpoint_make, kinds_dataset_make, run, sweep_make
from tests.judges.standalone.test_same_as_the_site import judges_of_all_strategies
from tests.metaeval.rows import judge_make
from web.tables import FORMATS

SAID = (
    *("item__external_id", "judge__model", "judge__strategy", "order", "sample", "status", "choice", "probability"),
    *("value", "raw_text", "thought", "requests", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost"),
    *("latency_ms", "answered_by"),
)  # fmt: skip


def written(dataset, what, path):
    with path.open("wb") as file:
        export_write(file, ExportSubject(dataset), what, path.suffix[1:])
    return path


def copied(dataset, tmp_path):
    """The dataset as another site has it."""
    dataset_import(bundle=read_generic(written(dataset, "items", tmp_path / "items.jsonl")), name="again")
    return Dataset.objects.get(name="again")


def judges_forgotten():
    """What another site knows of the judges: nothing."""
    Judgment.objects.all().delete()
    Judge.objects.all().delete()


def imported(path, name="again"):
    call_command("import_judgments", "generic", str(path), dataset=name, verbosity=0)


def stored(dataset):
    rows = Judgment.objects.filter(item__dataset=dataset).order_by(*SAID[:5], "judge__fingerprint")
    return list(rows.values_list(*SAID))


@pytest.fixture
def pairs(tmp_path):
    """Pairs with verdicts of all sorts, and texts that a spreadsheet would run."""
    study = study_make(dataset=dataset_make(pairs=3, name="pairs"), overlap=2)
    labels_make(study, [[1, 2], [0, 1], [1, 2]])
    Item.objects.filter(dataset=study.dataset).update(external_id=Concat(Value("-"), F("external_id")))
    judge, other = judge_make("=1+1", strategy="cot"), judge_make("plain", strategy="rules")
    first, second, third = study.dataset.items.order_by("position")
    Judgment.objects.bulk_create(
        [
            Judgment(
                judge=judge, item=first, order=1, status="parsed", choice=2, probability=1e-7, cost=1.5e-06,
                value={"choice": 2, "reason": "Clearer.", "scores": [1.5, 7]}, raw_text="@A\r\nis better",
                thought="\thm", requests=2, prompt_tokens=12, completion_tokens=3, reasoning_tokens=1, latency_ms=0.25,
                answered_by="test-model\ttest-1\tfp",
            ),
            Judgment(judge=judge, item=first, order=1, sample=1, status="parsed", choice=0, value={"choice": 0}),
            Judgment(
                judge=judge, item=second, order=0, status="unparsed", value={"reason": "No verdict."}, raw_text="5"
            ),
            Judgment(judge=judge, item=second, order=1, status="unparsed", raw_text=" "),
            Judgment(judge=judge, item=third, order=0, status="failed", raw_text="HTTP 400: too long", latency_ms=3.0),
            Judgment(judge=other, item=third, order=0, status="parsed", choice=1, value={"choice": 1, "grade": 1.27}),
        ]
    )  # fmt: skip
    return study.dataset


@pytest.mark.django_db
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("is_known", [True, False])
def test_each_format_is_read_again_with_all_that_is_known(pairs, tmp_path, format, is_known, capsys):
    expected = stored(pairs)
    again = copied(pairs, tmp_path)
    path = written(pairs, "judgments", tmp_path / f"judgments.{format}")
    if not is_known:
        judges_forgotten()
    imported(path)
    assert stored(again) == expected
    assert Judge.objects.count() == 2
    assert "weren't compared" in capsys.readouterr().err
    imported(path)  # changes nothing
    assert stored(again) == expected


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_every_strategy_said_gives_the_same_figures(tmp_path):
    dataset = kinds_dataset_make(2)
    with running_mock_server() as server:
        sweep_make(judges_of_all_strategies(endpoint_make(server.url)), dataset)
        run()
    again = copied(dataset, tmp_path)
    expected, compared = stored(dataset), 0
    for format in FORMATS:
        Judgment.objects.filter(item__dataset=again).delete()
        imported(written(dataset, "judgments", tmp_path / f"judgments.{format}"))
        assert stored(again) == expected
        for kind in kinds_of(dataset):
            before, after = (inputs_read(dataset=one, kind=kind) for one in (dataset, again))
            assert [one.name for one in before.judges] == [one.name for one in after.judges]
            for name in ("judged", "unparsed", "failed", "values", "cost", "seconds"):
                for one, other in zip(before.judges, after.judges, strict=True):
                    assert str(getattr(one, name)) == str(getattr(other, name))
                    compared += 1
    assert compared > 100


@pytest.mark.django_db
def test_the_page_takes_an_export(pairs, tmp_path, settings):
    settings.IMPORTS_DIR = tmp_path / "imports"
    again = copied(pairs, tmp_path)
    alice = user_make(username="alice", role=Role.RESEARCHER)
    Dataset.objects.filter(pk=again.pk).update(owner=alice)
    browser = client_of(alice)
    file = SimpleUploadedFile("j.csv", written(pairs, "judgments", tmp_path / "j.csv").read_bytes())
    address = "/datasets/again/judgments/import/"
    assert browser.post(address, {"file": file, "format": "generic"}).status_code == 302
    page = text_of(browser.get(address))
    assert "6 verdicts, 6 not stored yet" in page
    assert "6 rows without a hash of the texts" in page
    browser.post(f"/imports/{VerdictImport.objects.get().pk}/", {"action": "confirm"})
    assert stored(again) == stored(pairs)


@pytest.mark.django_db
def test_verdicts_on_items_of_another_kind_are_refused(pairs, tmp_path):
    again = copied(pairs, tmp_path)
    Item.objects.filter(dataset=again).update(kind="rubric")
    with pytest.raises(CommandError, match="kind: expected 'rubric'"):
        imported(written(pairs, "judgments", tmp_path / "judgments.jsonl"))
    assert not stored(again)
