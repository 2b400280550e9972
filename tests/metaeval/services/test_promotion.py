"""Promotion: one decision in force, whatever is clicked how often by whom."""

import json
import re

import pytest
from django.urls import reverse

from metaeval.models import Decision, Report
from metaeval.reports.errors import DecisionConflict, DecisionError
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.promotions import judge_promote
from metaeval.services.reports import report_build
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make, swept
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    return dataset_make(pairs=12)


@pytest.fixture
def sweep(dataset):
    return swept(dataset=dataset)[0]


def form(sweep, dataset, judge="Good judge", **fields):
    content = report_build(dataset=dataset, sweep=sweep_view(sweep.pk))
    current = Decision.objects.filter(dataset=dataset, replaced_by__isnull=True).first()
    return {
        "judge": sweep.judges.get(name=judge).fingerprint,
        "reason": "It is right most often.",
        "dataset": dataset.name,
        "inputs_hash": content.inputs_hash,
        "seen": f"{dataset.pk}:{current.pk if current else ''}",
    } | fields


def post(client, sweep, data):
    url = f"{reverse('metaeval:promote', args=[sweep.pk])}?dataset={data['dataset']}"
    return client.post(url, data, follow=True)


def test_promoted_with_reason_and_evidence(client, administrator, sweep, dataset):
    text = post(client, sweep, form(sweep, dataset)).content.decode()
    assert "Good judge is now the judge for" in text
    assert "It is right most often." in text
    decision = Decision.objects.get()
    assert (decision.decided_by, decision.sweep, decision.dataset) == (administrator, sweep, dataset)
    assert decision.evidence["judge"]["measures"]["accuracy"]["overall"]["value"] == 1
    assert decision.evidence["rank"] == 1
    # The comparison that it rests on is kept.
    assert Report.objects.get().inputs_hash == decision.inputs_hash


@pytest.mark.both_databases
def test_sent_twice_is_one_decision(client, administrator, sweep, dataset):
    data = form(sweep, dataset)
    for _ in range(2):
        assert "is now the judge" in post(client, sweep, data).content.decode()
    assert Decision.objects.count() == 1
    data = form(sweep, dataset, judge="Poor judge", reason="Cheaper.")
    for _ in range(2):
        assert "is now the judge" in post(client, sweep, data).content.decode()
    assert Decision.objects.count() == 2


@pytest.mark.both_databases
def test_a_later_decision_replaces_the_earlier_one(client, administrator, sweep, dataset):
    post(client, sweep, form(sweep, dataset))
    text = post(
        client, sweep, form(sweep, dataset, judge="Poor judge", reason="It is cheaper.")
    ).content.decode()
    old, new = Decision.objects.order_by("pk")
    assert old.replaced_by == new
    assert new.replaced_by is None
    assert "It is cheaper." in text
    assert "It is right most often." in text


def test_there_is_no_end_to_changing_ones_mind(client, administrator, sweep, dataset):
    for number in range(5):
        judge = ("Good judge", "Poor judge")[number % 2]
        data = form(sweep, dataset, judge=judge, reason=f"Reason {number}")
        assert f"{judge} is now the judge" in post(client, sweep, data).content.decode()
    decisions = list(Decision.objects.order_by("pk"))
    assert [decision.replaced_by for decision in decisions] == [*decisions[1:], None]


def test_a_decision_made_from_an_old_page_is_refused(client, administrator, sweep, dataset):
    stale = form(sweep, dataset, judge="Poor judge")
    post(client, sweep, form(sweep, dataset))
    assert "in the meantime" in post(client, sweep, stale).content.decode()
    assert Decision.objects.count() == 1


def test_figures_that_have_changed_are_looked_at_first(client, administrator, sweep, dataset):
    data = form(sweep, dataset)
    labels_make(dataset=dataset, choices=[(1, 1)])
    assert "Check the new figures first" in post(client, sweep, data).content.decode()
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [{"reason": "   "}, {"judge": "0" * 64}, {"inputs_hash": "x"}, {"seen": "abc"}, {"reason": "x" * 5000}],
)
def test_bad_forms_promote_nobody(client, administrator, sweep, dataset, fields):
    assert "Nothing was promoted" in post(client, sweep, form(sweep, dataset) | fields).content.decode()
    assert not Decision.objects.exists()


def test_researchers_and_strangers_may_not(client, sweep, dataset):
    url, data = reverse("metaeval:promote", args=[sweep.pk]), form(sweep, dataset)
    assert client.post(url, data).status_code == 302
    for role in ("researcher", "annotator"):
        user = user_make(role=role)
        client.force_login(user)
        assert client.post(url, data).status_code == 403
    with pytest.raises(DecisionError, match="Only administrators"):
        promote(sweep, dataset, user)
    assert not Decision.objects.exists()


def test_promoting_is_no_get(client, administrator, sweep):
    """The page of a refused promotion has this address: who goes to it sees the comparison."""
    url = reverse("metaeval:promote", args=[sweep.pk])
    response = client.get(url, {"measure": "accuracy"})
    assert response.url == f"{reverse('metaeval:comparison', args=[sweep.pk])}?measure=accuracy"
    assert client.put(url).status_code == 405
    assert not Decision.objects.exists()


