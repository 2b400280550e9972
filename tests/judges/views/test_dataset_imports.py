"""Files of items in the browser: mapped, checked, shown, confirmed, and stored once."""

import html
import io
import json
import re
import threading
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from annotation.forms import upload as upload_forms
from annotation.importers.mapping import mapping_of
from annotation.kinds import kind_of
from annotation.models import Criterion, Dataset, DatasetVersion, Item, Label
from judges.models import DatasetImport, ImportState, Judgment
from judges.services import dataset_imports
from judges.services.dataset_imports import (
    dataset_import_delete,
    dataset_imports_start,
    dataset_imports_work,
    import_errors,
)
from judges.services.import_files import MOST_ATTEMPTS, MOST_KEPT, imports_tidy
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.annotation.pictures import cats
from tests.races import after, all_at_once, browsers_of
from web import upload as upload_files
from web.yaml_text import yaml_read

pytestmark = pytest.mark.django_db
UPLOAD = "/datasets/upload/"
PAIR = {"id": "q1", "kind": "pairwise", "instruction": "Shorten this.", "response_1": "a", "response_2": "b"}
ALPACA = {
    "instruction": "i", "output_1": "x", "output_2": "y", "preference": 1, "annotator_index": 0, "dataset": "d",
    "datasplit": "e",
}  # fmt: skip
ODD = b"Question;First;Second;Best\nWhy?;a;b;1\nHow?;c;d;2\n"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.IMPORTS_DIR = tmp_path / "imports"
    return settings.IMPORTS_DIR


@pytest.fixture
def later(monkeypatch):
    """Every file is large enough for a worker."""
    monkeypatch.setattr(dataset_imports, "AT_ONCE", 0)


