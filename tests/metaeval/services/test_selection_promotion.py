"""Promotion from the decision page: on every dataset that decides or on none, however often and by whomever sent."""

import json
import re

import pytest
from django.urls import reverse

from annotation.models import Dataset
from metaeval.models import Decision
from metaeval.reports.errors import DecisionConflict, DecisionError
from metaeval.selectors.decisions import judge_export
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.promotions import judge_promote
from tests.annotation.factories import user_make
from tests.metaeval.choices import content_of, criteria_of, form_of, two_datasets
from tests.metaeval.composites import specialists
from tests.metaeval.rows import judge_make, labels_make
from tests.metaeval.services.test_promotion import form as comparison_form
from tests.metaeval.services.test_promotion import post as comparison_post
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

BOTH = {"weight-gold": "1", "weight-people": "2"}


@pytest.fixture
def sweep():
    return two_datasets()[0]


def seen_now(sweep):
    """What is in force on each dataset, as the page remembers it."""
    in_force = dict(Decision.objects.filter(replaced_by__isnull=True).values_list("dataset_id", "pk"))
    return {pk: in_force.get(pk) for pk in sweep.datasets.values_list("pk", flat=True)}


def form(sweep, judge="Good judge", asked=BOTH, **fields):
    return {
        "judge": sweep.judges.get(name=judge).fingerprint,
        "reason": "It holds on both.",
        "inputs_hash": content_of(sweep, **asked)["inputs_hash"],
        "seen": ",".join(f"{pk}:{decision or ''}" for pk, decision in seen_now(sweep).items()),
    } | fields


def post(client, sweep, data, asked=BOTH):
    url = f"{reverse('metaeval:decision-promote', args=[sweep.pk])}?{form_of(sweep, **asked).query()}"
    return client.post(url, data, follow=True)


def promote(sweep, user, judge="Good judge", asked=BOTH, **fields):
    values = {
        "sweep": sweep_view(sweep.pk),
        "basis": criteria_of(sweep, **asked),
        "fingerprint": sweep.judges.get(name=judge).fingerprint if judge else "",
        "reason": "It holds on both.",
        "user": user,
        "inputs_hash": content_of(sweep, **asked)["inputs_hash"],
        "seen": seen_now(sweep),
    }
    return judge_promote(**(values | fields))


def test_one_decision_a_dataset_with_the_choice_that_it_rests_on(client, administrator, sweep):
    text = post(client, sweep, form(sweep)).content.decode()
    assert "Good judge is now the judge for gold and people." in text
    assert "Good judge for Gold, promoted by" in text
    gold, people = Decision.objects.order_by("dataset__name")
    assert (gold.dataset.name, people.dataset.name) == ("gold", "people")
    for decision in (gold, people):
        assert decision.decided_by == administrator
        assert decision.selection["schema"] == "touchstone.selection/1"
        assert decision.selection["inputs_hash"] == decision.inputs_hash
        assert decision.selection["promoted"]["violations"] == []
    assert people.evidence["primary"] == "agreement"
    assert gold.evidence["judge"]["measures"]["accuracy"]["overall"]["value"] == 1
    assert (gold.evidence["rank"], gold.evidence["of"], gold.evidence["clear"]) == (1, 2, False)
    # It is clear for these annotators: of fewer than five nothing can be said of others.
    assert gold.selection["verdict"] == "clear_here"


def test_what_decides_nothing_gets_no_decision(client, administrator, sweep):
    assert (
        "now the judge for people." in post(client, sweep, form(sweep, asked={}), asked={}).content.decode()
    )
    assert [row.dataset.name for row in Decision.objects.all()] == ["people"]


def test_the_page_sends_what_it_shows(client, administrator, sweep):
    """The form of the page itself, its address and its hidden fields, is a promotion."""
    url = reverse("metaeval:decision", args=[sweep.pk])
    text = client.get(url, BOTH).content.decode()
    action = re.search(r'action="([^"]*promote[^"]*)"', text)[1].replace("&amp;", "&")
    data = {name: re.search(rf'name="{name}" value="([^"]+)"', text)[1] for name in ("inputs_hash", "seen")}
    data |= {"judge": sweep.judges.get(name="Good judge").fingerprint, "reason": "Seen."}
    assert "is now the judge" in client.post(action, data, follow=True).content.decode()
    assert Decision.objects.count() == 2


