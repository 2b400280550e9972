"""Alice's study of twelve pairs."""

import pytest

from annotation.models import Dataset, Study
from tests.annotation.cast import Cast
from tests.annotation.factories import dataset_make, study_make


@pytest.fixture
def dataset(db: None) -> Dataset:
    return dataset_make(pairs=12, name="pairs")


@pytest.fixture
def study(cast: Cast, dataset: Dataset) -> Study:
    return study_make(dataset=dataset, slug="mine", title="Mine", owner=cast.alice, overlap=4)
