"""The comparison of a sweep: what it shows, to whom, and in which order."""

import re

import pytest
from django.urls import reverse

from judges.models import SweepState
from metaeval.models import Report
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make, swept

pytestmark = pytest.mark.django_db


@pytest.fixture
def sweep():
    return swept(dataset=dataset_make(pairs=40, name="pairs"))[0]


def page(client, sweep, status=200, headers=None, **query):
    response = client.get(reverse("metaeval:comparison", args=[sweep.pk]), query, headers=headers)
    assert response.status_code == status
    return response.content.decode()


def names(text):
    table, _, _ = text.partition('class="pictures"')
    return re.findall(r'<th scope="row">\s*(?:<a [^>]*>)?([^<\n]+)', table)


@pytest.mark.both_databases
def test_decision_first_then_all_judges(client, administrator, sweep):
    text = page(client, sweep)
    assert "Good judge is significantly better than the other judges" in text
    assert "Clear winner" in text
    assert names(text)[0] == "Good judge"
    assert text.index("is significantly better than the other judges") < text.index("All judges")
    assert "Poor judge" in text
    assert "baseline" in text
    assert 'style="' not in text
    assert "<script>" not in text


def test_who_may_see_it(client, sweep):
    url = reverse("metaeval:comparison", args=[sweep.pk])
    response = client.get(url)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert client.get(url).status_code == 403
    client.force_login(user_make())
    text = page(client, sweep)
    assert "Good judge" in text
    assert "Promote" not in text


def test_a_private_dataset_is_for_its_owner_and_administrators(client):
    owner = user_make()
    sweep = swept(dataset=dataset_make(pairs=4, split="private", owner=owner))[0]
    urls = [
        reverse("metaeval:comparison", args=[sweep.pk]),
        reverse("metaeval:comparison-download", args=[sweep.pk, "json"]),
    ]
    client.force_login(user_make())
    assert [client.get(url).status_code for url in urls] == [404, 404]
    for user in (owner, user_make(role="administrator")):
        client.force_login(user)
        assert [client.get(url).status_code for url in urls] == [200, 200]


def test_no_such_sweep_or_dataset(client, researcher, sweep):
    assert client.get(reverse("metaeval:comparison", args=[sweep.pk + 1])).status_code == 404
    page(client, sweep, status=404, dataset="other")


@pytest.mark.parametrize(
    ("sort", "first", "state"),
    [
        ("name", "always first", "ascending"),
        ("-name", "shortest", "descending"),
        ("value", "Poor judge", "ascending"),
        ("-cost", "Good judge", "descending"),
        ("nonsense", "Good judge", "descending"),
    ],
)
def test_sorted_by_a_head(client, researcher, sweep, sort, first, state):
    text = page(client, sweep, sort=sort)
    assert names(text)[0] == first
    assert text.count('aria-sort="ascending"') + text.count('aria-sort="descending"') == 1
    assert f'aria-sort="{state}"' in text


def test_undefined_figures_come_last_in_both_directions(client, researcher):
    dataset = dataset_make(pairs=10)
    sweep, *_ = swept(dataset=dataset)
    one = judge_make("One order")
    judgments_make(judge=one, dataset=dataset, choices=[(1,)] * 10)
    sweep.judges.add(one)
    for sort in ("positional", "-positional"):
        assert names(page(client, sweep, sort=sort))[-1] == "One order"


def test_a_part_of_the_items(client, researcher, sweep):
    text = page(client, sweep, group="category:Rewrite")
    assert "All judges: Rewrite" in text
    assert "leads on all items" in text
    assert "All judges: Rewrite" not in page(client, sweep, group="category:<b>")


def test_htmx_gets_the_part_that_it_asked_for(client, researcher, sweep):
    headers = {"HX-Request": "true", "HX-Target": "comparison-table"}
    text = page(client, sweep, headers=headers, sort="name")
    assert text.lstrip().startswith('<div id="comparison-table">')
    assert "<html" not in text
    again = page(client, sweep, headers=headers | {"HX-History-Restore-Request": "true"})
    assert "<html" in again
    response = client.get(reverse("metaeval:comparison", args=[sweep.pk]))
    assert "HX-Request" in response.headers["Vary"]
    assert "no-store" in response.headers["Cache-Control"]


