"""Decisions stored by earlier versions open: one over pairs, one for a composite, one of each other kind."""

import json
from pathlib import Path

import pytest
from django.urls import reverse

from metaeval.models import Decision
from metaeval.reports.selection.markdown import selection_markdown
from metaeval.reports.selection.report import SelectionReport
from metaeval.selectors.decisions import judge_export
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.rows import judge_make

pytestmark = pytest.mark.django_db
STORED = sorted((Path(__file__).parent / "stored").glob("*.json"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_decision_opens(client, path):
    stored = json.loads(path.read_text(encoding="utf-8"))
    selection = stored["selection"]
    user = user_make(role="administrator")
    client.force_login(user)
    decision = Decision.objects.create(
        dataset=dataset_make(pairs=2),
        kind=selection["kind"],
        judge=judge_make(selection["judges"][0]["name"]),
        reason="As the figures say.",
        evidence=stored["evidence"],
        selection=selection,
        inputs_hash=selection["inputs_hash"],
        decided_by=user,
    )
    page = client.get(reverse("admin:metaeval_decision_change", args=[decision.pk])).content.decode()
    for label in ("Datasets", "Constraints", "Verdict", "Held-out estimate"):
        assert f"<dt>{label}</dt>" in page
    assert selection["datasets"][0]["title"] in page

    exported, told = judge_export(decision)["decision"], stored["export"]
    for name in ("constraints", "procedure", "held_out", "in_sample", "composite", "violations", "datasets"):
        assert exported.get(name) == told.get(name), name

    report = SelectionReport.read(selection)
    assert [row.name for row in report.judges] == [row["name"] for row in selection["judges"]]
    assert report.standings[0].objective == selection["standings"][0]["objective"]
    text = selection_markdown(report)
    assert all(row["name"].replace("_", "\\_") in text for row in selection["judges"])
    # Nothing is lost on the way back to JSON.
    written = json.loads(json.dumps(report.as_json()))
    for name in set(selection) - {"standings", "schema"}:
        assert written[name] == selection[name], name
