"""Actions of the admin's lists, sent for what is no row."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from tests.annotation.factories import user_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.mark.parametrize("key", ["x", "²", "-1", "1.5", "99999999999999999999", "", "a\0b", "None"])
def test_an_action_for_what_is_no_row_is_refused(key):
    client = Client(raise_request_exception=False)
    client.force_login(user_make(role=Role.ADMINISTRATOR))
    lists = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    ]
    assert len(lists) > 5
    for address in lists:
        for action in ("delete_selected", "nothing", ""):
            sent = {"action": action, "_selected_action": [key, "1"], "index": "0"}
            assert client.post(address, sent).status_code < 500, (address, action)
    deleting = {"action": "delete_selected", "_selected_action": [key], "post": "yes"}
    assert all(client.post(address, deleting).status_code < 500 for address in lists)
