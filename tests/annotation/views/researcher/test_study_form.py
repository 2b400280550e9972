"""Making and editing a study."""

import re

import pytest

from annotation.models import Study, StudyItem
from annotation.selectors.progress import study_progress
from annotation.services.studies import study_create, study_open, study_update
from tests.annotation.cast import Cast, client_of, labels_make, study_fields, text_of, url
from tests.annotation.factories import (
    dataset_make,
    study_make,
)
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


class TestCreate:
    @pytest.mark.both_databases
    def test_a_dataset_that_no_database_takes(self, cast, dataset):
        assert client_of(cast.alice).get(url("study-create") + "?dataset=%00").status_code == 200

    def test_at_least_one_item_for_each_person(self, cast, dataset):
        response = client_of(cast.alice).post(
            url("study-create"), study_fields(dataset, items_per_annotator=0)
        )
        assert "greater than or equal to 1" in text_of(response)
        assert not Study.objects.exists()

    def test_an_address_of_another_page_is_not_taken(self, cast, dataset):
        form = study_fields(dataset, title="New", nonce="")
        assert "is reserved; choose another one" in text_of(
            client_of(cast.alice).post(url("study-create"), form)
        )
        assert study_create(dataset=dataset, title="Preview").slug.startswith("preview-")

    def test_a_draft(self, cast, dataset):
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset))
        study = Study.objects.get()
        assert response.url == url("study-detail", study.slug)
        assert study.slug == "which-is-better-a1b2c3"
        assert (study.owner, study.state, study.kind) == (cast.alice, "draft", "pairwise")
        assert (study.overlap, str(study.pay_per_item), study.pay_currency) == (3, "0.1200", "EUR")
        page = text_of(client_of(cast.alice).get(response.url))
        assert "asks for 30 labels" in page
        assert "10 items, 3 each" in page

    def test_the_same_form_sent_twice_makes_one_study(self, cast, dataset):
        client = client_of(cast.alice)
        first, second = (client.post(url("study-create"), study_fields(dataset)) for _ in range(2))
        assert first.url == second.url
        assert Study.objects.count() == 1

    def test_two_forms_with_one_title_make_two_studies(self, cast, dataset):
        client = client_of(cast.alice)
        for nonce in ("a1", "b2"):
            client.post(url("study-create"), study_fields(dataset, nonce=nonce))
        assert Study.objects.count() == 2

    def test_somebody_elses_address_is_not_taken_over(self, cast, dataset):
        client_of(cast.bob).post(url("study-create"), study_fields(dataset))
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset))
        assert response.status_code == 200
        assert Study.objects.get().owner == cast.bob

    def test_each_form_has_its_own_number(self, cast, dataset):
        client = client_of(cast.alice)
        pages = [client.get(url("study-create")).content.decode() for _ in range(2)]
        nonces = {re.search(r'name="nonce" value="(\w+)"', page)[1] for page in pages}
        assert len(nonces) == 2

    def test_who_may_not(self, cast, dataset):
        assert client_of(None).post(url("study-create"), study_fields(dataset)).status_code == 302
        assert client_of(cast.carl).post(url("study-create"), study_fields(dataset)).status_code == 403
        assert not Study.objects.exists()

    def test_somebody_elses_private_dataset_is_no_choice(self, cast):
        secret = dataset_make(pairs=12, split="private", owner=cast.alice)
        response = client_of(cast.bob).post(url("study-create"), study_fields(secret))
        assert response.status_code == 200
        assert not Study.objects.exists()
        assert client_of(cast.alice).post(url("study-create"), study_fields(secret)).status_code == 302

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"title": ""}, "This field is required."),
            ({"title": "x" * 201}, "at most 200 characters"),
            ({"overlap": 0}, "greater than or equal to 1"),
            ({"overlap": "four"}, "Enter a whole number."),
            ({"qualification_pass": 3}, "The test has 2 questions; more cannot be right."),
            ({"qualification_pass": 0}, "With 0, everyone passes"),
            (
                {"qualification_size": 13, "qualification_pass": 9},
                "pairs has 12 pairs with a known right answer",
            ),
            ({"qualification_size": 12, "qualification_pass": 9}, "would use all 12 pairs"),
            ({"pay_per_item": "-1"}, "greater than or equal to 0"),
            ({"pay_currency": "euro"}, "at most 3 characters"),
            ({"pay_currency": "eur"}, "Expected three capital letters"),
            ({"dataset": 999_999}, "Select a valid choice."),
            ({"tie_policy": "maybe"}, "Select a valid choice."),
            ({"guidelines": "x" * 60_001}, "at most 60000 characters"),
        ],
    )
    def test_what_is_wrong_is_said_beside_the_field_and_nothing_is_lost(
        self, cast, dataset, changed, message
    ):
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset) | changed)
        assert response.status_code == 200
        field = next(iter(changed))
        assert message in " ".join(response.context["form"].errors[field])
        assert "Prefer the **better** one." in response.content.decode() or field == "guidelines"
        assert not Study.objects.exists()

    def test_without_gold_there_is_no_test(self, cast):
        plain = dataset_make(pairs=3, gold=False)
        client = client_of(cast.alice)
        assert client.post(url("study-create"), study_fields(plain)).status_code == 200
        rules = study_fields(plain, qualification_size=0, qualification_pass=0)
        assert client.post(url("study-create"), rules).status_code == 302

    def test_the_test_may_come_from_another_dataset(self, cast):
        plain = dataset_make(pairs=3, gold=False)
        questions = dataset_make(pairs=2)
        rules = study_fields(plain) | {"qualification_dataset": questions.pk}
        assert client_of(cast.alice).post(url("study-create"), rules).status_code == 302
        study = Study.objects.get()
        assert study_progress(study).items == 3
        study = study_open(study=study)
        asked = study.qualification_questions.values_list("item__dataset", flat=True)
        assert list(asked) == [questions.pk] * 2
        assert study.study_items.count() == 3

    def test_a_dataset_of_the_address_is_chosen(self, cast, dataset):
        page = client_of(cast.alice).get(url("study-create") + "?dataset=pairs").content.decode()
        assert re.search(rf'<option value="{dataset.pk}" selected>', page)

    def test_without_datasets_it_leads_to_importing_one(self, cast):
        page = client_of(cast.alice).get(url("study-create"), follow=True)
        assert page.redirect_chain == [("/datasets/upload/", 302)]
        assert "A study needs a dataset" in text_of(page)


