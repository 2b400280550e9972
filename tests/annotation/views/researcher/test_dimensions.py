"""Dimensions and reasons for researchers: the form of a study, agreement by dimension, reasons counted, items."""

import re

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.domain.errors import StudyRuleError
from annotation.models import Kind, Label, Study
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.picked import reasons_so_far
from annotation.services.studies import study_create, study_duplicate, study_open
from metaeval.services.reports import report_build
from tests.annotation.cast import client_of, study_fields, text_of, url
from tests.annotation.factories import annotator_make
from tests.annotation.kinds import kind_study_make

pytestmark = pytest.mark.django_db
DIMENSIONS = [
    {"key": "all", "name": "Overall", "definition": "", "overall": True},
    {"key": "factual", "name": "Factual accuracy", "definition": "Fewer false statements.", "overall": False},
]
REASONS = [{"key": "shorter", "words": "Shorter"}, {"key": "more-accurate", "words": "More accurate"}]
ROWS = {
    "dimensions-0-name": "Overall",
    "dimensions-1-name": "Factual  accuracy",
    "dimensions-1-definition": "Fewer false statements.",
    "dimensions-3-name": "Style",
    "dimensions-overall": "3",
    "reasons": "Shorter\n\n More   accurate \n",
    "require_reason": "on",
}


