"""Fields of the study form: what each kind asks, who may take part, shares in percent, what comes back."""

import pytest

from annotation.domain.errors import StudyRuleError
from annotation.kinds import KINDS
from annotation.models import Criterion, Dataset, Kind, Study
from annotation.selectors.guidelines import starting_text
from annotation.services.studies import study_create, study_duplicate
from annotation.services.study_rules import FIXED_ONCE_OPEN
from tests.annotation.cast import client_of, study_fields, text_of, url
from tests.annotation.factories import (
    dataset_make,
)
from web.rendering import render_markdown

pytestmark = pytest.mark.django_db


class TestKinds:
    """What is asked of each kind, and what does not apply is not kept."""

    @pytest.fixture
    def rated(self, cast):
        dataset = dataset_make(pairs=12, name="rated")
        dataset.items.update(kind="rubric", gold={"ratings": {"clear": 3}})
        Criterion.objects.create(dataset=dataset, key="clear", question="Clear?", options={}, position=0)
        Criterion.objects.create(dataset=dataset, key="short", question="Short?", options={}, position=1)
        return dataset

    def test_a_rubric_with_a_tolerant_test(self, cast, rated):
        sent = study_fields(
            rated,
            kind="rubric",
            criteria=["clear"],
            qualification_rule="tolerant",
            qualification_threshold="85",
            qualification_tolerance="1",
            # Hidden for this kind, and not kept whatever they say.
            tie_policy="both_bad",
            preference_points="5",
            response_sets="on",
        )
        assert client_of(cast.alice).post(url("study-create"), sent).status_code == 302
        study = Study.objects.get()
        assert study.response_sets
        assert (study.kind, study.criteria, study.qualification_rule) == ("rubric", ["clear"], "tolerant")
        assert (study.qualification_threshold, study.qualification_pass) == (0.85, 0)
        assert (study.tie_policy, study.preference_points) == ("tie", 3)

    def test_response_sets_are_asked_for_and_shown(self, cast, dataset):
        alice = client_of(cast.alice)
        assert alice.post(url("study-create"), study_fields(dataset, response_sets="on")).status_code == 302
        study = Study.objects.get()
        assert study.response_sets
        assert "Response sets every reasonable answer" in text_of(alice.get(url("study-detail", study.slug)))
        assert study_duplicate(study=study, owner=cast.alice).response_sets

    def test_response_sets_are_refused_with_a_reason(self, cast, rated):
        Criterion.objects.filter(key="clear").update(scale={"low": 0, "high": 100})
        alice = client_of(cast.alice)
        common = {"kind": "rubric", "response_sets": "on", "qualification_rule": "tolerant"}
        page = alice.post(url("study-create"), study_fields(rated, **common))
        assert "a response set needs points to choose from" in text_of(page)
        assert not Study.objects.exists()
        # A study that does not ask for that criterion can.
        sent = study_fields(rated, criteria=["short"], **common)
        sent |= {"qualification_size": 0, "qualification_pass": 0}
        assert alice.post(url("study-create"), sent).status_code == 302

    def test_several_categories_have_no_response_sets(self, cast, dataset):
        dataset.items.update(kind="classification", gold=None)
        Dataset.objects.update(categories={"several": True})
        dataset.refresh_from_db()
        with pytest.raises(StudyRuleError, match="a label may have several categories") as refused:
            study_create(
                dataset=dataset, title="T", kind="classification", response_sets=True, qualification_size=0
            )
        assert refused.value.field == "response_sets"
        dataset.items.update(kind="checklist")
        with pytest.raises(StudyRuleError, match="checklists have no response sets"):
            study_create(
                dataset=dataset, title="T", kind="checklist", response_sets=True, qualification_size=0
            )

    def test_the_dataset_has_none(self, cast, dataset):
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset, kind="checklist"))
        assert "pairs has no checklists" in text_of(response)

    def test_every_rule_can_be_set(self, cast, dataset):
        sent = study_fields(
            dataset,
            categories=["Rewrite"],
            sampling="random",
            sample_size="3",
            sample_seed="7",
            balance_categories="on",
            tie_policy="both_bad",
            preference_points="5",
            ask_comment="on",
            check_rate="10",
            check_size="1",
            repeat_rate="5",
            check_warn_below="80",
            check_suspend_below="60",
            set_aside_on_suspend="on",
            qualification_attempts="2",
            qualification_cooldown_minutes="60",
            qualification_valid_days="90",
            training_size="1",
            open_signup="on",
            max_annotators="50",
            passthrough="age, country",
            pay_basis="time",
            pay_per_hour="12.50",
            pay_floor_per_hour="10",
            closes_at="2999-01-01T12:00",
        )
        response = client_of(cast.alice).post(url("study-create"), sent)
        assert response.status_code == 302, response.context["form"].errors
        study = Study.objects.get()
        assert (study.categories, study.sample_size, study.sample_seed) == (["Rewrite"], 3, 7)
        assert (study.check_rate, study.repeat_rate, study.check_suspend_below) == (0.1, 0.05, 0.6)
        assert (study.passthrough, study.one_per_device) == (["age", "country"], False)
        assert (str(study.pay_per_hour), study.closes_at.year) == ("12.50", 2999)
        page = client_of(cast.alice).get(url("study-edit", study.slug)).content.decode()
        assert 'name="check_rate" value="10"' in page
        assert 'value="age, country"' in page
        assert 'value="2999-01-01T12:00"' in page
        assert client_of(cast.alice).post(url("study-edit", study.slug), sent).status_code == 302

    @pytest.mark.parametrize(
        ("changed", "field", "message"),
        [
            ({"sampling": "random"}, "sample_size", "Enter the number of items"),
            ({"sampling": "length_balanced"}, "sampling_baseline", "Choose the baseline system"),
            ({"check_rate": "10"}, "check_size", "Enter the number of gold items"),
            (
                {"check_rate": "60", "repeat_rate": "40", "check_size": "1"},
                "check_rate",
                "leave no items to label",
            ),
            ({"check_rate": "160"}, "check_rate", "less than or equal to 100"),
            (
                {"check_warn_below": "50", "check_suspend_below": "60"},
                "check_suspend_below",
                "above the warning threshold",
            ),
            ({"check_minimum": "20"}, "check_minimum", "more than the number of checks"),
            ({"passthrough": "a b! c"}, "passthrough", "valid parameter name"),
            ({"closes_at": "2001-01-01T00:00"}, "closes_at", "in the past"),
            ({"subset": "Nowhere"}, "subset", "Select a valid choice"),
            ({"categories": ["Nothing"]}, "categories", "Select a valid choice"),
            ({"training_size": "11"}, "qualification_size", "1 of them not used above"),
            ({"qualification_attempts": "0"}, "qualification_attempts", "greater than or equal to 1"),
        ],
    )
    def test_what_does_not_fit_together(self, cast, dataset, changed, field, message):
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset) | changed)
        assert response.status_code == 200
        assert message in " ".join(response.context["form"].errors[field])
        assert f'href="#id_{field}' in response.content.decode()
        assert not Study.objects.exists()


