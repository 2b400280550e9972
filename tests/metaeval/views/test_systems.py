"""Systems ranked by people, by judges and beside ratings from elsewhere: figures, page, upload."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Item, ItemResponse, Response
from metaeval.models import OutsideRatings
from metaeval.reports.systems import OutsideTable, Source, SystemInputs, SystemsReport, systems_report
from metaeval.services.outside import ratings_import, ratings_read
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

SYSTEMS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
WORTH = dict(zip(SYSTEMS, (2.0, 1.2, 0.5, -0.4, -1.1, -2.0), strict=True))


def inputs_make(*, n=40, labelled=1.0, outside=(), seed=0):
    """Every two systems meet on every instruction; people and a noisier judge say who is better."""
    rng = np.random.default_rng(seed)
    pairs = [(k, one, two) for k in range(n) for one, two in itertools.combinations(SYSTEMS, 2)]
    gap = np.array([WORTH[one] - WORTH[two] for _, one, two in pairs])
    people = np.where(rng.random(len(pairs)) < 1 / (1 + np.exp(-gap)), 1.0, 2.0)
    judge = np.where(rng.random(len(pairs)) < 0.1, 3 - people, people)
    given = np.flatnonzero(rng.random(len(pairs)) < labelled)
    everything = np.arange(len(pairs))
    return SystemInputs(
        facts={"name": "d"},
        first=tuple(one for _, one, _ in pairs),
        second=tuple(two for _, _, two in pairs),
        cluster=np.array([k for k, _, _ in pairs]),
        sources=(Source("people", "People", given, people[given]), Source("j", "Judge", everything, judge)),
        outside=tuple(outside),
        helper="j",
    )


def test_win_rates_by_hand():
    # a beats b twice and ties once with c: (1 + 1 + 1/2) / 3; b: 0 of 2; c: 1/2 of 1.
    inputs = SystemInputs(
        {},
        ("a", "b", "a"),
        ("b", "a", "c"),
        np.arange(3),
        (Source("people", "People", np.arange(3), np.array([1.0, 2.0, 0.0])),),
        (),
    )
    found = {row["system"]: row for row in systems_report(inputs).as_json()["sources"][0]["systems"]}
    assert found["a"]["win_rate"]["value"] == pytest.approx(2.5 / 3)
    assert (found["b"]["win_rate"]["value"], found["c"]["win_rate"]["value"]) == (0.0, 0.5)
    assert found["a"]["win_rate"]["n"] == 3
    # b never wins, so that no strength fits it.
    assert found["b"]["strength"]["value"] is None
    assert found["b"]["strength"]["reason"]


def test_the_order_the_judge_and_the_outside():
    arena = OutsideTable("arena", "Arena", "elo", "", {name.upper(): 1000 + WORTH[name] for name in SYSTEMS})
    report = systems_report(inputs_make(outside=[arena]))
    assert [row.system for row in report.sources[0].ordered] == list(SYSTEMS)
    content = report.as_json()
    assert content["rankings"][0]["spearman"]["value"] > 0.9
    assert content["rankings"][0]["spearman"]["n"] == 6
    spearman = content["rankings"][0]["spearman"]
    assert spearman["like_these"]["low"] < spearman["low"]
    outside = content["outside"][0]
    assert outside["matched"] == sorted(SYSTEMS)
    assert outside["sources"][0]["spearman"]["value"] > 0.9
    assert content["helped"] is None  # all pairs are labelled
    stored = json.loads(json.dumps(content, allow_nan=False))
    assert stored == content
    assert SystemsReport.read(stored).as_json() == content


def test_pairs_drawn_by_chance_weigh_one_over_it():
    # a wins the pair that was sure and loses the one that stands for three: 1 / 4.
    inputs = SystemInputs(
        {},
        ("a", "a"),
        ("b", "b"),
        np.arange(2),
        (Source("people", "People", np.arange(2), np.array([1.0, 2.0])),),
        (),
        weights=np.array([1.0, 3.0]),
    )
    found = {row["system"]: row for row in systems_report(inputs).as_json()["sources"][0]["systems"]}
    assert (found["a"]["win_rate"]["value"], found["b"]["win_rate"]["value"]) == (0.25, 0.75)
    assert inputs.hash() != replace(inputs, weights=None).hash()


def test_few_labels_gain_by_the_judge():
    content = systems_report(inputs_make(n=60, labelled=0.15)).as_json()
    rates = {row["system"]: row["win_rate"] for row in content["sources"][0]["systems"]}
    helped = {row["system"]: row for row in content["helped"]["systems"]}
    narrower = [
        (helped[name]["high"] - helped[name]["low"]) / (rates[name]["high"] - rates[name]["low"])
        for name in SYSTEMS
    ]
    assert np.mean(narrower) < 0.8
    assert all(row["n_unlabelled"] > 0 for row in helped.values())


def test_the_same_inputs_give_the_same_content_and_hash():
    one, two = inputs_make(), inputs_make()
    assert one.hash() == two.hash() != inputs_make(seed=1).hash()
    assert systems_report(one) == systems_report(two)


@pytest.fixture
def dataset():
    made = dataset_make(pairs=12)
    systems = itertools.cycle([("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")])
    for item, pair in zip(Item.objects.filter(dataset=made).order_by("position"), systems, strict=False):
        for link in ItemResponse.objects.filter(item=item):
            Response.objects.filter(pk=link.response_id).update(system=pair[link.position])
    labels_make(dataset=made, choices=[[1, 1], [1, 2], [1, 0], [2, 1]] * 3)
    judgments_make(judge=judge_make("A judge"), dataset=made, choices=[(1, 1), (2, 1), (1, None)] * 4)
    return made


def at(dataset, name="systems"):
    return reverse(f"metaeval:{name}", args=[dataset.name])


@pytest.mark.both_databases
def test_the_page(client, researcher, dataset, django_assert_max_num_queries):
    with django_assert_max_num_queries(17):
        text = client.get(at(dataset)).content.decode()
    assert "3 systems, ranked by human annotators" in text
    assert "Correlation of system rankings" in text
    assert 'style="' not in text
    judge = client.get(at(dataset)).context["content"].sources[1].key
    assert "3 systems, ranked by A judge" in client.get(at(dataset), {"by": judge}).content.decode()
    assert (
        "3 systems, ranked by human annotators" in client.get(at(dataset), {"by": "nobody"}).content.decode()
    )
    content = json.loads(client.get(at(dataset, "systems-download")).content)
    assert content["schema"] == "touchstone.systems/1"
    assert content["systems"] == ["alpha", "beta", "gamma"]


def test_nothing_to_rank_is_said(client, researcher):
    silent = dataset_make(pairs=3)
    assert "There are neither labels nor judgments" in client.get(at(silent)).content.decode()
    unnamed = dataset_make(pairs=3)
    Response.objects.filter(instruction__dataset=unnamed).update(system="")
    assert "there is nothing to rank" in client.get(at(unnamed)).content.decode()
    assert client.get(at(unnamed, "systems-download")).status_code == 404


def upload(client, dataset, text="system,elo\nalpha,1200\nbeta,1100\nGamma,900\n", **fields):
    file = SimpleUploadedFile("arena.csv", text.encode())
    data = {"file": file, "name": "arena", "source": "somewhere"} | fields
    return client.post(at(dataset, "ratings-upload"), data, follow=True)


@pytest.mark.both_databases
def test_ratings_are_uploaded_once_and_shown(client, researcher, dataset):
    assert "3 systems by elo." in upload(client, dataset).content.decode()
    text = upload(client, dataset).content.decode()
    assert "3 systems by elo, as before." in text
    assert "Source: somewhere" in text
    assert OutsideRatings.objects.get().created_by == researcher


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "system,elo\nalpha,high\n", "score": "elo"}, "arena.csv, row 2, field elo"),
        ({"name": "two words"}, "Name: Only letters, digits, hyphens and underscores"),
        ({"file": ""}, "Table: This field is required"),
    ],
)
def test_a_table_that_is_refused_stores_nothing(client, researcher, dataset, fields, said):
    assert said in upload(client, dataset, **fields).content.decode()
    assert not OutsideRatings.objects.exists()


def test_other_ratings_of_the_same_name_are_not_overwritten(client, researcher, dataset):
    upload(client, dataset)
    assert (
        "There are other ratings named" in upload(client, dataset, "system,elo\na,1\nb,2\n").content.decode()
    )
    assert set(OutsideRatings.objects.get().scores) == {"alpha", "beta", "Gamma"}


def test_who_may(client, dataset):
    urls = [at(dataset), at(dataset, "systems-download")]
    for url in urls:
        assert client.get(url).headers["Location"].startswith("/login/")
    assert client.post(at(dataset, "ratings-upload")).headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert [client.get(url).status_code for url in urls] == [403, 403]
    assert upload(client, dataset).status_code == 403
    private = dataset_make(pairs=3, split="private", owner=user_make())
    client.force_login(user_make())
    assert client.get(at(private)).status_code == 404
    assert client.get(at(private, "systems-download")).status_code == 404
    assert upload(client, private).status_code == 404
    assert not OutsideRatings.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_stored_by_several_at_once_they_are_there_once(tmp_path):
    path = tmp_path / "arena.csv"
    path.write_text("system,elo\nalpha,1200\n", encoding="utf-8")
    file = ratings_read(path)
    all_at_once(lambda _: ratings_import(file=file, name="arena"), range(4))
    assert OutsideRatings.objects.count() == 1
