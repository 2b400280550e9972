"""Tokens that were made before scopes had resources keep what they could do, and get it back when it is undone."""

from importlib import import_module

import pytest
from django.apps import apps

from annotation.models import ApiToken
from tests.annotation.factories import user_make

pytestmark = pytest.mark.django_db


def test_old_tokens_keep_what_they_could_do():
    migration = import_module("annotation.migrations.0007_scopes_by_resource")
    user = user_make()
    held = [["read"], ["write"], ["read", "write"]]
    for number, scopes in enumerate(held):
        ApiToken.objects.create(user=user, name="t", prefix="p", digest=str(number), scopes=scopes)

    def now():
        return list(ApiToken.objects.order_by("pk").values_list("scopes", flat=True))

    migration.widen(apps, None)
    reading, writing = ["judges:read", "judgments:read", "sweeps:read"], ["judges:write", "sweeps:write"]
    assert now() == [reading, writing, sorted(reading + writing)]
    migration.narrow(apps, None)
    assert now() == held
    ApiToken.objects.update(scopes=["judges:read"])
    migration.narrow(apps, None)
    assert now() == [[]] * 3, "no token gets more than it had"