class TestEligibility:
    ROWS = {
        "eligibility-0-question": "Is English your first language?",
        "eligibility-0-option-0": "Yes",
        "eligibility-0-allowed-0": "on",
        "eligibility-0-option-1": "No",
        "eligibility-7-question": "Do you have a degree?",
        "eligibility-7-option-0": "Yes",
        "eligibility-7-allowed-0": "on",
        "eligibility-7-option-3": "No",
        "eligibility-7-option-4": "",
    }

    def test_questions_are_kept_with_their_keys(self, cast, dataset):
        client = client_of(cast.alice)
        client.post(url("study-create"), study_fields(dataset) | self.ROWS)
        study = Study.objects.get()
        first, second = study.eligibility
        assert first == {
            "key": "is-english-your-first-language",
            "question": "Is English your first language?",
            "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
        }
        assert [option["text"] for option in second["options"]] == ["Yes", "No"]
        sent = study_fields(dataset) | {
            "eligibility-0-key": first["key"],
            **self.ROWS,
            "eligibility-0-question": "Do you speak English at home?",
            "eligibility-7-question": "",
            "eligibility-7-option-0": "",
            "eligibility-7-option-3": "",
        }
        client.post(url("study-edit", study.slug), sent)
        study.refresh_from_db()
        assert [(one["key"], one["question"]) for one in study.eligibility] == [
            (first["key"], "Do you speak English at home?")
        ]

    def test_whatever_a_study_may_ask_survives_an_edit(self, cast, dataset):
        """Thirteen options, a long question, rows that the script numbered on after others were removed."""
        client = client_of(cast.alice)
        sent = study_fields(dataset) | {
            "eligibility-31-question": "Which of these do you know? " * 12,
            **{f"eligibility-31-option-{number + 20}": f"Number {number}" for number in range(13)},
            **{f"eligibility-31-allowed-{number + 20}": "on" for number in range(12)},
        }
        client.post(url("study-create"), sent)
        study = Study.objects.get()
        asked = study.eligibility
        assert [(one["text"], one["eligible"]) for one in asked[0]["options"]] == [
            (f"Number {number}", number < 12) for number in range(13)
        ]
        assert asked[0]["question"] == ("Which of these do you know? " * 12).strip()
        page = client.get(url("study-edit", study.slug))
        names = {"eligibility-0-key": asked[0]["key"], "eligibility-0-question": asked[0]["question"]}
        for row in page.context["form"].question_rows_to_fill()[:1]:
            for option in row.filled:
                names[f"eligibility-0-option-{option.number}"] = option.text
                names |= {f"eligibility-0-allowed-{option.number}": "on"} if option.eligible else {}
        client.post(url("study-edit", study.slug), study_fields(dataset) | names)
        study.refresh_from_db()
        assert study.eligibility == asked

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (
                {f"eligibility-{number}-question": f"Number {number}" for number in range(1, 21)},
                "At most 20 questions can be asked; these are 21.",
            ),
            (
                {f"eligibility-0-option-{number}": f"Number {number}" for number in range(31)},
                "Question 1 has 31 options; at most 30 can be offered.",
            ),
            ({"eligibility-0-option-1": "x" * 201}, "An option of question 1 is longer than 200 characters."),
            ({"eligibility-0-question": "x" * 501}, "Question 1 is longer than 500 characters."),
            ({"eligibility-0-option-1": ""}, "Question 1 needs at least two options."),
            ({"eligibility-0-option-1": "Yes"}, "Two options of question 1 have the same words."),
            ({"eligibility-7-question": ""}, "Question 2 has options, but no words."),
        ],
    )
    def test_what_is_wrong_is_said_and_kept(self, cast, dataset, changed, message):
        sent = study_fields(dataset) | self.ROWS | changed
        response = client_of(cast.alice).post(url("study-create"), sent)
        assert message in text_of(response)
        assert 'href="#eligibility"' in response.content.decode()
        assert not Study.objects.exists()

    def test_nobody_may_take_part(self, cast, dataset):
        rows = {name: text for name, text in self.ROWS.items() if "allowed" not in name}
        response = client_of(cast.alice).post(url("study-create"), study_fields(dataset) | rows)
        assert "nobody may take part" in text_of(response)


