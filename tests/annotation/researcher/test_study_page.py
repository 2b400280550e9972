"""The study page: progress, people, figures, and the part of it that is looked at again and again."""

import re
from datetime import date

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Stage, Study
from tests.annotation.cast import client_of, label_make, labels_make, text_of, url
from tests.annotation.factories import (
    annotator_make,
    enrollment_make,
    invitation_make,
)

pytestmark = pytest.mark.django_db


class TestPage:
    def test_nothing_yet(self, cast, study):
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "0 of 48 labels" in page
        assert "No labels yet" in page
        assert "Nobody has come in yet" in page

    def test_one_label_an_item_is_not_enough(self, cast, study):
        labels_make(study, [[1, None], [None, 2]])
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "Not enough labels yet" in page
        assert "2 of 48 labels" in page

    def test_figures(self, cast, study):
        labels_make(study, [[1, 1, 2], [2, 2, 2]])
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert "66.7 %" in page
        assert "83.3 %" in page
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
            "Gave a label": 0,
            "Finished": 1,
        }
        assert "1 did not pass the test. 1 declined." in text_of(response)

    def test_annotators_are_short_pseudonyms(self, cast, study):
        person = annotator_make(external_id="WORKER-9")
        label_make(study=study, item=study.dataset.items.first(), choice=1, annotator=person)
        page = client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        assert str(person.public_id)[:8] in page
        assert "WORKER-9" not in page

    def test_text_of_others_is_escaped(self, cast, study):
        Study.objects.update(title="<script>alert(1)</script>", guidelines="<img src=x onerror=alert(1)>")
        page = client_of(cast.alice).get(url("study-detail", "mine")).content.decode()
        assert "<script>alert" not in page
        assert "<img" not in page

    def test_only_the_owner_is_offered_identities(self, cast, study):
        Study.objects.update(owner=None)
        assert "identify=1" not in client_of(cast.bob).get(url("study-detail", "mine")).content.decode()
        assert "identify=1" in client_of(cast.ann).get(url("study-detail", "mine")).content.decode()

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
        assert counts[0] == counts[1] == 10


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
