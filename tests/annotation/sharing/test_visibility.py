"""Which studies and datasets a person sees, changes and owns, by what was shared with them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AccessGrant, Dataset, Role, Study
from annotation.selectors.dataset_figures import dataset_list_for
from annotation.selectors.datasets import (
    dataset_get_for,
    datasets_editable_by,
    datasets_filled_by,
    datasets_offered_by,
    datasets_owned_by,
    datasets_visible_to,
)
from annotation.selectors.overview import (
    labels_visible_to,
    may_copy,
    may_identify,
    studies_editable_by,
    studies_owned_by,
    studies_settled_by,
    studies_visible_to,
    study_get_for,
    study_list_for,
)
from annotation.services.sharing import access_grant, access_remove
from annotation.services.teams import member_add, member_remove, team_create
from tests.annotation.cast import label_make
from tests.annotation.factories import dataset_make, study_make, user_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

OF_STUDIES = (studies_visible_to, studies_editable_by, studies_owned_by, studies_settled_by)
OF_DATASETS = (
    datasets_visible_to,
    datasets_editable_by,
    datasets_filled_by,
    datasets_offered_by,
    datasets_owned_by,
)


@pytest.fixture
def alice():
    return user_make(username="alice")


@pytest.fixture
def bob():
    return user_make(username="bob")


@pytest.fixture
def dataset(alice):
    return dataset_make(owner=alice, split="private", name="secret")


@pytest.fixture
def study(alice, dataset):
    return study_make(owner=alice, dataset=dataset, slug="hers")


def seen(selectors, user, row):
    return [row in selector(user) for selector in selectors]


def test_a_stranger_sees_neither(bob, study, dataset):
    assert seen(OF_STUDIES, bob, study) == [False] * 4
    assert seen(OF_DATASETS, bob, dataset) == [False] * 5


def test_the_owner_and_an_administrator_may_everything(alice, study, dataset):
    for user in (alice, user_make(role=Role.ADMINISTRATOR)):
        assert seen(OF_STUDIES, user, study) == [True] * 4
        assert seen(OF_DATASETS, user, dataset) == [True] * 5


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_a_dataset_that_is_shared(role, alice, bob, study, dataset):
    access_grant(subject=dataset, holder=bob, role=role, by=alice)
    edits = role == "editor"
    assert seen(OF_DATASETS, bob, dataset) == [True, edits, edits, edits, False]
    assert seen(OF_STUDIES, bob, study) == [False] * 4, "its studies are shared by themselves"
    assert dataset_get_for(bob, "secret").rights.role == role


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_a_study_that_is_shared(role, alice, bob, study, dataset):
    access_grant(subject=study, holder=bob, role=role, by=alice)
    assert seen(OF_STUDIES, bob, study) == [True, role == "editor", False, False]
    rights = study_get_for(bob, "hers").rights
    assert (rights.role, rights.may_edit, rights.may_own) == (role, role == "editor", False)
    assert not may_identify(bob, study)
    assert seen(OF_DATASETS, bob, dataset) == [True, False, False, False, False], "its items are read with it"


def test_a_study_is_seen_only_where_its_dataset_is(alice, bob, study, dataset):
    access_grant(subject=study, holder=bob, role="editor", by=alice)
    access_remove(grant=AccessGrant.objects.get(dataset=dataset))
    assert seen(OF_STUDIES, bob, study) == [False] * 4


def test_rows_of_nobody_are_as_before(bob):
    """Every researcher changes them; nobody but an administrator shares them, or learns who the annotators are."""
    study = study_make(dataset=dataset_make(), owner=None)
    assert seen(OF_STUDIES, bob, study) == [True, True, True, False]
    assert seen(OF_DATASETS, bob, study.dataset) == [True, True, False, True, False]
    assert not may_identify(bob, study)
    private = dataset_make(split="private")
    assert seen(OF_DATASETS, bob, private) == [False] * 5


def test_a_team_sees_what_is_shared_with_it_until_the_moment_somebody_leaves(alice, bob, study):
    team = team_create(name="Tasters", by=alice)
    access_grant(subject=study, holder=team, role="editor", by=alice)
    assert study not in studies_visible_to(bob)
    member, _ = member_add(team=team, user=bob)
    assert study in studies_editable_by(bob)
    assert study.dataset in datasets_visible_to(bob)
    member_remove(member=member)
    assert study not in studies_visible_to(bob)
    assert study.dataset not in datasets_visible_to(bob)


def test_of_two_roles_the_higher_counts(alice, bob, study):
    team = team_create(name="Tasters", by=alice)
    member_add(team=team, user=bob)
    access_grant(subject=study, holder=bob, role="viewer", by=alice)
    access_grant(subject=study, holder=team, role="editor", by=alice)
    assert study in studies_editable_by(bob)
    assert study_get_for(bob, "hers").rights.role == "editor"
    assert studies_visible_to(bob).count() == 1
    assert study_list_for(bob).get().granted == "editor"


def test_a_grant_is_worth_nothing_without_the_role_of_a_researcher(alice, bob, study):
    access_grant(subject=study, holder=bob, role="editor", by=alice)
    for fields in ({"is_active": False}, {"role": Role.ANNOTATOR}):
        left = user_make(username=f"left-{next(iter(fields))}")
        access_grant(subject=study, holder=left, role="editor", by=alice)
        for name, value in fields.items():
            setattr(left, name, value)
        left.save()
        assert study not in studies_visible_to(left)
        assert study.dataset not in datasets_visible_to(left)


def test_labels_of_a_study_are_seen_by_those_who_see_it(alice, bob, study):
    label_make(study=study, item=study.dataset.items.first(), choice=1)
    assert labels_visible_to(bob).count() == 0
    access_grant(subject=study.dataset, holder=bob, role="editor", by=alice)
    assert labels_visible_to(bob).count() == 0
    access_grant(subject=study, holder=bob, role="viewer", by=alice)
    assert labels_visible_to(bob).count() == 1


def test_a_study_of_hidden_datasets_cannot_be_copied(alice, bob):
    study = study_make(owner=alice, dataset=dataset_make(owner=alice))
    access_grant(subject=study, holder=bob, role="viewer", by=alice)
    assert may_copy(bob, study)
    Study.objects.update(check_dataset=dataset_make(owner=alice, split="private"))
    study.refresh_from_db()
    assert not may_copy(bob, study)
    assert may_copy(alice, study)


def test_queries_are_as_many_for_any_number_of_grants_and_teams(alice, bob):
    counts = []
    for more in (1, 6):
        for n in range(more):
            study = study_make(owner=alice, dataset=dataset_make(owner=alice, split="private"))
            team = team_create(name=f"Team {more} {n}", by=alice)
            member_add(team=team, user=bob)
            access_grant(subject=study, holder=team, role="viewer", by=alice)
            access_grant(subject=study, holder=bob, role="editor", by=alice)
        with CaptureQueriesContext(connection) as queries:
            found = len(study_list_for(bob)), len(dataset_list_for(bob))
        assert found == (Study.objects.count(), Dataset.objects.count())
        counts.append(len(queries))
    assert counts[0] == counts[1] == 7
