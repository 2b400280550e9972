"""What judges may take along of studies: nothing of a private dataset, whichever dataset they judge."""

import pytest

from annotation.models import QualificationQuestion, Split
from annotation.models.qualification import QuestionPart
from annotation.selectors.examples import guidelines_offered, studies_with_examples, study_examples
from tests.annotation.factories import dataset_make, study_make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("split", "n"), [(Split.PUBLIC, 1), (Split.DEVELOPMENT, 1), (Split.PRIVATE, 0)])
def test_guidelines(split, n):
    study = study_make(dataset=dataset_make(pairs=2, split=split), guidelines="Of this study.")
    assert [one.text for one in guidelines_offered(study.kind)] == ["Of this study."] * n


@pytest.mark.parametrize(("split", "n"), [(Split.PUBLIC, 1), (Split.PRIVATE, 0)])
def test_training_from_another_dataset(split, n):
    """The study is public, the pairs that it teaches with are not."""
    study = study_make(dataset=dataset_make(pairs=2, split=Split.PUBLIC))
    item = dataset_make(pairs=1, split=split).items.get()
    item.gold = {"choice": 1}
    item.save()
    QualificationQuestion.objects.filter(study=study).delete()
    QualificationQuestion.objects.create(study=study, item=item, part=QuestionPart.TRAINING, position=0)
    assert len(study_examples(study.pk, n=3)) == n
    assert len(studies_with_examples()) == n
