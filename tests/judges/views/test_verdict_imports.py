"""Files of verdicts and labels in the browser: checked, shown, confirmed, and stored once."""

import io
import json
import re
import threading
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.importers import read_llmbar
from annotation.models import Dataset, Label
from annotation.services.datasets import dataset_import
from annotation.services.tokens import token_create
from judges.models import ImportState, Judge, Judgment, VerdictImport
from judges.services import verdict_imports
from judges.services.import_files import MOST_ATTEMPTS, MOST_KEPT, imports_tidy
from judges.services.verdict_imports import (
    verdict_import_delete,
    verdict_imports_start,
    verdict_imports_work,
)
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import dataset_make
from tests.races import after, all_at_once, browsers_of

pytestmark = pytest.mark.django_db
PAGE = "/datasets/pairs/judgments/import/"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.IMPORTS_DIR = tmp_path / "imports"
    return settings.IMPORTS_DIR


@pytest.fixture
def dataset(cast):
    return dataset_make(pairs=3, name="pairs", owner=cast.alice)


@pytest.fixture
def later(monkeypatch):
    """Every file is large enough for a worker."""
    monkeypatch.setattr(verdict_imports, "AT_ONCE", 0)


def table(dataset, *, judge="gpt", verdicts=(1, 2, "unparsed"), orders=(0, 1)):
    names = dataset.items.order_by("position").values_list("external_id", flat=True)
    rows = [
        f"{name},{judge},{order},{verdict}"
        for name, verdict in zip(names, verdicts, strict=True)
        for order in orders
    ]
    return "\n".join(["item,judge,order,verdict", *rows])


def sent(user, content, name="verdicts.csv", format="generic", page=PAGE):
    file = SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)
    return client_of(user).post(page, {"file": file, "format": format})


def acted(user, action, job=None):
    job = job or VerdictImport.objects.get()
    return client_of(user).post(f"/imports/{job.pk}/", {"action": action})


def test_a_file_is_checked_shown_and_imported(cast, dataset, folder):
    response = sent(cast.alice, table(dataset))
    assert (response.status_code, response["Location"]) == (302, f"{PAGE}#files")
    page = client_of(cast.alice).get(PAGE)
    assert "6 verdicts, 6 not stored yet" in text_of(page)
    assert re.search(r"gpt New judge gpt imported 6 6 2", text_of(page)), text_of(page)
    assert "{&quot;choice&quot;: 1}" in page.content.decode()
    assert not Judgment.objects.exists()
    assert not Judge.objects.exists()
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert acted(cast.alice, "confirm").status_code == 302
    assert "6 verdicts stored." in text_of(client_of(cast.alice).get(PAGE))
    stored = Judgment.objects.order_by("item__position", "order").values_list("status", "choice")
    assert list(stored) == [("parsed", 1)] * 2 + [("parsed", 2)] * 2 + [("unparsed", None)] * 2
    assert not list(folder.iterdir()), "what is stored needs no file any more"
    # The same file again: nothing is new, and nothing changes.
    sent(cast.alice, table(dataset))
    assert "6 verdicts, 0 not stored yet" in text_of(client_of(cast.alice).get(PAGE))
    acted(cast.alice, "confirm", VerdictImport.objects.first())
    assert "all 6 verdicts were stored already" in text_of(client_of(cast.alice).get(PAGE))
    assert Judgment.objects.count() == 6


def test_what_is_wrong_is_named_by_row_and_field(cast, dataset, folder):
    first = dataset.items.order_by("position")[0].external_id
    sent(cast.alice, f"item,judge,order,verdict\n{first},j,0,7\nnone,j,0,1\n{first},j,9,1\n")
    page = text_of(client_of(cast.alice).get(PAGE))
    assert "Nothing was stored: 3 errors" in page
    assert re.search(r"2 verdict expected .* 3 item expected .* 4 order expected", page), page
    assert str(folder) not in page
    assert not list(folder.iterdir())
    assert acted(cast.alice, "confirm").status_code == 302
    assert VerdictImport.objects.get().state == ImportState.REFUSED
    assert not Judgment.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("v.csv", b"\xff\xfe\x00x", "Nothing was stored"),
        ("v.csv", b"", "submitted file is empty"),
        ("v.exe", b"item", "Expected a file named .csv"),
        ("v.json", b"[" * 100_000, "Nothing was stored"),
        ("v.parquet", b"PAR1nothing", "Nothing was stored"),
        ("v.csv", b"item,judge,verdict\n", "expected at least one verdict"),
    ],
)
def test_hostile_files_are_refused(cast, dataset, name, content, words):
    response = sent(cast.alice, content, name=name)
    page = response if response.status_code == 200 else client_of(cast.alice).get(PAGE)
    assert words in text_of(page)
    assert not Judgment.objects.exists()


