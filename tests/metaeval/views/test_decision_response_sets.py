"""Choosing a judge by human response sets, of each kind that has them: the form, the ranking, the page, the files."""

import re

import pytest
from django.urls import reverse

from annotation.models import Kind, Label
from judges.models import Judgment
from judges.selectors.item_addresses import items_url
from metaeval.figures.response_sets import PRIMARIES, set_scores
from metaeval.reports.behind import behind
from metaeval.reports.selection.markdown import selection_markdown
from metaeval.selection_forms import SelectionForm
from metaeval.selectors.selections import selection_inputs, swept_datasets
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.reports import report_build
from tests.metaeval.choices import content_of, criteria_of, form_of, kind_choosing, report_of, two_datasets
from tests.metaeval.views.test_counted_items import n_items

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CLASSIFICATION)


def sets_of_choices(labels, *more):
    """Each label's own answer is its set, and `more` categories, points or sides of it."""
    for label in labels:
        value = dict(label.value)
        if label.kind == Kind.PAIRWISE:
            value = {
                "choice": label.choice,
                "reasonable": sorted({str(label.choice), *more}, key="102".index),
            }
        elif label.kind == Kind.RUBRIC:
            value["reasonable"] = {key: sorted({said, *more}) for key, said in value["ratings"].items()}
        else:
            chosen = [name for name, on in value["categories"].items() if on]
            value["reasonable"] = [name for name in value["categories"] if name in (*chosen, *more)]
        yield label.pk, value


def give_sets(dataset, *more):
    """Labels are append-only, so these are given anew."""
    old = list(Label.objects.filter(item__dataset=dataset).order_by("pk"))
    new = dict(sets_of_choices(old, *more))
    Label.objects.filter(pk__in=new).delete()
    for label in old:
        label.value, label.pk = new[label.pk], None
        label._state.adding = True
    Label.objects.bulk_create(old)


def pairs_choosing():
    sweep = two_datasets()[0]
    dataset = sweep.datasets.get(name="people")
    give_sets(dataset)
    return dataset, sweep


@pytest.mark.parametrize("kind", [Kind.PAIRWISE, *KINDS])
def test_it_is_offered_where_labels_have_sets(kind):
    if kind == Kind.PAIRWISE:
        sweep = two_datasets()[0]
        dataset = sweep.datasets.get(name="people")
    else:
        dataset, sweep = kind_choosing(kind)
    view = sweep_view(sweep.pk)

    def offered():
        fields = SelectionForm({}, datasets=swept_datasets(view, kind), kind=kind).fields
        return [name for name, _ in fields["measure"].choices] if "measure" in fields else []

    assert "set_coverage" not in offered()
    give_sets(dataset)
    assert offered()[-3:] == ["set_coverage", "set_hit_rate", "set_closeness"]
    assert "accuracy" not in offered()


@pytest.mark.parametrize("measure", PRIMARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_judges_are_ranked_by_sets(kind, measure, client, researcher):
    dataset, sweep = kind_choosing(kind, items=40)
    give_sets(dataset)
    content = content_of(sweep, kind=kind, measure=measure)
    assert content["figure"] == measure
    names = {row["key"]: row["name"] for row in content["judges"]}
    assert names[content["leader"]].startswith(("Near", "Dear"))
    assert content["inputs_hash"] != content_of(sweep, kind=kind)["inputs_hash"]
    text = client.get(
        reverse("metaeval:decision", args=[sweep.pk]), {"kind": kind, "measure": measure}
    ).content.decode()
    words = set_scores("items")[measure].people
    assert words in text
    assert "has=set" in text
    assert words in selection_markdown(report_of(sweep, kind=kind, measure=measure))


@pytest.mark.parametrize("measure", PRIMARIES)
def test_pairs_are_ranked_by_sets_and_gold_by_accuracy(measure, client, researcher):
    _, sweep = pairs_choosing()
    content = content_of(sweep, measure=measure)
    names = {row["key"]: row["name"] for row in content["judges"]}
    assert names[content["leader"]] == "Good judge"
    standing = next(row for row in content["standings"] if row["judge"] == content["leader"])
    # Of each item 3 or 2 of 3 people said 1, and find that alone reasonable.
    assert standing["scores"]["people"]["value"] == pytest.approx(
        {"set_coverage": (24 + 6 * 2 / 3) / 30, "set_hit_rate": 1, "set_closeness": 1 - 6 * 2 / 9 / 2 / 30}[
            measure
        ]
    )
    assert standing["scores"]["gold"]["value"] == 1.0
    text = client.get(reverse("metaeval:decision", args=[sweep.pk]), {"measure": measure}).content.decode()
    assert "response sets" in text


def test_the_largest_set_is_everything_and_ranks_nobody():
    dataset, sweep = pairs_choosing()
    give_sets(dataset, "1", "0", "2")
    content = content_of(sweep, measure="set_coverage")
    scores = {row["judge"]: row["scores"].get("people", {}).get("value") for row in content["standings"]}
    assert set(scores.values()) == {1.0}


def test_one_unparsed_order_of_a_pair_counts_half():
    dataset, sweep = pairs_choosing()
    Judgment.objects.filter(item__dataset=dataset, judge__name="Good judge", order=1).update(
        status="unparsed", choice=None, value=None
    )
    criteria = criteria_of(sweep, measure="set_coverage")
    part = next(
        one
        for one in selection_inputs(sweep=sweep_view(sweep.pk), criteria=criteria).parts
        if one.judged.name == "people"
    )
    key = next(judge.fingerprint for judge in part.judges if judge.name == "Good judge")
    assert part.judged.scores[key].max() == pytest.approx(0.5)
    assert not part.judged.unparsed[key].any()


def test_what_cannot_be_asked_together_is_said():
    _, sweep = pairs_choosing()
    rows = swept_datasets(sweep_view(sweep.pk), Kind.PAIRWISE)
    form = SelectionForm({"measure": "set_coverage", "min_positional": "80"}, datasets=rows)
    assert not form.is_valid()
    assert "scored over both orders together" in str(form.errors["min_positional"])
    form = SelectionForm({"measure": "set_coverage", "role-people": "out", "weight-gold": "1"}, datasets=rows)
    assert not form.is_valid()
    assert re.search("Response sets are human labels", str(form.errors["measure"]))
    assert form_of(sweep).criteria().figure == ""


@pytest.mark.parametrize("kind", [Kind.PAIRWISE, *KINDS])
def test_figures_lead_to_the_items_that_they_count(kind, client, researcher):
    if kind == Kind.PAIRWISE:
        dataset, _ = pairs_choosing()
    else:
        dataset, _ = kind_choosing(kind)
        give_sets(dataset)
    items = list(dataset.items.order_by("position"))
    Label.objects.filter(item__in=items[:2]).update(is_set_aside=True)
    last = Label.objects.filter(item=items[2]).order_by("pk").last()
    Label.objects.filter(item=items[2]).exclude(pk=last.pk).update(is_set_aside=True)
    Judgment.objects.filter(item=items[3]).delete()
    content = report_build(dataset=dataset, kind=kind, n_resamples=0)
    judge = next(one for one in content.judges if not one.baseline)
    names = (*PRIMARIES, "set_distance", "set_consistency", "set_size", "set_several")
    n = 0
    for fingerprint, measures in ((judge.fingerprint, judge.measures), ("", content.people.measures)):
        for name in names:
            if name in measures:
                asked = behind(kind, figure=name, fingerprint=fingerprint)
                assert n_items(client, items_url(dataset.name, **asked)) == measures[name]["overall"]["n"], (
                    name
                )
                n += 1
    assert n == 9
