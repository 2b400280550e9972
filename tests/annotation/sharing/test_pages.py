"""The pages on which a study or a dataset is shared and given away, and those of teams."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import AccessGrant, Dataset, Invitation, Study, Team, TeamMember
from annotation.services.sharing import access_grant
from annotation.services.teams import member_add, team_create
from tests.annotation.cast import Cast, client_of, labels_make
from tests.annotation.factories import dataset_make, invitation_make, study_make, user_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(cast: Cast) -> Study:
    return study_make(
        owner=cast.alice, dataset=dataset_make(owner=cast.alice, split="private", name="secret"), slug="hers"
    )


@pytest.fixture
def cast() -> Cast:
    return Cast.make()


def url(name, *args):
    return reverse(f"annotation:{name}", args=args)


# Each page with what its address names and where its grants are.
PAGES = [("study", "hers"), ("dataset", "secret")]


@pytest.mark.parametrize(("kind", "name"), PAGES)
class TestShare:
    def share(self, user, kind, name, **said):
        return client_of(user).post(url(f"{kind}-share", name), said)

    def of(self, kind):
        return AccessGrant.objects.filter(**{f"{kind}__isnull": False})

    def test_a_person_gets_access(self, cast, study, kind, name):
        response = self.share(cast.alice, kind, name, person="bob", role="editor")
        assert response.status_code == 302
        assert self.of(kind).get().role == "editor"
        assert client_of(cast.bob).get(url(f"{kind}-detail", name)).status_code == 200
        page = client_of(cast.alice).get(url(f"{kind}-share", name)).content.decode()
        assert "Make viewer" in page

    def test_sent_twice_is_once(self, cast, study, kind, name):
        for _ in range(2):
            assert self.share(cast.alice, kind, name, person="bob", role="viewer").status_code == 302
        assert self.of(kind).count() == 1

    def test_a_team_gets_access(self, cast, study, kind, name):
        team = team_create(name="Tasters", by=cast.alice)
        member_add(team=team, user=cast.bob)
        assert self.share(cast.alice, kind, name, team=team.pk, role="viewer").status_code == 302
        assert client_of(cast.bob).get(url(f"{kind}-detail", name)).status_code == 200

    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"person": "nobody", "role": "viewer"}, "No one here has the username"),
            ({"person": "carl", "role": "viewer"}, "isn&#x27;t an active researcher"),
            ({"person": "alice", "role": "viewer"}, "alice is the owner"),
            ({"person": "bob", "role": "owner"}, "Select a valid choice"),
            ({"role": "viewer"}, "Enter a username"),
            ({"person": "bob\x00", "role": "viewer"}, "Null characters are not allowed"),
        ],
    )
    def test_what_is_wrong_is_said_beside_its_field(self, cast, study, kind, name, said, message):
        response = self.share(cast.alice, kind, name, **said)
        assert response.status_code == 422
        assert message in response.content.decode()
        assert not AccessGrant.objects.exists()

    def test_a_team_of_others_is_not_offered(self, cast, study, kind, name):
        team = team_create(name="Theirs", by=cast.bob)
        team_create(name="Hers", by=cast.alice)
        response = self.share(cast.alice, kind, name, team=team.pk, role="viewer")
        assert response.status_code == 422
        assert "Theirs" not in response.content.decode()

    def test_others_may_not(self, cast, study, kind, name):
        subject = study if kind == "study" else study.dataset
        grant, _ = access_grant(subject=subject, holder=cast.bob, role="editor", by=cast.alice)
        for user, status in [(None, 302), (cast.carl, 403), (cast.bob, 404), (user_make(), 404)]:
            for address in (
                url(f"{kind}-share", name),
                url(f"{kind}-access-act", name, grant.pk),
                url(f"{kind}-transfer", name),
            ):
                said = {"person": "bob", "to": "bob", "role": "viewer", "action": "remove"}
                assert client_of(user).post(address, said).status_code == status
        grant.refresh_from_db()
        assert grant.role == "editor"
        assert "Make viewer" not in client_of(cast.bob).get(url(f"{kind}-detail", name)).content.decode()

    def test_a_role_is_changed_and_access_ended(self, cast, study, kind, name):
        subject = study if kind == "study" else study.dataset
        grant, _ = access_grant(subject=subject, holder=cast.bob, role="viewer", by=cast.alice)
        act = url(f"{kind}-access-act", name, grant.pk)
        client = client_of(cast.alice)
        assert client.post(act, {"action": "role", "role": "editor"}).status_code == 302
        assert self.of(kind).get().role == "editor"
        for wrong in ({"action": "role", "role": "owner"}, {"action": "sing"}, {}):
            assert client.post(act, wrong).status_code == 404
        assert client.post(act, {"action": "remove"}).status_code == 302
        assert not self.of(kind).exists()
        assert client_of(cast.bob).get(url(f"{kind}-detail", name)).status_code == 404
        assert client.post(act, {"action": "remove"}).status_code == 404, "it is gone"

    def test_a_grant_of_another_row_is_not_found(self, cast, study, kind, name):
        other = study_make(owner=cast.bob, dataset=dataset_make(owner=cast.bob))
        subject = other if kind == "study" else other.dataset
        grant, _ = access_grant(subject=subject, holder=user_make(), role="viewer", by=cast.bob)
        act = url(f"{kind}-access-act", name, grant.pk)
        assert client_of(cast.alice).post(act, {"action": "remove"}).status_code == 404

    def test_given_away(self, cast, study, kind, name):
        client = client_of(cast.alice)
        assert client.post(url(f"{kind}-transfer", name), {"to": "nobody"}).status_code == 422
        assert client.post(url(f"{kind}-transfer", name), {"to": "carl"}).status_code == 422
        response = client.post(url(f"{kind}-transfer", name), {"to": "bob"})
        assert response.headers["Location"] == url(f"{kind}-detail", name)
        assert client.get(response.headers["Location"]).status_code == 200, "they stay as an editor"
        assert client_of(cast.bob).get(url(f"{kind}-share", name)).status_code == 200
        # The same again is no longer theirs to ask.
        assert client.post(url(f"{kind}-transfer", name), {"to": "bob"}).status_code == 404

    def test_an_administrator_gives_away_what_a_deactivated_owner_left(self, cast, study, kind, name):
        cast.alice.is_active = False
        cast.alice.save()
        client = client_of(cast.ann)
        assert "Deactivated" in client.get(url(f"{kind}-share", name)).content.decode()
        assert client.post(url(f"{kind}-transfer", name), {"to": "bob"}).status_code == 302
        rows = Study.objects.filter(slug=name) if kind == "study" else Dataset.objects.filter(name=name)
        assert rows.get().owner == cast.bob

    def test_queries_do_not_grow(self, cast, study, kind, name):
        client, counts = client_of(cast.alice), []
        client.get(url(f"{kind}-share", name))  # what is counted of a study is kept
        for more in (1, 5):
            for n in range(more):
                team = team_create(name=f"Team {more} {n}", by=cast.alice)
                for subject in (study.dataset, study):
                    for holder in (user_make(), team):
                        access_grant(subject=subject, holder=holder, role="viewer", by=cast.alice)
            with CaptureQueriesContext(connection) as queries:
                client.get(url(f"{kind}-share", name))
            counts.append(len(queries))
        assert counts[0] == counts[1] == (12 if kind == "study" else 6)


class TestWhatIsShown:
    """Who may not use a button isn't shown it."""

    def page(self, user, name="study-detail"):
        return client_of(user).get(url(name, "hers")).content.decode()

    def test_of_a_study(self, cast, study):
        invitation_make(study=study)
        labels_make(study, [[1, 2]])
        link = url("join", Invitation.objects.get().token)
        shown = {
            "edit": url("study-edit", "hers"),
            "state": url("study-state", "hers"),
            "links": link,
            "items": url("study-items", "hers"),
            "adjudicate": url("study-adjudicate", "hers"),
            "copy": url("study-copy", "hers"),
            "pay": url("study-pay", "hers"),
            "entry": url("study-entry", "hers"),
            "share": url("study-share", "hers"),
        }
        of_editor = {"edit", "state", "links", "items", "adjudicate"}
        access_grant(subject=study, holder=cast.bob, role="viewer", by=cast.alice)
        page = self.page(cast.bob)
        assert {
            name for name, address in shown.items() if f'"{address}"' in page or address == link in page
        } == set()
        assert "Shared with you: viewer" in page
        access_grant(subject=study, holder=cast.bob, role="editor", by=cast.alice)
        page = self.page(cast.bob)
        assert {name for name, address in shown.items() if address in page} == of_editor
        assert "Shared with you: editor" in page
        page = self.page(cast.alice)
        assert {name for name, address in shown.items() if address in page} == set(shown)
        assert "Shared with you" not in page

    @pytest.mark.parametrize(
        ("page", "viewer", "editor"),
        [
            ("study-people", 200, 200),
            ("study-item-reports", 200, 200),
            ("study-guidelines", 200, 200),
            ("study-edit", 404, 200),
            ("study-adjudicate", 404, 200),
            ("study-pay", 404, 404),
            ("study-pay-export", 404, 404),
            ("study-entry", 404, 404),
            ("study-share", 404, 404),
        ],
    )
    def test_pages_that_are_read(self, cast, study, page, viewer, editor):
        met = []
        for role in ("viewer", "editor"):
            access_grant(subject=study, holder=cast.bob, role=role, by=cast.alice)
            met.append(client_of(cast.bob).get(url(page, "hers")).status_code)
        assert met == [viewer, editor]
        assert client_of(cast.alice).get(url(page, "hers")).status_code == 200

    def test_of_a_person(self, cast, study):
        labels_make(study, [[1, 2]])
        person = study.enrollments.first()
        access_grant(subject=study, holder=cast.bob, role="viewer", by=cast.alice)
        address = url("study-person", "hers", person.pseudonym)
        act = url("study-person-act", "hers", person.pseudonym, "suspend")
        assert act not in client_of(cast.bob).get(address).content.decode()
        assert act in client_of(cast.alice).get(address).content.decode()

    def test_of_a_dataset(self, cast, study):
        shown = {
            "settings": url("dataset-settings", "secret"),
            "criteria": url("dataset-criteria", "secret"),
            "study": f"{url('study-create')}?dataset=secret",
            "import": reverse("judges:verdict-import", args=["secret"]),
            "share": url("dataset-share", "secret"),
        }
        of = {}
        for role in ("viewer", "editor"):
            access_grant(subject=study.dataset, holder=cast.bob, role=role, by=cast.alice)
            page = client_of(cast.bob).get(url("dataset-detail", "secret")).content.decode()
            of[role] = {name for name, address in shown.items() if address in page}
            assert f"Shared with you: {role}" in page
        assert of == {"viewer": set(), "editor": {"criteria", "study", "import"}}

    def test_lists_mark_what_is_shared(self, cast, study):
        access_grant(subject=study, holder=cast.bob, role="editor", by=cast.alice)
        for name, mark in [("study-list", "editor"), ("dataset-list", "viewer")]:
            assert f"Shared with you: {mark}" in client_of(cast.bob).get(url(name)).content.decode()
            assert "Shared with you" not in client_of(cast.alice).get(url(name)).content.decode()