def test_what_contradicts_is_found_by_the_check_and_again_by_the_import(cast, dataset):
    sent(cast.alice, table(dataset, verdicts=(1, 1, 1)))
    sent(cast.alice, table(dataset, verdicts=(2, 1, 1)))
    one, other = VerdictImport.objects.order_by("pk")
    acted(cast.alice, "confirm", one)
    acted(cast.alice, "confirm", other)  # checked before the first was stored
    other.refresh_from_db()
    assert other.state == ImportState.REFUSED
    assert other.errors[0]["field"] == "verdict of gpt"
    assert Judgment.objects.count() == 6
    sent(cast.alice, table(dataset, verdicts=(2, 1, 1)))
    assert VerdictImport.objects.first().state == ImportState.REFUSED


def test_whose_dataset_and_whose_file(cast, dataset):
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
        assert client_of(user).get(PAGE).status_code == status
        assert sent(user, table(dataset)).status_code == status
    assert not VerdictImport.objects.exists()
    sent(cast.alice, table(dataset))
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
        assert acted(user, "confirm").status_code == status
        assert acted(user, "delete").status_code == status
    assert acted(cast.alice, "explode").status_code == 404
    assert VerdictImport.objects.get().state == ImportState.CHECKED
    assert "verdicts.csv" not in text_of(client_of(cast.ann).get(PAGE))


def test_a_right_that_is_lost_before_the_worker_comes_stores_nothing(cast, dataset, later):
    sent(cast.alice, table(dataset))
    verdict_imports_work()
    acted(cast.alice, "confirm")
    Dataset.objects.update(owner=cast.bob)
    verdict_imports_work()
    job = VerdictImport.objects.get()
    assert job.state == ImportState.FAILED
    assert "can't add to this dataset" in job.errors[0]["message"]
    assert not Judgment.objects.exists()


def test_a_large_file_waits_for_a_worker_and_is_polled_meanwhile(cast, dataset, later):
    browser = client_of(cast.alice)
    sent(cast.alice, table(dataset))
    page = browser.get(PAGE)
    assert "Waiting for a worker" in text_of(page)
    assert 'hx-trigger="every 1500ms"' in page.content.decode()
    part = browser.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert part.startswith("<section")
    assert verdict_imports_work() == 1
    assert "Import 6 verdicts" in text_of(browser.get(PAGE))
    acted(cast.alice, "confirm")
    acted(cast.alice, "confirm")  # twice: once
    assert verdict_imports_work() == 1
    assert verdict_imports_work() == 0
    assert "6 verdicts stored" in text_of(browser.get(PAGE))
    assert "every 1500ms" not in browser.get(PAGE).content.decode()


def test_a_lost_worker_is_followed_by_the_next_and_three_are_enough(cast, dataset, later):
    sent(cast.alice, table(dataset))
    VerdictImport.objects.update(state="running", owner="gone", lease_until=timezone.now() - timedelta(1))
    assert verdict_imports_work() == 1
    assert VerdictImport.objects.get().state == ImportState.CHECKED
    VerdictImport.objects.update(
        state="running", owner="gone", attempts=MOST_ATTEMPTS,
        lease_until=timezone.now() - timedelta(1),
    )  # fmt: skip
    verdict_imports_work()
    assert VerdictImport.objects.get().state == ImportState.FAILED


@pytest.mark.parametrize("how", ["deleted", "taken by another worker"])
def test_whoever_lost_the_row_stores_nothing(cast, dataset, later, how):
    sent(cast.alice, table(dataset))
    verdict_imports_work()
    acted(cast.alice, "confirm")
    job = VerdictImport.objects.get()

    def lose():
        if how == "deleted":
            verdict_import_delete(job=job)
        else:
            VerdictImport.objects.update(owner="another")

    with after(r'FROM "annotation_item"', lose):  # while the file is read
        verdict_imports_work()
    assert not Judgment.objects.exists()


