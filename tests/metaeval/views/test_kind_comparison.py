"""The comparison page of rubrics, checklists, importance and rankings: what it shows, to whom, what it costs."""

import csv
import json
from io import StringIO

import pytest
from django.urls import reverse

from annotation.models import Kind
from judges.models import Judgment
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import sweep_view
from tests.annotation.factories import annotator_make, dataset_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import kind_judgments, kind_labels, kind_swept, value_of
from tests.metaeval.reports.kind_values import selection_in
from tests.metaeval.rows import judge_make, judgments_make, sweep_make

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING)


def address(sweep, **query):
    return reverse("metaeval:comparison", args=[sweep.pk], query=query or None)


def download(sweep, kind, suffix="json", **query):
    return reverse("metaeval:kind-comparison-download", args=[sweep.pk, kind, suffix], query=query or None)


def page(client, sweep, status=200, headers=None, **query):
    response = client.get(address(sweep, **query), headers=headers)
    assert response.status_code == status
    return response.content.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_section(client, researcher, kind):
    _, sweep = kind_swept(kind)
    text = page(client, sweep)
    assert Kind(kind).label in text
    assert f"Near {kind}" in text
    assert f"Far {kind}" in text
    assert "Inter-annotator agreement:" in text
    assert "1 unparsed" in text
    assert "n = 12" in text
    assert "Nothing to compare" not in text
    assert "pairs" not in text
    for judge in sweep.judges.all():
        assert f"/judgments/?fingerprint={judge.fingerprint}" in text
    assert 'style="' not in text
    assert "<script>" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_the_figures_of_what_is_stored(client, researcher, kind):
    _, sweep = kind_swept(kind)
    found = json.loads(client.get(download(sweep, kind)).content)
    near, far = sorted(found["judges"], key=lambda row: row["name"], reverse=True)
    assert (near["n_items_judged"], near["n_unparsed"], far["n_unparsed"]) == (12, 0, 1)
    assert found["judges"][selection_in(found)["leader"]]["name"] == near["name"]
    assert far["measures"]["unparsed_rate"]["overall"]["value"] == pytest.approx(1 / 12)
    assert found["people"]["n_labels"] == 24
    assert found["people"]["n_annotators"] == 2


def test_who_may_see_it(client):
    owner = user_make()
    _, sweep = kind_swept(Kind.RUBRIC, split="private", owner=owner)
    urls = [address(sweep), download(sweep, "rubric"), download(sweep, "rubric", "csv")]
    assert [client.get(url).status_code for url in urls] == [302] * 3
    client.force_login(user_make(role="annotator"))
    assert [client.get(url).status_code for url in urls] == [403] * 3
    client.force_login(user_make())
    assert [client.get(url).status_code for url in urls] == [404] * 3
    for user in (owner, user_make(role="administrator")):
        client.force_login(user)
        assert [client.get(url).status_code for url in urls] == [200] * 3


def test_downloads(client, researcher):
    dataset, sweep = kind_swept(Kind.CHECKLIST)
    judge_make("=HYPERLINK(1)")
    evil = judge_make("=cmd()", strategy="evil")
    kind_judgments(evil, dataset, Kind.CHECKLIST)
    sweep.judges.add(evil)
    response = client.get(download(sweep, "checklist", "csv"))
    assert response.headers["Content-Disposition"].startswith("attachment")
    rows = list(csv.DictReader(StringIO(response.content.decode())))
    people = {"people", "annotator 1", "annotator 2"}
    assert {row["who"] for row in rows} == people | {"Near checklist", "Far checklist", "'=cmd()"}
    drfr = [row for row in rows if (row["who"], row["measure"]) == ("Near checklist", "drfr")]
    assert {row["group_kind"] for row in drfr} == {"overall", "category"}
    assert client.get(download(sweep, "rubric")).status_code == 404  # no such items
    assert client.get(f"/sweeps/{sweep.pk}/comparison-pairwise.csv").status_code == 404


