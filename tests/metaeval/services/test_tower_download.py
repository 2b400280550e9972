"""Checklists on which TOWER and DRFR differ most, as a file for a study."""

import csv
import io

import pytest
from django.urls import reverse

from annotation.services.item_choice import chosen_items_read
from metaeval.reports.errors import ReportError
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.label_next import tower_items
from tests.annotation.factories import user_make
from tests.metaeval.kinds import kind_swept

pytestmark = pytest.mark.django_db


@pytest.fixture
def swept():
    return kind_swept("checklist", items=12)


def at(sweep):
    return reverse("metaeval:tower-download", args=[sweep.pk])


def test_the_largest_differences_first(swept):
    dataset, sweep = swept
    judge, found = tower_items(dataset=dataset, sweep=sweep_view(sweep.pk))
    assert judge.startswith("Near")
    gaps = [abs(one.difference) for one in found]
    assert gaps == sorted(gaps, reverse=True)
    assert all(one.difference == pytest.approx(one.tower - one.drfr) for one in found)
    assert all(gap > 0 for gap in gaps)
    assert len(tower_items(dataset=dataset, sweep=sweep_view(sweep.pk), n=1)[1]) == 1


def test_the_file_is_what_a_study_takes(client, swept, tmp_path):
    dataset, sweep = swept
    client.force_login(user_make())
    response = client.get(at(sweep), {"dataset": dataset.name})
    assert response.headers["Content-Disposition"].startswith("attachment")
    path = tmp_path / "items.csv"
    path.write_bytes(response.content)
    chosen = chosen_items_read(path)
    assert [one.item for one in chosen] == [
        row["item"] for row in csv.DictReader(io.StringIO(response.content.decode()))
    ]
    page = client.get(reverse("metaeval:comparison", args=[sweep.pk]))
    assert at(sweep) in page.content.decode()


def test_nothing_depends_on_another(client):
    dataset, sweep = kind_swept("rubric", items=6)
    with pytest.raises(ReportError):
        tower_items(dataset=dataset, sweep=sweep_view(sweep.pk))
    client.force_login(user_make())
    assert client.get(at(sweep)).status_code == 404


def test_who_may(client, swept):
    _, sweep = swept
    assert client.get(at(sweep)).headers["Location"].startswith("/login/")
    client.force_login(user_make(role="annotator"))
    assert client.get(at(sweep)).status_code == 403
    _, hidden = kind_swept("checklist", items=4, mark=" hidden", split="private", owner=user_make())
    client.force_login(user_make())
    assert client.get(at(hidden)).status_code == 404
