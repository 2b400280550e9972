"""Reports stored by earlier versions open as a page and in every format: one of each kind that there was, as it was
written then.
"""

import json
from pathlib import Path

import pytest
from django.urls import reverse

from metaeval.models import Report
from tests.annotation.factories import dataset_make, user_make

STORED = Path(__file__).parent / "stored"
SUFFIXES = {
    "pairwise": ("html", "md", "tex", "json"),
    **dict.fromkeys(
        ("rubric", "checklist", "importance", "answer_ranking"), ("html", "md", "tex", "csv", "json")
    ),
}
# Figures of each as they were written: of people, of the leading judge, of the difference to the next.
WRITTEN = {
    "pairwise": ("59.7", "69.4"),
    "rubric": ("0.867",),
    "checklist": ("78.6", "42.4"),
    "importance": ("0.786",),
    "answer_ranking": ("0.786",),
}


def stored(kind):
    return json.loads((STORED / f"{kind}.json").read_text(encoding="utf-8"))


@pytest.fixture
def report(request, db):
    content = stored(request.param)
    options = content["options"] | ({} if request.param == "pairwise" else {"kind": request.param})
    dataset = dataset_make(name=content["dataset"]["name"])
    return Report.objects.create(
        name=content["name"],
        dataset=dataset,
        inputs_hash=content["inputs_hash"],
        options=options,
        content=content,
        created_by=user_make(),
    )


@pytest.mark.parametrize("report", SUFFIXES, indirect=True)
def test_a_stored_report_opens_as_a_page_and_in_every_format(client, report):
    kind = report.options.get("kind", "pairwise")
    client.force_login(report.created_by)
    page = client.get(reverse("metaeval:report-detail", args=[report.pk]))
    texts = {"page": page.content.decode()}
    assert page.status_code == 200
    for suffix in SUFFIXES[kind]:
        response = client.get(reverse("metaeval:report-download", args=[report.pk, suffix]))
        assert response.status_code == 200, suffix
        texts[suffix] = response.content.decode()
    for name, text in texts.items():
        assert report.inputs_hash in text or name in ("tex", "csv"), name
        if name not in ("json", "csv"):
            for figure in WRITTEN[kind]:
                assert figure in text, (name, figure)
    assert client.get(reverse("metaeval:report-list")).status_code == 200