class TestForm:
    @pytest.fixture
    def alice(self, cast):
        return client_of(cast.alice)

    def test_they_are_kept_shown_and_copied(self, cast, alice, dataset):
        sent = study_fields(dataset, **ROWS)
        assert alice.post(url("study-create"), sent).status_code == 302
        study = Study.objects.get()
        assert study.dimensions == [
            {"key": "overall", "name": "Overall", "definition": "", "overall": False},
            {
                "key": "factual-accuracy",
                "name": "Factual accuracy",
                "definition": "Fewer false statements.",
                "overall": False,
            },
            {"key": "style", "name": "Style", "definition": "", "overall": True},
        ]
        assert study.reasons == REASONS
        assert study.require_reason
        text = text_of(alice.get(url("study-detail", study.slug)))
        assert "Dimensions Overall , Factual accuracy , Style (overall)" in text
        assert "Reasons Shorter , More accurate (at least one required)" in text
        edit = alice.get(url("study-edit", study.slug)).content.decode()
        assert 'name="dimensions-2-name" value="Style"' in edit
        assert 'name="dimensions-overall" value="2" checked' in edit
        assert ">\nShorter\nMore accurate</textarea>" in edit
        # Sent twice it is one study; names that change keep their keys, words that change don't.
        alice.post(url("study-create"), sent)
        assert Study.objects.count() == 1
        changed = study_fields(
            dataset,
            **{
                "dimensions-0-key": "overall",
                "dimensions-0-name": "All in all",
                "dimensions-1-name": "Style",
                "dimensions-overall": "0",
                "reasons": "More accurate\nLonger",
            },
        )
        assert alice.post(url("study-edit", study.slug), changed).status_code == 302
        study.refresh_from_db()
        assert [each["key"] for each in study.dimensions] == ["overall", "style"]
        assert [each["key"] for each in study.reasons] == ["more-accurate", "longer"]
        assert not study.require_reason
        copied = study_duplicate(study=study, owner=cast.alice)
        assert (copied.dimensions, copied.reasons) == (study.dimensions, study.reasons)

    def test_what_was_typed_stays_after_a_refusal(self, alice, dataset):
        page = alice.post(url("study-create"), study_fields(dataset, **ROWS | {"title": ""}))
        html = page.content.decode()
        assert 'name="dimensions-1-name" value="Factual accuracy"' in html
        assert 'name="dimensions-overall" value="2" checked' in html
        again = alice.post(
            url("study-create"), study_fields(dataset, action="refresh", **ROWS)
        ).content.decode()
        assert 'name="dimensions-2-name" value="Style"' in again
        assert not Study.objects.exists()

    @pytest.mark.parametrize(
        ("sent", "words"),
        [
            (
                {"dimensions-1-name": "", "dimensions-1-definition": "", "dimensions-3-name": ""},
                "at least two",
            ),
            ({"dimensions-overall": ""}, "Choose which dimension is the overall one."),
            ({"dimensions-3-name": "overall"}, "Two dimensions have the name “overall”."),
            ({"dimensions-1-name": ""}, "Dimension 2 has a definition, but no name."),
            ({"dimensions-3-name": "x" * 61}, "The name of dimension 3 is longer than 60 characters."),
            ({"reasons": "Shorter\nshorter"}, "“shorter” is listed twice."),
            ({"reasons": "x" * 61}, "Reason 1 is longer than 60 characters."),
            ({"reasons": "\n".join(map(str, range(13)))}, "At most 12 reasons can be offered; these are 13."),
            ({"response_sets": "on"}, "A response set is of one question"),
            ({"submit_on_choice": "on", "allow_changes": "on"}, "also asks for answers on other dimensions"),
        ],
    )
    def test_what_is_refused(self, alice, dataset, sent, words):
        page = alice.post(url("study-create"), study_fields(dataset, **ROWS | sent))
        assert page.status_code in (200, 422)
        assert words in text_of(page)
        assert not Study.objects.exists()

    def test_other_kinds_have_none(self, cast, alice, dataset):
        dataset.items.update(kind="checklist", gold=None)
        sent = study_fields(dataset, kind="checklist", **ROWS)
        sent |= {"qualification_size": 0, "qualification_pass": 0}
        assert alice.post(url("study-create"), sent).status_code == 302
        study = Study.objects.get()
        assert study.dimensions == []
        assert study.reasons == REASONS
        with pytest.raises(StudyRuleError, match="only pairs") as refused:
            study_create(
                dataset=dataset, title="T", kind="checklist", dimensions=DIMENSIONS, qualification_size=0
            )
        assert refused.value.field == "dimensions"

    def test_they_are_fixed_once_people_come(self, alice, dataset):
        sent = study_fields(dataset, **ROWS)
        alice.post(url("study-create"), sent)
        study = Study.objects.get()
        study_open(study=study)
        before = (study.dimensions, study.reasons)
        page = alice.get(url("study-edit", study.slug)).content.decode()
        assert re.search(r'name="dimensions-0-name"[^>]* disabled', page)
        assert alice.post(url("study-edit", study.slug), sent | {"reasons": "Longer"}).status_code == 302
        study.refresh_from_db()
        assert (study.dimensions, study.reasons) == before

    def test_another_researcher_changes_nothing(self, cast, alice, dataset):
        alice.post(url("study-create"), study_fields(dataset, **ROWS))
        study = Study.objects.get()
        sent = study_fields(dataset, reasons="Longer")
        assert client_of(cast.bob).post(url("study-edit", study.slug), sent).status_code == 404
        assert client_of(None).post(url("study-edit", study.slug), sent).status_code == 302
        study.refresh_from_db()
        assert study.reasons == REASONS

    def test_combinations_that_make_no_sense(self, dataset):
        common = {"dataset": dataset, "title": "T", "qualification_size": 0}
        for rules, field in (
            ({"require_reason": True}, "require_reason"),
            ({"reasons": REASONS, "submit_on_choice": True}, "submit_on_choice"),
            ({"dimensions": DIMENSIONS, "submit_on_choice": True}, "submit_on_choice"),
            ({"dimensions": DIMENSIONS, "response_sets": True}, "response_sets"),
            ({"dimensions": [DIMENSIONS[0]]}, "dimensions"),
            ({"reasons": "Shorter"}, "reasons"),
        ):
            with pytest.raises(StudyRuleError) as refused:
                study_create(**common, **rules)
            assert refused.value.field == field


def study_of(owner, *, asks=True):
    """Three people label four pairs: overall they agree, on the facts the second is always of another mind."""
    rules = {"dimensions": DIMENSIONS, "reasons": REASONS, "preference_points": 5} if asks else {}
    study = kind_study_make(Kind.PAIRWISE, items=4, owner=owner, **rules)
    people = [annotator_make() for _ in range(3)]
    for item in study.dataset.items.order_by("position"):
        for place, person in enumerate(people):
            value = {"choice": 1}
            if asks:
                other = (
                    {"choice": 2, "strength": "much"} if place == 1 else {"choice": 1, "strength": "slightly"}
                )
                value |= {"strength": "much", "dimensions": {"factual": other}}
                value["reasons"] = ["shorter"] if place < 2 else []
            Label.objects.create(
                item=item, annotator=person, study=study, kind="pairwise", value=value, choice=1
            )
    return study


def page_of(user, study, **query):
    return client_of(user).get(reverse("annotation:study-detail", args=[study.slug]), query)


