"""The study page: progress, people, figures, and the part of it that is looked at again and again."""

import re
from datetime import date, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Stage, Study
from annotation.selectors import costly
from annotation.selectors.progress import StudyProgress, study_pace
from annotation.services.quality import enrollment_suspend
from tests.annotation.cast import client_of, label_make, labels_make, text_of, url
from tests.annotation.factories import (
    annotator_make,
    enrollment_make,
    invitation_make,
    study_make,
)

pytestmark = pytest.mark.django_db


class TestPage:
    def test_nothing_yet(self, cast, study):
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "0 of 48 labels" in page
        assert "No labels yet" in page
        assert "Nobody has joined yet" in page

    def test_one_label_an_item_is_not_enough(self, cast, study):
        labels_make(study, [[1, None], [None, 2]])
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "Not enough labels yet" in page
        assert "2 of 48 labels" in page

    def test_figures(self, cast, study):
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "66.7%" in page
        assert "83.3%" in page
        assert "Early: 2 items" in page
        assert "n = 2" in page
        assert "Brainstorm" in page
        assert "simulated" not in page

    def test_simulated_labels_are_marked(self, cast, study):
        item = study.dataset.items.first()
        label_make(study=study, item=item, choice=1, annotator=annotator_make(is_simulated=True))
        label_make(study=study, item=item, choice=1)
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "1 of 2 annotators are simulated" in page
        Study.objects.update(is_simulated=True)
        assert "Simulated" in text_of(client_of(cast.alice).get(url("study-list")))

    def test_people_by_stage(self, cast, study):
        Study.objects.update(qualification_size=2, qualification_pass=2)
        for stage in (Stage.CONSENT, Stage.GUIDELINES, Stage.QUALIFICATION, Stage.WORK, Stage.DONE):
            enrollment_make(study=study, stage=stage)
        enrollment_make(study=study, stage=Stage.DECLINED)
        enrollment_make(study=study, stage=Stage.SCREENED_OUT)
        response = client_of(cast.alice).get(url("study-detail", "mine"))
        steps = {step.name: step.people for step in response.context["funnel"].steps}
        assert steps == {
            "Entered": 7,
            "Agreed to take part": 5,
            "Read the guidelines": 4,
            "Passed the test": 2,
            "Submitted a label": 0,
            "Finished": 1,
        }
        assert "1 did not pass the test. 1 declined." in text_of(response)

    def test_annotators_are_short_pseudonyms(self, cast, study):
        person = annotator_make(external_id="WORKER-9")
        label_make(study=study, item=study.dataset.items.first(), choice=1, annotator=person)
        page = client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        assert str(pseudonym(person.public_id, study=study.pk))[:8] in page
        assert "WORKER-9" not in page

    def test_text_of_others_is_escaped(self, cast, study):
        Study.objects.update(title="<script>alert(1)</script>", guidelines="<img src=x onerror=alert(1)>")
        page = client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        assert "<script>alert" not in page
        assert "<img" not in page

    def test_queries_are_few_and_do_not_grow(self, cast, study):
        client = client_of(cast.alice)
        counts = []
        for _ in range(2):
            cache.clear()
            with CaptureQueriesContext(connection) as context:
                client.get(url("study-detail", "mine"))
            counts.append(len(context))
            labels_make(study, [[1, 2], [1, 1], [2, 2]])
            invitation_make(study=study)
        assert counts[0] == counts[1] == 18


class TestLive:
    def seen(self, response):
        return re.search(r"seen=([^\"&]+)", response.content.decode())[1]

    def test_the_part_is_the_page_s_own(self, cast, study):
        labels_make(study, [[1, 1], [1, 2]])
        client = client_of(cast.alice)
        page, part = client.get(url("study-detail", "mine")), client.get(url("study-live", "mine"))
        assert part.content.decode().strip() in page.content.decode()
        assert "<html" not in part.content.decode()

    def test_nothing_new_is_no_content(self, cast, study):
        client = client_of(cast.alice)
        seen = self.seen(client.get(url("study-detail", "mine")))
        address = f"{url('study-live', 'mine')}?seen={seen}"
        assert client.get(address).status_code == 204
        label_make(study=study, item=study.dataset.items.first(), choice=1)
        response = client.get(address)
        assert response.status_code == 200
        assert "1 of 48 labels" in text_of(response)

    def test_a_new_person_is_news(self, cast, study):
        client = client_of(cast.alice)
        seen = self.seen(client.get(url("study-detail", "mine")))
        enrollment_make(study=study, stage=Stage.CONSENT)
        assert client.get(f"{url('study-live', 'mine')}?seen={seen}").status_code == 200

    def test_a_suspension_is_news(self, cast, study):
        enrollment = enrollment_make(study=study)
        client = client_of(cast.alice)
        seen = self.seen(client.get(url("study-detail", "mine")))
        enrollment_suspend(enrollment=enrollment, by=cast.alice, reason="x")
        response = client.get(f"{url('study-live', 'mine')}?seen={seen}")
        assert response.status_code == 200
        assert "1 suspended" in text_of(response)

    def test_what_waits_is_told_on_every_page(self, cast, study):
        labels_make(study, [[1, 2], [2, 2]])
        for name in ("study-detail", "study-pay", "study-entry", "study-people", "study-item-reports"):
            page = text_of(client_of(cast.alice).get(url(name, "mine")))
            assert "Adjudicate (1)" in page, name

    def test_looking_whether_there_is_news_is_cheap(self, cast, study):
        client = client_of(cast.alice)
        seen = self.seen(client.get(url("study-detail", "mine")))
        with CaptureQueriesContext(connection) as context:
            client.get(f"{url('study-live', 'mine')}?seen={seen}")
        assert len(context) == 6

    @pytest.mark.parametrize("state", ["draft", "paused", "closed"])
    def test_only_an_open_study_is_watched(self, cast, study, state):
        assert 'hx-trigger="every' in client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        Study.objects.update(state=state)
        page = client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        assert 'hx-trigger="every' not in page


