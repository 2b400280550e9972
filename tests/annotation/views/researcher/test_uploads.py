"""Files that researchers send: datasets, ready-made criteria, and the items that a study offers."""

import html
import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.forms import upload as upload_forms
from annotation.models import Criterion, Dataset, Item, StudyItem
from tests.annotation.cast import Cast, client_of, text_of, url
from tests.annotation.factories import dataset_make, study_make
from tests.races import all_at_once
from web import upload as upload_files

pytestmark = pytest.mark.django_db
PAIR = {"id": "q1", "kind": "pairwise", "instruction": "Shorten this.", "response_1": "a", "response_2": "b"}


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


class TestDataset:
    def test_a_file_becomes_a_dataset(self, cast):
        response = client_of(cast.alice).post(url("dataset-upload"), fields(criteria="helm-instruct"))
        dataset = Dataset.objects.get()
        assert response.url == url("dataset-detail", "uploaded")
        assert (dataset.owner, dataset.split, dataset.licence) == (cast.alice, "private", "CC-BY-4.0")
        assert dataset.source == "generic: pairs.jsonl"
        assert (dataset.items.count(), dataset.criteria.count()) == (2, 5)
        assert "Uploaded" in text_of(client_of(cast.alice).get(response.url))

    def test_formats_of_the_authors_are_offered(self, cast):
        page = client_of(cast.alice).get(url("dataset-upload")).content.decode()
        asked = {"id": "t1", "instruction": "i", "decomposed_questions": ["Is it?"], "output": "o"}
        sent = fields(jsonl(asked | {"eval": [True]}), called="gpt4_eval.jsonl", format="infobench")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        assert Item.objects.get().responses.get().system == "gpt4"
        rated = b"rater_id,item_id,context,response,Q2_harmful_content_other\n1,7,c,r,Yes\n2,7,c,r,Unsure\n"
        sent = fields(rated, called="d.csv", format="dices", name="safety")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        assert Item.objects.get(dataset__name="safety").labels.count() == 2
        for name in upload_forms.FORMATS:
            assert f'value="{name}"' in page

    def test_rubrics_that_declare_no_criteria_take_a_ready_made_set(self, cast):
        rubric = {"id": "r1", "kind": "rubric", "instruction": "Explain tides.", "response_1": "The moon."}
        rated = rubric | {"id": "r2", "gold": {"ratings": {"helpfulness": 4}}}
        sent = fields(jsonl(rubric, rated), criteria="helm-instruct")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        dataset = Dataset.objects.get()
        assert (dataset.items.filter(kind="rubric").count(), dataset.criteria.count()) == (2, 5)

    def test_rubrics_without_any_criteria_are_told_of_the_ready_made(self, cast):
        rubric = {"id": "r1", "kind": "rubric", "instruction": "Explain tides.", "response_1": "The moon."}
        response = client_of(cast.alice).post(url("dataset-upload"), fields(jsonl(rubric)))
        assert "or choose ready-made criteria" in text_of(response)
        assert not Dataset.objects.exists()

    def test_ready_made_criteria_belong_to_the_generic_format(self, cast):
        rows = [{"input": "Shorten.", "output_1": "a", "output_2": "b", "label": 2}]
        sent = fields(json.dumps(rows).encode(), "dataset.json", format="llmbar", criteria="helm-instruct")
        response = client_of(cast.alice).post(url("dataset-upload"), sent)
        assert "Only for" in " ".join(response.context["form"].errors["criteria"])

    def test_traces_become_what_is_judged_of_them(self, cast):
        said = [
            {
                "type": "GENERATION",
                "startTime": "2026-11-24T09:30:00Z",
                "input": "Add 1 and 2.",
                "output": "3",
            }
        ]
        content = json.dumps({"id": "t1", "observations": said}).encode()

        def sent(**changed):
            form = fields(content, called="traces.json", format="langfuse", **changed)
            return client_of(cast.alice).post(url("dataset-upload"), form)

        assert "Choose the criteria by which traces are rated." in text_of(sent(judged="ratings"))
        assert not Dataset.objects.exists()
        assert sent(judged="ratings", criteria="helm-instruct").status_code == 302
        assert sent(name="steps", hide=["system"]).status_code == 302
        assert set(Item.objects.values_list("kind", flat=True)) == {"rubric", "classification"}
        source = Dataset.objects.get(name="steps").source
        assert source == "langfuse: traces.json; hidden from annotators and judges: messages of the system"
        refused = client_of(cast.alice).post(url("dataset-upload"), fields(hide=["system"]))
        assert "Only for traces." in text_of(refused)

    def test_csv(self, cast):
        content = b"id,instruction,response_1,response_2\nq1,Shorten.,a,b\n"
        assert (
            client_of(cast.alice).post(url("dataset-upload"), fields(content, "pairs.csv")).status_code == 302
        )
        assert Item.objects.get().external_id == "q1"

    def test_published_formats(self, cast):
        rows = [{"input": "Shorten.", "output_1": "a", "output_2": "b", "label": 2}]
        sent = fields(json.dumps(rows).encode(), "dataset.json", format="llmbar", name="bar")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
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
        sent = fields(zipped({"Natural/dataset.json": rows}), "Dataset.ZIP", format="llmbar", name="bar")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        assert Item.objects.get().external_id == "Natural/0"
        sent = fields(zipped(project), "project.zip", format="potato", name="spuds")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        assert Item.objects.get(dataset__name="spuds").labels.get().value == {"choice": 2}

    @pytest.mark.parametrize("format", ["llmbar", "potato"])
    def test_a_member_that_is_refused_is_named_and_nothing_is_stored(self, cast, format):
        for members, words in (
            ({"a/dataset.json": [], "../x": []}, "my.zip/../x: expected a path inside the archive"),
            ({"a/dataset.json": [{"label": 3}], "config.yaml": 3}, "my.zip"),
        ):
            sent = fields(zipped(members), "my.zip", format=format)
            response = client_of(cast.alice).post(url("dataset-upload"), sent)
            assert words in text_of(response)
            assert "touchstone-" not in text_of(response)
            assert not Dataset.objects.exists()

    def test_a_data_dump(self, cast):
        answers = "".join(
            f'<row Id="{n}" PostTypeId="2" ParentId="9" Score="{20 * n}" Body="A{n}" />' for n in range(1, 5)
        )
        dump = f'<posts><row Id="9" PostTypeId="1" Title="T" Body="B" />{answers}</posts>'.encode()
        sent = fields(dump, "Posts.xml", format="stackexchange", name="physics")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        item = Item.objects.get()
        assert (item.kind, item.external_id) == ("answer_ranking", "physics/9")

    @pytest.mark.parametrize(
        ("changed", "field", "message"),
        [
            ({"content": jsonl(PAIR, {"id": "q2"})}, "file", "pairs.jsonl, row 2, field responses"),
            ({"content": b"{"}, "file", "pairs.jsonl, row 1: expected JSON"),
            ({"content": b"id,instruction\n", "called": "pairs.csv"}, "file", "at least one item"),
            ({"content": b""}, "file", "empty"),
            ({"called": "pairs.txt"}, "file", "Expected a file named .jsonl"),
            ({"name": "no spaces"}, "name", "Expected letters, digits"),
            ({"name": "upload"}, "name", "reserved"),
            ({"split": "secret"}, "split", "Select a valid choice"),
            ({"criteria": "none-such"}, "criteria", "Select a valid choice"),
            ({"format": "xml"}, "format", "Select a valid choice"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_is_stored(self, cast, changed, field, message):
        changed = dict(changed)
        sent = fields(changed.pop("content", None), changed.pop("called", "pairs.jsonl"), **changed)
        response = client_of(cast.alice).post(url("dataset-upload"), sent)
        assert response.status_code == 200
        assert message in " ".join(response.context["form"].errors[field])
        assert not Dataset.objects.exists()

    def test_all_errors_of_the_file_are_listed(self, cast):
        wrong = [PAIR | {"id": f"q{n}", "gold": {"choice": 7}} for n in range(30)]
        response = client_of(cast.alice).post(url("dataset-upload"), fields(jsonl(PAIR, *wrong)))
        said = response.context["form"].errors["file"]
        assert [words.split(",")[1].strip() for words in said] == [f"row {n}" for n in range(2, 22)]
        assert "Nothing was stored: 20 errors or more" in text_of(response)
        assert not Dataset.objects.exists()

    def test_a_file_without_ids_twice_changes_nothing(self, cast):
        rows = [{key: value for key, value in PAIR.items() if key != "id"}]
        for _ in range(2):
            assert client_of(cast.alice).post(url("dataset-upload"), fields(jsonl(*rows))).status_code == 302
        assert (Item.objects.count(), Dataset.objects.get().version) == (1, 1)

    def test_contradictions_of_what_is_stored_are_listed(self, cast):
        client = client_of(cast.alice)
        rows = [PAIR | {"id": f"q{n}", "gold": {"choice": 1}} for n in range(3)]
        client.post(url("dataset-upload"), fields(jsonl(*rows)))
        other = [row | {"gold": {"choice": 2}} for row in rows]
        response = client.post(url("dataset-upload"), fields(jsonl(*other)))
        said = response.context["form"].errors["file"]
        assert [words.split(":")[0] for words in said] == [
            f"pairs.jsonl, row {n}, field gold" for n in (1, 2, 3)
        ]
        assert Item.objects.filter(gold={"choice": 2}).count() == 0

    def test_too_large(self, cast, monkeypatch):
        monkeypatch.setattr(upload_files, "MAX_BYTES", 10)
        response = client_of(cast.alice).post(url("dataset-upload"), fields())
        assert "Expected at most" in text_of(response)
        assert not Dataset.objects.exists()

    def test_the_same_form_twice_makes_one_dataset(self, cast):
        client = client_of(cast.alice)
        for _ in range(2):
            assert client.post(url("dataset-upload"), fields(criteria="helm-instruct")).status_code == 302
        assert (Dataset.objects.get().version, Criterion.objects.count()) == (1, 5)

    def test_somebody_elses_name_is_not_added_to(self, cast):
        dataset_make(name="uploaded", owner=cast.bob, pairs=1)
        response = client_of(cast.alice).post(url("dataset-upload"), fields())
        assert response.status_code == 200
        assert Item.objects.count() == 1

    def test_who_may_not(self, cast):
        assert client_of(None).post(url("dataset-upload"), fields()).status_code == 302
        assert client_of(cast.carl).post(url("dataset-upload"), fields()).status_code == 403
        assert not Dataset.objects.exists()


class TestMapping:
    CONTENT = b"Question;First;Second;Best\nWhy?;a;b;1\n"
    FIELDS = ("instruction", "response_1", "response_2", "gold")

    def said(self, **changed):
        columns = {"column": ["Question", "First", "Second", "Best"], "field": list(self.FIELDS)}
        return fields(self.CONTENT, "pairs.csv", mapped_file="pairs.csv") | columns | changed

    def test_unknown_columns_are_asked_for_and_nothing_is_stored(self, cast):
        page = client_of(cast.alice).post(url("dataset-upload"), fields(self.CONTENT, "pairs.csv"))
        assert [row[:2] for row in page.context["mapping"]] == [
            ("Question", "Why?"),
            ("First", "a"),
            ("Second", "b"),
            ("Best", "1"),
        ]
        assert "Choose what each column of the file is" in text_of(page)
        assert not Dataset.objects.exists()

    def test_what_is_chosen_is_done_and_again_changes_nothing(self, cast):
        for _ in range(2):
            assert client_of(cast.alice).post(url("dataset-upload"), self.said()).status_code == 302
        item = Item.objects.get()
        assert (item.instruction.text, item.gold) == ("Why?", {"choice": 1})
        assert [one.text for one in item.responses.order_by("item_responses__position")] == ["a", "b"]

    def test_another_file_is_not_read_by_the_old_answers(self, cast):
        sent = fields(mapped_file="pairs.csv", column=["Question"], field=["gold"])
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302

    def test_what_cannot_be(self, cast):
        chosen = ["instruction", "response_1", "response_1", "nonsense"]
        page = client_of(cast.alice).post(url("dataset-upload"), self.said(field=chosen))
        assert "is no field" in text_of(page)
        page = client_of(cast.alice).post(url("dataset-upload"), self.said(field=[*chosen[:3], "gold"]))
        assert "expected one column for response_1" in text_of(page)
        assert not Dataset.objects.exists()

    def test_preferences_need_no_mapping(self, cast):
        sent = fields(b"prompt,chosen,rejected\nWhy?,a,b\n", "pairs.csv")
        assert client_of(cast.alice).post(url("dataset-upload"), sent).status_code == 302
        assert Item.objects.get().gold == {"choice": 1}

    def test_the_command_that_stores_the_verdicts_is_named(self, cast):
        content = b"Question;First;Second;gpt\nWhy?;a;b;1\n"
        chosen = ["instruction", "response_1", "response_2", "judge:"]
        sent = fields(content, "my pairs.csv", mapped_file="my pairs.csv")
        sent |= {"column": ["Question", "First", "Second", "gpt"], "field": chosen}
        page = client_of(cast.alice).post(url("dataset-upload"), sent, follow=True)
        command = "import_dataset generic 'my pairs.csv' --name uploaded --map Question=instruction"
        assert "The verdicts of one judge in the file were not stored" in text_of(page)
        assert command in html.unescape(text_of(page))

    def test_a_script_is_sent_on(self, cast):
        answer = client_of(cast.alice).post(url("dataset-upload"), fields(), headers={"HX-Request": "true"})
        assert answer.headers["HX-Redirect"] == url("dataset-detail", "uploaded")


class TestCriteria:
    def test_they_are_added_once(self, cast):
        dataset_make(name="mine", owner=cast.alice)
        client = client_of(cast.alice)
        for _ in range(2):
            response = client.post(url("dataset-criteria", "mine"), {"criteria": "helm-instruct"})
            assert response.status_code == 302
        assert Criterion.objects.count() == 5
        assert "already has these criteria" in text_of(client.get(url("dataset-detail", "mine")))

    def test_other_words_are_refused(self, cast):
        dataset = dataset_make(name="mine", owner=cast.alice)
        Criterion.objects.create(dataset=dataset, key="helpfulness", question="Else?", options={}, position=0)
        client = client_of(cast.alice)
        client.post(url("dataset-criteria", "mine"), {"criteria": "helm-instruct"})
        assert Criterion.objects.count() == 1
        assert "Nothing was added" in text_of(client.get(url("dataset-detail", "mine")))

    def test_who_may_not(self, cast):
        dataset_make(name="mine", owner=cast.alice)
        address, sent = url("dataset-criteria", "mine"), {"criteria": "helm-instruct"}
        assert client_of(None).post(address, sent).status_code == 302
        assert client_of(cast.carl).post(address, sent).status_code == 403
        assert client_of(cast.bob).post(address, sent).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 405
        assert client_of(cast.alice).post(address, {"criteria": "none"}).status_code == 404
        assert not Criterion.objects.exists()
        assert "Add ready-made" not in text_of(client_of(cast.bob).get(url("dataset-detail", "mine")))


class TestItems:
    def send(self, user, study, content, name="items.csv"):
        return client_of(user).post(
            url("study-items", study.slug), {"file": SimpleUploadedFile(name, content)}, follow=True
        )

    @pytest.fixture
    def draft(self, cast, dataset):
        study = study_make(dataset=dataset, slug="draft", owner=cast.alice, state="draft")
        study.study_items.all().delete()
        return study

    def test_a_draft_offers_what_is_in_the_file(self, cast, draft):
        page = self.send(cast.alice, draft, b"item,overlap\np1,\np2,5\n")
        assert "2 items chosen" in text_of(page)
        assert "asks for 7 labels: 2 items" in text_of(page)
        page = client_of(cast.alice).post(url("study-items", "draft"), {"action": "forget"}, follow=True)
        assert "asks for 24 labels: 12 items, 2 each" in text_of(page)

    def test_a_name_that_was_escaped_for_spreadsheets(self, cast, draft):
        Item.objects.filter(external_id="p1").update(external_id="=p1")
        page = self.send(cast.alice, draft, b"item\n'=p1\n")
        assert "1 items chosen" in text_of(page)
        page = self.send(cast.alice, draft, b"item\n'=p1\n=p1\n")
        assert "is named a second time" in text_of(page)

    def test_the_same_file_twice(self, cast, study):
        for _ in range(2):
            self.send(cast.alice, study, b"item,priority\np9,1\n")
        first = study.study_items.order_by("position").first()
        assert first.item.external_id == "p9"
        assert study.study_items.count() == 12

    @pytest.mark.parametrize(
        ("content", "name", "message"),
        [
            (b"item,priority\np1,1\np2,soon\n", "items.csv", "items.csv, row 3, field priority"),
            (b"item\np1\np99\n", "items.csv", "items.csv, row 3, field item"),
            (b"item\n", "items.txt", "Expected a file named"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_changes(self, cast, draft, content, name, message):
        page = self.send(cast.alice, draft, content, name)
        assert "Nothing was changed" in text_of(page)
        assert message in text_of(page)
        assert not StudyItem.objects.exists()

    def test_an_open_study_does_not_forget(self, cast, study):
        response = client_of(cast.alice).post(url("study-items", "mine"), {"action": "forget"})
        assert response.status_code == 404
        assert study.study_items.count() == 12

    def test_who_may_not(self, cast, draft):
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
            sent = {"file": SimpleUploadedFile("items.csv", b"item\np1\n")}
            assert client_of(user).post(url("study-items", "draft"), sent).status_code == status
        assert client_of(cast.alice).get(url("study-items", "draft")).status_code == 405
        assert not StudyItem.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_same_upload_from_many_tabs_makes_one_dataset():
    cast = Cast.make()
    clients = [client_of(cast.alice) for _ in range(4)]
    sent = [fields(criteria="helm-instruct") for _ in clients]
    pages = all_at_once(lambda client: client.post(url("dataset-upload"), sent.pop()).status_code, clients)
    assert set(pages) == {302}
    assert (Dataset.objects.count(), Item.objects.count(), Criterion.objects.count()) == (1, 2, 5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_same_copy_from_many_tabs_is_one_copy():
    cast = Cast.make()
    study = study_make(owner=cast.alice, slug="mine")
    clients = [client_of(cast.alice) for _ in range(4)]
    pages = all_at_once(
        lambda client: client.post(url("study-copy", "mine"), {"nonce": "abcd"}).status_code, clients
    )
    assert set(pages) == {302}
    assert type(study).objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_file_of_items_from_many_tabs():
    cast = Cast.make()
    study = study_make(owner=cast.alice, slug="mine", pairs=6)
    clients = [client_of(cast.alice) for _ in range(4)]

    def send(client):
        content = SimpleUploadedFile("items.csv", b"item,priority,overlap\np4,2,5\np1,1,\n")
        return client.post(url("study-items", "mine"), {"file": content}).status_code

    assert set(all_at_once(send, clients)) == {302}
    found = [(one.item.external_id, one.overlap) for one in study.study_items.order_by("position")]
    assert found == [("p4", 5), ("p1", 2), ("p0", 2), ("p2", 2), ("p3", 2), ("p5", 2)]
