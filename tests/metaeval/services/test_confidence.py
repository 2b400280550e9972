"""The page of errors and confidence, and sending what a judge leaves to people to a study."""

import math

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import StudyItem
from judges.models import Judgment
from metaeval.inputs import Options
from metaeval.reports.confidence import Asked, confidence_page
from metaeval.selectors.decisions import decision_in_force, judge_export
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.reports import report_build
from metaeval.stats import (
    abstention_threshold,
    confusion,
    corrected_rate,
    error_cost_contributions,
    paired_difference,
)
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.kinds import kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db
N, LABELLED = 160, 120


@pytest.fixture
def dataset():
    """160 pairs without gold, people say 1 and 2 in turn on the first 120."""
    made = dataset_make(pairs=N, gold=False)
    labels_make(dataset=made, choices=[[1 + k % 2] * 3 for k in range(LABELLED)])
    return made


@pytest.fixture
def sweep(dataset):
    """A judge that is sure (0.95) and right, but on every fourth pair unsure (0.55) and half the time wrong."""
    right = [1 + k % 2 for k in range(N)]
    sure = [k % 4 != 3 for k in range(N)]
    said = [
        one if certain or k % 8 == 3 else 3 - one
        for k, (one, certain) in enumerate(zip(right, sure, strict=True))
    ]
    judge, plain = judge_make("Sure judge"), judge_make("One order", strategy="cot")
    judgments_make(judge=judge, dataset=dataset, choices=[(one, one) for one in said])
    judgments_make(judge=plain, dataset=dataset, choices=[(1,)] * N)
    rows = list(Judgment.objects.filter(judge=judge).select_related("item"))
    for row in rows:
        chance = 0.95 if sure[row.item.position] else 0.55
        row.probability = chance if row.choice == 1 else 1 - chance
    Judgment.objects.bulk_update(rows, ["probability"])
    return sweep_make(judges=[judge, plain], datasets=[dataset])


def at(sweep, name="confidence"):
    return reverse(f"metaeval:{name}", args=[sweep.pk])


def test_figures_are_those_of_the_library(dataset, sweep):
    inputs = inputs_read(dataset=dataset, sweep=sweep_view(sweep.pk))
    page = confidence_page(inputs, Asked())
    assert page.judge.name == "Sure judge"
    k = np.arange(N)
    truth = np.where(k < LABELLED, (k % 2 == 0).astype(float), math.nan)
    wrong = (k % 4 == 3) & (k % 8 != 3)
    said = np.where(wrong, 1 - (k % 2 == 0), k % 2 == 0).astype(float)
    cells = confusion(said, truth)
    assert page.judge.rates["true_negative_rate"]["value"] == pytest.approx(cells.true_negative_rate.value)
    assert page.corrected["value"] == pytest.approx(corrected_rate(truth, said).value)
    certainty = np.where(k % 4 != 3, 0.95, 0.55)
    same = abstention_threshold(certainty, np.where(k < LABELLED, wrong, math.nan))
    assert page.certainty.threshold["threshold"] == pytest.approx(same.threshold)
    assert page.certainty.threshold["coverage"]["value"] == 0.75
    # What it leaves to people: the unsure ones, of which those without a label can be sent.
    assert page.certainty.n_abstained == 40
    assert [name for name, _ in page.certainty.abstained] == [
        name
        for position, name in dataset.items.order_by("position").values_list("position", "external_id")
        if position >= LABELLED and position % 4 == 3
    ]
    # $0.002 an order, and fifty cents for a quarter.
    assert page.certainty.cost_per_1000 == pytest.approx(1000 * (0.004 + 0.25 * 0.5))


