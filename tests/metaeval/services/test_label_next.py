"""What to label next: the draw, its chances, the file, and sending it to a study."""

import csv
import io

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Label, StudyItem
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.label_next import label_next
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    """Sixty pairs, the first twenty labelled; judges disagree on the last twenty."""
    made = dataset_make(pairs=60)
    labels_make(dataset=made, choices=[[1 + k % 2, 1 + k % 2] for k in range(20)])
    return made


@pytest.fixture
def sweep(dataset):
    steady, unsure = judge_make("Steady"), judge_make("Unsure", strategy="cot")
    judgments_make(judge=steady, dataset=dataset, choices=[(1, 1)] * 60)
    judgments_make(judge=unsure, dataset=dataset, choices=[(1, 1)] * 40 + [(1, 2)] * 20)
    return sweep_make(judges=[steady, unsure], datasets=[dataset])


def at(sweep, name="label-next"):
    return reverse(f"metaeval:{name}", args=[sweep.pk])


ASKED = {"budget": "10", "judge": "", "seed": "3"}


def test_the_doubtful_come_more_often_and_only_those_without_a_label(dataset, sweep):
    view = sweep_view(sweep.pk)
    labelled = set(Label.objects.values_list("item__external_id", flat=True))
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    doubtful = set(names[40:])
    drawn = [label_next(dataset=dataset, sweep=view, budget=10, judge="", seed=seed) for seed in range(20)]
    assert all(len(draw.items) == 10 and not labelled & set(draw.items) for draw in drawn)
    share = np.mean([name in doubtful for draw in drawn for name in draw.items])
    assert share > 0.6  # of the forty without a label it is one half
    first = drawn[0]
    assert (first.n_items, first.n_unlabelled) == (60, 40)
    assert label_next(dataset=dataset, sweep=view, budget=10, judge="", seed=0) == first


def test_weighting_by_the_chances_is_unbiased(dataset, sweep):
    # The share of the forty that are doubtful is one half; the drawn, weighted by 1 / chance, say so on average.
    view = sweep_view(sweep.pk)
    names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
    doubtful = set(names[40:])
    totals = [
        sum((name in doubtful) / chance for name, chance in zip(draw.items, draw.chances, strict=True))
        for seed in range(60)
        for draw in [label_next(dataset=dataset, sweep=view, budget=10, judge="", seed=seed)]
    ]
    assert np.mean(totals) == pytest.approx(20, abs=4 * np.std(totals) / np.sqrt(len(totals)))


