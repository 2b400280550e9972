"""Titles and names do not carry what turns or hides their neighbors, whichever way they come in."""

import pytest

from annotation.models import Dataset, Study
from judges.models import Judge
from tests.annotation.factories import dataset_make, study_make
from tests.judges.views.test_dataset_imports import imported
from web.plain_text import printable_line

EVIL = "a\u202etxt.exe\u2066\u200f\x07\x1b[31m b"
PLAIN = "atxt.exe[31m b"


def test_what_is_visible_stays() -> None:
    for text in ("שלום", "सर्वज्ञ‍", "👩‍🔬 a  b", "Ünïcode", ""):
        assert printable_line(text) == text
    assert printable_line(EVIL) == PLAIN
    assert printable_line("a\nb\u2028c") == "a b c"


@pytest.mark.django_db
class TestStored:
    def test_by_a_form(self, cast, settings, tmp_path) -> None:
        settings.IMPORTS_DIR = tmp_path
        imported(cast.alice, title=EVIL)
        assert Dataset.objects.get().title == PLAIN

    def test_by_code_and_by_update(self) -> None:
        dataset = dataset_make(pairs=1)
        study = study_make(dataset=dataset, title=EVIL)
        assert study.title == Study.objects.get().title == PLAIN
        Dataset.objects.update(title=EVIL, licence=EVIL)
        dataset.refresh_from_db()
        assert (dataset.title, dataset.licence) == (PLAIN, PLAIN)
        assert Dataset.objects.filter(title=EVIL).exists()

    def test_of_judges(self) -> None:
        assert Judge._meta.get_field("name").to_python(EVIL) == PLAIN