def test_labels_by_day_have_no_gaps(cast, study):
    from annotation.selectors.progress import labels_by_day

    labels_make(study, [[1, 2]])
    (day,) = labels_by_day(study)
    assert day.labels == 2
    assert isinstance(day.day, date)


class TestPace:
    def pace(self, study, *, hours, labels, wanted=100):
        """The pace as it looks so many hours after the labels were given."""
        labels_make(study, [[1] * labels])
        now = timezone.now() + timedelta(hours=hours)
        return study_pace(study, StudyProgress(1, wanted, labels, 0, 0), now=now), now

    @pytest.fixture
    def wide(self, dataset, cast):
        return study_make(dataset=dataset, slug="wide", owner=cast.alice, overlap=12)

    def test_nothing_is_said_without_labels(self, wide):
        found = study_pace(wide, StudyProgress(1, 12, 0, 0, 0))
        assert (found.recent, found.per_hour, found.done_at, found.reason) == (
            0,
            None,
            None,
            "No labels yet.",
        )

    def test_the_end_at_the_pace_of_the_last_day(self, wide):
        found, now = self.pace(wide, hours=2, labels=10, wanted=40)
        assert (found.recent, found.per_hour) == (10, pytest.approx(5, rel=0.01))
        assert abs(found.done_at - now - timedelta(hours=6)) < timedelta(minutes=5)

    def test_too_early(self, wide):
        found, _ = self.pace(wide, hours=0.1, labels=10)
        assert found.done_at is None
        assert "Too early" in found.reason

    def test_a_day_without_labels(self, wide):
        found, _ = self.pace(wide, hours=100, labels=10)
        assert (found.recent, found.done_at) == (0, None)
        assert "last 24 hours" in found.reason

    def test_all_there(self, wide):
        found, _ = self.pace(wide, hours=2, labels=10, wanted=10)
        assert found.reason == "All labels are complete."


def test_the_steps_of_everybody(cast, study):
    Study.objects.update(
        training_size=2,
        qualification_size=2,
        qualification_pass=2,
        eligibility=[{"key": "a", "question": "?", "options": []}],
    )
    for stage in (Stage.ELIGIBILITY, Stage.GUIDELINES, Stage.TRAINING, Stage.QUALIFICATION, Stage.WORK):
        enrollment_make(study=study, stage=stage)
    enrollment_make(study=study, stage=Stage.SCREENED_OUT, screened_out_by="eligibility")
    enrollment_make(study=study, stage=Stage.SCREENED_OUT, screened_out_by="qualification")
    enrollment_make(study=study, stage=Stage.LEFT)
    enrollment_make(study=study, stage=Stage.WORK, suspended_at=timezone.now())
    response = client_of(cast.alice).get(url("study-detail", "mine"))
    steps = {step.name: step.people for step in response.context["funnel"].steps}
    assert steps == {
        "Entered": 9,
        "Agreed to take part": 8,
        "Eligible": 6,
        "Read the guidelines": 5,
        "Finished the training": 4,
        "Passed the test": 2,
        "Submitted a label": 0,
        "Finished": 0,
    }
    assert response.context["funnel"].gone == [
        "1 not eligible",
        "1 did not pass the test",
        "1 returned or timed out",
        "1 suspended",
    ]


def test_counting_that_takes_long_is_not_done_at_each_look(study, monkeypatch):
    calls = []

    def count():
        calls.append(1)
        return len(calls)

    monkeypatch.setattr(costly, "QUICK_SECONDS", -1)
    assert [costly.counted("looked-at", count) for _ in range(3)] == [1, 1, 1]
    monkeypatch.setattr(costly, "QUICK_SECONDS", 60)
    assert [costly.counted("quick", count) for _ in range(2)] == [2, 3]
