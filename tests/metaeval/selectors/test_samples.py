"""From a sweep of judges that sample to their test-retest reliability."""

import numpy as np
import pytest
from django.urls import reverse

from judges.models import Judgment
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.selectors.inputs import inputs_read
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, kinds_dataset_make, run_instant, sweep_make

pytestmark = pytest.mark.django_db

HOT = {"temperature": 1.0}
STRATEGIES = {
    "rubric": "rubric_all",
    "checklist": "checklist_each",
    "importance": "importance_ranking",
    "answer_ranking": "ranking_direct",
    "classification": "classification_direct",
}


def measures_of(dataset, kind="pairwise"):
    report = build(inputs_read(dataset=dataset, kind=kind), Options(n_resamples=0)).as_json()
    return {judge["name"]: judge["measures"] for judge in report["judges"]}


def test_samples_of_pairs_are_read_in_canonical_order_and_shown(client, administrator):
    dataset, endpoint = dataset_make(pairs=2), endpoint_make()
    often = judge_make(endpoint, "m", name="often", decoding=HOT, samples=4)
    once = judge_make(endpoint, "m", name="once", decoding=HOT)
    sweep = sweep_make([often, once], dataset)
    # Always the first shown, but for one sample in four: 3 of 6 pairs of samples agree.
    run_instant(lambda wire: "B" if wire.sample == 3 else "A")
    inputs = inputs_read(dataset=dataset)
    judge = next(judge for judge in inputs.judges if judge.name == "often")
    assert judge.samples.shape == (2, 2, 4, 1)
    assert judge.samples[0, :, :, 0].tolist() == [[1, 1, 1, 2], [2, 2, 2, 1]]
    found = measures_of(dataset)
    assert found["often"]["test_retest"]["overall"]["value"] == pytest.approx(0.5)
    assert found["often"]["test_retest_alpha"]["overall"]["value"] is not None
    assert found["once"]["test_retest"]["overall"]["value"] is None
    text = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert "Test-retest" in text
    assert "50.0%" in text


def test_a_comparison_without_samples_has_no_such_column(client, administrator):
    dataset = dataset_make(pairs=2)
    sweep = sweep_make([judge_make(endpoint_make(), "m")], dataset)
    run_instant("A")
    assert "Test-retest" not in client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert (
        "test_retest" not in measures_of(dataset)[Judgment.objects.get(order=0, item__position=0).judge.name]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", STRATEGIES)
def test_samples_of_other_kinds_are_read(kind):
    from judges.backends.mock_server import running_mock_server
    from tests.judges.props import run

    dataset = kinds_dataset_make(2)
    with running_mock_server() as server:
        judge = judge_make(
            endpoint_make(server.url),
            "mock-random",
            strategy=STRATEGIES[kind],
            decoding=HOT | {"seed": 1},
            samples=3,
        )
        sweep_make([judge], dataset)
        run()
    (answers,) = (one for one in inputs_read(dataset=dataset, kind=kind).judges if one.name == judge.name)
    assert answers.samples is not None
    assert not np.isnan(answers.samples).all()
    assert measures_of(dataset, kind)[judge.name]["test_retest"]["overall"]["value"] is not None
