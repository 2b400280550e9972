"""Sharing, transfer and teams by the API; and what a token may do by what was shared with its user."""

import pytest

from annotation.models import AccessGrant, Role, Team
from annotation.services.sharing import access_grant, access_remove
from annotation.services.teams import member_add, member_remove, team_create
from annotation.services.webhooks import EVENTS
from tests.annotation.api.test_resources import Caller, fields
from tests.annotation.factories import dataset_make, study_make, user_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return user_make(username="alice")


@pytest.fixture
def bob():
    return user_make(username="bob")


@pytest.fixture
def study(alice):
    dataset = dataset_make(owner=alice, split="private", name="secret")
    return study_make(owner=alice, dataset=dataset, slug="hers", state="closed")


PLACES = [("studies/hers", "study"), ("datasets/secret", "dataset")]


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_access_is_granted_read_changed_and_ended(alice, bob, study, place, kind):
    ask = Caller(alice)
    for _ in range(2):
        made = ask("POST", f"{place}/access/", {"user": "bob", "role": "viewer"}, 201)
    assert (made["user"], made["role"], made["granted_by"]) == ("bob", "viewer", "alice")
    assert [row["id"] for row in ask("GET", f"{place}/access/")["results"]] == [made["id"]]
    assert ask("GET", f"{place}/access/?role=editor")["results"] == []
    one = f"{place}/access/{made['id']}/"
    assert ask("PATCH", one, {"role": "editor"})["role"] == "editor"
    ask.client.delete(f"/api/v1/{one}")
    assert not AccessGrant.objects.filter(**{f"{kind}__isnull": False}).exists()
    ask("DELETE", one, status=404)


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_what_is_wrong_is_named(alice, bob, study, place, kind):
    team = team_create(name="Theirs", by=bob)
    ask = Caller(alice)
    for body, field in [
        ({"role": "viewer"}, "user"),
        ({"user": "bob", "team": team.pk, "role": "viewer"}, "user"),
        ({"user": "nobody", "role": "viewer"}, "user"),
        ({"user": "alice", "role": "viewer"}, "user"),
        ({"team": team.pk, "role": "viewer"}, "team"),
        ({"user": "bob", "role": "owner"}, "role"),
        ({"user": "bob"}, "role"),
        ({"user": "bob", "role": "viewer", "colour": 1}, "colour"),
    ]:
        assert fields(ask("POST", f"{place}/access/", body, 400)) == [field]
    user_make(username="carl", role=Role.ANNOTATOR)
    for to in ("nobody", "carl"):
        assert fields(ask("POST", f"{place}/transfer/", {"to": to}, 400)) == ["to"]
    assert not AccessGrant.objects.exists()


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_given_away(alice, bob, study, place, kind):
    ask = Caller(alice)
    assert ask("POST", f"{place}/transfer/", {"to": "bob"}) == {"owner": "bob"}
    assert ask("GET", f"{place}/")["owner"] == "bob"
    ask("POST", f"{place}/transfer/", {"to": "bob"}, 404)


def test_an_editor_does_not_share(alice, bob, study):
    for subject in (study, study.dataset):
        access_grant(subject=subject, holder=bob, role="editor", by=alice)
    ask = Caller(bob)
    for place, _ in PLACES:
        ask("GET", f"{place}/access/", status=404)
        ask("POST", f"{place}/access/", {"user": "bob", "role": "editor"}, 404)
        ask("POST", f"{place}/transfer/", {"to": "bob"}, 404)


def test_sharing_has_scopes_of_its_own(alice, bob, study):
    ask = Caller(alice, scopes=["studies:write", "datasets:write", "sharing:read"])
    for place, _ in PLACES:
        ask("GET", f"{place}/access/")
        ask("POST", f"{place}/access/", {"user": "bob", "role": "viewer"}, 403)
    ask("POST", "teams/", {"name": "T"}, 403)


