"""The decision page while labels arrive: what is settled of the two best judges, valid at every look."""

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import Kind, Label, StudyState
from tests.annotation.factories import annotator_make, dataset_make, study_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import kind_judgments, value_of
from tests.metaeval.rows import judge_make, judgments_make, label_make, sweep_make

pytestmark = pytest.mark.django_db
PAIRS = 60


@pytest.fixture
def studied():
    """A sweep of three judges on a dataset with an open study of all its pairs, two labels each, and its owner."""
    owner = user_make(username="owner")
    dataset = dataset_make(pairs=PAIRS, gold=False, name="people")
    study = study_make(dataset=dataset, owner=owner, overlap=2)
    judges = [judge_make(name) for name in ("Good judge", "Fair judge", "Poor judge")]
    for judge, choice in zip(judges, (1, 2, 2), strict=True):
        judgments_make(judge=judge, dataset=dataset, choices=[(choice, choice)] * PAIRS)
    return sweep_make(judges=judges, datasets=[dataset], name="Studied"), study


def label(study, places, *, people=2):
    items = list(study.dataset.items.order_by("position"))
    annotators = [annotator_make() for _ in range(people)]
    for place in places:
        for annotator in annotators:
            label_make(item=items[place], annotator=annotator, choice=1, study=study)


def text_of(client, sweep, **query):
    response = client.get(reverse("metaeval:decision", args=[sweep.pk]), query)
    assert response.status_code == 200
    return " ".join(strip_tags(response.content.decode()).split())


def content_of(client, sweep, **query):
    return client.get(reverse("metaeval:decision-download", args=[sweep.pk, "json"]), query).json()


@pytest.mark.both_databases
def test_before_and_after_new_labels(client, studied):
    sweep, study = studied
    client.force_login(study.owner)
    label(study, range(6))
    label(study, range(6, 8), people=1)
    text = text_of(client, sweep)
    assert (
        "While labels arrive Not settled yet People: Good judge and Fair judge are not significantly" in text
    )
    assert "over the 6 of 60 instructions that have all of their labels" in text
    assert "so 3 intervals share the level: those of any two of the 3 judges." in text
    before = content_of(client, sweep)
    (row,) = before["anytime"]
    assert (row["answer"], row["n_finished"], row["n_planned"], row["n_shared"]) == ("open", 6, 60, 3)
    assert row["difference"]["value"] == 1
    label(study, range(8, PAIRS))
    text = text_of(client, sweep)
    assert "Settled People: Good judge is significantly better than Fair judge." in text
    after = content_of(client, sweep)
    (row,) = after["anytime"]
    # Two pairs lack a label each.
    assert (row["answer"], row["n_finished"], row["n_planned"]) == ("above", 58, 60)
    assert row["difference"]["low"] > 0
    assert after["inputs_hash"] != before["inputs_hash"]
    response = client.get(reverse("metaeval:decision-download", args=[sweep.pk, "md"]))
    assert "## While labels arrive\n\n- Settled. People: Good judge is" in response.content.decode()


def test_within_the_margin_and_at_the_end_of_the_plan(client, studied):
    sweep, study = studied
    sweep.judges.set(sweep.judges.exclude(name="Good judge"))
    client.force_login(study.owner)
    label(study, range(PAIRS))
    text = text_of(client, sweep)
    assert "Not settled People: Fair judge and Poor judge are not significantly different." in text
    assert "intervals share the level" not in text, "two judges are one pair"
    text = text_of(client, sweep, margin="50")
    assert (
        "Settled People: Fair judge and Poor judge are equivalent within the margin of 50.0 points." in text
    )
    text = text_of(client, sweep, margin="2")
    assert "neither significantly different nor equivalent within the margin of 2.0 points" in text


@pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
def test_other_kinds_on_the_decision_and_on_the_page_of_the_study(client, kind):
    """Every kind ranks its judges by a mean over items: the difference of two has an interval valid at any time."""
    owner = user_make(username="owner")
    dataset = kind_dataset_make(kind, items=40, name="people", title="People")
    study = study_make(dataset=dataset, kind=kind, owner=owner, overlap=2)
    near, far = judge_make("Near"), judge_make("Far")
    kind_judgments(near, dataset, kind)
    kind_judgments(far, dataset, kind, shift=1)
    sweep = sweep_make(judges=[near, far], datasets=[dataset], name="Studied")
    people = [annotator_make() for _ in range(2)]
    items = list(dataset.items.order_by("position"))

    def rate(places, annotators, **drawn):
        for k in places:
            for person in annotators:
                value = value_of(kind, k)
                about = {"item": items[k], "annotator": person, "kind": kind, "study": study}
                Label.objects.create(**about, value=value, **drawn)

    def shown():
        (row,) = content_of(client, sweep, kind=kind)["anytime"]
        response = client.get(reverse("metaeval:study-judges", args=[study.slug]))
        return row, " ".join(strip_tags(response.content.decode().replace("<", " <")).split())

    client.force_login(owner)
    rate(range(6), people)
    rate(range(6, 9), people[:1])
    row, page = shown()
    assert (row["answer"], row["n_finished"], row["n_planned"], row["n_shared"]) == ("open", 6, 40, 1)
    assert "While labels arrive Not settled yet Near and Far are not significantly different." in page
    assert "over the 6 of 40 instructions that have all of their labels" in page
    rate(range(9, 39), people)
    row, page = shown()
    assert (row["n_finished"], row["n_planned"]) == (36, 40)
    assert row["difference"]["value"] > 0
    said = {
        "open": "Not settled yet Near and Far",
        "not at this budget": "Unlikely to be settled Near and Far",
    }
    assert f"While labels arrive {said.get(row['answer'], 'Settled Near is')}" in page
    # Drawn with unequal chances: a bet on an item would need a bound on its weight.
    rate([39], people, probability=0.5)
    row, page = shown()
    assert row["answer"] == "none"
    assert "While labels arrive Not known There is no confidence sequence here: items were drawn" in page
    assert "confidence sequence: valid however often you look" not in page
    assert "Not known People: there is no confidence sequence here" in text_of(client, sweep, kind=kind)


def test_what_a_closed_study_did_not_finish_is_not_waited_for(client, studied):
    sweep, study = studied
    client.force_login(study.owner)
    label(study, range(20))
    label(study, range(20, 30), people=1)
    study.state = StudyState.CLOSED
    study.save()
    (row,) = content_of(client, sweep)["anytime"]
    assert (row["n_finished"], row["n_planned"]) == (20, 20)


def test_of_studies_that_the_reader_may_see_and_that_ask_for_labels(client, studied):
    sweep, study = studied
    study_make(dataset=study.dataset, owner=user_make(username="another"), overlap=3)
    client.force_login(study.owner)
    label(study, range(10))
    (row,) = content_of(client, sweep)["anytime"]
    assert row["n_finished"] == 10, "that another's study waits for labels of all pairs does not show"
    study.state = StudyState.DRAFT
    study.save()
    assert "While labels arrive" not in text_of(client, sweep)
    assert "anytime" not in content_of(client, sweep)
