"""The page of a judge in time: who may open it, what it says, and what its buttons do."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judges.models import AnchorSet, Sweep
from judges.selectors.anchors import in_time
from judges.selectors.new_labels import new_labels
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.promotions import judge_promote
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.judges.anchor_rows import anchors_make
from tests.judges.props import endpoint_make, run_instant
from tests.judges.props import judge_make as runnable_make
from tests.judges.props import sweep_make as sweep_run
from tests.metaeval.rows import labels_make, swept

pytestmark = pytest.mark.django_db

FORM = {"n": "12", "repeats": "1", "tolerance": "0", "every_days": "7", "budget": "1.50"}


def page_of(judge: Any) -> str:
    return reverse("judges:judge-in-time", args=[judge.pk])


def freeze_url(judge: Any) -> str:
    return reverse("judges:in-time-freeze", args=[judge.pk])


def act_url(anchors: AnchorSet) -> str:
    return reverse("judges:in-time-act", args=[anchors.judge_id, anchors.pk])


def runnable() -> tuple[Any, Any]:
    dataset = dataset_make(pairs=16)
    judge = runnable_make(endpoint_make())
    sweep_run([judge], dataset)
    run_instant()
    return judge, dataset


def test_a_judge_that_stands_still_and_one_that_moved(cast: Cast) -> None:
    dataset = dataset_make(pairs=50)
    sweep, good, poor = swept(dataset=dataset)
    anchors_make(judge=good, dataset=dataset, changed=[0, 1, 2])
    anchors_make(judge=poor, dataset=dataset, changed=[0, 0, 30])
    admin = client_of(cast.ann)
    still, moved = (text_of(admin.get(page_of(judge))) for judge in (good, poor))
    assert "No drift of Good judge was found in 3 checks" in still
    assert "2.0% [" in still
    assert "change by noise alone (99% bound)" in still
    AnchorSet.objects.filter(judge=good).update(tolerance=0.2)
    assert "changes of up to 20.0% of the verdicts are tolerated" in text_of(admin.get(page_of(good)))
    assert "Poor judge has drifted, probably since check 3" in moved
    assert "alarm at 25: at most 5% false alarms over all checks together" in moved
    assert "2 models answered the anchors: model-1 (fp_1), model-1-new (fp_2)." in moved
    # The pages of the judge, of the comparison and of the decision say it, the latter of the judge in use.
    view = sweep_view(sweep.pk)
    content = comparison_get(sweep=view, dataset=dataset)
    (made,) = judge_promote(
        sweep=view,
        basis=dataset,
        fingerprint=poor.fingerprint,
        reason="r",
        user=cast.ann,
        inputs_hash=content.inputs_hash,
        seen={},
    )
    exported = client_of(cast.bob).get(reverse("metaeval:decision-judge", args=[made.pk])).json()
    anchors = exported["decision"]["in_time"]["anchors"]
    assert (anchors["items"], anchors["checks"], anchors["moved"]) == (50, 3, True)
    assert exported["decision"]["in_time"]["answered_by"] == []
    address = reverse("metaeval:dataset-comparison", args=[dataset.name])
    for user, sees in ((cast.bob, False), (cast.ann, True)):
        detail = client_of(user).get(reverse("judges:judge-detail", args=[poor.pk])).content.decode()
        assert "This judge has drifted since it was frozen" in detail
        assert (page_of(poor) in detail) == sees
        compared = text_of(client_of(user).get(address))
        assert "Poor judge has drifted since its verdicts on" in compared
    assert "has drifted" not in text_of(
        client_of(cast.bob).get(reverse("judges:judge-detail", args=[good.pk]))
    )


@pytest.mark.parametrize(
    ("changed", "share", "said"),
    [
        (
            0,
            0.9,
            "Agreement with human annotators on newly labeled items shows no change (90.0% on 100 instructions before",
        ),
        (
            40,
            0.9,
            "The judge drifted, not the data: agreement with human annotators on newly labeled items shows no change",
        ),
        (
            0,
            0.3,
            "The systems, the items or the annotators changed, not the judge: verdicts on the anchors are stable",
        ),
        (
            40,
            0.3,
            "Agreement with human annotators on newly labeled items changed too (90.0% on 100 instructions before",
        ),
    ],
)
def test_whether_the_judge_or_the_systems_moved(cast: Cast, changed: int, share: float, said: str) -> None:
    """Agreement on items labeled before anchors were frozen is 90%; on those since it is what the case says."""
    dataset = dataset_make(pairs=220)
    _, good, _ = swept(dataset=dataset)
    right = [k % 2 + 1 for k in range(220)]
    before = [(choice if k % 10 else 3 - choice,) for k, choice in enumerate(right[:100])]
    labels_make(dataset=dataset, choices=before)
    frozen = timezone.now()
    since = [(choice if k % 10 < share * 10 else 3 - choice,) for k, choice in enumerate(right[100:200])]
    labels_make(dataset=dataset, choices=[()] * 100 + since)
    anchors = anchors_make(judge=good, dataset=dataset, changed=[changed])
    AnchorSet.objects.filter(pk=anchors.pk).update(created_at=frozen)
    waiting = timezone.now()
    anchors.checks.update(created_at=waiting)
    labels_make(dataset=dataset, choices=[()] * 200 + [(1,), (2,)])
    page = text_of(client_of(cast.ann).get(page_of(good)))
    assert said in page
    assert "102 instructions labeled since, 2 of them after the latest check; 90.0% before" in page


def test_new_labels_that_say_nothing_yet(cast: Cast) -> None:
    dataset = dataset_make(pairs=20)
    _, good, _ = swept(dataset=dataset)
    anchors = anchors_make(judge=good, dataset=dataset, changed=[])
    admin = client_of(cast.ann)
    assert "newly labeled" not in text_of(admin.get(page_of(good)))
    AnchorSet.objects.filter(pk=anchors.pk).update(created_at=timezone.now())
    labels_make(dataset=dataset, choices=[(1,)] * 5)
    assert "No item was labeled before the anchors were frozen" in text_of(admin.get(page_of(good)))
    AnchorSet.objects.filter(pk=anchors.pk).update(created_at=timezone.now())
    labels_make(dataset=dataset, choices=[()] * 5 + [(2,)] * 3)
    assert "newly labeled items counts from the next check on" in text_of(admin.get(page_of(good)))
    found = in_time(AnchorSet.objects.get(pk=anchors.pk))
    with CaptureQueriesContext(connection) as queries:
        new_labels(found)
    assert len(queries) == 2


def test_only_administrators_open_it_and_others_change_nothing(cast: Cast) -> None:
    dataset = dataset_make(pairs=12)
    _, good, poor = swept(dataset=dataset)
    anchors = anchors_make(judge=good, dataset=dataset, changed=[0])
    for client in (client_of(cast.bob), client_of(cast.alice)):
        assert client.get(page_of(good)).status_code == 403
        assert client.post(freeze_url(poor), FORM | {"dataset": dataset.name}).status_code == 403
        assert client.post(act_url(anchors), {"action": "retire"}).status_code == 403
    for address in (freeze_url(poor), act_url(anchors)):
        assert "/login/" in Client().post(address, {"action": "retire"})["Location"]
    # The anchors of another judge.
    wrong = reverse("judges:in-time-act", args=[poor.pk, anchors.pk])
    assert client_of(cast.ann).post(wrong, {"action": "retire"}).status_code == 404
    anchors.refresh_from_db()
    assert anchors.retired_at is None
    assert AnchorSet.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_freeze_check_schedule_and_retire(cast: Cast) -> None:
    judge, dataset = runnable()
    admin = client_of(cast.ann)
    assert "Freeze anchors" in text_of(admin.get(page_of(judge)))
    form = FORM | {"dataset": dataset.name}
    for _ in range(2):  # a double click
        assert admin.post(freeze_url(judge), form)["Location"] == page_of(judge)
    (anchors,) = AnchorSet.objects.all()
    assert (anchors.every_days, str(anchors.budget), anchors.repeats) == (7, "1.50", 1)
    shown = text_of(admin.get(page_of(judge)))
    assert "noise are running" in shown
    assert "every 7 days, at most $1.50 a check" in shown
    run_instant()
    for _ in range(2):
        admin.post(act_url(anchors), {"action": "check"})
    assert anchors.checks.count() == 2
    run_instant()
    assert "No drift of" in text_of(admin.get(page_of(judge)))
    admin.post(act_url(anchors), {"action": "schedule", "every_days": "", "budget": ""})
    assert "by hand only" in text_of(admin.get(page_of(judge)))
    said = text_of(admin.post(act_url(anchors), {"action": "schedule", "every_days": "-1"}, follow=True))
    assert "Nothing was changed." in said
    assert "Nothing was changed." in text_of(admin.post(act_url(anchors), {"action": "x"}, follow=True))
    for _ in range(2):
        admin.post(act_url(anchors), {"action": "retire"})
    shown = text_of(admin.get(page_of(judge)))
    assert "No longer in use" in shown
    assert "Freeze anchors" in shown
    said = text_of(admin.post(act_url(anchors), {"action": "check"}, follow=True))
    assert "Nothing was changed. These anchors are no longer in use." in said


@pytest.mark.django_db(transaction=True)
def test_a_check_that_stopped_is_resumed_from_the_page(cast: Cast) -> None:
    judge, dataset = runnable()
    admin = client_of(cast.ann)
    admin.post(freeze_url(judge), FORM | {"dataset": dataset.name})
    (anchors,) = AnchorSet.objects.all()
    sweep = anchors.checks.get()
    Sweep.objects.filter(pk=sweep.pk).update(state="failed", message="The endpoint cannot be reached.")
    shown = text_of(admin.get(page_of(judge)))
    assert "The endpoint cannot be reached." in shown
    assert "Resume check" in shown
    assert "Resume it first" in text_of(admin.post(act_url(anchors), {"action": "check"}, follow=True))
    for _ in range(2):
        admin.post(act_url(anchors), {"action": "resume"})
    run_instant()
    sweep.refresh_from_db()
    assert sweep.state == "finished"


def test_what_cannot_be_frozen_is_said_on_the_page(cast: Cast) -> None:
    dataset = dataset_make(pairs=4)
    _, good, _ = swept(dataset=dataset)
    admin = client_of(cast.ann)
    refused = admin.post(freeze_url(good), FORM | {"dataset": dataset.name})
    assert refused.status_code == 422
    assert "has judged 4 items" in text_of(refused)
    for wrong in ({"n": "3"}, {"dataset": "no-such"}, {"repeats": "x"}, {"tolerance": "nan"}):
        assert admin.post(freeze_url(good), FORM | {"dataset": dataset.name} | wrong).status_code == 422
    assert not AnchorSet.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_administrators_at_once_freeze_one_set(cast: Cast) -> None:
    judge, dataset = runnable()

    def freeze(_: int) -> int:
        try:
            return client_of(cast.ann).post(freeze_url(judge), FORM | {"dataset": dataset.name}).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(freeze, range(2))) == [302, 302]
    (anchors,) = AnchorSet.objects.all()
    assert anchors.checks.count() == 1