class TestStudyPage:
    def test_agreement_of_each_dimension_is_that_of_its_report(self, cast):
        study = study_of(cast.alice)
        overall, factual = agreement_so_far(study), agreement_so_far(study, dimension="factual")
        name = overall.own.of_everyone
        assert overall.of_everyone["value"] == 1.0
        assert factual.of_everyone["value"] < 0.5
        report = report_build(dataset=study.dataset, study=study, n_resamples=0, dimension="factual")
        assert factual.of_everyone["value"] == report.people.measures[name]["overall"]["value"]
        assert report.dimension == {"key": "factual", "name": "Factual accuracy"}
        grades = [found for figure, found in factual.figures if "grade" in figure.name]
        assert grades

    def test_the_page_leads_from_one_to_the_other(self, cast):
        study = study_of(cast.alice)
        html = page_of(cast.alice, study).content.decode()
        nav = re.search(r'<nav class="segmented" aria-label="Dimension">(.*?)</nav>', html, re.S)[1]
        assert (
            re.findall(r'(aria-current="page")?[^>]*>([^<]+)</a>', nav)
            == [
                ('aria-current="page"', "Overall"),
                ("", "Factual accuracy"),
            ]
            or "Factual accuracy" in nav
        )
        there = page_of(cast.alice, study, dimension="factual").content.decode()
        assert "Fewer false statements." in there
        assert "&amp;dimension=factual" in re.search(r'hx-get="[^"]*live/[^"]*"', there)[0]
        assert f"?study={study.slug}&amp;dimension=factual" in there
        # What there isn't is the overall one, as the overall one itself is.
        for unknown in ("style", "all", "<script>"):
            assert (
                "Fewer false statements."
                not in page_of(cast.alice, study, dimension=unknown).content.decode()
            )

    def test_reasons_are_counted(self, cast):
        study = study_of(cast.alice)
        found = reasons_so_far(study)
        assert (found.labels, found.with_any) == (12, 8)
        short, accurate = found.rows
        assert (short.words, short.labels) == ("Shorter", 8)
        assert short.share["value"] == pytest.approx(8 / 12)
        assert short.share["low"] < 8 / 12 < short.share["high"]
        assert accurate.labels == 0
        assert found.columns == ("secret-system-0",) or len(found.columns) == 1
        assert short.by_column == ((8, 12),)
        text = text_of(page_of(cast.alice, study))
        assert "Over 12 labels, 8 of them with at least one reason." in text

    @pytest.mark.parametrize("kind", [Kind.RUBRIC, Kind.ANSWER_RANKING, Kind.CLASSIFICATION])
    def test_reasons_of_other_kinds(self, cast, kind):
        study = kind_study_make(kind, items=2, owner=cast.alice, reasons=REASONS)
        value = {
            Kind.RUBRIC: {"ratings": {"helpful": 4, "clear": 5}},
            Kind.ANSWER_RANKING: {"ranks": {"0": 1, "1": 2, "2": 3}},
            Kind.CLASSIFICATION: {"categories": {"format": True, "length": False, "tone": False}},
        }[kind]
        for item in study.dataset.items.all():
            Label.objects.create(
                item=item,
                annotator=annotator_make(),
                study=study,
                kind=kind,
                value=value | {"reasons": ["shorter"]},
            )
        found = reasons_so_far(study)
        assert found.rows[0].labels == 2
        assert len(found.columns) == (0 if kind == Kind.ANSWER_RANKING else 1)
        assert page_of(cast.alice, study).status_code == 200

    def test_no_query_more_than_two(self, cast):
        numbers = []
        for asks in (False, True):
            study = study_of(cast.alice, asks=asks)
            cache.clear()
            with CaptureQueriesContext(connection) as context:
                page_of(cast.alice, study)
            numbers.append(len(context))
            with CaptureQueriesContext(connection) as context:
                page_of(cast.alice, study)
            numbers.append(len(context))
        assert numbers[2] <= numbers[0] + 3  # labels, systems and clusters of the reasons
        assert numbers[3] == numbers[1]

    def test_the_page_of_an_item_has_them(self, cast):
        study = study_of(cast.alice)
        item = study.dataset.items.order_by("position").first()
        address = reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk])
        text = text_of(client_of(cast.alice).get(address))
        assert "factual: second response (much)" in text
        assert "Shorter" in text

    def test_another_researcher_sees_nothing(self, cast):
        study = study_of(cast.alice)
        assert page_of(cast.bob, study, dimension="factual").status_code == 404