@pytest.mark.both_databases
def test_sent_twice_is_one_decision_a_dataset(client, administrator, sweep):
    for reason in ("The first.", "The second."):
        data = form(sweep, reason=reason)
        for _ in range(2):
            assert "is now the judge" in post(client, sweep, data).content.decode()
    assert Decision.objects.count() == 4
    assert Decision.objects.filter(replaced_by__isnull=True).count() == 2


@pytest.mark.both_databases
def test_all_or_nothing(client, administrator, sweep):
    """On one of the two datasets somebody else has decided since: neither is decided."""
    stale = form(sweep, judge="Poor judge")
    people = Dataset.objects.get(name="people")
    comparison_post(client, sweep, comparison_form(sweep, people))
    assert Decision.objects.count() == 1
    assert "in the meantime" in post(client, sweep, stale).content.decode()
    assert Decision.objects.count() == 1
    assert "is now the judge" in post(client, sweep, form(sweep, judge="Poor judge")).content.decode()
    assert Decision.objects.filter(replaced_by__isnull=True, judge__name="Poor judge").count() == 2
    # And the comparison's promotion goes on from there.
    text = comparison_post(client, sweep, comparison_form(sweep, people, reason="Back.")).content.decode()
    assert "Good judge is now the judge" in text
    assert "chosen over the datasets of its sweep" in text


def test_figures_that_have_changed_are_looked_at_first(client, administrator, sweep):
    data = form(sweep)
    labels_make(dataset=Dataset.objects.get(name="people"), choices=[(1, 1)])
    assert "Check the new figures first" in post(client, sweep, data).content.decode()
    assert not Decision.objects.exists()


def test_another_choice_is_another_hash(client, administrator, sweep):
    assert "new figures first" in post(client, sweep, form(sweep), asked={}).content.decode()
    assert not Decision.objects.exists()


def test_although_it_violates_a_constraint(client, administrator, sweep):
    asked = BOTH | {"max_cost": "5"}
    data = form(sweep, asked=asked)
    text = post(client, sweep, data, asked=asked).content.decode()
    assert "does not satisfy the constraints" in text
    assert "Although 1,000 judgments cost $8.00, more than $5.00" in text
    # The word for another judge is none for this one.
    other = sweep.judges.get(name="Poor judge").fingerprint
    assert (
        "Nothing was promoted"
        in post(client, sweep, data | {"although": other}, asked=asked).content.decode()
    )
    assert not Decision.objects.exists()
    text = post(client, sweep, data | {"although": data["judge"]}, asked=asked).content.decode()
    assert "Good judge is now the judge" in text
    for decision in Decision.objects.all():
        (violation,) = decision.selection["promoted"]["violations"]
        assert (violation["name"], violation["limit"], violation["value"]) == ("max_cost_per_1000", 5.0, 8.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "   "},
        {"judge": "0" * 64},
        {"judge": ""},
        {"inputs_hash": "x"},
        {"seen": "people"},
        {"seen": ""},
        {"reason": "x" * 5000},
    ],
)
def test_bad_forms_promote_nobody(client, administrator, sweep, fields):
    assert "Nothing was promoted" in post(client, sweep, form(sweep) | fields).content.decode()
    assert not Decision.objects.exists()


def test_a_choice_that_cannot_be_made_promotes_nobody(client, administrator, sweep):
    url = reverse("metaeval:decision-promote", args=[sweep.pk])
    text = client.post(f"{url}?max_cost=cheap", form(sweep), follow=True).content.decode()
    assert "Nothing was promoted" in text
    assert not Decision.objects.exists()


