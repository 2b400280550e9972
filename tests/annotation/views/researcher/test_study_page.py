"""The study page: progress, people, figures, and the part of it that is looked at again and again."""

import re
import time
from datetime import date, timedelta
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Stage, Study
from annotation.selectors import agreement, costly
from annotation.selectors.progress import StudyProgress, study_pace
from annotation.services.quality import enrollment_suspend, labels_set_aside
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
        assert counts[0] == counts[1] == 17


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
    from annotation.selectors.progress import labels_by_day, study_activity

    labels_make(study, [[1, 2]])
    (day,) = labels_by_day(study_activity(study))
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


class TestManyLabels:
    """Figures of many labels: the page doesn't wait for them, and they aren't counted at each label."""

    @pytest.fixture(autouse=True)
    def many(self, monkeypatch):
        monkeypatch.setattr(agreement, "MOST_AT_ONCE", 3)

    @pytest.fixture
    def clock(self, monkeypatch):
        """Seconds, which pass by what is added to them."""
        clock = SimpleNamespace(now=1_000_000.0)
        monkeypatch.setattr(costly, "time", SimpleNamespace(time=lambda: clock.now, monotonic=time.monotonic))
        return clock

    def test_the_page_asks_for_them_once_it_is_there(self, cast, study):
        client, address = client_of(cast.alice), url("study-detail", "mine")
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = client.get(address).content.decode()
        assert "Counting 6 labels" in page
        assert "66.7%" not in page
        live = re.search(r'id="study-live" hx-get="([^"]+)" hx-trigger="load"', page)[1]
        assert "study-judges" not in page
        part = client.get(live.replace("&amp;", "&")).content.decode()
        assert "66.7%" in part
        assert "Counting" not in part
        assert reverse("metaeval:study-judges", args=["mine"]) in part
        assert 'hx-trigger="every 10s"' in part
        # They are known now, and the page has them at once.
        again = client.get(address).content.decode()
        assert "66.7%" in again
        assert again.count(reverse("metaeval:study-judges", args=["mine"])) == 1

    def test_without_scripts_a_link_shows_them(self, cast, study):
        client, address = client_of(cast.alice), url("study-detail", "mine")
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        assert '<noscript><a href="?now=1' in client.get(address).content.decode()
        assert "66.7%" in client.get(f"{address}?now=1").content.decode()

    def test_the_same_of_people(self, cast, study):
        client, address = client_of(cast.alice), url("study-people", "mine")
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = client.get(address).content.decode()
        assert "Counting the labels of 3 people" in page
        assert "people-table" not in page
        assert url("study-reasons-to-look", "mine") not in page
        part = client.get(f"{address}?show=", headers={"HX-Request": "true"}).content.decode()
        assert "people-table" in part
        assert url("study-reasons-to-look", "mine") in part
        assert "people-table" in client.get(address).content.decode()

    def test_the_same_of_people_without_scripts(self, cast, study):
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = client_of(cast.alice).get(f"{url('study-people', 'mine')}?now=1")
        assert "people-table" in page.content.decode()

    def test_more_labels_count_after_a_while(self, cast, study, clock, monkeypatch):
        def slow(*given):
            clock.now += 3
            return counted(*given)

        counted = agreement.agreement_compute
        monkeypatch.setattr(agreement, "agreement_compute", slow)
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        assert agreement.agreement_so_far(study).labels == 6
        labels_make(study, [[None] * 3, [None] * 3, [1, 1, 2]])
        assert agreement.agreement_so_far(study).labels == 6
        clock.now += 3 * costly.PATIENCE - 4
        assert agreement.agreement_so_far(study).labels == 6
        assert agreement.is_agreement_counted(study, agreement.label_stamp(study))
        clock.now += 2
        assert not agreement.is_agreement_counted(study, agreement.label_stamp(study))
        assert agreement.agreement_so_far(study).labels == 9

    def test_what_was_set_aside_is_gone_at_once(self, cast, study, clock):
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        assert agreement.agreement_so_far(study).labels == 6
        labels_set_aside(enrollment=study.enrollments.first(), by=cast.alice, reason="spam")
        assert agreement.agreement_so_far(study).labels == 4

    def test_of_few_each_label_counts(self, cast, study, clock, monkeypatch):
        monkeypatch.setattr(agreement, "MOST_AT_ONCE", 100)
        for n in (1, 2, 3):
            labels_make(study, [[None] * 2] * n + [[1, 1]])
            assert agreement.agreement_so_far(study).labels == 2 * n