def test_shares_are_typed_in_percent_and_stay_so_when_the_form_comes_back(cast, dataset):
    client = client_of(cast.alice)
    fresh = client.get(url("study-create")).content.decode()
    assert 'name="qualification_threshold" value="85"' in fresh
    assert 'name="check_rate" value="0"' in fresh
    for sent in (
        study_fields(dataset, title=""),
        study_fields(dataset, title="", qualification_threshold=""),
    ):
        again = client.post(url("study-create"), sent).content.decode()
        assert 'name="qualification_threshold" value="85"' in again


class TestAgain:
    """Buttons of the form that save nothing."""

    def test_what_the_dataset_has(self, cast, dataset):
        sent = study_fields(dataset, title="Kept", action="refresh", tie_policy="off", check_rate="12")
        page = client_of(cast.alice).post(url("study-create"), sent).content.decode()
        assert 'value="Kept"' in page
        assert 'name="check_rate" value="12"' in page
        assert 'value="Rewrite"' in page
        assert "Not saved" not in page
        assert not Study.objects.exists()

    def test_a_starting_text_of_each_kind(self, cast, dataset):
        for kind in Kind.values:
            sent = study_fields(dataset, kind=kind, action="starting-text")
            response = client_of(cast.alice).post(url("study-create"), sent)
            text = response.context["form"]["guidelines"].value()
            assert len(text) > 800, kind
            assert "## An example" in text or "## Examples" in text
        assert not Study.objects.exists()


