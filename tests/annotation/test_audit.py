"""The audit log: what it records, that it can't be changed, and who reads it."""

import json

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Role, User
from annotation.services.audit import audit
from annotation.services.quality import item_report, item_report_resolve, labels_set_aside
from annotation.services.studies import study_close, study_pause, study_update
from annotation.services.tokens import token_create, token_revoke
from judges.services.export_jobs import export_request
from judges.services.exports import ExportOptions, ExportSubject
from tests.annotation.cast import label_make
from tests.annotation.factories import dataset_make, study_make, user_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def latest(action):
    return AuditEvent.objects.filter(action=action).first()


@pytest.fixture
def owner():
    return user_make(role=Role.RESEARCHER, username="olga")


@pytest.fixture
def admin():
    return user_make(role=Role.ADMINISTRATOR, username="ada")


def signed_in(user, **headers):
    client = Client(headers=headers)
    client.force_login(user)
    return client


def test_a_changed_rule_is_recorded_with_its_values_before_and_after(owner):
    study = study_make(owner=owner, overlap=2)
    study_update(study=study, overlap=3)
    event = latest("study.changed")
    assert (event.subject, event.subject_key) == (study.slug, str(study.pk))
    assert (event.before, event.after) == ({"overlap": 2}, {"overlap": 3})


def test_a_save_that_changes_nothing_is_no_event(owner):
    study = study_make(owner=owner)
    before = AuditEvent.objects.count()
    study_update(study=study, overlap=study.overlap)
    study.save()
    assert AuditEvent.objects.count() == before


def test_the_state_of_a_study(owner):
    study = study_make(owner=owner)
    study_pause(study=study)
    study_close(study=study)
    events = AuditEvent.objects.filter(action="study.changed").order_by("pk")
    assert [(one.before, one.after) for one in events] == [
        ({"state": "open"}, {"state": "paused"}),
        ({"state": "paused"}, {"state": "closed"}),
    ]
    study_close(study=study)
    assert events.count() == 2


def test_rights(owner):
    owner.role = Role.ADMINISTRATOR
    owner.save()
    event = latest("user.changed")
    assert (event.before, event.after) == ({"role": "researcher"}, {"role": "administrator"})
    owner.set_password("correct horse battery staple")
    owner.save()
    event = latest("user.changed")
    assert event.after == {"password": "changed"}
    assert owner.password not in json.dumps([event.before, event.after])


def test_tokens_without_their_secrets(owner):
    token, secret = token_create(user=owner, name="ci")
    token_revoke(token=token)
    token_revoke(token=token)
    created, revoked = latest("token.created"), AuditEvent.objects.get(action="token.revoked")
    assert (created.subject, revoked.subject) == ("ci", "ci")
    assert secret not in json.dumps(created.after)


def test_the_person_the_way_and_the_network_of_a_page(owner):
    study = study_make(owner=owner, dataset=dataset_make(pairs=2, owner=owner))
    signed_in(owner).get(
        reverse("annotation:study-export", args=[study.slug, "csv"]), REMOTE_ADDR="203.0.113.77"
    )
    event = latest("labels.exported")
    assert (event.actor, event.actor_key, event.via) == ("olga", owner.pk, "page")
    assert event.network == "203.0.113.0/24"
    assert event.after == {"format": "csv", "shape": "labels", "history": False, "identify": False}


def test_the_person_of_a_token(owner):
    study = study_make(owner=owner)
    secret = token_create(user=owner, name="ci")[1]
    address = f"/api/v1/studies/{study.slug}/close/"
    assert Client(headers={"Authorization": f"Bearer {secret}"}).post(address).status_code == 200
    event = latest("study.changed")
    assert (event.actor, event.via, event.after) == ("olga", "api", {"state": "closed"})


def test_an_export_by_a_worker_is_of_who_asked_for_it(owner):
    study = study_make(owner=owner)
    export_request(
        user=owner,
        subject=ExportSubject(study.dataset, study),
        what="labels",
        format="csv",
        options=ExportOptions(),
    )
    event = latest("labels.exported")
    assert (event.actor, event.subject, event.after["format"]) == ("olga", study.slug, "csv")