class TestPreview:
    def test_it_is_rendered_and_safe(self, cast):
        data = {"guidelines": "**bold** <script>alert(1)</script>"}
        page = (
            client_of(cast.alice).post(url("markdown-preview") + "?field=guidelines", data).content.decode()
        )
        assert "<strong>bold</strong>" in page
        assert "<script>" not in page
        assert 'id="preview-guidelines"' in page

    def test_who_may_not(self, cast):
        address = url("markdown-preview") + "?field=consent"
        assert client_of(None).post(address, {"consent": "x"}).status_code == 302
        assert client_of(cast.carl).post(address, {"consent": "x"}).status_code == 403
        assert client_of(cast.alice).get(address).status_code == 405
        assert client_of(cast.alice).post(url("markdown-preview") + "?field=title").status_code == 404


class TestEdit:
    def edit(self, user, study, **changed):
        data = study_fields(
            study.dataset, title=study.title, qualification_size=0, qualification_pass=0, overlap=4
        )
        return client_of(user).post(url("study-edit", study.slug), data | changed)

    def test_rules_are_changed(self, cast, study):
        assert self.edit(cast.alice, study, title="New", overlap=5).status_code == 302
        study.refresh_from_db()
        assert (study.title, study.overlap) == ("New", 5)
        assert set(StudyItem.objects.values_list("overlap", flat=True)) == {5}

    def test_new_guidelines_are_a_new_version_once(self, cast, study):
        for _ in range(2):
            self.edit(cast.alice, study, guidelines="Other words.")
        study.refresh_from_db()
        assert study.guidelines_version == 2
        assert "version 2; a change makes it version 3" in text_of(
            client_of(cast.alice).get(url("study-edit", "mine"))
        )

    def test_what_would_change_the_meaning_is_fixed(self, cast, study):
        other = dataset_make(pairs=12)
        self.edit(cast.alice, study, tie_policy="off", qualification_size=5, dataset=other.pk, kind="rubric")
        study.refresh_from_db()
        assert (study.tie_policy, study.qualification_size) == ("tie", 0)
        assert (study.dataset.name, study.kind) == ("pairs", "pairwise")
        assert "Fixed: the study has been opened" in text_of(
            client_of(cast.alice).get(url("study-edit", "mine"))
        )

    def test_a_draft_is_free_but_for_its_dataset(self, cast, dataset):
        draft = study_make(dataset=dataset, owner=cast.alice, state="draft")
        self.edit(cast.alice, draft, tie_policy="off", qualification_size=3, qualification_pass=2)
        draft.refresh_from_db()
        assert (draft.tie_policy, draft.qualification_size) == ("off", 3)

    def test_an_overlap_below_what_is_there_is_refused_beside_its_field(self, cast, study):
        labels_make(study, [[1, 1, 2]])
        response = self.edit(cast.alice, study, overlap=2)
        assert response.status_code == 200
        assert "Some items have 3 labels" in " ".join(response.context["form"].errors["overlap"])
        study.refresh_from_db()
        assert study.overlap == 4

    def test_the_page_is_named_after_what_is_stored(self, cast, study):
        response = self.edit(cast.alice, study, title="")
        assert response.status_code == 200
        assert "Mine" in text_of(response)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_same_form_from_many_tabs_makes_one_study():
    cast, dataset, tabs = Cast.make(), dataset_make(pairs=12), 6

    def press(client):
        return client.post(url("study-create"), study_fields(dataset)).url

    assert len(set(all_at_once(press, browsers_of(cast.alice, tabs)))) == 1
    assert Study.objects.count() == 1


