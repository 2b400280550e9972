"""The people of a study: their figures, the table, the page of each, and what is done about them."""

import re
import secrets
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.domain.pseudonyms import pseudonym
from annotation.models import (
    Action,
    Annotator,
    Assignment,
    Enrollment,
    Intervention,
    Kind,
    Label,
    Stage,
    Study,
    StudyItem,
)
from annotation.selectors.annotators import annotators_of, answers_of
from tests.annotation.cast import client_of, label_make, labels_make, text_of, url
from tests.annotation.factories import annotator_make, enrollment_make, study_make
from tests.annotation.kinds import kind_dataset_make, kind_label_make, kind_study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


def enrollment_of(study: Study, person: Annotator) -> Enrollment:
    return Enrollment.objects.get(study=study, annotator=person)


class TestPeople:
    def rows(self, study):
        return {row.enrollment.annotator_id: row for row in annotators_of(study).rows}

    def test_who_has_done_nothing_has_no_figures(self, cast, study):
        enrollment_make(study=study, stage=Stage.CONSENT)
        (row,) = annotators_of(study).rows
        assert row.figures.seconds is None
        assert row.agreement is None
        assert row.last_seen is None
        assert row.flags == ()

    def test_flags(self, cast, study):
        Study.objects.update(check_warn_below=0.8, check_minimum=3)
        study.refresh_from_db()
        odd = annotator_make()
        table = [[1, 1, 1]] * 8
        labels_make(study, table)
        items = [place.item for place in study.study_items.select_related("item").order_by("position")]
        for item in items[:8]:
            label_make(study=study, item=item, choice=2, annotator=odd, active_ms=1_000, pasted_chars=9)
        for label in Label.objects.filter(annotator=odd)[:3]:
            Label.objects.create(
                item=label.item, annotator=odd, study=study, kind="pairwise", value={"choice": 1}, choice=1,
                role="check", check_score=0.0, shown_order=[0, 1],
            )  # fmt: skip
        row = self.rows(study)[odd.pk]
        assert {flag.key for flag in row.flags} == {"fast", "disagrees", "checks", "pasted"}
        assert row.agreement.value == 0
        assert sum(bool(row.flags) for row in annotators_of(study).rows) == 1

    def test_the_time_of_a_change_is_no_time_of_an_item(self, cast, study):
        item = study.dataset.items.first()
        first = label_make(study=study, item=item, choice=1, active_ms=20_000)
        Label.objects.create(
            item=item, annotator=first.annotator, study=study, assignment=first.assignment, supersedes=first,
            kind="pairwise", value={"choice": 2}, choice=2, shown_order=[0, 1], active_ms=500,
        )  # fmt: skip
        (found,) = answers_of(study)
        assert np.isnan(found.seconds)
        assert found.shown == "2"

    def test_what_was_shown_is_undone(self, cast, study):
        items = list(study.dataset.items.all())
        label_make(study=study, item=items[0], choice=1, shown_order=[1, 0])
        assert answers_of(study)[0].shown == "2"

    def test_of_an_importance_ranking(self, cast, study):
        from annotation.models import Aspect, Item

        Study.objects.update(kind="importance")
        study.refresh_from_db()
        item = study.dataset.items.first()
        Item.objects.filter(pk=item.pk).update(kind="importance")
        for position, key in enumerate(["tone", "facts", "brevity"]):
            Aspect.objects.create(instruction=item.instruction, key=key, text=key, position=position)
        Label.objects.create(
            item=item, annotator=annotator_make(), study=study, kind="importance", shown_order=[2, 0, 1],
            value={"ranks": {"tone": 2, "facts": 3, "brevity": 1}},
        )  # fmt: skip
        assert answers_of(study)[0].shown == "[1, 2, 3]"  # they left the order as it was shown

    def test_queries_do_not_grow(self, cast, study):
        counts = []
        for _ in range(2):
            labels_make(study, [[1, 2], [1, 1], [2, 2]])
            cache.clear()
            for _ in range(2):
                with CaptureQueriesContext(connection) as context:
                    annotators_of(study)
                counts.append(len(context))
        assert counts == [7, 4, 7, 4]  # with reading the labels, and with what is known

    def test_an_intervention_is_news(self, cast, study):
        labels_make(study, [[1, 1]])
        before = {row.figures.set_aside for row in annotators_of(study).rows}
        person = Enrollment.objects.first()
        from annotation.services.quality import labels_set_aside

        labels_set_aside(enrollment=person, by=None, reason="x")
        after = sorted(row.figures.set_aside for row in annotators_of(study).rows)
        assert before == {0}
        assert after == [0, 1]


