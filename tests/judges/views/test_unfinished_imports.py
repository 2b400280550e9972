"""Unfinished imports: listed with how far they are, continued where they are, discarded alone."""

import re
from datetime import timedelta
from functools import partial

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from annotation.models import Dataset, Item, StagedImport
from annotation.services.staged_imports import staged_tidy
from judges.models import DatasetImport, ImportState, Judgment, VerdictImport
from judges.services import dataset_imports, verdict_imports
from judges.services.dataset_imports import dataset_imports_work
from judges.services.import_files import MOST_ATTEMPTS, MOST_KEPT, imports_tidy, path_of
from judges.services.unfinished_imports import unfinished_imports_of
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.judges.unfinished import staged_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db
PAGE = "/imports/"
PAIRS = "".join(
    f'{{"id": "q{n}", "instruction": "Say {n}.", "response_1": "a", "response_2": "b"}}\n' for n in range(2)
).encode()


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.IMPORTS_DIR = tmp_path / "imports"
    return settings.IMPORTS_DIR


@pytest.fixture
def later(monkeypatch):
    """Every file is large enough for a worker."""
    monkeypatch.setattr(dataset_imports, "AT_ONCE", 0)
    monkeypatch.setattr(verdict_imports, "AT_ONCE", 0)


@pytest.fixture
def pairs(cast):
    return dataset_make(pairs=2, name="pairs", owner=cast.alice)


def items_sent(user, *, content=PAIRS, name="mine.jsonl", dataset="new"):
    file = SimpleUploadedFile(name, content)
    form = {
        "file": file,
        "format": "generic",
        "name": dataset,
        "split": "private",
        "title": "",
        "licence": "",
    }
    assert client_of(user).post("/datasets/upload/", form).status_code == 302
    return DatasetImport.objects.order_by("-pk")[0]


def verdicts_sent(user, pairs, *, verdict="1", name="verdicts.csv"):
    item = pairs.items.order_by("position")[0].external_id
    file = SimpleUploadedFile(name, f"item,judge,verdict\n{item},gpt,{verdict}\n".encode())
    form = {"file": file, "format": "generic"}
    assert client_of(user).post("/datasets/pairs/judgments/import/", form).status_code == 302
    return VerdictImport.objects.order_by("-pk")[0]


def failed(job):
    """Its worker was lost too often."""
    gone = timezone.now() - timedelta(days=1)
    type(job).objects.filter(pk=job.pk).update(
        state="running", owner="gone", attempts=MOST_ATTEMPTS, lease_until=gone
    )
    (dataset_imports_work if isinstance(job, DatasetImport) else verdict_imports.verdict_imports_work)()
    job.refresh_from_db()
    assert job.state == ImportState.FAILED
    return job


def address(job):
    sort = {DatasetImport: "datasets", VerdictImport: "verdicts", StagedImport: "staged"}[type(job)]
    return f"/imports/unfinished/{sort}/{job.pk}/"


def acted(user, job, action):
    return client_of(user).post(address(job), {"action": action})


def shown(user):
    """File, progress and state of each line of the page."""
    page = client_of(user).get(PAGE)
    assert page.status_code == 200
    return [(one.file, one.progress, one.state) for one, _, _ in page.context["rows"]]