def test_researchers_and_strangers_may_not(client, sweep):
    url, data = reverse("metaeval:decision-promote", args=[sweep.pk]), form(sweep)
    assert client.post(url, data).status_code == 302
    for role in ("researcher", "annotator"):
        user = user_make(role=role)
        client.force_login(user)
        assert client.post(url, data).status_code == 403
    with pytest.raises(DecisionError, match="Only administrators"):
        promote(sweep, user)
    assert not Decision.objects.exists()


def test_promoting_is_no_get(client, administrator, sweep):
    """The page of a refused promotion has this address: who goes to it sees the choice."""
    url = reverse("metaeval:decision-promote", args=[sweep.pk])
    response = client.get(url, form(sweep) | BOTH, follow=True)
    assert response.redirect_chain[0][0].startswith(f"{reverse('metaeval:decision', args=[sweep.pk])}?")
    assert "weight-people=2" in response.redirect_chain[0][0]
    assert not Decision.objects.exists()
    assert client.put(url).status_code == 405


def test_what_was_typed_stays_with_the_reason_for_the_refusal(client, administrator, sweep):
    asked = BOTH | {"max_cost": "5"}
    data = form(sweep, asked=asked, reason="The money <is> there.")
    response = post(client, sweep, data, asked=asked)
    text = response.content.decode()
    assert response.status_code == 422
    assert '<details class="disclosure no-print" id="promote" open>' in text
    assert "The money &lt;is&gt; there.</textarea>" in text
    assert re.findall(r'name="judge" value="([0-9a-f]+)" required checked autofocus', text) == [data["judge"]]
    assert "Nothing was promoted. This judge does not satisfy the constraints" in text
    for fields, error in (({"reason": " "}, "This field is required."), ({"judge": ""}, "Choose a judge.")):
        response = post(client, sweep, form(sweep) | fields)
        assert response.status_code == 422
        assert f"{error}</p>" in response.content.decode()


def test_a_refused_page_sent_again_goes_by_what_it_shows(client, administrator, sweep):
    """Somebody else came first: the page has their decision and the typed reason, and can be sent as it stands."""
    stale = form(sweep, judge="Poor judge", reason="Because.")
    promote(sweep, administrator)
    response = post(client, sweep, stale)
    assert response.status_code == 409
    text = response.content.decode()
    assert "Good judge for Gold, promoted by" in text
    sent = {name: re.search(rf'name="{name}" value="([^"]+)"', text)[1] for name in ("inputs_hash", "seen")}
    sent |= {"judge": stale["judge"], "reason": re.search(r">([^<]*)</textarea>", text)[1]}
    assert "Poor judge is now the judge" in post(client, sweep, sent).content.decode()
    assert Decision.objects.filter(replaced_by__isnull=True, reason="Because.").count() == 2


def test_a_judge_of_the_site_can_be_promoted(client, administrator):
    """Fingerprints are as judges have them, not as long as a whole hash."""
    sweep = specialists()[0]
    data = form(sweep, judge="First half", asked={})
    assert len(data["judge"]) == 16
    assert "First half is now the judge" in post(client, sweep, data, asked={}).content.decode()


def test_a_judge_that_judged_nothing_cannot_be_promoted(administrator, sweep):
    sweep.judges.add(judge_make("Idle"))
    with pytest.raises(DecisionError, match="hasn't judged"):
        promote(sweep, administrator, judge="Idle")


def test_the_export_says_what_to_expect(client, administrator, sweep):
    post(client, sweep, form(sweep))
    decision = Decision.objects.get(dataset__name="people")
    url = reverse("metaeval:decision-judge", args=[decision.pk])
    exported = json.loads(client.get(url).content)["decision"]
    assert [(row["name"], row["role"], row["weight"]) for row in exported["datasets"]] == [
        ("gold", "gold", 1.0),
        ("people", "people", 2.0),
    ]
    assert exported["held_out"]["value"] == decision.selection["held_out"]["value"]
    assert exported["violations"] == []
    assert exported["held_out"] == exported["procedure"]["held_out"]
    assert exported["procedure"]["chosen"] == exported["procedure"]["leader"] == decision.judge.fingerprint


