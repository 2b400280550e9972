"""Whether some labels of a dataset are not theirs to see."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Dataset, Label, Split
from annotation.selectors.overview import labels_are_hidden, labels_visible_to
from tests.annotation.cast import Cast
from tests.annotation.factories import annotator_make, dataset_make, study_make

pytestmark = pytest.mark.django_db


def label_make(dataset: Dataset, **fields: object) -> Label:
    return Label.objects.create(
        item=dataset.items.first(),
        annotator=annotator_make(),
        kind="pairwise",
        value={"choice": 1},
        choice=1,
        **fields,
    )


def test_those_of_the_studies_of_others_are(cast: Cast) -> None:
    dataset = dataset_make(pairs=2)
    label_make(dataset)
    everyone = (cast.alice, cast.bob, cast.ann, None)
    assert [labels_are_hidden(user, [dataset]) for user in everyone] == [False] * 4
    study = study_make(dataset=dataset, owner=cast.alice)
    label_make(dataset, study=study, is_set_aside=True)
    assert not labels_are_hidden(cast.bob, [dataset])
    label_make(dataset, study=study)
    assert [labels_are_hidden(user, [dataset]) for user in everyone] == [False, True, False, False]
    assert not labels_are_hidden(cast.bob, [dataset_make(pairs=2)])


def test_it_says_what_comparing_label_by_label_says(cast: Cast) -> None:
    private = dataset_make(pairs=2, split=Split.PRIVATE, owner=cast.alice)
    public = dataset_make(pairs=2)
    for dataset in (private, public):
        label_make(dataset)
    label_make(public, study=study_make(dataset=public, owner=None))
    label_make(private, study=study_make(dataset=private, owner=cast.alice))
    for user in (cast.alice, cast.bob, cast.ann):
        for datasets in ([private], [public], [private, public]):
            every = labels_visible_to(None).current().filter(item__dataset__in=datasets)
            hidden = every.exclude(pk__in=labels_visible_to(user).values("pk")).exists()
            with CaptureQueriesContext(connection) as queries:
                assert labels_are_hidden(user, datasets) == hidden, (user, datasets)
            assert len(queries) <= 2