class TestList:
    def test_what_is_unfinished_is_listed_with_how_far_it_is_the_newest_first(self, cast, pairs, later):
        items_sent(cast.alice, name="read.jsonl", dataset="a")
        wrong = items_sent(cast.alice, content=PAIRS + b'{"id": "w"}\n', name="wrong.jsonl", dataset="b")
        items_sent(cast.alice, content=b"PAR1nothing", name="none.parquet", dataset="c")
        verdicts_sent(cast.alice, pairs)
        verdicts_sent(cast.alice, pairs, verdict="7", name="seven.csv")
        while dataset_imports_work() or verdict_imports.verdict_imports_work():
            pass
        wrong.refresh_from_db()
        assert wrong.n_errors
        running = items_sent(cast.alice, name="running.jsonl", dataset="d")
        until = timezone.now() + timedelta(minutes=2)
        DatasetImport.objects.filter(pk=running.pk).update(
            state="running", is_confirmed=True, step="5,000 rows stored", lease_until=until
        )
        items_sent(cast.alice, name="waiting.jsonl", dataset="e")
        staged_make(cast.alice)
        done = items_sent(cast.alice, name="done.jsonl", dataset="f")
        DatasetImport.objects.filter(pk=done.pk).update(state="done", dataset=pairs)
        assert shown(cast.alice) == [
            ("large.jsonl", "5,000 rows stored", "On the command line"),
            ("waiting.jsonl", "0 rows read", "Waiting for a worker"),
            ("running.jsonl", "5,000 rows stored", "Importing"),
            ("seven.csv", "Nothing stored", "Refused"),
            ("verdicts.csv", "1 verdict read, none stored", "Waiting for you to confirm"),
            ("none.parquet", "Nothing stored", "Refused"),
            ("wrong.jsonl", "2 items read, none stored", "1 row with errors"),
            ("read.jsonl", "2 items read, none stored", "Waiting for you to confirm"),
        ]
        page = client_of(cast.alice).get("/datasets/")
        assert "Unfinished imports (8)" in text_of(page)
        assert f'href="{PAGE}"' in page.content.decode()

    def test_when_it_is_removed_is_said_and_true(self, cast, settings):
        job = items_sent(cast.alice)
        due = (job.created_at + timedelta(hours=settings.EXPORTS_KEEP_HOURS)).strftime("%-d %b %Y, %H:%M")
        page = text_of(client_of(cast.alice).get(PAGE))
        assert due in page
        assert f"A file is removed {settings.EXPORTS_KEEP_HOURS} hours after its upload" in page
        before = timezone.now() - timedelta(hours=settings.EXPORTS_KEEP_HOURS)
        DatasetImport.objects.update(created_at=before + timedelta(minutes=1))
        imports_tidy()
        assert len(shown(cast.alice)) == 1
        DatasetImport.objects.update(created_at=before - timedelta(minutes=1))
        imports_tidy()
        assert shown(cast.alice) == []
        assert "No unfinished imports" in text_of(client_of(cast.alice).get(PAGE))

    def test_whose_they_are(self, cast, pairs):
        jobs = [items_sent(cast.alice), verdicts_sent(cast.alice, pairs), staged_make(cast.alice)]
        for user, status in ((None, 302), (cast.carl, 403)):
            assert client_of(user).get(PAGE).status_code == status
        for user in (cast.bob, cast.ann):
            assert shown(user) == []
            assert "Unfinished imports" not in text_of(client_of(user).get("/datasets/"))
        for job in jobs:
            for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
                for action in ("continue", "discard"):
                    assert acted(user, job, action).status_code == status
            assert acted(cast.alice, job, "explode").status_code == 404
            assert client_of(cast.alice).get(address(job)).status_code == 405
        assert len(shown(cast.alice)) == 3

    def test_it_takes_few_queries_however_many_there_are(self, cast, pairs, django_assert_num_queries):
        browser = client_of(cast.alice)

        def fill(n):
            for place in range(n):
                items_sent(cast.alice, dataset=f"d{place}", name=f"{place}.jsonl")
                verdicts_sent(cast.alice, pairs, name=f"{place}.csv", verdict="1" * (place % 2) or "2")

        fill(2)
        browser.get(PAGE)
        with django_assert_num_queries(7):  # session, user, four lists, what is stored of those of items
            browser.get(PAGE)
        fill(4)
        with django_assert_num_queries(7):
            browser.get(PAGE)

    def test_it_is_polled_while_something_is_read(self, cast, later):
        items_sent(cast.alice)
        page = client_of(cast.alice).get(PAGE).content.decode()
        assert 'hx-trigger="every 3s"' in page
        part = client_of(cast.alice).get(PAGE, headers={"HX-Request": "true"}).content.decode()
        assert part.startswith('<div id="imports"')
        dataset_imports_work()
        assert "every 3s" not in client_of(cast.alice).get(PAGE).content.decode()

    def test_markup_in_a_name_is_text(self, cast):
        items_sent(cast.alice, name="<b>x.jsonl")
        assert "<b>x" not in client_of(cast.alice).get(PAGE).content.decode()