def test_a_judge_that_is_not_the_leader_takes_its_own_figures(client, administrator, sweep):
    data = form(sweep, judge="Poor judge")
    post(client, sweep, data)
    decision = Decision.objects.get(dataset__name="people")
    standing = next(
        row for row in decision.selection["standings"] if row["judge"] == decision.judge.fingerprint
    )
    good = sweep.judges.get(name="Good judge").fingerprint
    # What is stored, and what leaves the site.
    url = reverse("metaeval:decision-judge", args=[decision.pk])
    exported = json.loads(client.get(url).content)["decision"]
    for found in (decision.selection["promoted"], exported):
        assert found["held_out"]["value"] is None
        assert "isn't the judge that the procedure chose" in found["held_out"]["reason"]
        assert found["in_sample"]["objective"] == standing["objective"]
        assert found["in_sample"]["scores"] == standing["scores"]
        assert found["in_sample"]["behind_leader"] == standing["behind"]
        assert (found["in_sample"]["rank"], found["in_sample"]["of"]) == (2, 2)
    assert decision.evidence["objective"] == standing["objective"]
    assert exported["procedure"]["chosen"] == exported["procedure"]["leader"] == good
    assert exported["procedure"]["held_out"] == decision.selection["held_out"]
    page = client.get(reverse("admin:metaeval_decision_change", args=[decision.pk])).content.decode()
    assert "of the procedure that chose Good judge" in page
    assert "<dd>Poor judge, in-sample" in page


def test_a_decision_of_an_earlier_version_exports_its_own_figures(client, administrator, sweep):
    post(client, sweep, form(sweep, judge="Poor judge"))
    decision = Decision.objects.get(dataset__name="people")
    kept = decision.selection["promoted"]
    old = decision.selection | {"promoted": {name: kept[name] for name in ("judge", "violations")}}
    decision.selection = old
    exported = judge_export(decision)["decision"]
    assert exported["in_sample"] == kept["in_sample"]


def test_the_admin_shows_it_readably(client, administrator, sweep):
    post(client, sweep, form(sweep))
    decision = Decision.objects.first()
    text = client.get(reverse("admin:metaeval_decision_change", args=[decision.pk])).content.decode()
    assert "<dt>Held-out estimate</dt>" in text
    assert "People: agreement with human annotators, weight 2" in text
    assert client.get(reverse("admin:metaeval_decision_changelist")).status_code == 200


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("earlier", [False, True])
def test_many_at_once_leave_one_in_force(earlier):
    sweep = two_datasets(pairs=10)[0]
    people = [user_make(role="administrator") for _ in range(6)]
    if earlier:
        promote(sweep, people[0], reason="The first.")
    before = Decision.objects.count()
    outcomes = race(sweep, people, lambda number: f"Reason {number}")
    assert sorted(outcomes) == ["conflict"] * 5 + ["made"]
    assert Decision.objects.count() == before + 2
    in_force = Decision.objects.filter(replaced_by__isnull=True)
    assert in_force.count() == 2
    assert len(set(in_force.values_list("reason", flat=True))) == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_person_in_many_tabs_makes_one_decision_a_dataset():
    sweep = two_datasets(pairs=10)[0]
    person = user_make(role="administrator")
    assert race(sweep, [person] * 6, lambda _: "The same reason") == ["made"] * 6
    assert Decision.objects.count() == 2


def race(sweep, people, reason, *, asked=BOTH, **fields):
    """Everybody sends what they filled in from the same page, at the same moment."""
    fields |= {"inputs_hash": content_of(sweep, **asked)["inputs_hash"], "seen": seen_now(sweep)}
    judge = None if "fingerprint" in fields else "Good judge"

    def run(entry):
        number, user = entry
        try:
            promote(sweep, user, judge=judge, asked=asked, reason=reason(number), **fields)
        except DecisionConflict:
            return "conflict"
        return "made"

    return all_at_once(run, [*enumerate(people)])
