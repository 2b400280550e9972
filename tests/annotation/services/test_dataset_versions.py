"""Versions of a dataset: what changed, who goes on with what, and which labels a change touches."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.domain.errors import StudyRuleError
from annotation.importers import read_generic
from annotation.models import Dataset, DatasetVersion, Item, Label, StudyItem
from annotation.selectors.dataset_versions import item_changes, labels_touched, study_lag, version_changes
from annotation.selectors.datasets import dataset_counts, items_by_external_id, items_for_judging
from annotation.services.datasets import dataset_import
from annotation.services.study_versions import study_move_on
from annotation.services.tokens import token_create
from metaeval.selectors.inputs import inputs_read
from tests.annotation.cast import client_of, label_make, text_of
from tests.annotation.factories import study_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


def imported(folder, owner, *rows, **options):
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return dataset_import(bundle=read_generic(path), name="pairs", owner=owner, **options)


def row(name, second="b", **more):
    return {"id": name, "instruction": f"Ask {name}", "responses": ["a", second], "gold": 1} | more


@pytest.fixture
def dataset(cast, tmp_path):
    return imported(tmp_path, cast.alice, *(row(f"p{n}") for n in range(4))).dataset


@pytest.fixture
def study(cast, dataset):
    return study_make(
        dataset=dataset, owner=cast.alice, slug="mine", overlap=2, qualification_size=0, qualification_pass=0
    )


def next_version(cast, folder):
    """p0 stays, p1 changes, p2 goes, p3 has another gold, p4 is new."""
    rows = [row("p0"), row("p1", "other"), row("p3", gold=2), row("p4")]
    return imported(folder, cast.alice, *rows, new_version=True)


class TestChanges:
    def test_each_item_is_compared_field_by_field(self, cast, dataset, tmp_path):
        result = next_version(cast, tmp_path)
        assert (result.items_created, result.items_changed, result.items_removed) == (1, 2, 1)
        found = version_changes(dataset, 1, 2, None)
        assert (found.added, found.removed, found.changed) == (1, 1, 2)
        changes = {one.external_id: one for one in item_changes(dataset, 1, 2, None)}
        assert {name: one.kind for name, one in changes.items()} == {
            "p1": "changed",
            "p2": "removed",
            "p3": "changed",
            "p4": "added",
        }
        assert [(one.field, one.before, one.now) for one in changes["p1"].fields] == [
            ("response_2", "b", "other")
        ]
        assert [(one.field, one.before, one.now) for one in changes["p3"].fields] == [
            ("gold", {"choice": 1}, {"choice": 2})
        ]
        back = version_changes(dataset, 2, 1, None)
        assert (back.added, back.removed, back.changed) == (1, 1, 2)
        assert [one.kind for one in item_changes(dataset, 2, 1, None)] == [
            "changed",
            "added",
            "changed",
            "removed",
        ]

    def test_over_several_versions_and_none(self, cast, dataset, tmp_path):
        next_version(cast, tmp_path)
        imported(tmp_path, cast.alice, *(row(f"p{n}") for n in range(4)), new_version=True)
        found = version_changes(dataset, 1, 3, None)
        assert (found.added, found.removed, found.changed) == (0, 0, 3)
        assert [one.fields for one in item_changes(dataset, 1, 3, None)] == [(), (), ()], "all changed back"
        assert version_changes(dataset, 3, 3, None).changed == 0

    def test_lists_of_the_dataset_have_its_current_items(self, cast, dataset, tmp_path):
        next_version(cast, tmp_path)
        assert dataset_counts(dataset).items == 4
        assert sorted(items_by_external_id(dataset.pk)) == ["p0", "p1", "p3", "p4"]
        assert [one.responses[1] for one in items_for_judging(dataset.pk)] == ["b", "other", "b", "b"]
        page = text_of(client_of(cast.alice).get("/datasets/pairs/"))
        assert "version 2" in page

    def test_each_import_is_a_version(self, cast, dataset, tmp_path):
        next_version(cast, tmp_path)
        rows = DatasetVersion.objects.order_by("number").values_list(
            "number", "items_added", "items_changed", "items_removed", "created_by__username"
        )
        assert list(rows) == [(1, 4, 0, 0, "alice"), (2, 1, 2, 1, "alice")]

    def test_a_new_version_of_a_dataset_that_is_not_there_is_its_first(self, cast, tmp_path):
        assert imported(tmp_path, cast.alice, row("p0"), new_version=True).dataset.version == 1

    def test_the_command(self, cast, dataset, tmp_path, capsys):
        next_version(cast, tmp_path)
        call_command("dataset_changes", "pairs")
        out = capsys.readouterr().out
        assert "pairs, version 1 to 2: 1 added, 1 removed, 2 changed; 0 labels" in out
        assert 'response_2: "b" -> "other"' in out
        call_command("dataset_changes", "pairs", "--json")
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [one["external_id"] for one in lines] == ["p1", "p2", "p3", "p4"]
        for options, words in (
            (["none"], "There is no dataset"),
            (["pairs", "--now", "9"], "expected 1 to 2"),
        ):
            with pytest.raises(CommandError, match=words):
                call_command("dataset_changes", *options)


class TestStudy:
    def test_it_goes_on_with_the_items_that_it_had(self, cast, study, tmp_path):
        for item in Item.objects.all():
            label_make(study=study, item=item, choice=2)
        assert study.dataset_version == 1
        next_version(cast, tmp_path)
        assert study_lag(study) == 3
        items = [place.item.external_id for place in study.study_items.order_by("position")]
        assert sorted(items) == ["p0", "p1", "p2", "p3"]
        study.refresh_from_db()
        found = inputs_read(dataset=study.dataset, study=study)
        assert sorted(found.items.external_id) == ["p0", "p1", "p2", "p3"]
        assert len(found.labels.item) == 4
        page = text_of(client_of(cast.alice).get("/studies/mine/"))
        assert "stays at version 1 of its dataset" in page
        assert "3 of its items have changed or gone since" in page

    def test_figures_of_the_dataset_leave_out_labels_on_what_changed(self, cast, study, tmp_path):
        for item in Item.objects.all():
            label_make(study=study, item=item, choice=2)
        next_version(cast, tmp_path)
        found = inputs_read(dataset=study.dataset)
        assert sorted(found.items.external_id) == ["p0", "p1", "p3", "p4"]
        assert [found.items.external_id[place] for place in found.labels.item] == ["p0"]
        assert labels_touched(study.dataset, None) == 3
        assert version_changes(study.dataset, 1, 2, None).touched_labels == 3
        page = text_of(client_of(cast.alice).get("/datasets/pairs/versions/"))
        assert "3 labels were given on items that a later version changed or removed" in page
        assert "1 label on the earlier item" in page

    def test_a_label_says_which_version_it_was_given_on(self, cast, study, tmp_path):
        for item in Item.objects.filter(external_id__in=["p0", "p1"]):
            label_make(study=study, item=item, choice=2)
        next_version(cast, tmp_path)
        lines = client_of(cast.alice).get("/datasets/pairs/labels.csv/").getvalue().decode().splitlines()
        header = lines[0].split(",")
        at = [header.index(name) for name in ("item", "item_version", "replaced_in")]
        assert sorted([line.split(",")[k] for k in at] for line in lines[1:]) == [
            ["p0", "1", ""],
            ["p1", "1", "2"],
        ]

    def test_its_researcher_moves_it_on(self, cast, study, tmp_path):
        for item in Item.objects.all():
            label_make(study=study, item=item, choice=2)
        next_version(cast, tmp_path)
        moved = study_move_on(study=study)
        assert (moved.replaced, moved.withdrawn) == (2, 1)
        offered = study.study_items.filter(withdrawn_at=None).order_by("position")
        assert sorted((one.item.external_id, one.item.since_version) for one in offered) == [
            ("p0", 1), ("p1", 2), ("p3", 2),
        ]  # fmt: skip
        assert StudyItem.objects.filter(study=study, withdrawn_at__isnull=False).count() == 3
        assert Label.objects.count() == 4
        study.refresh_from_db()
        found = inputs_read(dataset=study.dataset, study=study)
        assert [found.items.external_id[place] for place in found.labels.item] == ["p0"]
        again = study_move_on(study=study)
        assert (again.replaced, again.withdrawn) == (0, 0)

    def test_it_is_told_of_one_item_as_of_one(self, cast, study, tmp_path):
        rows = [row("p0", "c"), *(row(f"p{n}") for n in (1, 2))]
        imported(tmp_path, cast.alice, *rows, new_version=True)
        page = client_of(cast.alice).post("/studies/mine/version/", follow=True)
        assert "1 item was replaced, 1 withdrawn" in text_of(page)

    @pytest.mark.parametrize("state", ["draft", "closed"])
    def test_not_a_draft_and_not_a_closed_one(self, study, state):
        type(study).objects.update(state=state)
        with pytest.raises(StudyRuleError):
            study_move_on(study=study)

    def test_who_may_move_it(self, cast, study, tmp_path):
        next_version(cast, tmp_path)
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
            assert client_of(user).post("/studies/mine/version/").status_code == status
        assert client_of(cast.alice).get("/studies/mine/version/").status_code == 405
        assert study.study_items.filter(withdrawn_at=None).count() == 4
        for _ in range(2):
            page = client_of(cast.alice).post("/studies/mine/version/", follow=True)
            assert "The study now has version 2" in text_of(page)
        assert study.study_items.filter(withdrawn_at=None).count() == 3

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.both_databases
    def test_moved_on_from_many_tabs_is_moved_once(self, cast, study, tmp_path):
        next_version(cast, tmp_path)
        browsers = browsers_of(cast.alice, 4)
        assert set(all_at_once(lambda one: one.post("/studies/mine/version/").status_code, browsers)) == {302}
        assert study.study_items.count() == 6

    def test_a_study_that_opens_later_has_what_is_current(self, cast, dataset, tmp_path):
        next_version(cast, tmp_path)
        dataset.refresh_from_db()
        study = study_make(
            dataset=dataset, owner=cast.alice, slug="later", qualification_size=0, qualification_pass=0
        )
        assert study.dataset_version == 2
        assert sorted(place.item.external_id for place in study.study_items.all()) == ["p0", "p1", "p3", "p4"]


class TestPage:
    def test_two_versions_are_chosen(self, cast, dataset, tmp_path):
        next_version(cast, tmp_path)
        page = text_of(client_of(cast.alice).get("/datasets/pairs/versions/?before=1&now=2"))
        assert "1 item added, 1 removed, 2 changed." in page
        for query in ("?before=0", "?now=9", "?before=x"):
            assert client_of(cast.alice).get(f"/datasets/pairs/versions/{query}").status_code == 404

    def test_whose(self, cast, dataset, tmp_path):
        Dataset.objects.update(split="private")
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 200)):
            assert client_of(user).get("/datasets/pairs/versions/").status_code == status


class TestApi:
    def ask(self, user, method, path, body=None):
        _, secret = token_create(user=user, name="t")
        client = client_of(None)
        return getattr(client, method)(
            f"/api/v1/{path}", body, "application/json", headers={"Authorization": f"Bearer {secret}"}
        )

    def test_a_new_version_and_what_changed(self, cast, dataset):
        rows = [row("p0"), row("p1", "other")]
        body = {"name": "pairs", "split": "public", "items": rows, "new_version": True}
        answer = self.ask(cast.alice, "post", "datasets/", body)
        assert answer.status_code == 200, answer.content
        assert (answer.json()["items_changed"], answer.json()["items_removed"]) == (1, 2)
        found = self.ask(cast.alice, "get", "datasets/pairs/versions/1/2/").json()
        assert (found["changed"], found["removed"], found["items"][0]["item"]) == (1, 2, "p1")
        assert found["items"][0]["differences"] == [{"field": "response_2", "before": "b", "now": "other"}]
        assert self.ask(cast.alice, "get", "datasets/pairs/versions/1/9/").status_code == 404
        assert [one["number"] for one in self.ask(cast.alice, "get", "datasets/pairs/versions/").json()["results"]] == [
            1, 2,
        ]  # fmt: skip

    def test_a_mapping_and_rows_that_are_left_out(self, cast):
        rows = [
            {"q": "Why?", "x": "a", "y": "b", "best": "left"},
            {"q": "How?", "x": "c", "y": "d", "best": "up"},
        ]
        columns = {"q": "instruction", "x": "response_1", "y": "response_2"}
        body = {
            "name": "mapped",
            "items": rows,
            "mapping": {"columns": columns | {"best": {"field": "gold", "values": {"left": 1}}}},
        }
        assert self.ask(cast.alice, "post", "datasets/", body).status_code == 400
        answer = self.ask(cast.alice, "post", "datasets/", body | {"skip_bad_rows": True})
        assert answer.status_code == 201, answer.content
        left = answer.json()["left_out"]
        assert [(one["row"], one["field"], one["data"]) for one in left] == [(2, "best", rows[1])]
        assert Item.objects.get().gold == {"choice": 1}
        assert Dataset.objects.get().versions.get().rows_left_out == 1
        wrong = self.ask(cast.alice, "post", "datasets/", body | {"mapping": {"colums": {}}})
        assert wrong.status_code == 400
        assert "did you mean" in wrong.content.decode()

    def test_a_mapping_has_paths_and_constants(self, cast):
        pair = {"texts": ["a", "b"], "best": "left"}
        columns = {
            "pair.texts[0]": "response_1",
            "pair.texts[1]": "response_2",
            "pair.best": {"field": "gold", "values": {"left": 1, "right": 2}},
        }
        mapping = {"columns": columns, "constants": {"instruction": "Which is shorter?"}, "others": "-"}
        body = {"name": "mapped", "items": [{"pair": pair, "id": "x"}], "mapping": mapping}
        for status in (201, 200):
            assert self.ask(cast.alice, "post", "datasets/", body).status_code == status
        item = Item.objects.get()
        assert (item.instruction.text, item.gold, item.metadata) == ("Which is shorter?", {"choice": 1}, {})
        assert Dataset.objects.get().mapping == {"format": "touchstone.mapping/1", **mapping}
        wrong = self.ask(cast.alice, "post", "datasets/", body | {"mapping": mapping | {"others": "keep"}})
        assert (wrong.status_code, "expected metadata or -" in wrong.content.decode()) == (400, True)

    def test_a_study_is_moved_on(self, cast, study, tmp_path):
        next_version(cast, tmp_path)
        answer = self.ask(cast.alice, "post", "studies/mine/version/").json()
        assert answer == {"dataset_version": 2, "replaced": 2, "withdrawn": 1}
        assert self.ask(cast.bob, "post", "studies/mine/version/").status_code == 404