def test_choice_by_cost(dataset, sweep):
    inputs = inputs_read(dataset=dataset, sweep=sweep_view(sweep.pk))
    # Always first: it fails nothing that is good, and passes all that is bad. The sure judge passes 15 of 60 bad ones
    # and fails no good one, so what a false negative costs says nothing between them.
    for asked, costs in (
        (Asked(false_positive=8.0), {"Sure judge": 1.0, "One order": 4.0}),
        (Asked(false_positive=0.0, false_negative=100.0), {"Sure judge": 0.0, "One order": 0.0}),
    ):
        rows = confidence_page(inputs, asked).rows
        assert {row.name: row.cost["value"] for row in rows} == pytest.approx(costs)
    first, other = confidence_page(inputs, Asked(false_positive=8.0)).rows
    assert (first.name, first.behind) == ("Sure judge", None)
    # The difference is paired by item, at the level asked for, as there is one rival.
    k = np.arange(N)
    truth = np.where(k < LABELLED, (k % 2 == 0).astype(float), math.nan)
    said = np.where((k % 4 == 3) & (k % 8 != 3), 1 - truth, truth)
    of_both = [
        error_cost_contributions(one, truth, false_positive=8.0) for one in (np.ones(N), np.nan_to_num(said))
    ]
    same = paired_difference(*of_both, bounds=(0.0, 8.0), n_resamples=1)
    found = [other.behind[name] for name in ("value", "low", "high")]
    assert found == pytest.approx([same.value, same.low, same.high])
    assert other.behind["value"] == pytest.approx(3.0)


@pytest.mark.parametrize("against", ["people", "gold"])
def test_ratings_by_a_pass_mark(client, researcher, against):
    """A rating at or above the mark passes; nobody guesses the mark."""
    dataset, made = kind_swept("rubric", items=12, gold=True)
    asked = {"kind": "rubric", "against": against}
    empty = client.get(at(made), asked).content.decode()
    assert "Enter the lowest rating that passes." in empty
    assert "Errors of all judges" not in empty
    page = client.get(at(made), asked | {"mark": "4"}).context["page"]
    inputs = inputs_read(dataset=dataset, kind="rubric", sweep=sweep_view(made.pk))
    said = {one.fingerprint: one.values[:, 0] for one in inputs.judges}
    rated = np.full(inputs.items.gold.shape, math.nan)
    for k, j in np.ndindex(*rated.shape):
        given = inputs.labels.values[inputs.labels.item == k, j]
        share = (given >= 4).mean() if len(given) else math.nan
        rated[k, j] = math.nan if share == 0.5 else float(share > 0.5)
    truth = rated if against == "people" else (inputs.items.gold >= 4).astype(float)
    for row in page.rows:
        passed = np.where(np.isnan(said[row.key]), math.nan, (said[row.key] >= 4).astype(float))
        cells = confusion(passed.ravel(), truth.ravel(), n_resamples=0)
        for name in ("true_positive_rate", "true_negative_rate", "precision"):
            assert row.rates[name]["value"] == pytest.approx(getattr(cells, name).value)
    assert page.certainty is None
    text = client.get(at(made), asked | {"mark": "4"}).content.decode()
    assert "A rating of 4 or above passes" in text
    assert (
        "expected a rating from 1 to 5, found 9."
        in client.get(at(made), asked | {"mark": "9"}).content.decode()
    )
    # A report has the same errors where it is asked for a mark, and none where it isn't.
    report = report_build(
        dataset=dataset,
        kind="rubric",
        sweep=sweep_view(made.pk),
        against=against,
        options=Options(pass_mark=4.0),
    )
    of_report = {one.fingerprint: one.measures for one in report.judges}
    for row in page.rows:
        shown = of_report[row.key]["true_positive_rate"]["overall"]
        assert shown["value"] == pytest.approx(row.rates["true_positive_rate"]["value"])
    assert report.options["pass_mark"] == 4.0
    plain_one = report_build(dataset=dataset, kind="rubric", sweep=sweep_view(made.pk), against=against)
    assert "true_positive_rate" not in plain_one.judges[0].measures


def test_the_page(client, researcher, sweep, django_assert_max_num_queries):
    with django_assert_max_num_queries(30):
        text = client.get(at(sweep)).content.decode()
    assert "Errors of all judges" in text
    assert "Reliability diagram" in text
    assert "Decided by the judge" in text
    assert "There is no draft or open study" in text
    assert 'style="' not in text
    one_order = next(
        value
        for value, name in client.get(at(sweep)).context["form"].fields["judge"].choices
        if name == "One order"
    )
    assert (
        "The certainty of One order is unknown"
        in client.get(at(sweep), {"judge": one_order}).content.decode()
    )
    assert "Too few labeled items" in client.get(at(sweep), {"risk": "0.1"}).content.decode()
    assert "greater than or equal to 0.1" in client.get(at(sweep), {"risk": "0.01"}).content.decode()