@pytest.mark.parametrize("kind", Kind.values)
def test_a_starting_text_flows_in_every_width(kind):
    """Line breaks are kept on the pages, so a text that is wrapped in its file would be ragged."""
    assert "<br" not in render_markdown(starting_text(kind))


class TestSuggestions:
    """What a new study's form offers before anybody has typed."""

    def size(self, client, query=""):
        return client.get(url("study-create") + query).context["form"]["qualification_size"].value()

    def test_a_test_is_suggested_from_gold_alone(self, cast):
        dataset_make(name="golden", pairs=30).items.update(gold={"choice": 1})
        dataset_make(name="bare", pairs=30).items.update(gold=None)
        client = client_of(cast.alice)
        assert [self.size(client, query) for query in ("?dataset=golden", "?dataset=bare", "")] == [10, 0, 0]

    def test_the_suggestion_follows_the_dataset_until_somebody_types(self, cast):
        golden = dataset_make(name="golden", pairs=30)
        golden.items.update(gold={"choice": 1})
        client = client_of(cast.alice)
        for typed, found in (("0", 10), ("3", "3"), ("", 10)):
            sent = {"action": "refresh", "dataset": golden.pk, "kind": "pairwise", "suggested_test": "0"}
            page = client.post(url("study-create"), sent | {"qualification_size": typed})
            assert page.context["form"]["qualification_size"].value() == found

    def test_the_kind_and_its_question_follow_the_dataset(self, cast):
        pairs, rated = dataset_make(name="pairs", pairs=4), dataset_make(name="rated", pairs=4)
        rated.items.update(kind="rubric", gold=None)
        client = client_of(cast.alice)
        usual = KINDS["rubric"].question

        def again(dataset, kind, question, action="refresh"):
            sent = {"action": action, "dataset": dataset.pk, "kind": kind, "question": question}
            form = client.post(url("study-create"), sent).context["form"]
            return form["kind"].value(), form["question"].value()

        form = client.get(url("study-create") + "?dataset=rated").context["form"]
        assert (form["kind"].value(), form["question"].value()) == ("rubric", usual)
        pairwise = KINDS["pairwise"].question
        assert again(rated, "pairwise", pairwise) == ("rubric", usual)
        assert again(rated, "pairwise", "Is it good?") == ("rubric", "Is it good?")
        assert again(pairs, "pairwise", pairwise) == ("pairwise", pairwise)
        # A kind that somebody clicks stays, though the dataset has none of it: the page says so beside it.
        assert again(pairs, "rubric", pairwise, action="kind") == ("rubric", usual)

    def test_the_estimate_has_the_suggested_test(self, cast):
        dataset_make(name="few", pairs=12).items.update(gold=None)
        page = client_of(cast.alice).get(url("study-create") + "?dataset=few")
        assert page.context["plan"].items == 12

    def test_only_data_of_the_kind_and_with_the_criteria_are_offered(self, cast):
        made = {name: dataset_make(name=name, pairs=4) for name in ("one", "same", "other", "pairs")}
        made["pairs"].items.update(gold={"choice": 1})
        for name, question in (("one", "Clear?"), ("same", "Clear?"), ("other", "Clever?")):
            made[name].items.update(kind="rubric", gold={"ratings": {"c": 3}})
            Criterion.objects.create(dataset=made[name], key="c", question=question, options={}, position=0)
        client = client_of(cast.alice)
        for name, offered in (("one", {"one", "same"}), ("pairs", {"pairs"})):
            form = client.get(url("study-create") + f"?dataset={name}").context["form"]
            for field in ("qualification_dataset", "training_dataset", "check_dataset"):
                assert {one.name for one in form.fields[field].queryset} == offered
        for source in ("other", "pairs"):
            with pytest.raises(StudyRuleError) as refused:
                study_create(
                    dataset=made["one"],
                    title="t",
                    kind="rubric",
                    qualification_size=2,
                    qualification_pass=1,
                    qualification_dataset=made[source],
                )
            assert refused.value.field == "qualification_dataset"