def test_what_was_typed_stays_with_the_reason_for_the_refusal(client, administrator, sweep, dataset):
    data = form(sweep, dataset, judge="Poor judge", reason="It is <cheap>.")
    post(client, sweep, form(sweep, dataset))
    response = post(client, sweep, data)
    text = response.content.decode()
    assert response.status_code == 409
    assert "Nothing was promoted. Someone else decided" in text
    assert re.search(r"It is &lt;cheap&gt;\.</textarea>", text)
    assert re.findall(r'name="judge" value="([0-9a-f]+)" required checked', text) == [data["judge"]]
    assert 'id="promote" open>' in text
    # It goes by what the page shows now, so that it can be sent as it stands.
    again = data | {"seen": f"{dataset.pk}:{Decision.objects.get().pk}"}
    assert f'name="seen" value="{again["seen"]}"' in text
    assert "Poor judge is now the judge" in post(client, sweep, again).content.decode()
    response = post(client, sweep, form(sweep, dataset, reason=" "))
    assert response.status_code == 422
    assert 'id="promote-reason-error">This field is required.' in response.content.decode()


def test_the_form_sends_to_the_figures_that_it_stands_on(client, administrator, sweep, dataset):
    page = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert (
        f'action="{reverse("metaeval:promote", args=[sweep.pk])}?dataset={dataset.name}&amp;measure=accuracy"'
        in page
    )


def test_a_judge_without_judgments_cannot_be_promoted(administrator, sweep, dataset):
    sweep.judges.add(judge_make("Idle"))
    with pytest.raises(DecisionError, match="hasn't judged"):
        promote(sweep, dataset, administrator, judge="Idle")


def test_the_configuration_is_exported(client, administrator, sweep, dataset):
    post(client, sweep, form(sweep, dataset))
    decision = Decision.objects.get()
    url = reverse("metaeval:decision-judge", args=[decision.pk])
    exported = json.loads(client.get(url).content)
    assert exported["schema"] == "touchstone.judge/2"
    assert exported["fingerprint"] == decision.judge.fingerprint
    assert exported["spec"] == decision.judge.spec
    assert exported["decision"]["reason"] == "It is right most often."
    figure = exported["decision"]["figures"][exported["decision"]["primary"]]["overall"]
    assert figure["low"] <= figure["value"] <= figure["high"]
    client.force_login(user_make(role="annotator"))
    assert client.get(url).status_code == 403


def test_the_export_of_a_private_dataset_is_for_its_owner(client, administrator):
    dataset = dataset_make(pairs=4, split="private")
    sweep = swept(dataset=dataset)[0]
    post(client, sweep, form(sweep, dataset))
    url = reverse("metaeval:decision-judge", args=[Decision.objects.get().pk])
    client.force_login(user_make())
    assert client.get(url).status_code == 404


def promote(sweep, dataset, user, judge="Good judge", **fields):
    data = form(sweep, dataset, judge=judge, **fields)
    (decision,) = promoted(sweep_view(sweep.pk), dataset, user, data, data["reason"])
    return decision


def promoted(view, dataset, user, data, reason):
    seen = data["seen"].partition(":")[2]
    return judge_promote(
        sweep=view,
        basis=dataset,
        fingerprint=data["judge"],
        reason=reason,
        user=user,
        inputs_hash=data["inputs_hash"],
        seen={dataset.pk: int(seen) if seen else None},
    )


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("earlier", [False, True])
def test_many_at_once_leave_one_in_force(earlier):
    dataset = dataset_make(pairs=12)
    sweep = swept(dataset=dataset)[0]
    people = [user_make(role="administrator") for _ in range(6)]
    if earlier:
        promote(sweep, dataset, people[0], reason="The first.")
    before = Decision.objects.count()
    outcomes = race(sweep, dataset, people, lambda number: f"Reason {number}")
    assert sorted(outcomes) == ["conflict"] * 5 + ["made"]
    assert Decision.objects.count() == before + 1
    assert Decision.objects.filter(replaced_by__isnull=True).count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_person_in_many_tabs_makes_one_decision():
    dataset = dataset_make(pairs=12)
    sweep = swept(dataset=dataset)[0]
    person = user_make(role="administrator")
    assert race(sweep, dataset, [person] * 6, lambda _: "The same reason") == ["made"] * 6
    assert Decision.objects.count() == 1


def race(sweep, dataset, people, reason):
    """Everybody sends what they filled in from the same page, at the same moment."""
    data, view = form(sweep, dataset), sweep_view(sweep.pk)

    def run(entry):
        number, user = entry
        try:
            promoted(view, dataset, user, data, reason(number))
        except DecisionConflict:
            return "conflict"
        return "made"

    return all_at_once(run, [*enumerate(people)])


def test_incomplete_judges_are_not_ranked_but_may_be_promoted(administrator, sweep, dataset):
    part = judge_make("Part")
    judgments_make(judge=part, dataset=dataset, choices=[(1, 1)])
    sweep.judges.add(part)
    decision = promote(sweep, dataset, administrator, judge="Part")
    assert decision.evidence["rank"] is None