def test_nothing_to_compare_with(client, researcher):
    silent = dataset_make(pairs=3, gold=False)
    judge = judge_make("Lonely")
    judgments_make(judge=judge, dataset=silent, choices=[(1, 1)] * 3)
    made = sweep_make(judges=[judge], datasets=[silent])
    assert "neither labels nor gold" in client.get(at(made)).content.decode()


def send(client, sweep, study, key):
    return client.post(at(sweep, "confidence-send"), {"study": study.slug, "draw": key}, follow=True)


@pytest.mark.both_databases
def test_what_it_leaves_to_people_goes_to_a_study(client, researcher, dataset, sweep):
    study = study_make(dataset=dataset, owner=researcher, state="draft")
    key = client.get(at(sweep)).context["draw"]
    assert "offers exactly these 10 items." in send(client, sweep, study, key).content.decode()
    send(client, sweep, study, key)  # sent twice, it is there once
    assert StudyItem.objects.filter(study=study).count() == 10
    theirs = study_make(dataset=dataset, owner=user_make(), state="draft")
    assert "There is no such study" in send(client, sweep, theirs, key).content.decode()
    labels_make(dataset=dataset, choices=[[None]] * LABELLED + [[1]] * 20)
    assert "labels have arrived" in send(client, sweep, study, key).content.decode()


def test_who_may(client, sweep):
    assert client.get(at(sweep)).headers["Location"].startswith("/login/")
    assert client.post(at(sweep, "confidence-send")).headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert client.get(at(sweep)).status_code == 403
    assert client.post(at(sweep, "confidence-send")).status_code == 403
    client.force_login(user_make())
    private = dataset_make(pairs=4, split="private", owner=user_make())
    judge = judge_make("Some judge")
    judgments_make(judge=judge, dataset=private, choices=[(1, 2)] * 4)
    hidden = sweep_make(judges=[judge], datasets=[private])
    assert client.get(at(hidden)).status_code == 404
    assert client.post(at(hidden, "confidence-send"), {}).status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_sent_by_several_at_once_it_is_there_once(client, dataset, sweep):
    researcher = user_make()
    client.force_login(researcher)
    study = study_make(dataset=dataset, owner=researcher, state="draft")
    key = client.get(at(sweep)).context["draw"]

    def press(mine):
        return mine.post(at(sweep, "confidence-send"), {"study": study.slug, "draw": key}).status_code

    assert all_at_once(press, browsers_of(researcher, 4)) == [302] * 4
    assert StudyItem.objects.filter(study=study).count() == 10


@pytest.mark.parametrize("page", ["comparison", "decision"])
def test_the_threshold_goes_with_a_promoted_judge(client, dataset, sweep, page):
    """At the accepted risk; from a choice over several datasets one for each."""
    client.force_login(user_make(role="administrator"))
    judge = sweep.judges.get(name="Sure judge")
    datasets = [dataset]
    if page == "decision":
        # On the second dataset nothing says how sure it is: one order, no probabilities.
        other = dataset_make(pairs=40, gold=False)
        labels_make(dataset=other, choices=[[1 + k % 2] * 3 for k in range(40)])
        for one in sweep.judges.all():
            judgments_make(judge=one, dataset=other, choices=[(1 + k % 2,) for k in range(40)])
        sweep.datasets.add(other)
        datasets.append(other)
    name = "promote" if page == "comparison" else "decision-promote"

    def promote(risk):
        context = client.get(reverse(f"metaeval:{page}", args=[sweep.pk])).context
        seen = {each: decision_in_force(each) for each in datasets}
        fields = {
            "judge": judge.fingerprint,
            "reason": "It knows when it is unsure.",
            "inputs_hash": context["inputs_hash"],
            "seen": ",".join(f"{each.pk}:{one.pk if one else ''}" for each, one in seen.items()),
            **({"risk": risk} if risk else {}),
        }
        sent = client.post(reverse(f"metaeval:{name}", args=[sweep.pk]), fields)
        if sent.status_code != 302:
            return sent.content.decode()
        return [judge_export(decision_in_force(each))["decision"]["abstention"] for each in datasets]

    found, *others = promote("")
    assert found["threshold"] == pytest.approx(0.555)
    assert (found["target"], found["coverage"]["value"]) == (0.1, 0.75)
    strict, *_ = promote("0.5")
    assert (strict["target"], strict["threshold"]) == (0.005, None)
    assert "too few labeled items" in strict["reason"]
    assert others == [None] * (len(datasets) - 1)
    assert "less than or equal to 50" in promote("60")
