"""The decision page of a sweep: what it shows, to whom, what may be asked, and its files."""

import json
import re

import pytest
from django.core.cache import cache
from django.urls import reverse

from judges.models import SweepState
from metaeval.models import JobState, ReportJob
from metaeval.services.report_jobs import report_job_cancel, report_jobs_work
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.choices import two_datasets
from tests.metaeval.kinds import figures_set
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make, swept

pytestmark = pytest.mark.django_db


@pytest.fixture
def sweep():
    return two_datasets()[0]


def at(sweep, name="decision", *args):
    return reverse(f"metaeval:{name}", args=[sweep.pk, *args])


def page(client, sweep, status=200, headers=None, **query):
    response = client.get(at(sweep), query, headers=headers)
    assert response.status_code == status
    return response.content.decode()


@pytest.mark.both_databases
def test_the_verdict_then_what_it_rests_on(client, administrator, sweep):
    text = page(client, sweep)
    assert "Good judge is significantly better than the other judges" in text
    # Of fewer than five annotators nothing can be said of others.
    assert "Clear for these annotators" in text
    assert "Clear winner" in page(client, sweep, annotators="these")
    assert (
        "Gold: accuracy against gold answers, reported only (weight 0); People: agreement with human annotators, "
        "weight 1." in text
    )
    sections = [
        "Expected score on new items",
        "All judges",
        "against cost",
        "Composite: one judge per category",
        "Alternative annotator test",
        "Sample size needed",
    ]
    places = [text.index(words) for words in sections]
    assert places == sorted(places)
    assert "Poor judge" in text
    assert "Promote a judge" in text
    assert 'style="' not in text
    assert "<script>" not in text


def test_names_and_figures_lead_to_what_is_behind_them(client, researcher, sweep):
    good = sweep.judges.get(name="Good judge")

    def drill(dataset):
        return f"{reverse('judges:judgment-list', args=[dataset])}?fingerprint={good.fingerprint}"

    text = page(client, sweep)  # people decide alone: their figure is the objective, and gold has a column
    assert text.count(f'href="{drill("people")}"') == 1
    counted = f'href="/datasets/gold/items/?kind=pairwise&amp;judge={good.fingerprint}&amp;judged_by='
    assert text.count(counted) == 1  # accuracy leads to the items that it is of
    both = page(client, sweep, **{"role-people": "people", "role-gold": "gold", "weight-gold": 1})
    assert f'href="/datasets/people/items/?kind=pairwise&amp;judge={good.fingerprint}' in both
    assert {row.judgment.judge for row in client.get(drill("gold")).context["page"].rows} == {good}


def test_who_may_see_it(client, sweep):
    urls = [at(sweep), at(sweep, "decision-summary"), at(sweep, "decision-download", "json")]
    for url in urls:
        response = client.get(url)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert [client.get(url).status_code for url in urls] == [403] * 3
    client.force_login(user_make())
    assert [client.get(url).status_code for url in urls] == [200] * 3
    assert "Promote a judge" not in page(client, sweep)


def test_somebody_elses_dataset(client):
    owner = user_make()
    sweep = two_datasets(split="private", owner=owner)[0]
    urls = [at(sweep), at(sweep, "decision-summary"), at(sweep, "decision-download", "md")]
    client.force_login(user_make())
    assert [client.get(url).status_code for url in urls] == [404] * 3
    client.force_login(owner)
    assert [client.get(url).status_code for url in urls] == [200] * 3


def test_of_a_sweep_over_one_private_dataset_the_rest_is_shown(client, researcher, sweep):
    sweep.datasets.filter(name="gold").update(split="private")
    text = page(client, sweep)
    assert "Good judge" in text
    assert "Gold" not in text
    refused = client.get(at(sweep, "decision-download", "json"), {"role-gold": "gold"})
    assert [row["name"] for row in refused.json()["datasets"]] == ["people"]