class TestContinue:
    def test_what_waits_goes_on_on_its_page(self, cast, pairs):
        items, verdicts = items_sent(cast.alice), verdicts_sent(cast.alice, pairs)
        page = client_of(cast.alice).get(PAGE).content.decode()
        assert f'href="/imports/datasets/{items.pk}/"' in page
        assert f'href="/datasets/pairs/judgments/import/#h-file-{verdicts.pk}"' in page
        assert 'value="continue"' not in page
        for job in (items, verdicts):
            acted(cast.alice, job, "continue")
            job.refresh_from_db()
            assert job.state == ImportState.CHECKED

    def test_an_import_that_was_interrupted_is_taken_up_where_it_is(self, cast, later, monkeypatch):
        in_parts = partial(dataset_imports.read_generic_parts_with_images, rows=2)
        monkeypatch.setattr(dataset_imports, "read_generic_parts_with_images", in_parts)
        rows = b"".join(PAIRS.replace(b'"q', f'"{n}q'.encode()) for n in range(3))
        rows = rows[: rows.rstrip().rindex(b"\n")]  # five: the last part has one
        job = items_sent(cast.alice, content=rows)
        dataset_imports_work()
        client_of(cast.alice).post(f"/imports/datasets/{job.pk}/", {"action": "confirm"})

        def lost(*_, **__):
            raise RuntimeError("the disk is gone")

        with monkeypatch.context() as broken:
            broken.setattr("annotation.services.staged_imports.Staging.finish", lost)
            dataset_imports_work()
        job.refresh_from_db()
        assert job.state == ImportState.FAILED
        assert path_of(job).is_file()
        assert StagedImport.objects.get().row == 4
        assert not Dataset.objects.filter(name="new").exists()
        assert shown(cast.alice) == [("mine.jsonl", "4 rows stored", "Interrupted")]
        page = client_of(cast.alice).get(PAGE).content.decode()
        assert re.search(
            r'value="continue">Continue<span class="visually-hidden"> the import of mine.jsonl', page
        )
        answer = acted(cast.alice, job, "continue")
        assert answer["Location"] == reverse("judges:dataset-import", args=[job.pk])
        before = Item.objects.order_by("pk").first()
        assert dataset_imports_work() == 1
        job.refresh_from_db()
        assert (job.state, job.errors) == (ImportState.DONE, [])
        assert Dataset.objects.get(name="new").items.count() == 5
        assert Item.objects.order_by("pk").first() == before, "what was stored is not stored again"
        assert shown(cast.alice) == []

    @pytest.mark.parametrize("sort", ["datasets", "verdicts"])
    def test_a_file_whose_worker_was_lost_is_read_again(self, cast, pairs, later, sort):
        job = items_sent(cast.alice) if sort == "datasets" else verdicts_sent(cast.alice, pairs)
        failed(job)
        assert [state for *_, state in shown(cast.alice)] == ["Interrupted"]
        assert "The worker was lost 3 times" in text_of(client_of(cast.alice).get(PAGE))
        for _ in range(2):  # the second finds it waiting
            assert acted(cast.alice, job, "continue").status_code == 302
        job.refresh_from_db()
        assert (job.state, job.attempts) == (ImportState.QUEUED, 0)
        work = dataset_imports_work if sort == "datasets" else verdict_imports.verdict_imports_work
        assert (work(), work()) == (1, 0)
        job.refresh_from_db()
        assert job.state == ImportState.CHECKED

    def test_what_no_worker_keeps_alive_is_interrupted_and_can_be_continued_at_once(self, cast, monkeypatch):
        job = items_sent(cast.alice)
        gone = timezone.now() - timedelta(minutes=1)
        DatasetImport.objects.update(state="running", owner="gone", lease_until=gone)
        assert [state for *_, state in shown(cast.alice)] == ["Interrupted"]
        acted(cast.alice, job, "continue")
        job.refresh_from_db()
        assert job.state == ImportState.CHECKED

    def test_a_file_that_is_gone_or_was_sent_again_is_not_taken_up(self, cast, later):
        job = failed(items_sent(cast.alice))
        again = items_sent(cast.alice)
        assert again.pk != job.pk
        answer = client_of(cast.alice).post(address(job), {"action": "continue"}, follow=True)
        assert "You uploaded mine.jsonl again" in text_of(answer)
        acted(cast.alice, again, "discard")
        path_of(job).unlink()
        assert [state for *_, state in shown(cast.alice)] == ["Failed"]
        acted(cast.alice, job, "continue")
        job.refresh_from_db()
        assert job.state == ImportState.FAILED

    def test_files_that_failed_count_among_those_that_wait(self, cast, later):
        for place in range(MOST_KEPT):
            failed(items_sent(cast.alice, dataset=f"d{place}"))
        form = {
            "file": SimpleUploadedFile("x.jsonl", PAIRS),
            "format": "generic",
            "name": "one",
            "split": "private",
        }
        assert f"{MOST_KEPT} of your files wait" in text_of(
            client_of(cast.alice).post("/datasets/upload/", form)
        )


