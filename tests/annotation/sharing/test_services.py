"""Granting, changing, ending access; giving a row away; teams. And what the audit log and the database say of it."""

import pytest
from django.db import IntegrityError, transaction

from annotation.domain.errors import SharingError
from annotation.models import AccessGrant, AuditEvent, Role, Team, TeamMember
from annotation.selectors.overview import may_identify, studies_editable_by, studies_owned_by
from annotation.services.sharing import access_change, access_grant, access_remove, ownership_transfer
from annotation.services.teams import (
    member_add,
    member_change,
    member_remove,
    team_create,
    team_delete,
    team_rename,
)
from tests.annotation.factories import dataset_make, study_make, user_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def alice():
    return user_make(username="alice")


@pytest.fixture
def bob():
    return user_make(username="bob")


@pytest.fixture
def study(alice):
    return study_make(owner=alice, dataset=dataset_make(owner=alice, split="private"), slug="hers")


def actions():
    return list(AuditEvent.objects.order_by("pk").values_list("action", "subject"))


class TestGrants:
    def test_the_same_again_changes_nothing(self, alice, bob, study):
        first, new = access_grant(subject=study, holder=bob, role="viewer", by=alice)
        again, changed = access_grant(subject=study, holder=bob, role="viewer", by=alice)
        assert (again, new, changed) == (first, True, False)
        assert AccessGrant.objects.filter(study=study).count() == 1

    def test_another_role_changes_it(self, alice, bob, study):
        access_grant(subject=study, holder=bob, role="viewer", by=alice)
        grant, changed = access_grant(subject=study, holder=bob, role="editor", by=alice)
        assert (grant.role, changed) == ("editor", True)
        assert not access_change(grant=grant, role="editor")
        assert access_change(grant=grant, role="viewer")

    def test_removed_twice(self, alice, bob, study):
        grant, _ = access_grant(subject=study, holder=bob, role="viewer", by=alice)
        assert access_remove(grant=grant)
        assert not access_remove(grant=grant)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"role": Role.ANNOTATOR}, "isn't an active researcher"),
            ({"is_active": False}, "isn't an active researcher"),
        ],
    )
    def test_somebody_who_may_not_have_it(self, alice, study, fields, message):
        with pytest.raises(SharingError, match=message):
            access_grant(subject=study, holder=user_make(**fields), role="viewer", by=alice)

    def test_the_owner_and_a_role_that_is_none(self, alice, bob, study):
        with pytest.raises(SharingError, match="is the owner"):
            access_grant(subject=study, holder=alice, role="viewer", by=alice)
        grant, _ = access_grant(subject=study, holder=bob, role="viewer", by=alice)
        for act in (
            lambda: access_grant(subject=study, holder=bob, role="owner", by=alice),
            lambda: access_change(grant=grant, role="owner"),
        ):
            with pytest.raises(SharingError, match="Expected viewer or editor"):
                act()

    def test_a_study_on_a_private_dataset_of_another_owner_is_not_shared_with_strangers_to_it(
        self, alice, bob
    ):
        """Who sees the items is for the dataset's owner to decide."""
        theirs = dataset_make(owner=user_make(username="dora"), split="private", name="theirs")
        access_grant(subject=theirs, holder=alice, role="editor", by=theirs.owner)
        study = study_make(owner=alice, dataset=theirs)
        team = team_create(name="Tasters", by=bob)
        for holder in (bob, team):
            with pytest.raises(SharingError, match=r"can't see the private dataset theirs.*dora"):
                access_grant(subject=study, holder=holder, role="viewer", by=alice)
        with pytest.raises(SharingError, match="can't see the private dataset"):
            ownership_transfer(subject=study, to=bob, by=alice)
        assert not AccessGrant.objects.filter(study=study).exists()
        for holder in (bob, team):
            access_grant(subject=theirs, holder=holder, role="viewer", by=theirs.owner)
            assert access_grant(subject=study, holder=holder, role="viewer", by=alice)[1]

    def test_sharing_a_study_shows_the_items_of_a_private_dataset_of_the_same_owner(self, alice, bob, study):
        access_grant(subject=study, holder=bob, role="editor", by=alice)
        assert AccessGrant.objects.get(dataset=study.dataset, user=bob).role == "viewer"

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"user": True},
            {"study": True},
            {"study": True, "user": True, "team": True},
            {"study": True, "dataset": True, "user": True},
            {"study": True, "user": True, "role": "owner"},
        ],
    )
    def test_the_database_refuses_a_grant_of_nothing_to_nobody_or_of_two(self, alice, bob, study, fields):
        rows = {
            "study": study,
            "dataset": study.dataset,
            "user": bob,
            "team": team_create(name="T", by=alice),
        }
        given = {name: rows.get(name, value) for name, value in fields.items()}
        with pytest.raises(IntegrityError), transaction.atomic():
            AccessGrant.objects.create(**given)

    def test_the_database_refuses_a_second_grant(self, alice, bob, study):
        team = team_create(name="T", by=alice)
        for subject in ({"study": study}, {"dataset": study.dataset}):
            for holder in ({"user": bob}, {"team": team}):
                AccessGrant.objects.create(**subject, **holder)
                with pytest.raises(IntegrityError), transaction.atomic():
                    AccessGrant.objects.create(**subject, **holder)


