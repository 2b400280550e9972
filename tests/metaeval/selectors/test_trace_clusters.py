"""Runs of one task are one cluster in every interval, however many steps each took."""

import pytest

from annotation.importers import read_generic
from annotation.kinds import KINDS
from annotation.models import Label
from annotation.selectors.agreement import agreement_so_far
from annotation.services.datasets import dataset_import
from metaeval.gate.gold import gold_read
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.selectors.inputs import inputs_read
from tests.annotation.factories import annotator_make, study_make
from tests.annotation.traces import messages_of, rows_file

pytestmark = pytest.mark.django_db
N_TASKS, N_RUNS = 8, 3


def runs(n_tasks=N_TASKS):
    """Three runs of each task, with 2, 3 and 4 steps: on half of the tasks two annotators say the same of each run."""
    for task in range(n_tasks):
        for run in range(N_RUNS):
            trace = messages_of(2 + run)
            trace[1] = {"role": "user", "content": f"Count the lines of part {task}."}
            said = ["no wrong step", "no wrong step" if task % 2 else "1"]
            labels = [{"annotator": f"a{k}", "value": value} for k, value in enumerate(said)]
            yield {
                "id": f"t{task}-{run}", "kind": "classification", "categories": "steps", "trace": trace,
                "labels": labels,
            }  # fmt: skip


def test_reports_count_tasks(tmp_path):
    path = rows_file(tmp_path, *runs())
    dataset = dataset_import(bundle=read_generic(path), name="runs").dataset
    # Steps are aspects of an instruction, so each number of steps has a row of its own.
    assert dataset.instructions.count() == N_TASKS * N_RUNS
    inputs = inputs_read(dataset=dataset, kind="classification")
    assert len(set(inputs.items.cluster)) == N_TASKS
    report = build(inputs, Options())
    assert report.items.n_instructions == N_TASKS
    found = report.people.measures["percent_agreement"]["overall"]
    assert (found["value"], found["n"]) == (0.5, N_TASKS * N_RUNS)
    # All runs of a task say the same, so eight tasks say as much as eight items, and not as 24.
    assert found["high"] - found["low"] > 0.5
    assert gold_read(path, "classification").items.cluster == inputs.items.cluster


def test_the_page_of_a_study_counts_them_too(tmp_path):
    rows = [row | {"labels": []} for row in runs()]
    dataset = dataset_import(bundle=read_generic(rows_file(tmp_path, *rows)), name="runs").dataset
    study = study_make(
        dataset=dataset, kind="classification", question=KINDS["classification"].question, overlap=2
    )
    for who, person in enumerate((annotator_make(), annotator_make())):
        for item in dataset.items.all():
            says = "1" if who and not int(item.external_id[1]) % 2 else "no wrong step"
            value = {
                "categories": {
                    name: name == says for name in item.instruction.aspects.values_list("key", flat=True)
                }
            }
            Label.objects.create(item=item, annotator=person, study=study, kind=item.kind, value=value)
    found = agreement_so_far(study).measures["percent_agreement"]["overall"]
    assert (found["value"], found["n"]) == (0.5, N_TASKS * N_RUNS)
    assert found["high"] - found["low"] > 0.5
