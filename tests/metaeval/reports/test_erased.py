"""A report says that people were erased after it was made, and links none of its numbers to anybody then."""

import pytest
from django.urls import reverse

from annotation.services.erasure import enrollment_erase
from annotation.services.erasure_log import REQUEST
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import client_of, labels_make, text_of
from tests.annotation.factories import study_make, user_make

pytestmark = pytest.mark.django_db


def test_a_report_says_that_people_were_erased_since(settings, tmp_path):
    settings.ERASURES_FILE = tmp_path / "erasures.jsonl"
    owner = user_make()
    study = study_make(pairs=4, owner=owner, overlap=4)
    labels_make(study, [[1, 1, 2], [1, 2, 2], [2, 1, 2], [1, 1, 1]])
    report = report_request(user=owner, study=study.slug)
    browser, page = client_of(owner), reverse("metaeval:report-detail", args=[report.pk])
    before = browser.get(page).content.decode()
    assert "asked for deletion" not in before
    assert "annotator=" in before, "numbers lead to the items of annotators"
    enrollment_erase(enrollment=study.enrollments.order_by("pk").first(), why=REQUEST)
    answer = browser.get(page)
    assert "1 person of these labels asked for deletion" in text_of(answer)
    assert "annotator=" not in answer.content.decode()