def jsonl(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    return file.getvalue()


def fields(content=None, called="pairs.jsonl", **changed):
    content = jsonl(PAIR, PAIR | {"id": "q2", "gold": {"choice": 1}}) if content is None else content
    return {
        "file": SimpleUploadedFile(called, content),
        "format": "generic",
        "name": "uploaded",
        "title": "Uploaded",
        "split": "private",
        "licence": "CC-BY-4.0",
        "criteria": "",
    } | changed


def sent(user, content=None, called="pairs.jsonl", **changed):
    """The import that an upload made."""
    response = client_of(user).post(UPLOAD, fields(content, called, **changed))
    assert response.status_code == 302, text_of(response)
    return DatasetImport.objects.get(pk=response["Location"].rstrip("/").rpartition("/")[2])


def page_of(job):
    return reverse("judges:dataset-import", args=[job.pk])


def acted(user, job, action="confirm", **more):
    return client_of(user).post(page_of(job), {"action": action, **more})


def read(user, job, query=""):
    return client_of(user).get(page_of(job) + query)


def imported(user, content=None, called="pairs.jsonl", **changed):
    job = sent(user, content, called, **changed)
    acted(user, job)
    job.refresh_from_db()
    assert job.state == ImportState.DONE, (job.state, job.errors)
    return Dataset.objects.get(name=job.dataset_name)


class TestImport:
    def test_a_file_is_checked_shown_and_becomes_a_dataset(self, cast, folder):
        job = sent(cast.alice, criteria="helm-instruct")
        assert not Dataset.objects.exists()
        page = text_of(read(cast.alice, job))
        assert "Ready to import" in page
        assert "Import 2 items" in page
        assert acted(cast.alice, job).status_code == 302
        dataset = Dataset.objects.get()
        assert (dataset.owner, dataset.title, dataset.split) == (cast.alice, "Uploaded", "private")
        assert (dataset.licence, dataset.source) == ("CC-BY-4.0", "generic: pairs.jsonl")
        assert (dataset.items.count(), dataset.criteria.count()) == (2, 5)
        assert "uploaded: 2 items" in text_of(read(cast.alice, job))
        assert [
            path.name for path in folder.iterdir() if path.suffix == ".jsonl" and "." not in path.stem
        ] == []

    def test_the_same_file_again_changes_nothing(self, cast):
        for _ in range(2):
            dataset = imported(cast.alice)
        assert (dataset.version, Item.objects.count(), DatasetVersion.objects.count()) == (1, 2, 1)
        assert "unchanged: 2 items" in DatasetImport.objects.first().notes[0]

    def test_verdicts_in_the_file_are_stored_with_it(self, cast):
        content = b"instruction,response_1,response_2,judge:gpt,annotator:ann\nWhy?,a,b,1,2\n"
        job = sent(cast.alice, content, "pairs.csv")
        assert "1 by 1 judge" in text_of(read(cast.alice, job))
        acted(cast.alice, job)
        assert (Judgment.objects.get().choice, Label.objects.get().choice) == (1, 2)

    def test_rubrics_that_declare_no_criteria_take_a_ready_made_set(self, cast):
        rubric = {"id": "r1", "kind": "rubric", "instruction": "Explain tides.", "response_1": "The moon."}
        rated = rubric | {"id": "r2", "gold": {"ratings": {"helpfulness": 4}}}
        dataset = imported(cast.alice, jsonl(rubric, rated), criteria="helm-instruct")
        assert (dataset.items.filter(kind="rubric").count(), dataset.criteria.count()) == (2, 5)
        job = sent(cast.alice, jsonl(rubric), name="bare")
        assert "or choose ready-made criteria" in text_of(read(cast.alice, job))
        acted(cast.alice, job, skip_bad_rows="1")
        assert not Dataset.objects.filter(name="bare").exists()

    def test_the_scale_of_ratings_is_guessed_shown_and_changed(self, cast):
        rows = [
            {"prompt": f"Explain tide {n} to a child?", "answer": f"The moon pulls the water, {n}.", "annotator": "w1",
             "clarity": 6, "overall": n}
            for n in range(8)
        ]  # fmt: skip
        job = sent(cast.alice, jsonl(*rows), called="ratings.jsonl")
        page = read(cast.alice, job).content.decode()
        assert re.search(r'id="scale-3"[^>]*value="1 to 7"', page)
        assert re.search(r'id="scale-4"[^>]*value="0 to 10"', page)
        columns = list(job.mapping["columns"].values())
        wrong = acted(
            cast.alice,
            job,
            "check",
            field=columns,
            kind="rubric",
            **{"scale-3": "some", "scale-4": "0 to 10"},
        )
        assert (
            "clarity: expected a scale such as 1 to 5, 0 to 100 or pass or fail, found 'some'."
            in html.unescape(wrong.content.decode())
        )
        acted(
            cast.alice,
            job,
            "check",
            field=columns,
            kind="rubric",
            **{"scale-3": "0 to 100", "scale-4": "0–7"},
        )
        job.refresh_from_db()
        assert [one["scale"] for one in job.mapping["criteria"]] == [
            {"low": 0, "high": 100},
            {"low": 0, "high": 7},
        ]
        assert not import_errors(job, 0, 1), import_errors(job, 0, 1)[0]["reason"]
        acted(cast.alice, job)
        found = {one.key: str(one.rated_on) for one in Criterion.objects.all()}
        assert found == {"clarity": "0 to 100", "overall": "0 to 7"}

    def test_what_contradicts_is_said_by_the_check_unless_it_is_a_new_version(self, cast):
        rows = [PAIR | {"id": f"q{n}", "gold": {"choice": 1}} for n in range(3)]
        imported(cast.alice, jsonl(*rows))
        other = [row | {"gold": {"choice": 2}} for row in rows[:2]]
        job = sent(cast.alice, jsonl(*other))
        assert [(one["row"], one["field"]) for one in job.errors] == [(1, "gold"), (2, "gold")]
        acted(cast.alice, job)
        assert Item.objects.filter(gold={"choice": 2}).count() == 0
        acted(cast.alice, job, "check", field=[], is_new_version="on")
        page = text_of(read(cast.alice, job))
        assert "This file would change 2 of its items, remove 1 and add 0." in page
        acted(cast.alice, job)
        dataset = Dataset.objects.get()
        assert dataset.version == 2
        assert [one.gold["choice"] for one in Item.objects.current().order_by("position")] == [2, 2]
        assert Item.objects.filter(until_version=2).count() == 3

    def test_somebody_elses_name_is_not_added_to(self, cast):
        dataset_make(name="uploaded", owner=cast.bob, pairs=1)
        job = sent(cast.alice)
        assert "is taken" in job.errors[0]["message"]
        acted(cast.alice, job)
        assert Item.objects.count() == 1

    @pytest.mark.parametrize(
        ("changed", "field", "message"),
        [
            ({"content": b""}, "file", "empty"),
            ({"called": "pairs.txt"}, "file", "Expected a file named .jsonl"),
            ({"name": "no spaces"}, "name", "Expected letters, digits"),
            ({"name": "upload"}, "name", "reserved"),
            ({"split": "secret"}, "split", "Select a valid choice"),
            ({"criteria": "none-such"}, "criteria", "Select a valid choice"),
            ({"format": "xml"}, "format", "Select a valid choice"),
        ],
    )
    def test_a_form_that_is_wrong_keeps_no_file(self, cast, folder, changed, field, message):
        response = client_of(cast.alice).post(UPLOAD, fields(**changed))
        assert response.status_code == 200
        assert message in " ".join(response.context["form"].errors[field])
        assert not DatasetImport.objects.exists()

    def test_too_large(self, cast, settings, monkeypatch):
        settings.DATASET_UPLOAD_MAX_BYTES = 10
        assert "Expected at most" in text_of(client_of(cast.alice).post(UPLOAD, fields()))
        settings.DATASET_UPLOAD_MAX_BYTES = 2**30
        form = text_of(client_of(cast.alice).get(UPLOAD))
        assert "At most 1,024 MiB, or 64 MiB of other formats." in form
        monkeypatch.setattr(upload_files, "MAX_BYTES", 10)
        assert "Expected at most" in text_of(client_of(cast.alice).post(UPLOAD, fields(format="mtbench")))
        assert client_of(cast.alice).post(UPLOAD, fields()).status_code == 302

    def test_a_script_is_sent_on(self, cast):
        answer = client_of(cast.alice).post(UPLOAD, fields(), headers={"HX-Request": "true"})
        assert answer.headers["HX-Redirect"] == page_of(DatasetImport.objects.get())

    def test_whose_file(self, cast):
        for user, status in ((None, 302), (cast.carl, 403)):
            assert client_of(user).post(UPLOAD, fields()).status_code == status
        assert not DatasetImport.objects.exists()
        job = sent(cast.alice)
        parts = ("", "left-out.jsonl", "mapping.yaml")
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
            for part in parts:
                assert client_of(user).get(page_of(job) + part).status_code == status
            for action in ("confirm", "delete", "check"):
                assert acted(user, job, action).status_code == status
        assert acted(cast.alice, job, "explode").status_code == 404
        assert not Dataset.objects.exists()
        assert "pairs.jsonl" not in text_of(client_of(cast.bob).get(UPLOAD))
        assert "pairs.jsonl" in text_of(client_of(cast.alice).get(UPLOAD))

    def test_a_file_that_is_discarded_leaves_nothing(self, cast, folder):
        job = sent(cast.alice)
        assert list(folder.iterdir())
        acted(cast.alice, job, "delete")
        assert not DatasetImport.objects.exists()
        assert not list(folder.iterdir())

    def test_files_are_bounded_and_go_after_a_while(self, cast, folder, settings):
        for place in range(MOST_KEPT):
            sent(cast.alice, name=f"d{place}")
        assert f"{MOST_KEPT} of your files wait" in text_of(client_of(cast.alice).post(UPLOAD, fields()))
        assert imports_tidy() == 0
        settings.EXPORTS_KEEP_HOURS = -1
        imports_tidy()
        assert not DatasetImport.objects.exists()
        assert not list(folder.iterdir())


class TestMapping:
    FIELDS = ("instruction", "response_1", "response_2", "gold")

    def test_columns_are_guessed_and_shown_with_their_first_values(self, cast):
        job = sent(cast.alice, ODD, "pairs.csv")
        page = read(cast.alice, job)
        assert [row["name"] for row in page.context["form"].rows] == ["Question", "First", "Second", "Best"]
        assert next(row["samples"] for row in page.context["form"].rows) == ["Why?", "How?"]
        assert "This is what the columns seem to be" in text_of(page)

    def test_what_is_chosen_is_checked_and_imported_and_kept(self, cast):
        job = sent(cast.alice, ODD, "pairs.csv")
        assert acted(cast.alice, job, "check", field=self.FIELDS, kind="").status_code == 302
        acted(cast.alice, job)
        item = Item.objects.order_by("position").first()
        assert (item.instruction.text, item.gold) == ("Why?", {"choice": 1})
        kept = mapping_of(Dataset.objects.get().mapping)
        assert tuple(kept.columns.values()) == self.FIELDS
        # The next file of the dataset is read the same way.
        again = sent(cast.alice, ODD + b"Who?;e;f;2\n", "pairs.csv")
        assert tuple(mapping_of(again.mapping).columns.values()) == self.FIELDS
        assert "add 1 item to it" in text_of(read(cast.alice, again))

    def test_words_categories_and_kinds_are_said(self, cast):
        content = b"text,verdict\nThe bread was late.,bad\nGood bread.,fine\n"
        job = sent(cast.alice, content, "c.csv")
        chosen = {"field": ["instruction", "gold"], "kind": "classification", "categories": "good\nbad\n"}
        acted(cast.alice, job, "check", **chosen)
        # The words are asked for once the column is known to hold values; all of them, if any.
        acted(cast.alice, job, "check", **chosen, **{"words-1": "fine = good"})
        page = html.unescape(text_of(read(cast.alice, job)))
        assert "expected fine as in the mapping, found 'bad'" in page
        acted(cast.alice, job, "check", **chosen, **{"words-1": "fine = good, bad = bad"})
        acted(cast.alice, job)
        gold = [one.gold["categories"] for one in Item.objects.order_by("position")]
        assert gold == [{"good": False, "bad": True}, {"good": True, "bad": False}]

    def test_paths_constants_and_the_rest_of_a_saved_mapping_stay(self, cast):
        said = {
            "columns": {
                "Pair.first": "response_1",
                "Pair.second": "response_2",
                "Pair.best": {"field": "gold", "values": {"left": 1, "right": 2}},
                "Question": "instruction",
            },
            "constants": {"subset": "mail"},
            "others": "metadata",
        }
        mapping = mapping_of(said).document()
        dataset_make(pairs=0, name="uploaded", owner=cast.alice, mapping=mapping)
        pair = {"first": "a", "second": "b", "best": "right"}
        job = sent(cast.alice, jsonl({"Question": "Why?", "Pair": pair, "id": "x"}))
        chosen = {row["name"]: row["chosen"] for row in read(cast.alice, job).context["form"].rows}
        assert chosen == {"Question": "instruction", "Pair": "-", "id": "metadata."}
        acted(cast.alice, job, "check", field=list(chosen.values()))
        acted(cast.alice, job)
        item = Item.objects.get()
        assert (item.gold, item.instruction.subset, item.metadata) == ({"choice": 2}, "mail", {"id": "x"})
        kept = Dataset.objects.get().mapping
        assert kept == mapping | {"columns": mapping["columns"] | {"Pair": "-", "id": "metadata"}}

    def test_words_that_say_nothing_are_refused(self, cast):
        job = sent(cast.alice, ODD, "pairs.csv")
        page = acted(cast.alice, job, "check", field=self.FIELDS, **{"words-3": "left"})
        assert "expected words and values such as left = 1" in text_of(page)

    def test_what_cannot_be_is_listed(self, cast):
        job = sent(cast.alice, ODD, "pairs.csv")
        for chosen, words in (
            (("instruction", "response_1", "response_1", "nonsense"), "is no field"),
            (("instruction", "response_1", "response_1", "gold"), "expected one column for response_1"),
            (("-", "response_1", "response_2", "gold"), "the column is missing"),
        ):
            acted(cast.alice, job, "check", field=chosen)
            page = text_of(read(cast.alice, job))
            assert words in page
            assert "Can't be imported as it is" in page
        assert acted(cast.alice, job).status_code == 302
        assert not Dataset.objects.exists()

    @pytest.mark.parametrize("format", ["yaml", "json"])
    def test_the_mapping_is_downloaded(self, cast, format):
        job = sent(cast.alice, ODD, "pairs.csv")
        answer = client_of(cast.alice).get(f"{page_of(job)}mapping.{format}")
        assert answer["Content-Disposition"] == f'attachment; filename="uploaded.mapping.{format}"'
        assert yaml_read(answer.content.decode()) == job.mapping
        assert client_of(cast.alice).get(f"{page_of(job)}mapping.exe").status_code == 404

    def test_the_command_is_named(self, cast):
        job = sent(cast.alice, ODD, "my pairs.csv")
        words = "import_dataset generic 'my pairs.csv' --name uploaded --mapping uploaded.mapping.yaml"
        page = html.unescape(text_of(read(cast.alice, job)))
        assert words in page
        assert f"--split {job.split}" in page, "else the command's dataset would be public"


class TestErrors:
    def wrong(self, n):
        return jsonl(PAIR, *(PAIR | {"id": f"w{k}", "gold": {"choice": 7}} for k in range(n)))

    def test_all_are_listed_in_pages(self, cast):
        job = sent(cast.alice, self.wrong(45))
        assert job.n_errors == 45
        first, last = read(cast.alice, job), read(cast.alice, job, "?page=3")
        assert [one["row"] for one in first.context["row_errors"]] == list(range(2, 22))
        assert [one["row"] for one in last.context["row_errors"]] == list(range(42, 47))
        assert "expected 0, 1 or 2, found 7" in text_of(first)

    def test_nothing_is_stored_unless_they_are_left_out(self, cast):
        job = sent(cast.alice, self.wrong(3))
        acted(cast.alice, job)
        assert not Dataset.objects.exists()
        acted(cast.alice, job, skip_bad_rows="1")
        job.refresh_from_db()
        assert (job.state, Item.objects.count()) == (ImportState.DONE, 1)
        assert DatasetVersion.objects.get().rows_left_out == 3
        assert "3 rows left out" in text_of(read(cast.alice, job))
        assert "3 rows left out" in text_of(client_of(cast.alice).get("/datasets/uploaded/"))
        answer = client_of(cast.alice).get(f"{page_of(job)}left-out.jsonl")
        lines = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
        assert [(one["row"], one["field"]) for one in lines] == [(n, "gold.choice") for n in (2, 3, 4)]
        assert lines[0]["data"] == PAIR | {"id": "w0", "gold": {"choice": 7}}
        assert "expected 0, 1 or 2" in lines[0]["reason"]

    def test_reading_stops_after_very_many(self, cast, monkeypatch):
        monkeypatch.setattr(dataset_imports, "MOST_ERRORS", 10)
        job = sent(cast.alice, self.wrong(45))
        assert (job.n_errors, job.errors[0]["message"]) == (10, "reading stopped after 10 rows with errors.")

    @pytest.mark.parametrize(
        ("called", "content"),
        [
            ("v.csv", b"\xff\xfe\x00x"),
            ("v.csv", b"a,b\n\xe9,1\n"),
            ("v.json", b"[" * 100_000),
            ("v.json", b"{}"),
            ("v.parquet", b"PAR1nothing"),
            ("v.jsonl", b"\x00\n"),
            ("v.csv", ",".join(f"c{n}" for n in range(10_000)).encode() + b"\n"),
            ("v.csv", b"id,instruction\n"),
            ("v.jsonl", json.dumps({"instruction": "x" * (17 * 2**20)}).encode()),
        ],
    )
    def test_hostile_files_become_no_dataset(self, cast, folder, called, content):
        job = sent(cast.alice, content, called)
        dataset_imports_work()  # what is too large for the request
        page = text_of(read(cast.alice, job))
        assert "Can't be imported as it is" in page
        assert str(folder) not in page
        acted(cast.alice, job, skip_bad_rows="1")
        assert not Dataset.objects.exists()

    def test_markup_in_names_and_cells_is_text(self, cast):
        evil = "<script>alert(1)</script>"
        content = f'"{evil}",instruction,response_1,response_2\n"{evil}",{evil},=1+1,b\n'.encode()
        job = sent(cast.alice, content, "x.csv")
        assert evil not in read(cast.alice, job).content.decode()


def annotators_styles(kind):
    """The style sheets of the page on which items of a kind are labeled, in a study that asks for no more."""
    source = Path(settings.BASE_DIR / "templates/base_annotator.html").read_text()
    source = re.sub(r"{% if study.*?{% endif %}", "", source)
    return [*re.findall(r"static '(css/[^']+)'", source), *kind_of(kind).styles]


class TestPreview:
    def test_ten_items_are_shown_as_annotators_see_them(self, cast):
        rows = [
            PAIR | {"id": f"q{n}", "response_1": f"**bold {n}**", "system_1": "secret-model"}
            for n in range(12)
        ]
        job = sent(cast.alice, jsonl(*rows))
        page = read(cast.alice, job, "?item=3")
        body = page.content.decode()
        assert "<strong>bold 2</strong>" in body
        assert "A is better" in body
        assert len(page.context["previews"]) == 10
        assert "secret-model" not in page.context["item_html"]
        assert "bold 9" in read(cast.alice, job, "?item=99").content.decode()

    @pytest.mark.parametrize(
        "kind", ["rubric", "importance", "checklist", "answer_ranking", "classification"]
    )
    def test_every_kind(self, cast, kind):
        text = {
            "rubric": {"criteria": [{"key": "clear", "question": "Clear?", "options": dict.fromkeys("12345", "w")}],
                       "responses": ["The answer."]},
            "importance": {"aspects": [{"key": "a", "text": "It is short."}, {"key": "b", "text": "It rhymes."}]},
            "checklist": {"aspects": [{"key": "a", "text": "It is short."}], "responses": ["The answer."]},
            "answer_ranking": {"responses": ["The answer.", "Another.", "A third."]},
            "classification": {"categories": ["good", "bad"]},
        }  # fmt: skip
        job = sent(cast.alice, jsonl({"id": "1", "kind": kind, "instruction": "Explain rain."} | text[kind]))
        page = read(cast.alice, job)
        preview = page.context["item_html"]
        assert "Explain rain." in preview
        for style in annotators_styles(kind):
            assert f'href="{static(style)}"' in page.content.decode()
        for words in ("The answer.",) if kind in ("rubric", "checklist", "answer_ranking") else ():
            assert words in preview
        assert f"work-{kind}" in preview


class TestWorkers:
    def test_a_large_file_waits_for_a_worker_and_is_polled_meanwhile(self, cast, later):
        job = sent(cast.alice)
        page = read(cast.alice, job)
        assert "Waiting for a worker" in text_of(page)
        assert 'hx-trigger="every 1500ms"' in page.content.decode()
        part = client_of(cast.alice).get(page_of(job), headers={"HX-Request": "true"}).content.decode()
        assert part.startswith('<div id="import"')
        assert dataset_imports_work() == 1
        acted(cast.alice, job)
        acted(cast.alice, job)  # twice: once
        assert (dataset_imports_work(), dataset_imports_work()) == (1, 0)
        assert Dataset.objects.get().items.count() == 2

    def test_a_lost_worker_is_followed_by_the_next_and_three_are_enough(self, cast, later):
        job = sent(cast.alice)
        gone = {"state": "running", "owner": "gone", "lease_until": timezone.now() - timedelta(1)}
        DatasetImport.objects.update(**gone)
        assert dataset_imports_work() == 1
        acted(cast.alice, job)
        DatasetImport.objects.update(**gone, attempts=MOST_ATTEMPTS)
        dataset_imports_work()
        assert DatasetImport.objects.get().state == ImportState.FAILED
        assert not Dataset.objects.exists()

    @pytest.mark.parametrize("how", ["deleted", "taken by another worker"])
    def test_whoever_lost_the_row_stores_nothing(self, cast, later, how):
        job = sent(cast.alice)
        dataset_imports_work()
        acted(cast.alice, job)

        def lose():
            if how == "deleted":
                dataset_import_delete(job=job)
            else:
                DatasetImport.objects.update(owner="another")

        with after(r'FROM "annotation_datasetversion"', lose):  # before the file is read again
            dataset_imports_work()
        assert not Dataset.objects.exists()

    def test_a_worker_that_stops_gives_the_file_back(self, cast, later):
        job = sent(cast.alice)
        dataset_imports_work()
        acted(cast.alice, job)
        asked = iter([False])  # the look for work; it stops while the first rows are stored
        dataset_imports_work(lambda: next(asked, True))
        job.refresh_from_db()
        assert (job.state, job.attempts) == (ImportState.QUEUED, 0)
        assert not Dataset.objects.exists()
        assert dataset_imports_work() == 1
        assert Dataset.objects.exists()

    def test_who_is_no_researcher_any_more_stores_nothing(self, cast, later):
        job = sent(cast.alice)
        dataset_imports_work()
        acted(cast.alice, job)
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(role="annotator")
        dataset_imports_work()
        job.refresh_from_db()
        assert job.state == ImportState.FAILED
        assert not Dataset.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_a_worker_reads_in_a_thread_of_its_own(self, later):
        job = sent(Cast.make().alice)
        thread = dataset_imports_start(lambda: False)
        assert thread is not None
        assert thread is not threading.current_thread()
        thread.join()
        job.refresh_from_db()
        assert job.state == ImportState.CHECKED


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_sent_and_confirmed_from_many_tabs_is_one_dataset(settings, tmp_path):
    cast = Cast.make()
    sends = [fields(criteria="helm-instruct") for _ in range(4)]
    statuses = all_at_once(lambda one: one.post(UPLOAD, sends.pop()).status_code, browsers_of(cast.alice, 4))
    assert set(statuses) == {302}
    job = DatasetImport.objects.get()
    all_at_once(lambda one: one.post(page_of(job), {"action": "confirm"}), browsers_of(cast.alice, 4))
    assert (Dataset.objects.count(), Item.objects.count(), Criterion.objects.count()) == (1, 2, 5)
    assert Dataset.objects.get().version == 1


class TestPublishedFormats:
    """They need no mapping, and are stored at once or refused."""

    def test_formats_of_the_authors_are_offered(self, cast):
        page = client_of(cast.alice).get(UPLOAD).content.decode()
        asked = {"id": "t1", "instruction": "i", "decomposed_questions": ["Is it?"], "output": "o"}
        form = fields(jsonl(asked | {"eval": [True]}), called="gpt4_eval.jsonl", format="infobench")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        assert Item.objects.get().responses.get().system == "gpt4"
        rated = b"rater_id,item_id,context,response,Q2_harmful_content_other\n1,7,c,r,Yes\n2,7,c,r,Unsure\n"
        form = fields(rated, called="d.csv", format="dices", name="safety")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        assert Item.objects.get(dataset__name="safety").labels.count() == 2
        for name in upload_forms.FORMATS:
            assert f'value="{name}"' in page

    def test_ready_made_criteria_belong_to_the_generic_format(self, cast):
        rows = [{"input": "Shorten.", "output_1": "a", "output_2": "b", "label": 2}]
        form = fields(json.dumps(rows).encode(), "dataset.json", format="llmbar", criteria="helm-instruct")
        response = client_of(cast.alice).post(UPLOAD, form)
        assert "Only for" in " ".join(response.context["form"].errors["criteria"])

    def test_published_formats(self, cast):
        rows = [{"input": "Shorten.", "output_1": "a", "output_2": "b", "label": 2}]
        form = fields(json.dumps(rows).encode(), "dataset.json", format="llmbar", name="bar")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        item = Item.objects.get()
        assert (item.gold, item.external_id) == ({"choice": 2}, "bar/0")

    def test_a_zip_of_a_folder(self, cast):
        rows = [{"input": "Shorten.", "output_1": "a", "output_2": "b", "label": 2}]
        state = {
            "user_id": "ann",
            "instance_id_to_label_to_value": {"7": [[{"schema": "p", "name": "selection"}, "B"]]},
        }
        scheme = {"annotation_type": "pairwise", "name": "p", "description": "Which?", "items_key": "r"}
        project = {
            "config.yaml": {"annotation_schemes": [scheme], "data_files": ["items.jsonl"]},
            "items.jsonl": {"id": "7", "text": "Shorten.", "r": ["a", "b"]},
            "annotation_output/ann/user_state.json": state,
        }
        form = fields(zipped({"Natural/dataset.json": rows}), "Dataset.ZIP", format="llmbar", name="bar")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        assert Item.objects.get().external_id == "Natural/0"
        form = fields(zipped(project), "project.zip", format="potato", name="spuds")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        assert Item.objects.get(dataset__name="spuds").labels.get().value == {"choice": 2}

    @pytest.mark.parametrize("format", ["llmbar", "potato"])
    def test_a_member_that_is_refused_is_named_and_nothing_is_stored(self, cast, format):
        for members, words in (
            ({"a/dataset.json": [], "../x": []}, "my.zip/../x: expected a path inside the archive"),
            ({"a/dataset.json": [{"label": 3}], "config.yaml": 3}, "my.zip"),
        ):
            form = fields(zipped(members), "my.zip", format=format)
            response = client_of(cast.alice).post(UPLOAD, form)
            assert words in text_of(response)
            assert "touchstone-" not in text_of(response)
            assert not Dataset.objects.exists()

    def test_a_data_dump(self, cast):
        answers = "".join(
            f'<row Id="{n}" PostTypeId="2" ParentId="9" Score="{20 * n}" Body="A{n}" />' for n in range(1, 5)
        )
        dump = f'<posts><row Id="9" PostTypeId="1" Title="T" Body="B" />{answers}</posts>'.encode()
        form = fields(dump, "Posts.xml", format="stackexchange", name="physics")
        assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
        item = Item.objects.get()
        assert (item.kind, item.external_id) == ("answer_ranking", "physics/9")


def test_labels_say_which_file_they_come_from_as_its_sender_calls_it(cast, later):
    rows = [PAIR | {"id": f"q{n}", "labels": [{"annotator": "p", "value": 1}]} for n in range(2)]
    job = sent(cast.alice, jsonl(*rows), called="Pairs of May.JSONL")
    assert dataset_imports_work() == 1
    acted(cast.alice, job)
    assert dataset_imports_work() == 1
    sources = Label.objects.order_by("pk").values_list("source", flat=True)
    assert list(sources) == ["Pairs of May.jsonl:1", "Pairs of May.jsonl:2"]

    form = fields(json.dumps([ALPACA]).encode(), called="../crowd.json", format="alpaca-human", name="alpaca")
    assert client_of(cast.alice).post(UPLOAD, form).status_code == 302
    assert Label.objects.get(item__dataset__name="alpaca").source == "crowd.json:1"


def test_traces_become_what_is_judged_of_them(cast):
    said = [
        {
            "type": "GENERATION",
            "startTime": "2026-11-24T09:30:00Z",
            "input": "Add 1 and 2.",
            "output": "3",
        }
    ]
    content = json.dumps({"id": "t1", "observations": said}).encode()

    def answer(**changed):
        form = fields(content, called="traces.json", format="langfuse", **changed)
        return client_of(cast.alice).post(UPLOAD, form)

    assert "Choose the criteria by which traces are rated." in text_of(answer(judged="ratings"))
    assert not Dataset.objects.exists()
    assert answer(judged="ratings", criteria="helm-instruct").status_code == 302
    assert answer(name="steps", hide=["system"]).status_code == 302
    assert set(Item.objects.values_list("kind", flat=True)) == {"rubric", "classification"}
    source = Dataset.objects.get(name="steps").source
    assert source == "langfuse: traces.json; hidden from annotators and judges: messages of the system"
    refused = client_of(cast.alice).post(UPLOAD, fields(hide=["system"]))
    assert "Only for traces." in text_of(refused)


def test_the_preview_shows_images_to_whom_sent_the_file_alone(cast, settings, tmp_path):
    settings.IMAGES_DIR = tmp_path / "images"
    job = sent(cast.alice, cats(tmp_path).read_bytes(), "cats.zip")
    page = client_of(cast.alice).get(f"/imports/datasets/{job.pk}/").content.decode()
    (address,) = set(re.findall(r'<img src="([^"]+)"', page))
    assert address.startswith(f"/imports/datasets/{job.pk}/images/")
    answers = [client_of(user).get(address) for user in (cast.alice, cast.bob, cast.ann)]
    assert [one.status_code for one in answers] == [200, 404, 404]
    assert answers[0]["Content-Type"] == "image/png"
    other = address.replace(address[-9:-1], "00000000")
    assert client_of(cast.alice).get(other).status_code == 404