def test_queries_do_not_grow(client, researcher, django_assert_num_queries):
    def count(items):
        dataset, sweep = kind_swept(Kind.CHECKLIST, items=items, mark=f" of {items}")
        view = sweep_view(sweep.pk)
        with django_assert_num_queries(
            7
        ):  # one of them for instructions that ask the same with other aspects
            inputs_read(dataset=dataset, kind="checklist", sweep=view)

    count(3)
    count(30)


def test_the_page_takes_few_queries(client, researcher, django_assert_max_num_queries):
    _, sweep = kind_swept(Kind.RUBRIC, items=20)
    with django_assert_max_num_queries(28):
        page(client, sweep)


def test_the_same_is_computed_once(client, researcher, monkeypatch):
    _, sweep = kind_swept(Kind.IMPORTANCE)
    first = client.get(download(sweep, "importance")).content
    assert "1 unparsed" in page(client, sweep)

    def never(*_args, **_fields):
        raise AssertionError("recomputed")

    monkeypatch.setattr("metaeval.services.reports.build", never)
    assert client.get(download(sweep, "importance")).content == first
    assert "1 unparsed" in page(client, sweep)
    monkeypatch.undo()
    Judgment.objects.filter(status="unparsed").delete()
    assert "1 unparsed" not in page(client, sweep)


def test_against_gold_or_people(client, researcher):
    _, sweep = kind_swept(Kind.CHECKLIST, gold=True)
    text = page(client, sweep)
    assert "Against gold" in text
    assert "against human annotators" in text
    assert "Gold answers" in page(client, sweep, against="gold")
    assert "against human annotators" in page(client, sweep, against="nonsense")
    found = json.loads(client.get(download(sweep, "checklist", against="gold")).content)
    near = next(row for row in found["judges"] if row["name"].startswith("Near"))
    assert near["measures"]["agreement"]["overall"]["value"] == 1
    assert near["measures"]["drfr_difference"]["overall"]["value"] == 0


def test_nothing_to_compare(client, researcher):
    dataset = kind_dataset_make(Kind.RUBRIC)
    idle = sweep_make(judges=[judge_make("Idle")], datasets=[dataset], state="queued")
    assert "has judged items of this kind yet" in page(client, idle)
    one = judge_make("One")
    kind_judgments(one, dataset, Kind.RUBRIC)
    alone = sweep_make(judges=[one], datasets=[dataset])
    assert "neither labels nor gold answers" in page(client, alone)
    assert client.get(download(alone, "rubric")).status_code == 404
    nobody = judge_make("Nobody can read me")
    kind_judgments(nobody, dataset, Kind.RUBRIC, unparsed=99)
    kind_labels(dataset, Kind.RUBRIC, (0, 1))
    # An answer that cannot be read is as far from people as can be.
    text = page(client, sweep_make(judges=[nobody], datasets=[dataset]))
    assert "No judge beats the baseline always the median" in text


def test_another_figure_ranks_on_both_pages(client, researcher):
    """The same default, the same choices, and an unknown one is the default."""
    _, sweep = kind_swept(Kind.RUBRIC)
    for measure, label in (
        ("", "Closeness of ratings"),
        ("within_one", "Within one point"),
        ("x", "Closeness"),
    ):
        query = {"measure": measure} if measure else {}
        text = page(client, sweep, **query)
        assert f"<h3>{label}" in text or f'aria-current="true">{label}' in text
        found = json.loads(client.get(download(sweep, Kind.RUBRIC, **query)).content)
        assert found["primary"] == ("within_one" if measure == "within_one" else "closeness")
    here = reverse("metaeval:decision", args=[sweep.pk], query={"kind": "rubric", "measure": "within_one"})
    text = client.get(here).content.decode()
    assert "tolerant accuracy" in text
    assert '<option value="within_one" selected>Within one point</option>' in text
    refused = reverse("metaeval:decision", args=[sweep.pk], query={"kind": "rubric", "measure": "x"})
    assert "Select a valid choice" in client.get(refused).content.decode()


