"""Counts of datasets, against labels counted one by one: of imports, of several studies, of versions, and of what is
not everybody's.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.importers import read_generic
from annotation.models import Annotator, Assignment, Dataset, Item, Label, Role, User
from annotation.selectors import costly
from annotation.selectors.dataset_figures import dataset_labels_for, dataset_list_for
from annotation.selectors.overview import labels_visible_to, study_list_for
from annotation.services.assignments import assignment_submit
from annotation.services.datasets import dataset_import
from annotation.services.erasure import annotator_erase
from annotation.services.labels import label_change
from annotation.services.quality import labels_set_aside
from tests.annotation.factories import enrollment_make, study_make, user_make
from tests.annotation.work import claim, fresh

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def everything_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each count had taken long."""
    monkeypatch.setattr(costly, "KEPT_SECONDS", -1.0)


def imported(folder: Path, name: str, *, n: int, changed: int = 0, labels: int = 0) -> Dataset:
    """A dataset of n pairs, or its next version with other texts in some, and labels on some."""
    rows = [
        {
            "id": f"i{k}",
            "instruction": f"Say {k}.",
            "responses": [{"text": "changed" if k < changed else "a"}, {"text": "b"}],
            "gold": 1 if k % 3 else None,
            "labels": [{"annotator": who, "value": 1} for who in ("ann", "ben")] if k < labels else [],
        }
        for k in range(n)
    ]
    file = folder / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return dataset_import(bundle=read_generic(file), name=name, new_version=bool(changed)).dataset


def work(study, n: int, chance: random.Random) -> list:
    """Three people who answer n items each; some answers are changed, and one person's are set aside."""
    people = [enrollment_make(study=study) for _ in range(3)]
    for person in people:
        for _ in range(n):
            lease = claim(person)
            if lease is None:
                break
            assignment_submit(assignment=lease, shown_value={"choice": chance.choice([1, 2])})
            if chance.random() < 0.3:
                again = Assignment.objects.get(pk=lease.pk)
                label_change(assignment=again, shown_value={"choice": 0})
    labels_set_aside(enrollment=fresh(people[0]), by=None, reason="for the test")
    return people


def check(user: User) -> None:
    """Everything as it is when labels are counted one by one, the second time as what is kept."""
    for _ in range(2):
        for row in dataset_list_for(user):
            labels = labels_visible_to(user).current().filter(item__dataset=row.dataset)
            items = Item.objects.filter(dataset=row.dataset, until_version=None)
            assert (row.items, row.gold) == (items.count(), items.filter(gold__isnull=False).count())
            assert row.labels == labels.count()
            by_kind = {
                kind: (
                    items.filter(kind=kind).count(),
                    items.filter(kind=kind, gold__isnull=False).count(),
                    items.filter(kind=kind, pk__in=labels.values("item")).count(),
                )
                for kind in items.values_list("kind", flat=True)
            }
            assert {one.kind: (one.items, one.gold, one.labelled) for one in row.kinds} == by_kind
            people = Annotator.objects.filter(pk__in=labels.values("annotator"))
            found = dataset_labels_for(user, row.dataset)
            assert (found.labels, found.annotators) == (labels.count(), people.count())
            assert found.kinds == row.kinds
            assert found.simulated == people.filter(is_simulated=True).count()
        for study in study_list_for(user):
            assert study.labels_accepted == Label.objects.current().filter(study=study).count()


@pytest.mark.parametrize("seed", range(3))
def test_like_counting_each_label(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    alice, bob, admin = user_make(), user_make(), user_make(role=Role.ADMINISTRATOR)
    plain = imported(tmp_path, "plain", n=6)
    labelled = imported(tmp_path, "labelled", n=6, labels=4)
    imported(tmp_path, "nobody-s", n=5, labels=chance.randrange(5))
    for owner, dataset in ((alice, plain), (alice, labelled), (bob, plain)):
        study = study_make(dataset=dataset, owner=owner, overlap=2, allow_changes=True)
        work(study, chance.randrange(1, 5), chance)
    for user in (alice, bob, admin):
        check(user)
    # Items that changed keep labels that are no longer of an item of the dataset.
    imported(tmp_path, "plain", n=6, changed=2)
    imported(tmp_path, "labelled", n=6, changed=1, labels=5)
    for user in (alice, bob, admin):
        check(user)


def test_labels_of_an_erased_person_are_not_kept(
    tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    admin = user_make(role=Role.ADMINISTRATOR)
    imported(tmp_path, "labelled", n=3, labels=3)
    check(admin)
    for person in Annotator.objects.filter(labels__isnull=False).distinct():
        with django_capture_on_commit_callbacks(execute=True):
            annotator_erase(annotator=person, why="request", with_labels=True)
        check(admin)
    assert not Label.objects.exists()


def test_queries_are_as_many_for_any_number_of_datasets(tmp_path: Path) -> None:
    admin = user_make(role=Role.ADMINISTRATOR)
    counts = []
    for n in (1, 4):
        for k in range(n):
            dataset = imported(tmp_path, f"d{n}-{k}", n=3, labels=1)
            study = study_make(dataset=dataset, allow_changes=True)
            work(study, 2, random.Random(k))
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            dataset_list_for(admin)
        with CaptureQueriesContext(connection) as again:
            dataset_list_for(admin)
        counts.append((len(queries), len(again)))
    assert counts == [(9, 5), (9, 5)]