class TestTeams:
    def test_made_and_listed(self, cast):
        client = client_of(cast.alice)
        response = client.post(url("team-list"), {"name": "Tasters"})
        team = Team.objects.get()
        assert response.headers["Location"] == url("team-detail", team.pk)
        assert "Tasters" in client.get(url("team-list")).content.decode()
        assert "Tasters" not in client_of(cast.bob).get(url("team-list")).content.decode()
        assert "Tasters" in client_of(cast.ann).get(url("team-list")).content.decode()

    @pytest.mark.parametrize(("name", "message"), [("", "This field is required"), ("Tasters", "exists")])
    def test_sent_twice_or_empty(self, cast, name, message):
        team_create(name="Tasters", by=cast.alice)
        response = client_of(cast.alice).post(url("team-list"), {"name": name})
        assert (response.status_code, Team.objects.count()) == (422, 1)
        assert message in response.content.decode()

    def test_its_admin_chooses_its_members(self, cast):
        team = team_create(name="Tasters", by=cast.alice)
        client = client_of(cast.alice)
        for _ in range(2):
            assert client.post(url("team-member-add", team.pk), {"user": "bob"}).status_code == 302
        member = TeamMember.objects.get(user=cast.bob)
        act = url("team-member-act", team.pk, member.pk)
        assert client.post(act, {"action": "admin"}).status_code == 302
        assert TeamMember.objects.get(user=cast.bob).is_admin
        assert client.post(act, {"action": "plain"}).status_code == 302
        assert client.post(act, {"action": "remove"}).status_code == 302
        assert not TeamMember.objects.filter(user=cast.bob).exists()
        assert client.post(act, {"action": "remove"}).status_code == 404
        assert client.post(url("team-member-add", team.pk), {"user": "carl"}).status_code == 422

    def test_the_only_admin_stays(self, cast):
        team = team_create(name="Tasters", by=cast.alice)
        act = url("team-member-act", team.pk, TeamMember.objects.get().pk)
        page = client_of(cast.alice).post(act, {"action": "remove"}, follow=True).content.decode()
        assert "only admin" in page
        assert TeamMember.objects.count() == 1

    def test_a_member_reads_and_leaves_and_changes_nothing(self, cast):
        team = team_create(name="Tasters", by=cast.alice)
        member, _ = member_add(team=team, user=cast.bob)
        hers = TeamMember.objects.get(user=cast.alice)
        client = client_of(cast.bob)
        page = client.get(url("team-detail", team.pk)).content.decode()
        assert "Leave team" in page
        assert url("team-act", team.pk) not in page
        for address, said in [
            (url("team-act", team.pk), {"action": "delete"}),
            (url("team-member-add", team.pk), {"user": "ann"}),
            (url("team-member-act", team.pk, hers.pk), {"action": "remove"}),
            (url("team-member-act", team.pk, member.pk), {"action": "admin"}),
        ]:
            assert client.post(address, said).status_code == 404
        assert (
            client.post(url("team-member-act", team.pk, member.pk), {"action": "remove"}).status_code == 302
        )
        assert client.get(url("team-detail", team.pk)).status_code == 404

    @pytest.mark.parametrize(("who", "status"), [(None, 302), ("carl", 403), ("bob", 404), ("ann", 302)])
    def test_others(self, cast, who, status):
        team = team_create(name="Tasters", by=cast.alice)
        client = client_of(getattr(cast, who) if who else None)
        response = client.post(url("team-act", team.pk), {"action": "rename", "name": "Ours"})
        assert response.status_code == status
        assert (Team.objects.get().name == "Ours") == (who == "ann")

    def test_renamed_and_deleted(self, cast, study):
        team = team_create(name="Tasters", by=cast.alice)
        team_create(name="Smellers", by=cast.bob)
        access_grant(subject=study, holder=team, role="viewer", by=cast.alice)
        client, act = client_of(cast.alice), url("team-act", team.pk)
        assert "hers" in client.get(url("team-detail", team.pk)).content.decode()
        response = client.post(act, {"action": "rename", "name": "Smellers"})
        assert response.status_code == 422
        assert '<h1 dir="auto">Tasters</h1>' in response.content.decode()
        assert client.post(act, {"action": "sing"}).status_code == 404
        assert client.post(act, {"action": "delete"}).headers["Location"] == url("team-list")
        assert not AccessGrant.objects.filter(team__isnull=False).exists()
        assert client.post(act, {"action": "delete"}).status_code == 404

    def test_queries_do_not_grow(self, cast, study):
        team = team_create(name="Tasters", by=cast.alice)
        client, counts = client_of(cast.alice), []
        for more in (1, 5):
            for n in range(more):
                member_add(team=team, user=user_make())
                team_create(name=f"Team {more} {n}", by=cast.alice)
                made = study_make(owner=cast.alice, dataset=study.dataset)
                access_grant(subject=made, holder=team, role="viewer", by=cast.alice)
            found = []
            for address in (url("team-list"), url("team-detail", team.pk)):
                with CaptureQueriesContext(connection) as queries:
                    client.get(address)
                found.append(len(queries))
            counts.append(found)
        assert counts[0] == counts[1] == [3, 6]