def test_pairs_and_another_kind_in_one_dataset(client, researcher):
    dataset, sweep = kind_swept(Kind.RUBRIC)
    pairs = dataset_make(pairs=6)
    for instruction in pairs.instructions.all():
        instruction.dataset, instruction.external_id = dataset, f"pair-{instruction.external_id}"
        instruction.save()
    for item in pairs.items.all():
        item.dataset, item.position = dataset, 100 + item.position
        item.save()
    # Nobody judged the pairs: the page is about the rubric alone.
    text = page(client, sweep)
    assert "Rubric rating" in text
    assert 'id="comparison"' not in text
    judge = judge_make("Of pairs")
    items = dataset.items.filter(kind="pairwise").order_by("position")
    Judgment.objects.bulk_create(
        Judgment(judge=judge, item=item, order=order, status="parsed", choice=item.gold["choice"])
        for item in items
        for order in (0, 1)
    )
    sweep.judges.add(judge)
    text = page(client, sweep)
    assert "6 pairs" in text
    assert "Rubric rating" in text
    # Judges of one kind are not judges of the other.
    assert "Near rubric" not in text[text.index('id="comparison"') : text.index('id="kinds"')]
    assert "Of pairs" not in text[text.index('id="kinds"') :]
    headers = {"HX-Request": "true", "HX-Target": "comparison-table"}
    assert "Rubric rating" not in page(client, sweep, headers=headers, sort="name")


def test_pairs_alone_are_as_they_were(client, researcher):
    dataset = dataset_make(pairs=6)
    judge = judge_make("Only pairs")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 6)
    text = page(client, sweep_make(judges=[judge], datasets=[dataset]))
    assert 'id="kinds"' not in text


def test_a_slice_and_one_opinion_a_person():
    dataset, sweep = kind_swept(Kind.IMPORTANCE, items=10)
    sweep.sample_size, sweep.seed = 4, 2
    sweep.save()
    found = inputs_read(dataset=dataset, kind="importance", sweep=sweep_view(sweep.pk))
    assert len(found.items) == 4
    assert {int(judge.judged.sum()) for judge in found.judges} == {4}
    assert len(found.labels) == 8
    assert found.items.parents[0] == ("", "format", "")
    whole = inputs_read(dataset=dataset, kind="importance")
    assert len(whole.items) == 10


def test_votes_are_read_where_they_are_votes():
    dataset = kind_dataset_make(Kind.ANSWER_RANKING, items=4)
    for item, votes in zip(dataset.items.all(), ([9, 5, 7], "many", [1, None, 2], []), strict=True):
        item.metadata = {"votes": votes}
        item.save()
    found = inputs_read(dataset=dataset, kind="answer_ranking")
    assert found.items.gold[0].tolist() == [-9.0, -5.0, -7.0]
    assert found.items.voted.tolist() == found.items.has_gold.tolist() == [True, False, False, False]
    assert found.items.parts[0] == ("0", "1", "2")
    assert found.targets() == ("gold",)


def test_simulated_labels_are_marked(client, researcher):
    dataset = kind_dataset_make(Kind.RUBRIC, items=6)
    kind_labels(dataset, Kind.RUBRIC, (0, 1), is_simulated=True)
    one = judge_make("One")
    kind_judgments(one, dataset, Kind.RUBRIC)
    text = page(client, sweep_make(judges=[one], datasets=[dataset]))
    assert "Simulated labels" in text
    assert "nothing about human annotators" in text


def test_hostile_names_are_escaped(client, researcher):
    dataset = kind_dataset_make(Kind.RUBRIC, items=6)
    kind_labels(dataset, Kind.RUBRIC, (0, 1))
    dataset.instructions.update(category="<img src=x>")
    one = judge_make("<img src=x onerror=alert(1)>")
    kind_judgments(one, dataset, Kind.RUBRIC)
    assert "<img src=x" not in page(client, sweep_make(judges=[one], datasets=[dataset]))


def test_the_cast_says_different_things():
    assert value_of(Kind.RUBRIC, 1) != value_of(Kind.RUBRIC, 1, 1)
    assert annotator_make().pk