def test_there_is_no_such_sweep(client, researcher, sweep):
    assert client.get(reverse("metaeval:decision", args=[sweep.pk + 1])).status_code == 404
    assert client.get(reverse("metaeval:decision-summary", args=[sweep.pk + 1])).status_code == 404


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"max_cost": "cheap"}, "Enter a number."),
        ({"max_cost": "-1"}, "greater than or equal to 0"),
        ({"max_cost": "nan"}, "Enter a number."),
        ({"min_positional": "101"}, "less than or equal to 100"),
        ({"role-gold": "boss"}, "not one of the available choices"),
        ({"role-people": "gold"}, "not one of the available choices"),
        ({"weight-gold": ""}, "This field is required"),
        ({"weight-gold": "1e9"}, "less than or equal to 1000"),
        ({"confidence": "100"}, "not one of the available choices"),
        ({"epsilon": "0.5"}, "not one of the available choices"),
        ({"role-gold": "out", "role-people": "out"}, "Every dataset is left out"),
        ({"weight-people": "0"}, "Every weight is 0"),
        ({"role-gold": "out", "min_accuracy": "80"}, "No dataset is used for its gold answers"),
    ],
)
def test_bad_input_says_so_and_computes_nothing(client, researcher, sweep, monkeypatch, query, words):
    def never(**_):
        raise AssertionError("computed")

    monkeypatch.setattr("metaeval.views.selections.selection_get", never)
    text = page(client, sweep, **query)
    assert words in text
    assert '<details class="card disclosure asked no-print" open>' in text
    assert "Expected score" not in text
    assert client.get(at(sweep, "decision-download", "json"), query).status_code == 404


def test_constraints_rule_judges_out(client, researcher, sweep):
    text = page(client, sweep, max_cost="5")
    # The only one that satisfies them is behind the baselines, and so is no headline.
    assert "No judge that satisfies the constraints beats the baseline" in text
    assert "Poor judge is the only judge" not in text
    assert "1,000 judgments cost $8.00, more than $5.00" in text.replace("\u00a0", " ")
    text = page(client, sweep, open_weights="on", min_positional="60")
    assert "No judge satisfies the constraints" in text
    assert "It is not known whether its weights are open" in text


def test_roles_and_weights_decide(client, researcher, sweep):
    text = page(client, sweep, **{"weight-people": "1", "weight-gold": "3"})
    assert "mean of agreement with human annotators and accuracy against gold answers" in text
    text = page(client, sweep, **{"role-people": "out", "weight-gold": "1"})
    assert "accuracy against gold answers" in text
    assert "No dataset here is used for agreement with human annotators" in text


def test_while_it_computes(client, researcher, sweep, monkeypatch):
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    text = page(client, sweep)
    assert "Choosing between 2 judges on 60 pairs" in text
    assert "now=1" in text
    assert "Good judge is the judge" not in text
    summary = client.get(at(sweep, "decision-summary")).content.decode()
    assert "the choice is computed in the background" in summary
    assert "hx-get" not in summary
    headers = {"HX-Request": "true", "HX-Target": "decision"}
    assert "Waiting for a worker" in page(client, sweep, headers=headers, now="1")
    assert report_jobs_work() == 1
    for text in (page(client, sweep), client.get(at(sweep, "decision-summary")).content.decode()):
        assert "Good judge is significantly better than the other judges" in text


def test_cancelled_while_the_choice_is_made(client, researcher, sweep, monkeypatch):
    """Each repeat tells how far it is, so that the lease lasts and nobody waits for what was cancelled."""
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    cache.clear()  # of the same choice in another test
    page(client, sweep, now="1")
    job = ReportJob.objects.get()

    def stop():
        job.refresh_from_db()
        if job.step == "Choosing on held-out instructions":
            report_job_cancel(job=job)
        return False

    assert report_jobs_work(stop) == 0
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert 0 <= job.n_done < job.n_total
    assert not job.content


def test_the_summary(client, administrator, sweep):
    text = client.get(at(sweep, "decision-summary")).content.decode()
    assert "<html" not in text
    assert "Good judge is significantly better than the other judges" in text
    assert "Held-out agreement with human annotators" in text
    assert at(sweep) in text
    assert "hx-get" not in text


