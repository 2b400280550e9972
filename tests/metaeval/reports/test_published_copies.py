"""Published figures from the authors' own files, as a report has them: from an import to the convention's figure."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command

from annotation.models import Dataset, Kind
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.selectors.inputs import inputs_read

# Parquet is decoded in a process of its own.
pytestmark = [pytest.mark.django_db, pytest.mark.service]


def imported(path, form, kind, *judges):
    call_command("import_dataset", form, str(path), name="copy", stdout=StringIO())
    return inputs_read(dataset=Dataset.objects.get(), kind=kind, judges=judges or None)


@pytest.mark.parametrize(
    ("name", "who", "winning_rate", "advantage"),
    [("framing", "skilled", 1.0, 0.92), ("mtbench", "experts", 0.0, 0.77)],
)
def test_the_alternative_annotator_test(shared_data, name, who, winning_rate, advantage):
    """GPT-4o's winning rate and advantage probability, as published."""
    path = shared_data / "alt_test" / name
    if not path.exists():
        pytest.skip(f"there is no copy at {path}")
    found = imported(path, "alternative-annotators", Kind.CLASSIFICATION, "gpt-4o")
    one = build(found, Options(preset=f"alt_test_{who}", n_resamples=0)).judges[0]
    assert one.overall(f"alt_test_{who}_winning_rate")["value"] == pytest.approx(winning_rate, abs=0.005)
    assert one.overall(f"alt_test_{who}_advantage")["value"] == pytest.approx(advantage, abs=0.005)


def first_four(labels):
    """The labels with at most three before them of the same item."""
    before = np.arange(len(labels)) - np.searchsorted(labels.item, labels.item)
    names = ("item", "annotator", "values", "simulated")
    return replace(labels, group=(), **{name: getattr(labels, name)[before < 4] for name in names})


def test_alpaca_eval(shared_data):
    """Human annotators and the judge that prefers the longer output, as published: of the first four labels."""
    path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    if not path.exists():
        pytest.skip(f"there is no copy at {path}")
    found = imported(path, "alpaca-human", Kind.PAIRWISE)
    report = build(
        replace(found, labels=first_four(found.labels)), Options(preset="alpaca_eval", n_resamples=0)
    )
    people = report.people.measures["alpaca_eval_human_agreement"]["overall"]["value"]
    longest = next(one for one in report.judges if one.name == "longest").overall("alpaca_eval_agreement")
    assert (round(100 * people, 5), round(100 * longest["value"], 5)) == (65.66358, 62.19136)
