"""Exports with images: what comes out goes in again, on a site that has none of it."""

import io
import zipfile

import pytest
from pyarrow.parquet import read_table

from annotation.domain.images import image_digests
from annotation.importers.images import ImageFolder, read_generic_with_images
from annotation.services.datasets import dataset_import
from annotation.services.images import image_folder
from judges.services.exports import ExportSubject, export_write
from tests.annotation.factories import dataset_make
from tests.annotation.pictures import cats, decoded

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(tmp_path, settings):
    settings.IMAGES_DIR = tmp_path / "images"
    bundle = read_generic_with_images(cats(tmp_path), image_folder())
    return dataset_import(bundle=bundle, name="cats").dataset


def exported(dataset, what, path):
    file = io.BytesIO()
    export_write(file, ExportSubject(dataset), what, "zip")
    path.write_bytes(file.getvalue())
    return path


def test_what_is_exported_can_be_imported_elsewhere(dataset, tmp_path):
    path = exported(dataset, "items-images", tmp_path / "out.zip")
    elsewhere = ImageFolder(tmp_path / "elsewhere")
    bundle = read_generic_with_images(path, elsewhere)
    assert [one.external_id for one in bundle.items] == ["cats", "dog"]
    for text in (one.text for one in bundle.instructions):
        (digest,) = image_digests(text)
        assert decoded(elsewhere.read(digest)).size == (40, 30)
    # What a model wrote of an image that isn't there is still what it wrote.
    assert any("![](made-up.png)" in one.text for one in bundle.responses)


def test_the_folder_for_the_hub_has_the_images_and_names_them(dataset, tmp_path):
    with zipfile.ZipFile(exported(dataset, "huggingface", tmp_path / "out.zip")) as archive:
        names = [name for name in archive.namelist() if name.startswith("images/")]
        assert sorted(name.rpartition(".")[2] for name in names) == ["jpg", "png"]
        table = read_table(io.BytesIO(archive.read("data/items.parquet")))
    texts = table.column("instruction").to_pylist()
    assert all(any(name in text for name in names) for text in texts)
    assert not any("image:" in text for text in texts)


def test_a_dataset_without_images_is_exported_as_before(tmp_path):
    with zipfile.ZipFile(exported(dataset_make(), "items-images", tmp_path / "out.zip")) as archive:
        assert archive.namelist() == ["items.jsonl"]