class TestDiscard:
    @pytest.mark.parametrize("how", ["checked", "waiting", "failed", "refused"])
    def test_the_file_goes_and_nothing_else(self, cast, pairs, folder, later, how):
        kept = items_sent(cast.alice, name="other.jsonl", dataset="other")
        content = b"PAR1nothing" if how == "refused" else PAIRS
        job = items_sent(
            cast.alice, content=content, name=f"mine.{'parquet' if how == 'refused' else 'jsonl'}"
        )
        if how in ("checked", "refused"):
            dataset_imports_work()
        elif how == "failed":
            failed(job)
        kept.refresh_from_db()
        for _ in range(2):
            status = acted(cast.alice, job, "discard").status_code
        assert status == 404, "the second finds nothing"
        assert list(DatasetImport.objects.all()) == [kept]
        assert {path.name.partition(".")[0] for path in folder.iterdir()} == {kept.file.partition(".")[0]}
        assert Dataset.objects.get() == pairs
        assert pairs.items.count() == 2

    def test_what_was_stored_of_a_dataset_that_nobody_has_seen_goes_too(self, cast, pairs):
        job = items_sent(cast.alice)
        staged_make(cast.alice, name="new", job=f"dataset import {job.pk}")
        other = staged_make(cast.alice, name="other")
        acted(cast.alice, job, "discard")
        staged_tidy()
        assert list(StagedImport.objects.all()) == [other]
        assert set(Dataset.with_staged.values_list("name", flat=True)) == {"pairs", "other"}
        acted(cast.alice, other, "discard")
        assert shown(cast.alice) == []
        staged_tidy()
        assert set(Dataset.with_staged.values_list("name", flat=True)) == {"pairs"}

    def test_what_was_imported_stays(self, cast, pairs):
        job = verdicts_sent(cast.alice, pairs)
        client_of(cast.alice).post(f"/imports/{job.pk}/", {"action": "confirm"})
        acted(cast.alice, job, "discard")
        assert (VerdictImport.objects.count(), Judgment.objects.count()) == (0, 1)

    def test_it_is_asked_before(self, cast):
        items_sent(cast.alice)
        page = client_of(cast.alice).get(PAGE).content.decode()
        assert 'data-confirm="Discard the import of mine.jsonl?' in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
@pytest.mark.parametrize("action", ["continue", "discard"])
def test_many_at_once_do_it_once(action, later):
    alice = Cast.make().alice
    job = failed(items_sent(alice))
    statuses = all_at_once(
        lambda one: one.post(address(job), {"action": action}).status_code, browsers_of(alice, 4)
    )
    if action == "discard":
        assert set(statuses) <= {302, 404}
        assert not DatasetImport.objects.exists()
        assert unfinished_imports_of(alice) == []
        return
    assert set(statuses) == {302}
    job.refresh_from_db()
    assert (job.state, job.attempts) == (ImportState.QUEUED, 0)
    assert (dataset_imports_work(), dataset_imports_work()) == (1, 0)