def test_a_command_has_no_person():
    event = audit("study.closed", "a study")
    assert (event.actor, event.network) == ("", "")
    assert event.via


def test_a_sign_in(owner):
    owner.set_password("correct horse battery staple")
    owner.save()
    Client().post(reverse("login"), {"username": "olga", "password": "correct horse battery staple"})
    assert latest("user.signed in").actor == "olga"
    assert not AuditEvent.objects.filter(action="user.changed", after__has_key="last_login").exists()


def test_what_is_rolled_back_leaves_no_event(owner):
    study = study_make(owner=owner, overlap=2)
    before = AuditEvent.objects.count()
    with transaction.atomic():
        study_update(study=study, overlap=3)
        assert AuditEvent.objects.count() == before + 1
        transaction.set_rollback(True)
    assert AuditEvent.objects.count() == before


def test_the_database_refuses_a_change(owner):
    event = audit("study.closed", "a study")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AuditEvent.objects.filter(pk=event.pk).update(actor="someone else")
    if connection.vendor == "postgresql":
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            event.delete()


def test_a_deleted_person_stays_in_the_log(owner):
    audit("study.closed", "a study", actor=owner)
    User.objects.filter(pk=owner.pk).delete()
    assert latest("study.closed").actor == "olga"


def test_labels_that_are_excluded_and_items_that_are_withdrawn(owner):
    study = study_make(owner=owner)
    item = study.dataset.items.first()
    label = label_make(study=study, item=item, choice=1)
    person = label.assignment.enrollment
    labels_set_aside(enrollment=person, by=owner, reason="Too fast")
    assert latest("intervention.created").after == {
        "enrollment_id": person.pk,
        "action": "set_aside",
        "reason": "Too fast",
        "n_labels": 1,
    }
    report = item_report(assignment=label.assignment, reason="broken")
    item_report_resolve(report=report, withdraw=True)
    item_report_resolve(report=report, withdraw=True)
    assert AuditEvent.objects.filter(action="item.withdrawn").count() == 1


class TestPage:
    def test_administrators_read_filter_and_export_it(self, owner, admin, django_assert_max_num_queries):
        study = study_make(owner=owner, overlap=2, slug="searched")
        study_update(study=study, overlap=3)
        for _ in range(60):
            audit("dataset.changed", "other")
        client = signed_in(admin)
        with django_assert_max_num_queries(6):
            page = client.get(reverse("annotation:audit"))
        assert len(page.context["events"]) == 50
        found = client.get(reverse("annotation:audit"), {"text": "searched", "action": "study.changed"})
        assert [event.after for event, _ in found.context["events"]] == [{"overlap": 3}]
        assert "2 → 3" in found.content.decode()
        file = client.get(reverse("annotation:audit-export", args=["jsonl"]), {"action": "study.changed"})
        rows = [json.loads(line) for line in b"".join(file.streaming_content).splitlines()]
        assert [(row["before"], row["after"]) for row in rows] == [({"overlap": 2}, {"overlap": 3})]
        assert latest("audit log.exported").after == {"format": "jsonl", "action": "study.changed"}

    def test_a_filter_that_is_none_narrows_nothing_and_says_so(self, admin):
        audit("study.closed", "a study")
        page = signed_in(admin).get(reverse("annotation:audit"), {"since": "yesterday"})
        assert page.context["form"].errors
        assert len(page.context["events"]) == page.context["page_obj"].paginator.count > 0

    @pytest.mark.parametrize("address", ["annotation:audit", "annotation:audit-export"])
    def test_nobody_else_does(self, owner, address):
        url = reverse(address, args=["csv"] if "export" in address else [])
        assert signed_in(owner).get(url).status_code == 403
        assert Client().get(url).status_code == 302
        assert signed_in(owner).post(url).status_code == 405

    def test_markup_in_names_is_text(self, admin):
        audit("study.closed", "<script>alert(1)</script>")
        assert (
            "<script>alert(1)</script>"
            not in signed_in(admin).get(reverse("annotation:audit")).content.decode()
        )
