"""Items that people reported as broken, and the decision about them."""

import pytest

from annotation.models import Assignment, ItemReport, Study, StudyItem
from annotation.selectors.overview import study_list_for
from annotation.selectors.progress import study_progress
from annotation.services.assignments import assignment_claim
from annotation.services.leases import leases_release
from annotation.services.quality import item_report, item_report_resolve
from tests.annotation.cast import client_of, labels_make, text_of, url
from tests.annotation.factories import enrollment_make, study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def reports(study) -> list[ItemReport]:
    """Two reports of the first item, one of the second."""
    labels_make(study, [[1, 2], [1, None]])
    leases = Assignment.objects.order_by("study_item__position", "pk")
    reasons = [("broken", "Answer B is empty."), ("missing", ""), ("other", "<b>odd</b>")]
    return [
        item_report(assignment=lease, reason=reason, note=note)
        for lease, (reason, note) in zip(leases, reasons, strict=True)
    ]


def decide(client, report: ItemReport, decision: str):
    return client.post(url("study-report-decide", "mine", report.pk), {"decision": decision})


def test_what_waits_most_reported_first(cast, study, reports):
    response = client_of(cast.alice).get(url("study-item-reports", "mine"))
    page = text_of(response)
    assert "2 reports" in page
    assert "Answer B is empty." in page
    assert "A text is broken" in page
    assert [len(row.reports) for row in response.context["waiting"]] == [2, 1]
    assert "<b>odd" not in response.content.decode()
    assert "Reported items (2)" in page


def test_nothing(cast, study):
    assert "Nothing to decide" in text_of(client_of(cast.alice).get(url("study-item-reports", "mine")))


def test_withdraw_and_keep(cast, study, reports):
    client = client_of(cast.alice)
    response = decide(client, reports[0], "withdraw")
    page = text_of(client.get(response["Location"]))
    assert "The item is withdrawn" in page
    assert "Withdrawn" in page
    place = study.study_items.order_by("position")[0]
    assert place.withdrawn_at is not None
    assert place.overlap == place.n_accepted == 2
    decide(client, reports[2], "keep")
    kept = study.study_items.order_by("position")[1]
    assert (kept.withdrawn_at, kept.overlap) == (None, 4)
    assert ItemReport.objects.filter(resolved_at=None).count() == 0


def test_decided_once(cast, study, reports):
    client = client_of(cast.alice)
    decide(client, reports[0], "keep")
    decide(client, reports[1], "withdraw")
    assert study.study_items.order_by("position")[0].withdrawn_at is None
    assert set(ItemReport.objects.exclude(resolution="").values_list("resolution", flat=True)) == {"kept"}


def test_reported_again_by_somebody_else_waits_again(cast, study, reports):
    client = client_of(cast.alice)
    decide(client, reports[2], "keep")
    labels_make(study, [[None], [2]])
    item_report(assignment=Assignment.objects.latest("pk"), reason="broken", note="Still.")
    response = client.get(url("study-item-reports", "mine"))
    assert len(response.context["waiting"]) == 2
    assert len(response.context["decided"]) == 1


def test_strangers(cast, study, reports):
    for client, status in [(client_of(None), 302), (client_of(cast.carl), 403), (client_of(cast.bob), 404)]:
        assert client.get(url("study-item-reports", "mine")).status_code == status
        assert decide(client, reports[0], "withdraw").status_code == status
    assert not ItemReport.objects.exclude(resolved_at=None).exists()


def test_reports_of_another_study_and_unknown_decisions(cast, study, reports):
    other = study_make(slug="other", owner=cast.alice)
    client = client_of(cast.alice)
    address = url("study-report-decide", other.slug, reports[0].pk)
    assert client.post(address, {"decision": "withdraw"}).status_code == 404
    assert decide(client, reports[0], "delete").status_code == 404
    assert client.get(url("study-report-decide", "mine", reports[0].pk)).status_code == 405
    assert not ItemReport.objects.exclude(resolved_at=None).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_decided_by_many_at_once(cast, study, reports):
    clients = [client_of(cast.alice) for _ in range(4)]
    sent = all_at_once(
        lambda pair: decide(pair[0], reports[0], pair[1]).status_code,
        list(zip(clients, ["withdraw", "keep"] * 2, strict=True)),
    )
    assert sent == [302] * 4
    place = Study.objects.get(pk=study.pk).study_items.order_by("position")[0]
    resolution = set(place.reports.values_list("resolution", flat=True))
    assert len(resolution) == 1
    assert (place.withdrawn_at is not None) == (resolution == {"withdrawn"})


def test_a_withdrawn_item_wants_no_more_than_it_has(cast, study):
    """Its lease may end unanswered: the study is complete all the same."""
    labels_make(study, [[1, 2], [1, None]])
    place = study.study_items.order_by("position")[1]
    lease = assignment_claim(enrollment=enrollment_make(study=study))
    Assignment.objects.filter(pk=lease.pk).update(study_item=place)
    StudyItem.objects.filter(pk=lease.study_item_id).update(n_open=0)
    StudyItem.objects.filter(pk=place.pk).update(n_open=1)
    report = item_report(assignment=Assignment.objects.get(pk=lease.pk), reason="broken")
    item_report_resolve(report=report, withdraw=True)
    leases_release(enrollment=lease.enrollment)
    study.study_items.exclude(position__lte=1).delete()
    study.study_items.filter(position=0).update(overlap=2)
    assert study.study_items.get(position=1).overlap == 2
    (listed,) = study_list_for(cast.alice)
    progress = study_progress(study)
    assert (listed.labels_accepted, listed.labels_wanted) == (3, 3)
    assert (progress.labels, progress.wanted) == (3, 3)
