"""Sweeps, judges and judgments as researchers read them: found in the navigation, paged, bounded by their datasets."""

import csv
import io
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Dataset
from judges.models import BackendKind, Judge, Judgment, Sweep, SweepRun
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.rows import judge_make, judgments_make, sweep_make, swept

pytestmark = pytest.mark.django_db


def test_the_navigation_leads_to_sweeps_and_judges_beside_datasets_studies_and_reports(cast: Cast) -> None:
    page = client_of(cast.alice).get(reverse("metaeval:report-list")).content.decode()
    places = [page.index(f">{name}</a>") for name in ("Datasets", "Studies", "Judges", "Sweeps", "Reports")]
    assert places == sorted(places)
    for name, title in (("judges:sweep-list", "Sweeps"), ("judges:judge-list", "Judges")):
        found = client_of(cast.alice).get(reverse(name))
        assert found.status_code == 200
        assert f'aria-current="page">{title}</a>' in found.content.decode()


def test_a_researcher_finds_a_finished_sweep_and_all_that_came_of_it(cast: Cast) -> None:
    dataset = dataset_make(pairs=8)
    sweep, good, poor = swept(dataset=dataset)
    browser = client_of(cast.bob)
    listed = browser.get(reverse("judges:sweep-list")).content.decode()
    here = reverse("judges:sweep-detail", args=[sweep.pk])
    assert here in listed
    page = browser.get(here).content.decode()
    for address in (
        reverse("metaeval:comparison", args=[sweep.pk]),
        reverse("metaeval:decision", args=[sweep.pk]),
        reverse("judges:judge-detail", args=[good.pk]),
        f"{reverse('judges:judgment-list', args=[dataset.name])}?judge={poor.pk}",
        f"{reverse('metaeval:report-list')}?name={dataset.name}",
    ):
        assert address in page
        assert browser.get(address.replace("&amp;", "&")).status_code == 200
    assert "/admin/" not in page
    assert "/admin/" in client_of(cast.ann).get(here).content.decode()


def test_a_sweep_shows_of_private_datasets_nothing_to_others(cast: Cast) -> None:
    public, private = dataset_make(pairs=4), dataset_make(pairs=4, split="private", owner=cast.alice)
    judge = judge_make("J")
    for dataset in (public, private):
        judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 4)
    sweep = sweep_make(judges=[judge], datasets=[public, private])
    SweepRun.objects.filter(dataset=private).update(cost=7.5, last_error="secret text of an item")
    Sweep.objects.filter(pk=sweep.pk).update(message="secret text of an item")
    here = reverse("judges:sweep-detail", args=[sweep.pk])
    for user, sees in ((cast.bob, False), (cast.alice, True), (cast.ann, True)):
        words = text_of(client_of(user).get(here))
        assert (private.title in words) == sees
        assert ("$7.50" in words) == sees
        assert ("secret text" in words) == sees
    only = sweep_make(judges=[judge], datasets=[private], name="Hidden sweep")
    assert client_of(cast.bob).get(reverse("judges:sweep-detail", args=[only.pk])).status_code == 404
    assert "Hidden sweep" not in client_of(cast.bob).get(reverse("judges:sweep-list")).content.decode()
    row = client_of(cast.bob).get(reverse("judges:sweep-list")).context["rows"][0][0]
    assert (row.n_total, row.n_datasets, row.cost) == (8, 1, 0.0)