class TestEstimate:
    def estimate(self, user, dataset, query="", **changed):
        return client_of(user).post(url("study-estimate") + query, study_fields(dataset) | changed)

    def test_labels_hours_and_money(self, cast, dataset):
        page = text_of(self.estimate(cast.alice, dataset, assumed_seconds="60"))
        assert "10 items × 3 labels = 30 labels" in page
        assert "about 0.5 h" in page
        assert "3.60 EUR" in page
        assert "7.20 EUR" in page
        assert "Brainstorm 6" in page

    def test_checks_are_answered_too(self, cast, dataset):
        page = text_of(self.estimate(cast.alice, dataset, check_rate="10", check_size="1"))
        assert "Checks and repeats about 3" in page

    def test_below_the_floor(self, cast, dataset):
        page = text_of(self.estimate(cast.alice, dataset, pay_floor_per_hour="9", assumed_seconds="72"))
        assert "Below your minimum hourly rate" in page

    def test_a_form_that_is_wrong_elsewhere_is_still_estimated(self, cast, dataset):
        assert "= 30 labels" in text_of(self.estimate(cast.alice, dataset, title="", lease_minutes="x"))
        empty = study_fields(dataset) | {"dataset": ""}
        assert "Choose a dataset" in text_of(client_of(cast.alice).post(url("study-estimate"), empty))

    def test_of_a_study(self, cast, dataset, study):
        page = self.estimate(cast.alice, dataset, "?study=mine", overlap=5)
        assert "12 items × 5 labels" in text_of(page)
        study.refresh_from_db()
        assert study.overlap == 4
        assert self.estimate(cast.bob, dataset, "?study=mine").status_code == 404

    def test_who_may_not(self, cast, dataset):
        assert self.estimate(None, dataset).status_code == 302
        assert self.estimate(cast.carl, dataset).status_code == 403
        assert client_of(cast.alice).get(url("study-estimate")).status_code == 405


class TestGuidelines:
    def test_versions_and_what_changed(self, cast, dataset):
        study = study_create(
            dataset=dataset, title="x", owner=cast.alice, guidelines="one\ntwo", qualification_size=0
        )
        study_update(study=study, guidelines="one\nthree <b>")
        page = client_of(cast.alice).get(url("study-guidelines", study.slug))
        words = text_of(page)
        assert "Version 2" in words
        assert "Removed: two" in words
        assert "Added: three &lt;b&gt;" in words
        assert list(study.guidelines_revisions.values_list("version", "text")) == [
            (1, "one\ntwo"),
            (2, "one\nthree <b>"),
        ]

    def test_who_may_not(self, cast, study):
        address = url("study-guidelines", "mine")
        assert client_of(None).get(address).status_code == 302
        assert client_of(cast.carl).get(address).status_code == 403
        assert client_of(cast.bob).get(address).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 200


class TestCopy:
    def copy(self, user, slug="mine", nonce="abcd"):
        return client_of(user).post(url("study-copy", slug), {"nonce": nonce})

    def test_a_copy_is_a_draft_with_the_same_rules_once(self, cast, study):
        Study.objects.update(overlap=6, guidelines="Read me.", categories=["Rewrite"])
        first, second = (self.copy(cast.alice) for _ in range(2))
        assert first.url == second.url
        copied = Study.objects.exclude(pk=study.pk).get()
        assert (copied.state, copied.title, copied.overlap) == ("draft", "Copy of Mine", 6)
        assert (copied.guidelines, copied.categories, copied.owner) == ("Read me.", ["Rewrite"], cast.alice)
        assert not copied.study_items.exists()
        assert first.url == url("study-edit", copied.slug)

    def test_who_may_not(self, cast, study):
        assert self.copy(None).status_code == 302
        assert self.copy(cast.carl).status_code == 403
        assert self.copy(cast.bob).status_code == 404
        assert self.copy(cast.alice, nonce="").status_code == 404
        assert Study.objects.count() == 1