def test_a_worker_that_stops_gives_the_file_back(cast, dataset, later):
    sent(cast.alice, table(dataset))
    verdict_imports_work()
    acted(cast.alice, "confirm")
    asked = iter([False])  # the look for work; it stops while the first verdicts are stored
    verdict_imports_work(lambda: next(asked, True))
    job = VerdictImport.objects.get()
    assert (job.state, job.attempts) == (ImportState.QUEUED, 0)
    assert not Judgment.objects.exists()
    assert verdict_imports_work() == 1
    assert Judgment.objects.count() == 6


def test_the_file_may_be_gone(cast, dataset, later, folder):
    sent(cast.alice, table(dataset))
    for path in folder.iterdir():
        path.unlink()
    verdict_imports_work()
    assert VerdictImport.objects.get().state in (ImportState.FAILED, ImportState.REFUSED)


def test_files_are_bounded_and_go_after_a_while(cast, dataset, folder, settings):
    for place in range(MOST_KEPT):
        sent(cast.alice, table(dataset, judge=f"j{place}"))
    response = sent(cast.alice, table(dataset, judge="one more"))
    assert f"{MOST_KEPT} of your files wait" in text_of(response)
    assert len(list(folder.iterdir())) == MOST_KEPT
    assert imports_tidy() == 0
    settings.EXPORTS_KEEP_HOURS = -1
    (Path(folder) / "stray.csv").write_text("x")
    assert imports_tidy() == MOST_KEPT + 1
    assert not VerdictImport.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_sent_and_confirmed_by_many_at_once_is_stored_once(cast, dataset):
    content = table(dataset)

    def send(browser):
        file = SimpleUploadedFile("verdicts.csv", content.encode())
        return browser.post(PAGE, {"file": file, "format": "generic"}).status_code

    assert set(all_at_once(send, browsers_of(cast.alice, 4))) == {302}
    job = VerdictImport.objects.get()
    assert job.state == ImportState.CHECKED
    all_at_once(
        lambda one: one.post(f"/imports/{job.pk}/", {"action": "confirm"}), browsers_of(cast.alice, 4)
    )
    job.refresh_from_db()
    assert job.state == ImportState.DONE
    assert Judgment.objects.count() == 6


@pytest.mark.django_db(transaction=True)
def test_a_worker_reads_in_a_thread_of_its_own(cast, dataset, later):
    sent(cast.alice, table(dataset))
    thread = verdict_imports_start(lambda: False)
    assert thread is not None
    assert thread.name == "imports"
    assert thread is not threading.current_thread()
    thread.join()
    assert VerdictImport.objects.get().state == ImportState.CHECKED
    assert verdict_imports_start(lambda: False) is None