class TestEvidence:
    def test_it_is_kept_shown_copied_and_fixed_once_open(self, cast, dataset):
        alice = client_of(cast.alice)
        sent = study_fields(dataset, evidence="required")
        assert alice.post(url("study-create"), sent).status_code == 302
        study = Study.objects.get()
        assert study.evidence == "required"
        assert "required: at least one passage an item" in text_of(alice.get(url("study-detail", study.slug)))
        assert study_duplicate(study=study, owner=cast.alice).evidence == "required"
        assert "evidence" in FIXED_ONCE_OPEN

    def test_it_is_not_asked_unless_it_is_chosen(self, cast, dataset):
        client_of(cast.alice).post(url("study-create"), study_fields(dataset))
        assert Study.objects.get().evidence == "off"

    def test_kinds_without_passages_and_submits_on_choice_are_refused(self, dataset):
        common = {"dataset": dataset, "title": "T", "qualification_size": 0}
        with pytest.raises(StudyRuleError, match="also asks for evidence") as refused:
            study_create(**common, submit_on_choice=True, evidence="required")
        assert refused.value.field == "submit_on_choice"
        with pytest.raises(StudyRuleError) as refused:
            study_create(**common, evidence="sometimes")
        assert refused.value.field == "evidence"
        dataset.items.update(kind="importance")
        with pytest.raises(StudyRuleError, match="can't be marked") as refused:
            study_create(**common, kind="importance", evidence="optional")
        assert refused.value.field == "evidence"
        assert not Study.objects.exists()


class TestReadingAndSubmitting:
    RULES = ("submit_on_choice", "show_differences", "show_word_counts")

    def test_the_rules_of_the_page_are_kept_shown_and_copied(self, cast, dataset):
        alice = client_of(cast.alice)
        sent = study_fields(dataset, allow_changes="on", **dict.fromkeys(self.RULES, "on"))
        assert alice.post(url("study-create"), sent).status_code == 302
        study = Study.objects.get()
        assert all(getattr(study, rule) for rule in self.RULES)
        assert "shown, which biases people toward longer answers" in text_of(
            alice.get(url("study-detail", study.slug))
        )
        copy = study_duplicate(study=study, owner=cast.alice)
        assert all(getattr(copy, rule) for rule in self.RULES)

    @pytest.mark.parametrize(
        ("rules", "field", "words"),
        [
            ({"submit_on_choice": True, "response_sets": True}, "submit_on_choice", "response sets"),
            (
                {"submit_on_choice": True, "ask_comment": True, "require_comment": True},
                "submit_on_choice",
                "a comment",
            ),
            ({"submit_on_choice": True, "allow_changes": False}, "submit_on_choice", "undo"),
            ({"require_comment": True}, "require_comment", "turn on the comment"),
        ],
    )
    def test_rules_that_contradict_one_another_are_refused(self, dataset, rules, field, words):
        with pytest.raises(StudyRuleError, match=words) as refused:
            study_create(dataset=dataset, title="T", qualification_size=0, **rules)
        assert refused.value.field == field
        assert not Study.objects.exists()

    def test_only_pairs_submit_on_choice(self, dataset):
        dataset.items.update(kind="checklist")
        for rule in ("submit_on_choice", "show_differences"):
            with pytest.raises(StudyRuleError, match="is only for pairs"):
                study_create(
                    dataset=dataset, title="T", kind="checklist", qualification_size=0, **{rule: True}
                )


class TestFetchingAhead:
    def test_it_is_kept_shown_copied_and_changed_while_people_work(self, cast, dataset):
        alice = client_of(cast.alice)
        assert alice.post(url("study-create"), study_fields(dataset, fetch_ahead=3)).status_code == 302
        study = Study.objects.get()
        assert study.fetch_ahead == 3
        assert "Items fetched ahead 3" in text_of(alice.get(url("study-detail", study.slug)))
        assert study_duplicate(study=study, owner=cast.alice).fetch_ahead == 3

    def test_nothing_is_fetched_unless_it_is_said(self, cast, dataset):
        assert client_of(cast.alice).post(url("study-create"), study_fields(dataset)).status_code == 302
        assert Study.objects.get().fetch_ahead == 0

    @pytest.mark.parametrize("number", [6, -1, "x"])
    def test_more_than_a_few_are_refused(self, cast, dataset, number):
        page = client_of(cast.alice).post(url("study-create"), study_fields(dataset, fetch_ahead=number))
        assert page.context["form"].errors.keys() == {"fetch_ahead"}
        assert not Study.objects.exists()
