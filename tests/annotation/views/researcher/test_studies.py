"""A researcher's studies: who sees which, their states and their links. For each page that changes something: the
happy path, a stranger, somebody else's row, and the same request twice.
"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Invitation, Stage, Study, StudyItem, StudyState
from tests.annotation.cast import Cast, client_of, label_make, study_fields, text_of, url
from tests.annotation.factories import (
    dataset_make,
    enrollment_make,
    invitation_make,
    study_make,
)
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


class TestWhoSeesWhat:
    def test_each_researcher_sees_their_own_and_nobodys(self, cast, study):
        study_make(title="Of nobody", owner=None)
        assert "Mine" in text_of(client_of(cast.alice).get(url("study-list")))
        page = text_of(client_of(cast.bob).get(url("study-list")))
        assert "Mine" not in page
        assert "Of nobody" in page
        assert "Mine" in text_of(client_of(cast.ann).get(url("study-list")))

    def test_a_study_of_a_private_dataset_is_for_who_may_see_the_dataset(self, cast):
        secret = dataset_make(pairs=1, split="private", owner=cast.alice)
        study_make(dataset=secret, slug="hidden", owner=None)
        assert client_of(cast.alice).get(url("study-detail", "hidden")).status_code == 200
        assert client_of(cast.bob).get(url("study-detail", "hidden")).status_code == 404
        assert secret.name not in client_of(cast.bob).get(url("study-create")).content.decode()

    @pytest.mark.parametrize("page", ["study-detail", "study-live", "study-edit"])
    def test_somebody_elses_study_is_not_there(self, cast, study, page):
        assert client_of(None).get(url(page, "mine")).status_code == 302
        assert client_of(cast.carl).get(url(page, "mine")).status_code == 403
        assert client_of(cast.bob).get(url(page, "mine")).status_code == 404
        assert client_of(cast.alice).get(url(page, "mine")).status_code == 200
        assert client_of(cast.ann).get(url(page, "mine")).status_code == 200
        assert client_of(cast.alice).get(url(page, "other")).status_code == 404

    @pytest.mark.parametrize(
        ("page", "data"),
        [
            ("study-edit", {"title": "Theirs"}),
            ("study-state", {"action": "close"}),
            ("invitation-create", {"note": "x"}),
        ],
    )
    def test_somebody_elses_study_cannot_be_changed(self, cast, study, page, data):
        assert client_of(None).post(url(page, "mine"), data).status_code == 302
        assert client_of(cast.carl).post(url(page, "mine"), data).status_code == 403
        assert client_of(cast.bob).post(url(page, "mine"), data).status_code == 404
        study.refresh_from_db()
        assert (study.title, study.state) == ("Mine", StudyState.OPEN)
        assert not Invitation.objects.exists()


class TestList:
    def test_the_states_are_counted_and_chosen(self, cast, study):
        study_make(title="Asleep", owner=cast.alice, state="paused")
        client = client_of(cast.alice)
        page = text_of(client.get(url("study-list")))
        assert "All 2" in page
        assert "Paused 1" in page
        only = text_of(client.get(url("study-list") + "?state=paused"))
        assert "Asleep" in only
        assert "Mine" not in only
        assert client.get(url("study-list") + "?state=nonsense").status_code == 200

    def test_nothing_yet(self, cast):
        assert "No studies yet" in text_of(client_of(cast.alice).get(url("study-list")))

    def test_progress(self, cast, study):
        label_make(study=study, item=study.dataset.items.first(), choice=1)
        assert "1 of 48" in text_of(client_of(cast.alice).get(url("study-list")))

    def test_queries_do_not_grow_with_the_studies(self, cast, study):
        client = client_of(cast.alice)
        client.get(url("study-list"))
        counts = []
        for _ in range(2):
            with CaptureQueriesContext(connection) as context:
                client.get(url("study-list"))
            counts.append(len(context))
            for _ in range(3):
                study_make(owner=cast.alice, dataset=study.dataset)
        assert counts[0] == counts[1] == 5


class TestStates:
    def act(self, user, action, slug="mine"):
        return client_of(user).post(url("study-state", slug), {"action": action}, follow=True)

    def test_a_draft_is_opened_paused_opened_again_and_closed(self, cast, dataset):
        client_of(cast.alice).post(url("study-create"), study_fields(dataset))
        slug = Study.objects.get().slug
        for action, state in [("open", "open"), ("pause", "paused"), ("open", "open"), ("close", "closed")]:
            assert self.act(cast.alice, action, slug).status_code == 200
            assert Study.objects.get().state == state
        assert StudyItem.objects.count() == 10
        assert "be reopened" in text_of(self.act(cast.alice, "open", slug))
        assert Study.objects.get().state == "closed"

    @pytest.mark.parametrize("action", ["open", "pause", "close"])
    def test_twice_is_once(self, cast, study, action):
        pages = [self.act(cast.alice, action) for _ in range(2)]
        assert "t work: " not in text_of(pages[1])

    def test_a_draft_cannot_be_paused(self, cast, dataset):
        study_make(dataset=dataset, slug="draft", owner=cast.alice, state="draft")
        assert "t work: " in text_of(self.act(cast.alice, "pause", "draft"))
        assert Study.objects.get(slug="draft").state == "draft"

    def test_what_is_missing_is_said(self, cast):
        plain = dataset_make(pairs=3, gold=False)
        study_make(dataset=plain, slug="draft", owner=cast.alice, state="draft")
        Study.objects.update(qualification_size=2)
        StudyItem.objects.all().delete()
        assert "the test needs 2 items with a known right answer" in text_of(
            self.act(cast.alice, "open", "draft")
        )
        assert Study.objects.get().state == "draft"

    def test_another_action_is_none(self, cast, study):
        assert self.act(cast.alice, "delete").status_code == 404
        assert client_of(cast.alice).get(url("study-state", "mine")).status_code == 405


class TestInvitations:
    def test_a_link_is_made_shown_and_works(self, cast, study):
        client = client_of(cast.alice)
        last = timezone.now().date() + timedelta(days=3)
        data = {"note": "Colleagues", "max_annotators": 5, "last_day": last.isoformat()}
        page = client.post(url("invitation-create", "mine"), data, follow=True)
        invitation = Invitation.objects.get()
        assert (invitation.note, invitation.max_annotators) == ("Colleagues", 5)
        assert invitation.expires_at.date() == last + timedelta(days=1)
        assert f"http://testserver{url('join', invitation.token)}" in text_of(page)
        assert "0 of 5 people" in text_of(page)
        assert client_of(None).get(url("join", invitation.token)).status_code == 200

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({"max_annotators": 0}, "greater than or equal to 1"),
            ({"last_day": "2001-01-01"}, "This day is in the past."),
            ({"last_day": "soon"}, "Enter a valid date."),
            ({"note": "x" * 201}, "at most 200"),
        ],
    )
    def test_what_is_wrong_is_said(self, cast, study, data, message):
        response = client_of(cast.alice).post(url("invitation-create", "mine"), data)
        assert response.status_code == 200
        assert message in text_of(response)
        assert not Invitation.objects.exists()

    def test_today_is_not_over(self, cast, study):
        data = {"last_day": timezone.now().date().isoformat()}
        assert client_of(cast.alice).post(url("invitation-create", "mine"), data).status_code == 302
        assert Invitation.objects.get().expires_at > timezone.now()

    def test_revoking_twice_is_once(self, cast, study):
        invitation = invitation_make(study=study)
        client, address = client_of(cast.alice), url("invitation-revoke", "mine", invitation.pk)
        client.post(address)
        invitation.refresh_from_db()
        revoked = invitation.revoked_at
        assert revoked is not None
        page = client.post(address, follow=True)
        invitation.refresh_from_db()
        assert invitation.revoked_at == revoked
        assert invitation.token not in page.content.decode()

    def test_somebody_elses_link(self, cast, study):
        invitation = invitation_make(study=study)
        address = url("invitation-revoke", "mine", invitation.pk)
        assert client_of(None).post(address).status_code == 302
        assert client_of(cast.carl).post(address).status_code == 403
        assert client_of(cast.bob).post(address).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 405
        study_make(slug="bobs", owner=cast.bob)
        assert client_of(cast.bob).post(url("invitation-revoke", "bobs", invitation.pk)).status_code == 404
        invitation.refresh_from_db()
        assert invitation.revoked_at is None

    def test_full_and_expired_links_are_marked(self, cast, study):
        full = invitation_make(study=study, note="Packed", max_annotators=1)
        enrollment_make(study=study, invitation=full)
        invitation_make(study=study, note="Past", expires_at=timezone.now() - timedelta(days=1))
        empty = invitation_make(study=study, note="Free", max_annotators=1)
        enrollment_make(study=study, invitation=empty, stage=Stage.DECLINED)
        page = text_of(client_of(cast.alice).get(url("study-detail", "mine")))
        assert page.count("Full") == 1
        assert page.count("Expired") == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_opening_a_draft_from_many_tabs_makes_its_items_once():
    cast, dataset = Cast.make(), dataset_make(pairs=12)
    client_of(cast.alice).post(url("study-create"), study_fields(dataset))
    slug, tabs = Study.objects.get().slug, 6

    def press(client):
        return client.post(url("study-state", slug), {"action": "open"}).status_code

    assert set(all_at_once(press, browsers_of(cast.alice, tabs))) == {302}
    study = Study.objects.get()
    assert study.state == "open"
    assert study.study_items.count() == 10
    assert study.qualification_questions.count() == 2