class TestTable:
    def test_columns(self, cast, study):
        people = labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = client_of(cast.alice).get(url("study-people", "mine"))
        words = text_of(page)
        for person in people:
            assert str(pseudonym(person.public_id, study=study.pk))[:8] in words
        assert "20 s" in words
        assert "data-sortable" in page.content.decode()
        assert "Everybody (3)" in words

    def test_nobody(self, cast, study):
        assert "Nobody has joined yet" in text_of(client_of(cast.alice).get(url("study-people", "mine")))

    def test_filter(self, cast, study):
        labels_make(study, [[1, 1]])
        held = Enrollment.objects.first()
        Enrollment.objects.filter(pk=held.pk).update(suspended_at="2026-01-01T00:00Z")
        page = text_of(client_of(cast.alice).get(url("study-people", "mine"), {"show": "suspended"}))
        assert held.short_pseudonym in page
        others = Enrollment.objects.exclude(pk=held.pk).select_related("annotator")
        assert all(other.short_pseudonym not in page for other in others)
        strange = client_of(cast.alice).get(url("study-people", "mine"), {"show": "<script>"})
        assert "Everybody (2)" in text_of(strange)

    def seen(self, response):
        return re.search(r"seen=([^\"&]+)", response.content.decode())[1]

    def test_live(self, cast, study):
        client = client_of(cast.alice)
        labels_make(study, [[1, 1]])
        address = url("study-people", "mine")
        page = client.get(address)
        seen = self.seen(page)
        htmx = {"HX-Request": "true"}
        with CaptureQueriesContext(connection) as context:
            assert client.get(f"{address}?seen={seen}", headers=htmx).status_code == 204
        assert len(context) == 6
        part = client.get(address, headers=htmx)
        assert part.content.decode().strip() in page.content.decode()
        Enrollment.objects.filter(pk=Enrollment.objects.first().pk).update(stage=Stage.DONE)
        assert client.get(f"{address}?seen={seen}", headers=htmx).status_code == 200
        Study.objects.update(state="closed")
        assert "seen=" not in client.get(address).content.decode()

    def test_only_who_may_identify_sees_the_platform_s_identifier(self, cast, study):
        person = annotator_make(source="prolific", external_id="WORKER-9")
        label_make(study=study, item=study.dataset.items.first(), choice=1, annotator=person)
        one = url("study-person", "mine", pseudonym(person.public_id, study=study.pk))
        for address in (url("study-people", "mine"), one):
            assert "WORKER-9" in client_of(cast.alice).get(address).content.decode()
            assert "WORKER-9" in client_of(cast.ann).get(address).content.decode()
        Study.objects.update(owner=None)
        for address in (url("study-people", "mine"), one):
            response = client_of(cast.bob).get(address)
            assert response.status_code == 200
            assert "WORKER-9" not in response.content.decode()

    def test_queries(self, cast, study):
        client, counts = client_of(cast.alice), []
        for _ in range(2):
            labels_make(study, [[1, 2], [1, 1], [2, 2]])
            cache.clear()
            with CaptureQueriesContext(connection) as context:
                client.get(url("study-people", "mine"))
            counts.append(len(context))
        assert counts[0] == counts[1] <= 20


class TestWho:
    @pytest.mark.parametrize("name", ["study-people", "study-person"])
    def test_strangers(self, cast, study, name):
        person = enrollment_make(study=study)
        address = url(name, "mine", *([person.pseudonym] if name == "study-person" else []))
        assert client_of(None).get(address).status_code == 302
        assert client_of(cast.carl).get(address).status_code == 403
        assert client_of(cast.bob).get(address).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 200

    def test_somebody_of_another_study(self, cast, study):
        other = enrollment_make(study=study_make(owner=cast.alice))
        known = (other.pseudonym, other.annotator.public_id)
        for public_id in (*known, "nobody", "00000000-0000-4000-8000-000000000000"):
            address = url("study-person", "mine", public_id)
            assert client_of(cast.alice).get(address).status_code == 404
            assert client_of(cast.alice).post(f"{address}suspend/").status_code == 404


def act(client, person: Enrollment, action: str, **fields: Any):
    given = {"nonce": secrets.token_hex(8), "reason": "careless"} | fields
    return client.post(url("study-person-act", "mine", person.pseudonym, action), given)


