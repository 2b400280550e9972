"""The pictures of planning and of a judge in time: drawn as all others, with files and the data behind them."""

import pytest
from django.urls import reverse

from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.factories import dataset_make
from tests.judges.anchor_rows import anchors_make
from tests.metaeval.rows import swept

pytestmark = pytest.mark.django_db


def test_a_plan_is_a_picture_with_files_and_the_same_numbers_as_its_table(cast: Cast) -> None:
    dataset = dataset_make(pairs=2, owner=cast.alice, split="private")
    alice, bob = client_of(cast.alice), client_of(cast.bob)
    asked = {"items": "100,400", "labels": "2,3", "people": "10", "question": "precise", "figure": "judge"}
    page = alice.get(reverse("metaeval:plan", args=[dataset.name]), asked)
    (shown,) = page.context["pictures"]

    assert "picture-svg" not in page.content.decode()
    assert [row[0] for row in shown.picture.rows] == [
        f"{items} items, {labels} labels each, 10 annotators" for labels in (2, 3) for items in (100, 400)
    ]
    table = {
        (row.design.n_items, row.design.labels_per_item): (round(row.cost, 6), row.interval.half_width_alike)
        for row in page.context["page"].rows
    }
    assert {(row[1], row[2]): (row[4], row[5]) for row in shown.picture.rows} == table
    files = dict(shown.files)
    assert (
        alice.get(files["CSV"])
        .content.decode()
        .startswith("Design,Items,Labels per item,Annotators,Cost ($)")
    )
    drawn = alice.get(shown.drawing).content.decode()
    assert "3 labels per item" in drawn
    assert "Target" in drawn
    assert bob.get(files["SVG"]).status_code == 404
    # Made again, where nothing keeps what the page had.
    assert alice.get(files["SVG"].partition("&v=")[0]).status_code == 200
    assert (
        alice.get(
            files["SVG"].replace("question=precise", "question=nothing").partition("&v=")[0]
        ).status_code
        == 404
    )


def test_evidence_of_drift_is_a_picture_of_the_page_of_the_judge(cast: Cast) -> None:
    dataset = dataset_make(pairs=40)
    _, judge, other = swept(dataset=dataset)
    anchors = anchors_make(judge=judge, dataset=dataset, changed=[0, 1, 30])
    empty = anchors_make(judge=other, dataset=dataset, changed=[])
    admin, bob = client_of(cast.ann), client_of(cast.bob)
    part = reverse("metaeval:in-time-pictures", args=[judge.pk, anchors.pk])

    page = admin.get(reverse("judges:judge-in-time", args=[judge.pk])).content.decode()
    assert f'hx-get="{part}"' in page
    assert "<svg" not in page.partition("<main")[2].partition("</main>")[0]
    shown = admin.get(part, headers={"hx-request": "true"})
    assert "After check 3: " in text_of(shown)
    file = reverse("metaeval:in-time-picture", args=[judge.pk, anchors.pk, "evidence", "csv"])
    lines = admin.get(file).content.decode().strip().split("\r\n")
    assert lines[0] == "Check,E-value"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3"]
    assert "Alarm" in admin.get(file.replace(".csv", ".svg")).content.decode()
    assert admin.get(reverse("metaeval:in-time-pictures", args=[other.pk, empty.pk])).status_code == 204
    assert admin.get(reverse("metaeval:in-time-pictures", args=[other.pk, anchors.pk])).status_code == 404
    assert {bob.get(url).status_code for url in (part, file)} == {403}