def test_sorting_reads_what_was_computed(client, researcher, sweep, django_assert_max_num_queries):
    text = page(client, sweep)
    inputs = re.search(r"inputs=([0-9a-f]{64})", text)[1]
    with django_assert_max_num_queries(20):
        assert names(page(client, sweep, sort="name", inputs=inputs))[0] == "always first"
    # A hash of another sweep shows nothing of it.
    other = swept(dataset=dataset_make(pairs=4), good="Other good", poor="Other poor")[0]
    assert "Good judge" not in page(client, other, inputs=inputs)


def test_looking_writes_nothing(client, researcher, sweep):
    page(client, sweep)
    assert not Report.objects.exists()


def test_no_clear_winner_and_simulated_labels(client, researcher):
    dataset = dataset_make(pairs=20, gold=False)
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 20, simulated=True)
    one, two = judge_make("One"), judge_make("Two")
    judgments_make(judge=one, dataset=dataset, choices=[(1, 1)] * 20)
    judgments_make(judge=two, dataset=dataset, choices=[(1, 1)] * 19 + [(2, 1)])
    text = page(client, sweep_make(judges=[one, two], datasets=[dataset]))
    assert "No clear winner" in text
    assert "Two is not significantly different from One" in text
    assert "Simulated labels" in text


def test_both_figures_where_both_are_there(client, researcher, sweep):
    dataset = sweep.datasets.get()
    labels_make(dataset=dataset, choices=[(2, 2)] * 30)
    text = page(client, sweep)
    assert 'aria-label="Figure to compare by"' in text
    assert "Agreement with human annotators" in page(client, sweep, measure="agreement")


def test_a_sweep_under_way_says_so(client, researcher):
    sweep = swept(dataset=dataset_make(pairs=4))[0]
    sweep.state = SweepState.RUNNING
    sweep.save()
    assert "The sweep is running" in page(client, sweep)


def test_several_datasets_are_looked_at_one_by_one(client, researcher):
    first, second = dataset_make(pairs=4, name="aaa"), dataset_make(pairs=6, name="bbb")
    sweep, good, _ = swept(dataset=first)
    sweep.datasets.add(second)
    judgments_make(judge=good, dataset=second, choices=[(1, 2)] * 6)
    assert "4 pairs" in page(client, sweep)
    assert "6 pairs" in page(client, sweep, dataset="bbb")


def test_nothing_judged_yet(client, researcher):
    dataset = dataset_make(pairs=0)
    sweep = sweep_make(judges=[], datasets=[dataset], state=SweepState.DRAFT)
    assert "Nothing to compare yet" in page(client, sweep)
    sweep = sweep_make(judges=[judge_make("Idle")], datasets=[dataset_make(pairs=3)], state=SweepState.QUEUED)
    assert "No judge has judged this dataset" in page(client, sweep)


@pytest.mark.parametrize(("suffix", "start"), [("json", "{"), ("md", "# "), ("html", "<!doctype html>")])
def test_downloads(client, researcher, sweep, suffix, start):
    response = client.get(reverse("metaeval:comparison-download", args=[sweep.pk, suffix]))
    assert response.content.decode().lstrip().startswith(start)
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert client.get(f"/sweeps/{sweep.pk}/comparison.docx").status_code == 404


def test_hostile_names_are_escaped(client, administrator):
    sweep = swept(dataset=dataset_make(pairs=4), good="<img src=x onerror=alert(1)>")[0]
    assert "<img src=x" not in page(client, sweep)


def test_a_margin_and_over_whom_a_winner_wins(client, administrator, sweep):
    plain = page(client, sweep)
    asked = page(client, sweep, margin="2.5", annotators="these")
    assert "better than the other judges by more than 2.5 points" in asked
    assert "by more than" not in plain
    assert page(client, sweep, margin="x") is not None
    assert "Enter a number." in page(client, sweep, margin="x")
    # What is promoted from the page rests on the figures that it shows.
    form = dict(re.findall(r'name="(inputs_hash|seen)" value="([^"]*)"', asked))
    action = re.search(r'action="([^"]*promote[^"]*)"', asked)[1].replace("&amp;", "&")
    assert "margin=2.5" in action
    judge = re.search(r'name="judge" value="([0-9a-f]{8,64})"', asked)[1]
    response = client.post(action, form | {"judge": judge, "reason": "It wins by the margin."})
    assert response.status_code == 302
