"""Judges and images: sent to models that take them, in both protocols, and refused everywhere else beforehand."""

import pytest

from annotation.importers.images import read_generic_with_images
from annotation.models import Split
from annotation.services.datasets import dataset_import
from annotation.services.images import image_folder
from judges.backends.mock_server import running_mock_server
from judges.models import BackendKind, Judgment
from judges.services.checks import sweep_check
from tests.annotation.pictures import cats
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def dataset(tmp_path, settings):
    settings.IMAGES_DIR = tmp_path / "images"
    bundle = read_generic_with_images(cats(tmp_path), image_folder())
    return dataset_import(bundle=bundle, name="cats", split=Split.PRIVATE).dataset


@pytest.mark.parametrize("kind", [BackendKind.OPENAI, BackendKind.ANTHROPIC])
def test_a_model_that_takes_images_is_shown_them(dataset, kind):
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, kind=kind, takes_images=True)
        judge = judge_make(endpoint, "mock-echo", strategy="vanilla", decoding={"max_tokens": 4_000})
        sweep = sweep_make([judge], dataset)
        run()
    sweep.refresh_from_db()
    assert sweep.state == "finished"
    shown = Judgment.objects.get(judge=judge, order=0, item__external_id="cats").raw_text
    # The mock server says what it saw: a picture, where the text named it.
    assert "How many cats? [image/png " in shown
    assert "image:" not in shown
    dog = Judgment.objects.get(judge=judge, order=0, item__external_id="dog").raw_text
    assert "Describe it.\n\n[image/jpeg " in dog


def test_an_endpoint_that_takes_none_is_refused_before_anything_is_sent(dataset):
    judge = judge_make(endpoint_make(), name="blind")
    (error,) = sweep_check(sweep=sweep_make([judge], dataset, start=False)).errors
    assert "'cats' has images (item 'cats'), and 'blind' asks the endpoint" in error


@pytest.mark.parametrize("kind", [BackendKind.VLLM, BackendKind.TRANSFORMERS])
def test_an_engine_in_the_worker_is_refused_by_what_it_is(dataset, kind):
    judge = judge_make(endpoint_make("", kind=kind), name="engine")
    (error,) = sweep_check(sweep=sweep_make([judge], dataset, start=False)).errors
    assert "'cats' has images (item 'cats'), and 'engine' asks" in error
    assert f"takes texts alone ({kind.label})" in error


def test_likelihoods_cannot_be_of_images(dataset):
    judge = judge_make(endpoint_make(takes_images=True), name="reader", strategy="loglikelihood")
    errors = sweep_check(sweep=sweep_make([judge], dataset, start=False)).errors
    assert any("'reader' asks for likelihoods, which can't be of images." in error for error in errors)


def test_a_baseline_needs_none(dataset):
    sweep = sweep_make([judge_make(strategy="longest")], dataset)
    run()
    sweep.refresh_from_db()
    assert sweep.state == "finished"


def test_a_file_that_is_missing_costs_its_items_and_says_so(dataset):
    for path in image_folder().files():
        path.unlink()
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, takes_images=True))
        sweep_make([judge], dataset)
        run()
        assert server.stats()["requests"] == 0
    failed = Judgment.objects.filter(judge=judge).first()
    assert failed.status == "failed"
    assert "The file of the image" in failed.raw_text
