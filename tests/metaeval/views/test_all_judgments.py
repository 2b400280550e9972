"""Comparison, decision, drill-down and export over any judgments of a dataset, imported or run."""

import csv
import io
from pathlib import Path

import pytest
from django.urls import reverse

from annotation.importers import read_llmbar, read_llmbar_judgments
from annotation.models import Dataset, User
from annotation.selectors.datasets import gold_choices
from annotation.services.datasets import dataset_import
from judges.models import BackendKind, Judge, Sweep
from judges.services.judgments import judgments_import
from metaeval.models import Decision
from metaeval.selectors.sweeps import dataset_view_get_for, sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.selections import selection_get
from metaeval.views.addresses import source_url
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.rows import judge_make, judgments_make, swept

pytestmark = pytest.mark.django_db


def page(name: str, dataset: Dataset, *args: object) -> str:
    return reverse(f"metaeval:dataset-{name}", args=[dataset.name, *args])


def mixed() -> tuple[Dataset, Judge]:
    """A judge that was run in a sweep, one whose verdicts were imported: it is always right."""
    dataset = dataset_make(pairs=20)
    gold = [item.gold["choice"] for item in dataset.items.order_by("position")]
    swept(dataset=dataset, good="Ran and failed", poor="Ran and was wrong")
    imported = judge_make("Imported and right", backend=BackendKind.IMPORTED, strategy="CoT")
    judgments_make(judge=imported, dataset=dataset, choices=[(choice, choice) for choice in gold], cost=0)
    return dataset, imported


def test_imported_and_run_judges_stand_in_one_comparison(cast: Cast) -> None:
    dataset, imported = mixed()
    browser = client_of(cast.bob)
    words = text_of(browser.get(page("comparison", dataset)))
    for name in ("Ran and failed", "Ran and was wrong", "Imported and right"):
        assert name in words
    html = browser.get(page("comparison", dataset)).content.decode()
    drill = f"{reverse('judges:judgment-list', args=[dataset.name])}?fingerprint={imported.fingerprint}"
    assert drill in html
    assert page("decision", dataset) in html
    rows = browser.get(drill).context["page"].rows
    assert len(rows) == 40
    assert {row.judgment.judge for row in rows} == {imported}
    assert (
        page("comparison", dataset)
        in browser.get(reverse("annotation:dataset-detail", args=[dataset.name])).content.decode()
    )


def test_a_decision_is_made_over_all_judgments_and_promoted(cast: Cast) -> None:
    dataset, imported = mixed()
    browser = client_of(cast.ann)
    shown = browser.get(page("decision", dataset) + "?now=1")
    assert "Imported and right" in text_of(shown)
    content = browser.get(page("comparison", dataset) + "?now=1").context
    posted = browser.post(
        f"{page('promote', dataset)}?dataset={dataset.name}",
        {
            "judge": imported.fingerprint,
            "reason": "It is right.",
            "inputs_hash": content["content"].inputs_hash,
            "seen": f"{dataset.pk}:",
        },
    )
    assert posted.status_code == 302
    decision = Decision.objects.get()
    assert (decision.judge, decision.sweep) == (imported, None)
    after = text_of(browser.get(page("comparison", dataset)))
    assert "Imported and right was promoted by ann" in after
    exported = browser.get(reverse("metaeval:decision-judge", args=[decision.pk])).json()
    assert exported["decision"]["sweep"] is None
    asked = shown.context
    promoted = browser.post(
        f"{page('decision-promote', dataset)}?{asked['query']}",
        {
            "judge": imported.fingerprint,
            "reason": "Chosen on its decision page.",
            "inputs_hash": asked["report"].inputs_hash,
            "seen": f"{dataset.pk}:{decision.pk}",
        },
    )
    assert promoted.status_code == 302
    assert Decision.objects.filter(replaced_by=None).get().reason == "Chosen on its decision page."
    assert client_of(cast.ann).get("/admin/metaeval/decision/").status_code == 200
    assert client_of(cast.bob).post(page("promote", dataset), {}).status_code == 403


def test_what_belongs_to_it_has_an_address_too(cast: Cast) -> None:
    dataset, _ = mixed()
    browser = client_of(cast.bob)
    for suffix in ("json", "md", "html"):
        assert browser.get(page("comparison-download", dataset, suffix)).status_code == 200
    assert browser.get(page("decision-download", dataset, "json")).status_code == 200
    assert browser.get(page("label-next", dataset)).status_code == 200
    assert browser.get(page("decision-summary", dataset)).status_code == 200
    nothing = dataset_make(pairs=2)
    assert "No judge" in text_of(browser.get(page("decision", nothing)))
    assert browser.get(page("comparison", nothing)).status_code == 200


def test_a_private_datasets_judgments_are_its_owners(cast: Cast) -> None:
    dataset, _ = mixed()
    Dataset.objects.filter(pk=dataset.pk).update(split="private", owner=cast.alice)
    for name in ("comparison", "decision", "label-next"):
        assert client_of(cast.bob).get(page(name, dataset)).status_code == 404
        assert client_of(cast.alice).get(page(name, dataset)).status_code == 200