class TestTransfer:
    def test_the_owner_before_stays_as_an_editor(self, alice, bob, study):
        access_grant(subject=study, holder=bob, role="viewer", by=alice)
        assert ownership_transfer(subject=study, to=bob, by=alice)
        study.refresh_from_db()
        assert study.owner == bob
        assert study in studies_editable_by(alice)
        assert study not in studies_owned_by(alice)
        assert may_identify(bob, study)
        assert not may_identify(alice, study)
        assert [(row.user, row.role) for row in AccessGrant.objects.filter(study=study)] == [
            (alice, "editor")
        ]
        assert not ownership_transfer(subject=study, to=bob, by=alice), "once more changes nothing"

    def test_an_administrator_gives_away_what_somebody_left(self, alice, bob, study):
        admin = user_make(role=Role.ADMINISTRATOR)
        alice.is_active = False
        alice.save()
        for subject in (study, study.dataset):
            assert ownership_transfer(subject=subject, to=bob, by=admin)
        assert study in studies_owned_by(bob)
        assert not AccessGrant.objects.filter(user=alice).exists()

    def test_rows_of_nobody_get_an_owner(self, bob):
        study = study_make(dataset=dataset_make())
        assert ownership_transfer(subject=study, to=bob, by=user_make(role=Role.ADMINISTRATOR))
        assert not AccessGrant.objects.exists()

    def test_it_is_in_the_audit_log(self, alice, bob, study):
        ownership_transfer(subject=study, to=bob, by=alice)
        event = AuditEvent.objects.get(action="study.transferred")
        assert (event.subject, event.before, event.after) == ("hers", {"owner": "alice"}, {"owner": "bob"})


class TestTeams:
    def test_a_team_has_a_name_of_its_own(self, alice):
        team = team_create(name=" Tasters ", by=alice)
        assert team.name == "Tasters"
        with pytest.raises(SharingError, match="exists"):
            team_create(name="Tasters", by=alice)
        with pytest.raises(SharingError, match="Enter a name"):
            team_rename(team=team, name=" ")
        with pytest.raises(SharingError, match="at most 100"):
            team_create(name="x" * 101, by=alice)
        assert Team.objects.get().name == "Tasters"

    def test_members(self, alice, bob):
        team = team_create(name="Tasters", by=alice)
        member, new = member_add(team=team, user=bob)
        assert (new, member.is_admin) == (True, False)
        assert member_add(team=team, user=bob) == (member, False)
        assert member_change(member=member, is_admin=True)
        assert not member_change(member=member, is_admin=True)
        assert member_remove(member=member)
        assert not member_remove(member=member)
        with pytest.raises(SharingError, match="isn't an active researcher"):
            member_add(team=team, user=user_make(role=Role.ANNOTATOR))

    def test_a_team_keeps_an_admin(self, alice, bob):
        team = team_create(name="Tasters", by=alice)
        hers = TeamMember.objects.get()
        member_add(team=team, user=bob)
        for act in (lambda: member_remove(member=hers), lambda: member_change(member=hers, is_admin=False)):
            with pytest.raises(SharingError, match="only admin"):
                act()
        his = TeamMember.objects.get(user=bob)
        member_change(member=his, is_admin=True)
        bob.is_active = False
        bob.save()
        with pytest.raises(SharingError, match="only admin"):
            member_remove(member=hers)
        bob.is_active = True
        bob.save()
        assert member_remove(member=hers)

    def test_a_team_that_is_deleted_shares_nothing(self, alice, bob, study):
        team = team_create(name="Tasters", by=alice)
        member_add(team=team, user=bob)
        access_grant(subject=study, holder=team, role="editor", by=alice)
        assert team_delete(team=team)
        assert study not in studies_editable_by(bob)
        assert not team_delete(team=team)


def test_every_change_is_in_the_audit_log_by_name(alice, bob, study):
    AccessGrant.objects.all().delete()
    before = len(actions())
    team = team_create(name="Tasters", by=alice)
    member, _ = member_add(team=team, user=bob)
    access_grant(subject=study.dataset, holder=bob, role="viewer", by=alice)
    grant, _ = access_grant(subject=study, holder=bob, role="viewer", by=alice)
    access_change(grant=grant, role="editor")
    access_remove(grant=grant)
    member_remove(member=member)
    team_delete(team=team)
    assert actions()[before:] == [
        ("team.created", "Tasters"),
        ("team member.created", "alice in Tasters"),
        ("team member.created", "bob in Tasters"),
        ("access.created", f"dataset {study.dataset.name}: bob"),
        ("access.created", "study hers: bob"),
        ("access.changed", "study hers: bob"),
        ("access.deleted", "study hers: bob"),
        ("team member.deleted", "bob in Tasters"),
        ("team member.deleted", "alice in Tasters"),
        ("team.deleted", "Tasters"),
    ]
    changed = AuditEvent.objects.get(action="access.changed")
    assert (changed.before, changed.after) == ({"role": "viewer"}, {"role": "editor"})
