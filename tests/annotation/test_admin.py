"""The admin of the annotation half: it is there for administrators, it is not slow, and evidence stays as it is."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    Action,
    Adjudication,
    Bonus,
    Intervention,
    ItemReport,
    Label,
    QualificationAnswer,
    Role,
    User,
)
from tests.annotation.cast import client_of, label_make, labels_make
from tests.annotation.factories import enrollment_make, invitation_make, study_make, user_make

pytestmark = pytest.mark.django_db

WATCH = ["intervention", "itemreport", "adjudication", "bonus"]
MODELS = ["user", "dataset", "study", "invitation", "annotator", "enrollment", "label", *WATCH]


def url(model, action, *args):
    return reverse(f"admin:annotation_{model}_{action}", args=args)


def populate(owner, number):
    for _ in range(number):
        study = study_make(pairs=2, qualification=1, owner=owner, overlap=4)
        labels_make(study, [[1, 2], [0, 1]])
        enrollment = enrollment_make(study=study, invitation=invitation_make(study=study))
        QualificationAnswer.objects.create(
            enrollment=enrollment,
            question=study.qualification_questions.get(),
            value={"choice": 1},
            shown_order=[0, 1],
            is_correct=True,
        )
        user_make()
        place = study.study_items.select_related("item").first()
        Intervention.objects.create(enrollment=enrollment, action=Action.MESSAGE, by=owner, text="Hello.")
        ItemReport.objects.create(study_item=place, enrollment=enrollment, reason="broken")
        Adjudication.objects.create(
            study=study, item=place.item, expert=owner, value={"choice": 1}, shown_order=[0, 1]
        )
        Bonus.objects.create(enrollment=enrollment, amount=1, reason="careful", by=owner, nonce="n")


@pytest.mark.parametrize("model", MODELS)
def test_lists_are_searched_and_do_not_ask_row_by_row(cast, model):
    client, counts = client_of(cast.ann), []
    for number in (1, 4):
        populate(cast.alice, number)
        with CaptureQueriesContext(connection) as context:
            response = client.get(url(model, "changelist"))
        assert response.status_code == 200
        counts.append(len(context))
    # A filter over studies or datasets is drawn only where there are two to choose from.
    assert counts[1] <= counts[0] + 2
    with CaptureQueriesContext(connection) as context:
        client.get(url(model, "changelist"))
    populate(cast.alice, 3)
    with CaptureQueriesContext(connection) as again:
        client.get(url(model, "changelist"))
    assert len(again) == len(context)
    assert client.get(url(model, "changelist") + "?q=a").status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_rows_open(cast, model):
    populate(cast.alice, 1)
    from django.apps import apps

    for row in apps.get_model("annotation", model).objects.all()[:3]:
        assert client_of(cast.ann).get(url(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_researchers_stay_outside(cast, model):
    assert client_of(cast.alice).get(url(model, "changelist")).status_code == 302


@pytest.mark.parametrize("model", ["label", "enrollment", "annotator", "invitation", *WATCH])
def test_evidence_is_read_only(cast, model):
    populate(cast.alice, 1)
    from django.apps import apps

    row = apps.get_model("annotation", model).objects.first()
    client = client_of(cast.ann)
    assert client.get(url(model, "add")).status_code == 403
    assert client.post(url(model, "change", row.pk), {"choice": 2}).status_code == 403
    assert client.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    data = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(url(model, "changelist"), data)
    assert type(row).objects.filter(pk=row.pk).exists()


def test_answers_of_the_test_are_shown_and_cannot_be_changed(cast):
    populate(cast.alice, 1)
    answer = QualificationAnswer.objects.get()
    page = client_of(cast.ann).get(url("enrollment", "change", answer.enrollment_id)).content.decode()
    assert "{&quot;choice&quot;: 1}" in page
    assert 'name="qualification_answers-0-value"' not in page
    assert answer.enrollment.resume_token not in page


@pytest.mark.parametrize("change", [{"role": "check"}, {"is_set_aside": True}, {"is_surplus": True}])
def test_a_label_says_whether_it_counts(cast, change):
    label_make(study=(study := study_make(pairs=1)), item=study.dataset.items.get(), choice=1, **change)
    page = client_of(cast.ann).get(url("label", "changelist")).content.decode()
    assert 'alt="False"' in page
    label = Label.objects.get()
    page = client_of(cast.ann).get(url("label", "change", label.pk)).content.decode()
    assert "Is set aside" in page
    assert "Check score" in page


def test_a_study_with_people_is_not_deleted(cast):
    populate(cast.alice, 1)
    study = Label.objects.first().study
    client = client_of(cast.ann)
    assert client.post(url("study", "delete", study.pk), {"post": "yes"}).status_code == 403
    draft = study_make(state="draft")
    draft.study_items.all().delete()
    assert client.post(url("study", "delete", draft.pk), {"post": "yes"}).status_code == 302


def test_rules_of_a_study_are_not_changed_behind_its_page(cast):
    study = study_make(owner=cast.alice)
    client_of(cast.ann).post(
        url("study", "change", study.pk),
        {"title": "New", "owner": cast.bob.pk, "tie_policy": "off", "state": "draft"},
    )
    study.refresh_from_db()
    assert (study.title, study.owner, study.tie_policy, study.state) == ("New", cast.bob, "tie", "open")


class TestRoles:
    def change(self, cast, user, **fields):
        data = {"username": user.username, "role": user.role, "is_active": "on", "_save": "Save"}
        response = client_of(cast.ann).post(url("user", "change", user.pk), data | fields)
        assert response.status_code == 302, response.context["adminform"].form.errors
        user.refresh_from_db()
        return user

    def test_who_becomes_an_administrator_may_enter_the_admin(self, cast):
        alice = self.change(cast, cast.alice, role=Role.ADMINISTRATOR)
        assert alice.is_administrator
        assert client_of(alice).get(url("label", "changelist")).status_code == 200

    def test_who_is_none_any_more_may_not(self, cast):
        other = user_make(role=Role.ADMINISTRATOR)
        other = self.change(cast, other, role=Role.RESEARCHER)
        assert not other.is_administrator
        assert client_of(other).get(url("label", "changelist")).status_code == 302

    def test_a_new_user_has_a_role(self, cast):
        password = "a long enough pass phrase"
        data = {
            "username": "dora",
            "role": Role.RESEARCHER,
            "usable_password": "true",
            "password1": password,
            "password2": password,
        }
        response = client_of(cast.ann).post(url("user", "add"), data)
        assert response.status_code == 302, response.context["adminform"].form.errors
        dora = User.objects.get(username="dora")
        assert dora.role == Role.RESEARCHER
        assert dora.check_password(password)


def test_what_is_typed_runs_in_the_direction_of_its_script(cast):
    study = study_make(title="מחקר")
    pages = [url("study", "change", study.pk), url("dataset", "change", study.dataset_id)]
    for page in [*pages, url("user", "change", user_make().pk)]:
        html = client_of(cast.ann).get(page).content.decode()
        typed = re.findall(r'<(?:input type="text"|textarea)[^>]*\bname="(?!initial-)[^"]*"[^>]*>', html)
        assert typed
        assert not [one for one in typed if 'dir="auto"' not in one]
