"""The address of an image: who may have it, and how it is served."""

from hashlib import sha256

import pytest
from django.test import Client
from django.urls import reverse

from annotation.importers.images import read_generic_with_images
from annotation.models import DatasetImage, Split
from annotation.services.datasets import dataset_import
from annotation.services.images import image_files_remove, image_files_tidy, image_folder
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.pictures import cats, picture

pytestmark = pytest.mark.django_db
RED = sha256(picture("red")).hexdigest()


@pytest.fixture
def cast():
    return Cast.make()


@pytest.fixture
def dataset(cast, tmp_path, settings):
    settings.IMAGES_DIR = tmp_path / "images"
    bundle = read_generic_with_images(cats(tmp_path), image_folder())
    return dataset_import(bundle=bundle, name="cats", owner=cast.alice, split=Split.PRIVATE).dataset


def status(client, digest=RED):
    return client.get(reverse("annotation:image", args=[digest])).status_code


def test_researchers_have_it_where_they_have_the_dataset(cast, dataset):
    assert [status(client_of(user)) for user in (cast.alice, cast.ann, cast.bob, cast.carl, None)] == [
        200, 200, 404, 404, 404,
    ]  # fmt: skip
    dataset.split = Split.PUBLIC
    dataset.save()
    assert [status(client_of(user)) for user in (cast.bob, cast.carl, None)] == [200, 404, 404]


@pytest.mark.parametrize("role", ["dataset", "training_dataset", "qualification_dataset", "check_dataset"])
def test_annotators_have_it_where_their_study_has_its_items(cast, dataset, role):
    given = dataset if role == "dataset" else dataset_make()
    study = study_make(dataset=given, owner=cast.alice)
    if role != "dataset":
        setattr(study, role, dataset)
        study.save()
    there, elsewhere = enrollment_make(study=study), enrollment_make(study=study_make())
    assert [status(_browser_of(person)) for person in (there, elsewhere)] == [200, 404]


def _browser_of(person):
    client = Client()
    client.get(reverse("annotation:resume", args=[person.resume_token]))
    return client


def test_it_is_a_picture_and_nothing_else(cast, dataset):
    response = client_of(cast.alice).get(reverse("annotation:image", args=[RED]))
    assert response.content == image_folder().read(RED)
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["Cache-Control"] == "private, max-age=604800, immutable"
    assert client_of(cast.alice).post(reverse("annotation:image", args=[RED])).status_code == 405


@pytest.mark.parametrize("digest", ["0" * 64, "x", "..", RED.upper(), RED + "0", "\x00"])
def test_what_is_no_image_of_ours_is_not_found(cast, dataset, digest):
    assert status(client_of(cast.ann), digest) == 404


def test_a_missing_file_is_not_found(cast, dataset):
    image_folder().place(RED).unlink()
    assert status(client_of(cast.alice)) == 404


def test_the_same_file_again_changes_nothing(cast, dataset, tmp_path):
    bundle = read_generic_with_images(cats(tmp_path), image_folder())
    assert not dataset_import(bundle=bundle, name="cats", owner=cast.alice).changed
    assert DatasetImage.objects.count() == 2


def test_files_that_no_dataset_shows_are_removed_when_they_are_old(dataset):
    image_folder().add(picture("yellow"))
    assert image_files_tidy() == 0  # young: an import may be about to use it
    assert image_files_remove(older_than=2**40) == 1
    assert image_folder().read(RED) is not None
    dataset.delete()
    assert image_files_remove(older_than=2**40) == 2
    assert list(image_folder().files()) == []