def test_the_page_draws_and_says_what_it_is_worth(client, researcher, sweep, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        text = client.get(at(sweep)).content.decode()
    assert "What to label next" in text
    assert "the judges disagree" in text
    assert "Unsure is unsure" in text
    with django_assert_max_num_queries(40):
        text = client.get(at(sweep), ASKED).content.decode()
    assert "10 pairs of 40 without a label" in text
    assert "There is no draft or open study" in text
    assert 'style="' not in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"budget": "41"}, "40 of the 60 pairs have no label"),
        ({"budget": "0"}, "greater than or equal to 1"),
        ({"budget": "many"}, "Enter a whole number"),
        ({"judge": "f" * 64}, "Select a valid choice"),
        ({"seed": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_cannot_be_drawn_is_said_at_its_field(client, researcher, sweep, asked, said):
    text = client.get(at(sweep), ASKED | asked).content.decode()
    assert said in text
    assert "of 40 without a label</h2>" not in text


def test_that_every_pair_has_a_label_is_said_before_anybody_asks(client, researcher, dataset, sweep):
    assert "40 without a label are left." in client.get(at(sweep)).content.decode()
    labels_make(dataset=dataset, choices=[[1]] * 60)
    text = client.get(at(sweep)).content.decode()
    assert "Every pair has a label already" in text
    assert '<form method="get"' not in text


def test_the_file_is_what_a_study_takes(client, researcher, sweep):
    response = client.get(at(sweep, "label-next-download"), ASKED)
    assert response.headers["Content-Disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == 10
    assert set(rows[0]) == {"item", "priority", "probability"}
    assert all(0 < float(row["probability"]) <= 1 for row in rows)
    assert client.get(at(sweep, "label-next-download"), ASKED | {"budget": "99"}).status_code == 404


def draw_key(client, sweep):
    return client.get(at(sweep), ASKED).context["draw"].key


def send(client, sweep, study, key):
    url = f"{at(sweep, 'label-next-send')}?budget=10&judge=&seed=3"
    return client.post(url, {"study": study.slug, "draw": key}, follow=True)


def drawn_for(study):
    """The items of a study that were drawn by lot."""
    return dict(
        StudyItem.objects.filter(study=study, probability__lt=1).values_list(
            "item__external_id", "probability"
        )
    )


@pytest.mark.both_databases
def test_a_draft_offers_exactly_what_was_drawn(client, researcher, dataset, sweep):
    study = study_make(dataset=dataset, owner=researcher, state="draft")
    key = draw_key(client, sweep)
    assert "offers exactly these 10 items." in send(client, sweep, study, key).content.decode()
    draw = label_next(dataset=dataset, sweep=sweep_view(sweep.pk), budget=10, judge="", seed=3)
    assert drawn_for(study) == pytest.approx(dict(zip(draw.items, draw.chances, strict=True)))
    # Sent twice, it is there once.
    send(client, sweep, study, key)
    assert StudyItem.objects.filter(study=study).count() == 10


def test_nothing_is_sent_when_labels_have_come_in(client, researcher, dataset, sweep):
    study = study_make(dataset=dataset, owner=researcher, state="draft")
    key = draw_key(client, sweep)
    labels_make(dataset=dataset, choices=[[None]] * 20 + [[1]] * 10)
    assert "labels have arrived" in send(client, sweep, study, key).content.decode()
    assert not drawn_for(study)


def test_studies_of_others_and_of_other_datasets(client, researcher, dataset, sweep):
    key = draw_key(client, sweep)
    theirs = study_make(dataset=dataset, owner=user_make(), state="draft")
    other = study_make(dataset=dataset_make(pairs=3), owner=researcher, state="draft")
    assert "There is no such study" in send(client, sweep, theirs, key).content.decode()
    assert "on another dataset" in send(client, sweep, other, key).content.decode()
    assert not drawn_for(theirs)
    assert not drawn_for(other)


def test_who_may(client, sweep):
    urls = [at(sweep), at(sweep, "label-next-download")]
    for url in urls:
        assert client.get(url, ASKED).headers["Location"].startswith("/login/")
    assert client.post(at(sweep, "label-next-send")).headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert [client.get(url, ASKED).status_code for url in urls] == [403] * 2
    assert client.post(at(sweep, "label-next-send")).status_code == 403


def test_a_private_dataset_of_somebody_else(client, researcher):
    private = dataset_make(pairs=4, split="private", owner=user_make())
    judge = judge_make("Some judge")
    judgments_make(judge=judge, dataset=private, choices=[(1, 2)] * 4)
    hidden = sweep_make(judges=[judge], datasets=[private])
    assert client.get(at(hidden), ASKED).status_code == 404
    assert client.get(at(hidden, "label-next-download"), ASKED).status_code == 404
    assert client.post(at(hidden, "label-next-send"), {}).status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_sent_by_several_at_once_it_is_there_once(client, dataset, sweep):
    researcher = user_make()
    client.force_login(researcher)
    study = study_make(dataset=dataset, owner=researcher, state="draft")
    key = draw_key(client, sweep)

    def press(mine):
        url = f"{at(sweep, 'label-next-send')}?budget=10&judge=&seed=3"
        return mine.post(url, {"study": study.slug, "draw": key}).status_code

    assert all_at_once(press, browsers_of(researcher, 4)) == [302] * 4
    assert StudyItem.objects.filter(study=study).count() == 10