def test_importing_by_a_program_follows_the_same_right(cast, dataset):
    """A researcher imports verdicts on a dataset of theirs, and on nobody else's."""
    rows = [{"item": dataset.items.first().external_id, "judge": "gpt", "verdict": 1}]
    sent_rows = {"dataset": "pairs", "judgments": rows}
    for user, status in ((cast.bob, 400), (cast.alice, 200)):
        _, secret = token_create(user=user, name="t")
        answer = client_of(None).post(
            "/api/v1/judgments/", sent_rows, "application/json", headers={"Authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == status, answer.content
    assert Judgment.objects.count() == 1


def labels_file(dataset, choices=(1, 2, 0), **more):
    names = dataset.items.order_by("position").values_list("external_id", flat=True)
    rows = [
        {"item": name, "annotator": "ann", "value": {"choice": choice}} | more
        for name, choice in zip(names, choices, strict=True)
    ]
    return "\n".join(json.dumps(row) for row in rows)


def labels_sent(user, content, name="labels.jsonl"):
    return sent(user, content, name=name, format="labels")


def test_labels_are_checked_shown_and_imported(cast, dataset, folder):
    assert labels_sent(cast.alice, labels_file(dataset)).status_code == 302
    page = text_of(client_of(cast.alice).get(PAGE))
    assert "Labels 3 New 3 Items 3 Annotators 1" in page
    assert "Simulated" not in page
    assert "Import 3 labels" in page
    assert not Label.objects.exists()
    version = Dataset.objects.get().version
    assert version == dataset.version, "a check is no version"
    acted(cast.alice, "confirm")
    assert "3 labels stored." in text_of(client_of(cast.alice).get(PAGE))
    assert [one.value["choice"] for one in Label.objects.order_by("item__position")] == [1, 2, 0]
    assert not list(folder.iterdir())
    labels_sent(cast.alice, labels_file(dataset))
    assert "Labels 3 New 0" in text_of(client_of(cast.alice).get(PAGE))
    acted(cast.alice, "confirm", VerdictImport.objects.first())
    assert "all 3 labels were stored already" in text_of(client_of(cast.alice).get(PAGE))
    assert Label.objects.count() == 3


def test_labels_that_contradict_or_do_not_fit_are_refused_whole(cast, dataset):
    labels_sent(cast.alice, labels_file(dataset))
    acted(cast.alice, "confirm")
    for content, words in (
        (labels_file(dataset, choices=(1, 2, 1)), "3 "),
        (labels_file(dataset, choices=(1, 9, 0)), "2 value"),
        (labels_file(dataset, item="none"), "1 item expected the id of an item"),
        (labels_file(dataset, more=1), "unknown field"),
    ):
        labels_sent(cast.alice, content)
        job = VerdictImport.objects.first()
        assert job.state == ImportState.REFUSED
        assert f"Nothing was stored: {len(job.errors)} error" in text_of(client_of(cast.alice).get(PAGE))
        assert words in " ".join(f"{one['row']} {one['field']} {one['message']}" for one in job.errors)
    assert Label.objects.count() == 3


def test_an_export_of_labels_says_what_was_left_out(cast, dataset):
    content = labels_file(dataset, label_id=1, superseded=False, replaced_in=None, is_simulated=True)
    first, rest = content.split("\n", 1)
    labels_sent(cast.alice, f"{first.replace('false', 'true')}\n{rest}")
    page = text_of(client_of(cast.alice).get(PAGE))
    assert "1 label left out: superseded." in page
    assert "Simulated labels 2" in page


@pytest.mark.django_db(transaction=True)
def test_labels_confirmed_by_many_at_once_are_stored_once(cast, dataset):
    labels_sent(cast.alice, labels_file(dataset))
    job = VerdictImport.objects.get()
    all_at_once(
        lambda one: one.post(f"/imports/{job.pk}/", {"action": "confirm"}), browsers_of(cast.alice, 4)
    )
    job.refresh_from_db()
    assert job.state == ImportState.DONE
    assert Label.objects.count() == 3


def results_zip(*members, said=1):
    """LLMBar's results as its authors keep them, in an archive."""
    answer = {"winner": str(said), "completion": ["x", "stop"]}
    step = {"swap = False": answer, "swap = True": answer}
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 1, "results": [step]}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for member in members:
            archive.writestr(member, json.dumps([row]))
    return file.getvalue()


def llmbar_dataset(cast, tmp_path):
    folder = tmp_path / "Natural"
    folder.mkdir()
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 1}
    (folder / "dataset.json").write_text(json.dumps([row]))
    dataset_import(bundle=read_llmbar(tmp_path), name="pairs", owner=cast.alice)


def test_llmbars_results_come_as_the_authors_keep_them_in_an_archive(cast, tmp_path):
    llmbar_dataset(cast, tmp_path)
    members = [f"LLMBar/Natural/evaluators/{model}/Vanilla/result.json" for model in ("GPT-4", "ChatGPT")]
    sent(cast.alice, results_zip(*members), name="results.zip", format="llmbar")
    assert "4 verdicts, 4 not stored yet" in text_of(client_of(cast.alice).get(PAGE))
    acted(cast.alice, "confirm")
    assert Judgment.objects.count() == 4
    assert sorted(Judgment.objects.values_list("judge__name", "order", "choice")) == [
        (f"{model} / Vanilla", order, 1) for model in ("ChatGPT", "GPT-4") for order in (0, 1)
    ]


def test_what_is_wrong_in_an_archive_names_the_member(cast, tmp_path, folder):
    llmbar_dataset(cast, tmp_path)
    member = "Natural/evaluators/GPT-4/Vanilla/result.json"
    sent(cast.alice, results_zip(member, said=[7]), name="results.zip", format="llmbar")
    page = text_of(client_of(cast.alice).get(PAGE))
    assert f"{member}: expected" in page
    assert str(folder) not in page
    assert not Judgment.objects.exists()
