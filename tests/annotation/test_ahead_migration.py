"""Leases that were fetched ahead go back when the columns for them are undone."""

from importlib import import_module

import pytest
from django.apps import apps

from annotation.models import Assignment, AssignmentState, ItemRole, StudyItem
from annotation.services.ahead import leases_fetch
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.recount import counters_check
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db


def test_each_person_keeps_the_item_in_hand():
    migration = import_module("annotation.migrations.0023_fetch_ahead")
    study = study_make(pairs=12, overlap=2, fetch_ahead=3, check_rate=0.4)
    for k, item in enumerate(dataset_make(pairs=9).items.all()):
        StudyItem.objects.create(study=study, item=item, position=100 + k, overlap=0, role=ItemRole.CHECK)
    orders = [leases_fetch(enrollment=fresh(enrollment_make(study=study))) for _ in range(3)]
    assert Assignment.objects.filter(role="check").exists()
    migration.leases_ahead_release(apps, None)
    opened = Assignment.objects.filter(state=AssignmentState.OPEN)
    assert sorted(opened.values_list("pk", flat=True)) == sorted(order[0] for order in orders)
    assert Assignment.objects.filter(state=AssignmentState.EXPIRED).count() == 9
    counters_check(study)