def test_the_sweep_asks_for_the_summary_once_something_was_judged(client, administrator, sweep):
    progress = reverse("admin:judges_sweep_progress", args=[sweep.pk])
    text = client.get(progress).content.decode()
    assert f'hx-get="{at(sweep, "decision-summary")}" hx-trigger="load"' in text
    idle = sweep_make(judges=[judge_make("Idle")], datasets=[dataset_make(pairs=3)], state=SweepState.PAUSED)
    idle.runs.update(n_done=0)
    text = client.get(reverse("admin:judges_sweep_progress", args=[idle.pk])).content.decode()
    assert "decision/summary" not in text
    sweep.state = SweepState.RUNNING
    sweep.save()
    assert "decision/summary" not in client.get(progress).content.decode()


def test_nothing_judged_yet(client, researcher):
    idle = sweep_make(judges=[judge_make("Idle")], datasets=[dataset_make(pairs=3)], state=SweepState.QUEUED)
    assert "Nothing to choose yet" in page(client, idle)
    assert "human labels or gold answers" in client.get(at(idle, "decision-summary")).content.decode()
    assert client.get(at(idle, "decision-download", "json")).status_code == 404


def test_a_dataset_that_nobody_judged_takes_no_part(client, researcher, sweep):
    sweep.datasets.add(dataset_make(pairs=3, name="later"))
    text = page(client, sweep)
    assert "Later is excluded: no judge has judged it here" in text
    assert "Good judge is significantly better than the other judges" in text


def test_files(client, researcher, sweep):
    response = client.get(at(sweep, "decision-download", "json"), {"max_cost": "5"})
    content = json.loads(response.content)
    assert content["schema"] == "touchstone.selection/1"
    assert content["constraints"]["max_cost_per_1000"] == 5
    assert response.content == client.get(at(sweep, "decision-download", "json"), {"max_cost": "5"}).content
    asked = {"annotators": "these"}
    text = client.get(at(sweep, "decision-download", "md"), asked).content.decode()
    assert text.startswith("# Judge selection: Two roles")
    assert "| Good judge | chosen |" in text
    assert client.get(f"/sweeps/{sweep.pk}/decision.html").status_code == 404


def test_the_address_of_a_file_holds_the_whole_choice(client, researcher, sweep):
    text = page(client, sweep, max_cost="5")
    query = re.search(r"decision\.json\?([^\"]+)", text)[1].replace("&amp;", "&")
    content = client.get(f"{at(sweep, 'decision-download', 'json')}?{query}").json()
    assert content["constraints"]["max_cost_per_1000"] == 5
    assert "weight-people=1" in query


def test_what_is_read_does_not_grow_with_the_rows(client, researcher, django_assert_max_num_queries):
    sweep = two_datasets(pairs=60)[0]
    for name in ("decision", "decision-summary"):
        with django_assert_max_num_queries(49):
            client.get(at(sweep, name))


def test_hostile_names_are_escaped(client, administrator):
    sweep = swept(dataset=dataset_make(pairs=6), good="<img src=x onerror=alert(1)>")[0]
    for url in (at(sweep), at(sweep, "decision-summary")):
        assert "<img src=x" not in client.get(url).content.decode()


@pytest.mark.parametrize(("labelled", "said"), [(40, "Add new instructions."), (36, "What to label next of")])
def test_what_would_settle_it_is_offered_only_where_there_is_something_to_label(
    client, researcher, labelled, said
):
    people = dataset_make(pairs=40, gold=False, name="people")
    labels_make(dataset=people, choices=[(1, 1, 1)] * labelled)
    one, two = judge_make("One"), judge_make("Two", strategy="cot")
    judgments_make(judge=one, dataset=people, choices=[(1, 1)] * 30 + [(2, 2)] * 10)
    judgments_make(judge=two, dataset=people, choices=[(2, 2)] * 12 + [(1, 1)] * 28)
    text = page(client, sweep_make(judges=[one, two], datasets=[people]))
    assert "No clear winner" in text
    assert said in text