class TestActions:
    @pytest.fixture
    def person(self, study) -> Enrollment:
        labels_make(study, [[1], [2], [1]])
        return Enrollment.objects.select_related("annotator").get()

    def test_suspend_and_restore(self, cast, study, person):
        client = client_of(cast.alice)
        response = act(client, person, "suspend", text="Please write to us.", set_aside="on")
        assert response.status_code == 302
        page = text_of(client.get(response["Location"]))
        assert "The annotator is suspended" in page
        assert "Please write to us." in page
        person.refresh_from_db()
        assert person.suspended_because == "careless"
        assert person.n_accepted == 0
        assert person.interventions.get().by == cast.alice
        act(client, person, "restore", take_back="on")
        person.refresh_from_db()
        assert person.suspended_at is None
        assert person.n_accepted == 3

    def test_set_aside_take_back_and_message(self, cast, study, person):
        client = client_of(cast.alice)
        page = text_of(client.get(act(client, person, "set-aside")["Location"]))
        assert "3 labels excluded" in page
        page = text_of(client.get(act(client, person, "take-back")["Location"]))
        assert "3 labels count again" in page
        act(client, person, "message", text="Thank you.", reason="")
        done = list(person.interventions.values_list("action", flat=True))
        assert done == [Action.SET_ASIDE, Action.TAKE_BACK, Action.MESSAGE]

    @pytest.mark.parametrize("action", ["suspend", "restore", "set-aside", "take-back", "message"])
    def test_strangers(self, cast, study, person, action):
        assert act(client_of(None), person, action, text="x").status_code == 302
        assert act(client_of(cast.carl), person, action, text="x").status_code == 403
        assert act(client_of(cast.bob), person, action, text="x").status_code == 404
        address = url("study-person-act", "mine", person.pseudonym, action)
        assert client_of(cast.alice).get(address).status_code == 405
        assert not Intervention.objects.exists()

    def test_no_such_action(self, cast, study, person):
        assert act(client_of(cast.alice), person, "delete").status_code == 404

    @pytest.mark.parametrize("action", ["suspend", "set-aside", "message"])
    def test_the_same_form_twice_acts_once(self, cast, study, person, action):
        client, fields = client_of(cast.alice), {"nonce": "n" * 16, "text": "Hello."}
        act(client, person, action, **fields)
        act(client, person, action, **fields)
        assert Intervention.objects.count() == 1

    def test_refused_with_the_form_open_and_what_was_typed(self, cast, study, person):
        response = act(client_of(cast.alice), person, "suspend", reason="", text="Please write.")
        assert response.status_code == 422
        page = response.content.decode()
        assert "<details open><summary>Suspend" in page
        assert "Please write." in page
        assert not Intervention.objects.exists()

    def test_a_form_without_its_nonce_does_nothing(self, cast, study, person):
        assert act(client_of(cast.alice), person, "suspend", nonce="").status_code == 422

    def test_only_what_can_be_done_is_offered(self, cast, study, person):
        client = client_of(cast.alice)
        address = url("study-person", "mine", person.pseudonym)
        offered = {panel["name"] for panel in client.get(address).context["panels"]}
        assert offered == {"message", "suspend", "set-aside"}
        act(client, person, "suspend", set_aside="on")
        offered = {panel["name"] for panel in client.get(address).context["panels"]}
        assert offered == {"message", "restore", "take-back"}

    def test_text_of_others_is_escaped(self, cast, study, person):
        Label.objects.create(
            item=study.dataset.items.last(), annotator=person.annotator, study=study, kind="pairwise",
            value={"choice": 1}, choice=1, comment="<script>alert(1)</script>", shown_order=[0, 1],
        )  # fmt: skip
        page = client_of(cast.alice).get(url("study-person", "mine", person.pseudonym))
        assert "<script>alert" not in page.content.decode()
        assert "alert(1)" in page.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_form_sent_many_times_at_once(cast, study):
    labels_make(study, [[1], [2]])
    person = Enrollment.objects.select_related("annotator").get()
    clients = [client_of(cast.alice) for _ in range(4)]
    sent = all_at_once(
        lambda client: act(client, person, "suspend", nonce="n" * 16, set_aside="on").status_code, clients
    )
    assert sent == [302] * 4
    assert Intervention.objects.count() == 1
    assert Intervention.objects.get().n_labels == 2
    assert Assignment.objects.count() == 2


def test_rankings_of_checks_from_another_dataset_are_told_apart():
    """Else every check would look like the same answer again."""
    checks = kind_dataset_make(Kind.IMPORTANCE, items=2)
    study = kind_study_make(Kind.IMPORTANCE, items=1, check_dataset=checks)
    annotator = annotator_make()
    ranks = [{"format": 1, "length": 2, "tone": 3}, {"format": 3, "length": 2, "tone": 1}]
    for item, given in zip(checks.items.order_by("position"), ranks, strict=True):
        StudyItem.objects.create(study=study, item=item, position=item.pk, overlap=4)
        kind_label_make(study, item, {"ranks": given}, annotator=annotator, role="check")
    assert len({answer.shown for answer in answers_of(study)}) == 2


def test_a_study_that_closes_ends_the_looking(cast):
    study = study_make(pairs=1, owner=cast.alice)
    labels_make(study, [[1, 2]])
    address = url("study-people", study.slug)
    seen = re.search(r"seen=([^\"]+)\"", client_of(cast.alice).get(address).content.decode())[1]
    Study.objects.update(state="closed")
    again = client_of(cast.alice).get(f"{address}?seen={seen}", headers={"HX-Request": "true"})
    assert again.status_code == 200
    assert "hx-trigger" not in again.content.decode()