def test_no_comparison_counts_labels_of_anothers_study(cast: Cast) -> None:
    study = study_make(pairs=8, owner=cast.alice, overlap=3)
    study_labels_make(study, [[1, 1, 2]] * 8)
    sweep, *_ = swept(dataset=study.dataset)
    n_labels = {}
    for user in (cast.bob, cast.alice, cast.ann):
        of_dataset = dataset_view_get_for(user, study.dataset.name)
        content = comparison_get(sweep=of_dataset, dataset=study.dataset)
        n_labels[user.username] = content.people.n_labels
        shown = client_of(user).get(f"/sweeps/{sweep.pk}/comparison.json").json()
        assert shown["people"]["n_labels"] == n_labels[user.username]
    assert n_labels == {"bob": 0, "alice": 24, "ann": 24}


@pytest.mark.parametrize("name", ["comparison", "decision"])
def test_some_of_the_judges_are_chosen_by_an_address(cast: Cast, name: str) -> None:
    dataset, imported = mixed()
    browser = client_of(cast.bob)
    poor = Judge.objects.get(name="Ran and was wrong")
    whole = browser.get(page(name, dataset)).content.decode()
    assert "Judges to compare" in whole
    sent = browser.get(page(name, dataset), {"judge": [poor.pk, imported.pk], "now": "1"})
    address = (
        f"/datasets/{dataset.name}/judges/{min(poor.pk, imported.pk)},{max(poor.pk, imported.pk)}/{name}/"
    )
    assert (sent.status_code, sent["Location"]) == (302, f"{address}?now=1")
    shown = browser.get(sent["Location"])
    judges = shown.context["report" if name == "decision" else "content"].as_json()["judges"]
    names = {judge["name"] for judge in judges if not judge["baseline"]}
    assert names == {poor.name, imported.name}
    html = shown.content.decode()
    assert f"/judges/{min(poor.pk, imported.pk)},{max(poor.pk, imported.pk)}/{name}.json" in html, (
        "what is downloaded is not what is shown"
    )
    for judge in shown.context["sweep"].offered:
        box = f'<input type="checkbox" name="judge" value="{judge.pk}"'
        assert (f"{box} checked>" in html) == (judge in (poor, imported))
        assert box in html
    # The form of a choice starts from it, and leads back to all.
    every = [judge.pk for judge in shown.context["sweep"].offered]
    assert browser.get(address, {"judge": every})["Location"] == page(name, dataset)
    stranger = judge_make("Judged nothing here")
    assert browser.get(page(name, dataset), {"judge": stranger.pk}).status_code == 404
    assert browser.get(page(name, dataset), {"judge": "x"}).status_code == 404
    assert browser.get(f"/datasets/{dataset.name}/judges/{stranger.pk}/{name}/").status_code == 404


def test_pages_say_that_labels_of_others_are_left_out(cast: Cast) -> None:
    study = study_make(pairs=8, owner=cast.alice, overlap=3)
    study_labels_make(study, [[1, 1, 2]] * 8)
    swept(dataset=study.dataset)
    said = "Labels from other researchers\u2019 studies aren\u2019t counted here".replace("\u2019", "'")
    for name in ("comparison", "decision"):
        assert said in text_of(client_of(cast.bob).get(page(name, study.dataset)))
        assert said not in text_of(client_of(cast.alice).get(page(name, study.dataset)))
        assert said not in text_of(client_of(cast.ann).get(page(name, study.dataset)))


def test_pages_of_a_sweep_keep_their_addresses() -> None:
    dataset = dataset_make(pairs=2)
    sweep, *_ = swept(dataset=dataset)
    assert source_url(sweep_view(sweep.pk), "comparison") == f"/sweeps/{sweep.pk}/comparison/"
    assert Sweep.objects.count() == 1


def test_the_27_judges_of_llmbar(shared_data: Path) -> None:
    """Imported from the authors' verdicts: compared, decided on, drilled into, exported."""
    folder = shared_data / "llmbar"
    dataset = dataset_import(bundle=read_llmbar(folder / "Dataset" / "LLMBar"), name="llmbar").dataset
    verdicts = read_llmbar_judgments(folder / "judgments.csv", gold_choices(dataset.pk))
    judgments_import(dataset=dataset, verdicts=verdicts, source="llmbar")
    reader: User = user_make()
    browser = client_of(reader)
    shown = browser.get(page("comparison", dataset) + "?now=1")
    judges = [row.judge for row, _ in shown.context["table"].rows]
    assert sum(not judge.baseline for judge in judges) == 27
    assert "GPT-4 / Metrics_Reference" in text_of(shown)
    source = dataset_view_get_for(reader, "llmbar")
    content = comparison_get(sweep=source, dataset=dataset)
    by_name = {judge.name: judge for judge in content.judges}
    right = sum(
        1
        for one in verdicts
        if one.judge == "GPT-4 / Metrics_Reference"
        and one.value
        and one.value["choice"] == gold_choices(dataset.pk)[one.item]
    )
    accuracy = by_name["GPT-4 / Metrics_Reference"].measures["accuracy"]["overall"]["value"]
    assert accuracy == pytest.approx(right / 838)
    decided = browser.get(page("decision", dataset) + "?now=1")
    assert decided.status_code == 200
    chosen = selection_get(sweep=source, criteria=decided.context["form"].criteria())
    assert len([judge for judge in chosen.judges if not judge.baseline]) == 27
    judge = Judge.objects.get(name="GPT-4 / Metrics_Reference")
    drill = f"{reverse('judges:judgment-list', args=['llmbar'])}?fingerprint={judge.fingerprint}&against=gold"
    assert len(browser.get(drill).context["page"].rows) == 50
    text = b"".join(
        browser.get(reverse("judges:judgment-export", args=["llmbar", "csv"])).streaming_content
    ).decode()
    assert len(list(csv.DictReader(io.StringIO(text)))) == 22_626