def test_teams(alice, bob):
    ask, other = Caller(alice), Caller(bob)
    team = ask("POST", "teams/", {"name": "Tasters"}, 201)
    assert [(one["user"], one["is_admin"]) for one in team["members"]] == [("alice", True)]
    assert fields(ask("POST", "teams/", {"name": "Tasters"}, 400)) == ["name"]
    place = f"teams/{team['id']}"
    other("GET", f"{place}/", status=404)
    for _ in range(2):
        member = ask("POST", f"{place}/members/", {"user": "bob"}, 201)
    assert fields(ask("POST", f"{place}/members/", {"user": "nobody"}, 400)) == ["user"]
    assert [row["name"] for row in other("GET", "teams/")["results"]] == ["Tasters"]
    other("PATCH", f"{place}/", {"name": "Ours"}, 404)
    other("DELETE", f"{place}/", status=404)
    other("POST", f"{place}/members/", {"user": "bob"}, 404)
    assert ask("PATCH", f"{place}/members/{member['id']}/", {"is_admin": True})["is_admin"] is True
    assert other("PATCH", f"{place}/", {"name": "Ours"})["name"] == "Ours"
    hers = team["members"][0]["id"]
    assert other.client.delete(f"/api/v1/{place}/members/{hers}/").status_code == 204
    assert fields(other("DELETE", f"{place}/members/{member['id']}/", status=400)) == ["user"]
    ask("GET", f"{place}/", status=404)
    assert other.client.delete(f"/api/v1/{place}/").status_code == 204
    assert not Team.objects.exists()


def test_a_token_and_a_webhook_act_with_the_rights_of_their_user_at_that_moment(alice, bob, study):
    team = team_create(name="Tasters", by=alice)
    access_grant(subject=study, holder=team, role="editor", by=alice)
    member, _ = member_add(team=team, user=bob)
    ask = Caller(bob)

    def told():
        return [one.data["study"] for one in EVENTS["study.finished"].find(bob, study.created_at)]

    assert ask("PATCH", "studies/hers/", {"title": "Ours"})["title"] == "Ours"
    assert told() == ["hers"]
    member_remove(member=member)
    ask("GET", "studies/hers/", status=404)
    assert told() == []
    grant, _ = access_grant(subject=study, holder=bob, role="viewer", by=alice)
    assert ask("GET", "studies/hers/")["title"] == "Ours"
    ask("PATCH", "studies/hers/", {"title": "Mine"}, 404)
    assert told() == ["hers"]
    access_remove(grant=grant)
    ask("GET", "studies/hers/", status=404)


def test_what_a_body_names_takes_the_same_rights(alice, bob, study):
    """A dataset in the body of a request is refused as an unknown one is."""
    ask = Caller(bob)
    labels = {"dataset": "secret", "labels": [{"item": "p0", "annotator": "x", "value": 1}]}
    verdicts = {"dataset": "secret", "judgments": [{"item": "p0", "judge": "j", "order": 0, "verdict": 1}]}
    made = {"dataset": "secret", "title": "Mine"}
    again = {"name": "secret", "items": [{"id": "new", "instruction": "?", "responses": ["a", "b"]}]}
    pay = {"study": "hers", "what": "pay", "format": "csv"}
    writes = [("labels/", labels), ("judgments/", verdicts), ("studies/", made), ("datasets/", again)]
    for role, status in [(None, 400), ("viewer", 400), ("editor", None)]:
        if role:
            access_grant(subject=study.dataset, holder=bob, role=role, by=alice)
            access_grant(subject=study, holder=bob, role=role, by=alice)
        for path, body in writes:
            if status:
                ask("POST", path, body, status)
            else:
                answer = ask.client.post(f"/api/v1/{path}", body, content_type="application/json")
                assert answer.status_code in (200, 201), (path, answer.content)
        refused = ask("POST", "exports/", pay, 400)["detail"]
        assert ("Only the owner" in refused) == (role is not None)
    assert study.dataset.items.filter(external_id="new").exists()