def test_lists_are_paged_and_ask_no_more_for_more_rows(
    cast: Cast, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    dataset = dataset_make(pairs=1)
    judges = Judge.objects.bulk_create(
        Judge(
            name=f"Judge {k:03}", backend=BackendKind.OPENAI, model="m", strategy="vanilla",
            spec={"strategy": "vanilla"}, fingerprint=f"{k:064}",
        )
        for k in range(60)
    )  # fmt: skip
    item = dataset.items.get()
    Judgment.objects.bulk_create(
        Judgment(judge=judge, item=item, order=0, status="parsed", choice=1) for judge in judges
    )
    for k in range(60):
        sweep_make(judges=judges[:2], datasets=[dataset], name=f"Sweep {k:03}")
    browser = client_of(cast.bob)
    for name in ("judges:sweep-list", "judges:judge-list"):
        with django_assert_max_num_queries(7):
            page = browser.get(reverse(name))
        assert len(page.context["rows"]) == 25
        assert "1 to 25 of 60" in text_of(page)
        assert "51 to 60 of 60" in text_of(browser.get(f"{reverse(name)}?page=3"))
    with django_assert_max_num_queries(12):
        browser.get(reverse("judges:judgment-list", args=[dataset.name]))
    assert "Judge 059" in text_of(browser.get(f"{reverse('judges:judge-list')}?q=059"))


def test_the_page_of_a_sweep_asks_the_same_for_two_judges_and_for_twenty(cast: Cast) -> None:
    dataset = dataset_make(pairs=2)
    judges = [judge_make(f"J{k}") for k in range(20)]
    asked = []
    for few in (judges[:2], judges):
        here = reverse("judges:sweep-detail", args=[sweep_make(judges=few, datasets=[dataset]).pk])
        browser = client_of(cast.bob)
        with CaptureQueriesContext(connection) as queries:
            browser.get(here)
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 21


def test_a_judges_page_has_its_specification_and_where_it_was_used(cast: Cast) -> None:
    public, private = dataset_make(pairs=4), dataset_make(pairs=4, split="private", owner=cast.alice)
    sweep, good, _ = swept(dataset=public)
    judgments_make(judge=good, dataset=private, choices=[(1, 1)] * 4)
    here = reverse("judges:judge-detail", args=[good.pk])
    words = text_of(client_of(cast.bob).get(here))
    assert "Specification" in words
    assert public.title in words
    assert sweep.name in words
    assert private.title not in words
    assert private.title in text_of(client_of(cast.alice).get(here))
    unused = judge_make("Nobody's business")
    assert client_of(cast.bob).get(reverse("judges:judge-detail", args=[unused.pk])).status_code == 404
    assert client_of(cast.ann).get(reverse("judges:judge-detail", args=[unused.pk])).status_code == 200


def test_judgments_are_read_on_datasets_that_one_may_read(cast: Cast) -> None:
    private = dataset_make(pairs=4, split="private", owner=cast.alice)
    _, good, _ = swept(dataset=private)
    judgment = Judgment.objects.filter(judge=good).latest("pk")
    for name, args in (
        ("judgment", [judgment.pk]),
        ("judgment-list", [private.name]),
        ("judgment-export", [private.name, "csv"]),
    ):
        address = reverse(f"judges:{name}", args=args)
        assert client_of(cast.bob).get(address).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 200
        assert client_of(cast.ann).get(address).status_code == 200


def test_a_judgment_shows_no_labels_of_anothers_study(cast: Cast) -> None:
    study = study_make(pairs=4, owner=cast.alice, title="What Alice asked")
    study_labels_make(study, [[1, 1], [2, 2], [1, 1], [2, 2]])
    _, _, poor = swept(dataset=study.dataset)
    judgment = Judgment.objects.filter(judge=poor).earliest("pk")
    page = reverse("judges:judgment", args=[judgment.pk])
    listed = f"{reverse('judges:judgment-list', args=[study.dataset.name])}?against=people"
    assert "What Alice asked" in text_of(client_of(cast.alice).get(page))
    assert len(client_of(cast.alice).get(listed).context["page"].rows) == 8
    for address in (page, reverse("judges:judgment-list", args=[study.dataset.name])):
        words = text_of(client_of(cast.bob).get(address))
        assert "What Alice asked" not in words
        assert "people say" not in words
    assert not client_of(cast.bob).get(listed).context["page"].rows
    assert "Nobody has labeled this item" in text_of(client_of(cast.bob).get(page))


def test_neighbours_stay_in_the_dataset(cast: Cast) -> None:
    """The list beside a private dataset's leads nowhere into it."""
    public = dataset_make(pairs=1)
    private = dataset_make(pairs=1, split="private", owner=cast.alice)
    for dataset in (public, private):
        swept(dataset=dataset, good=f"G {dataset.name}", poor=f"P {dataset.name}")
    for judgment in Judgment.objects.filter(item__dataset=public):
        page = client_of(cast.bob).get(reverse("judges:judgment", args=[judgment.pk]))
        for address in (page.context["above_url"], page.context["below_url"]):
            assert not address or client_of(cast.bob).get(address).status_code == 200


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_judgments_are_exported_imported_or_run(cast: Cast, format: str) -> None:
    dataset: Dataset = dataset_make(pairs=3, name="d")
    imported = judge_make("=cmd|' /C calc'!A0", backend=BackendKind.IMPORTED)
    run = judge_make("Run")
    judgments_make(judge=imported, dataset=dataset, choices=[(1, 2)] * 3)
    judgments_make(judge=run, dataset=dataset, choices=[(2, None)] * 3)
    address = reverse("judges:judgment-export", args=["d", format])
    response = client_of(cast.bob).get(address)
    text = b"".join(response.streaming_content).decode()
    rows = (
        list(csv.DictReader(io.StringIO(text)))
        if format == "csv"
        else list(map(json.loads, text.splitlines()))
    )
    assert len(rows) == 12
    assert {row["item"] for row in rows} == {"p0", "p1", "p2"}
    assert "attachment" in response["Content-Disposition"]
    names = {row["judge"] for row in rows}
    assert names == {"Run", ("'" if format == "csv" else "") + "=cmd|' /C calc'!A0"}
    one = b"".join(client_of(cast.bob).get(f"{address}?judge={run.pk}").streaming_content).decode()
    assert one.count("Run") == 6
    assert client_of(cast.bob).get(f"{address}?judge=x").status_code == 404
    assert client_of(cast.bob).get(reverse("judges:judgment-export", args=["d", "exe"])).status_code == 404


def test_pages_and_files_say_when_several_models_answered_under_one_name(cast: Cast) -> None:
    dataset = dataset_make(pairs=8)
    sweep, good, poor = swept(dataset=dataset)
    of_good = Judgment.objects.filter(judge=good).order_by("pk")
    of_good.update(answered_by="gpt-4o\tgpt-4o-2024-05-13\tfp_a")
    browser = client_of(cast.bob)
    pages = [reverse("judges:judge-detail", args=[good.pk]), reverse("judges:sweep-detail", args=[sweep.pk])]
    assert "gpt-4o-2024-05-13" in text_of(browser.get(pages[0]))
    assert not any("2 models answered" in text_of(browser.get(page)) for page in pages)
    last = of_good.last()
    assert last is not None
    Judgment.objects.filter(pk=last.pk).update(answered_by="gpt-4o\tgpt-4o-2024-08-06\tfp_b")
    assert "2 models answered under the name gpt-4o" in text_of(browser.get(pages[0]))
    assert f"2 models answered {good.name} under the name gpt-4o" in text_of(browser.get(pages[1]))
    assert "models answered" not in text_of(browser.get(reverse("judges:judge-detail", args=[poor.pk])))
    address = reverse("judges:judgment-export", args=[dataset.name, "csv"])
    lines = b"".join(browser.get(f"{address}?judge={good.pk}").streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert {row["answered_by"] for row in rows} == {"gpt-4o-2024-05-13 (fp_a)", "gpt-4o-2024-08-06 (fp_b)"}
