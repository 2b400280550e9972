"""The form that makes pairs of what contestants answered."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.models import Dataset
from annotation.selectors.instructions import dataset_systems
from judges.models import Judge
from judges.selectors.generations import contestants_with_generations, generation_counts
from judges.services.contestants import HUMAN, Baseline

REFERENCE = "reference"
FIRST, ALL = "first", "all"
MAX_SEED = 2**31 - 1


class PairsForm(forms.Form):
    """A new dataset of pairs over the instructions of `source`."""

    contestants = forms.ModelMultipleChoiceField(
        queryset=Judge.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="Each contestant gives one pair per instruction that it answered.",
    )
    against = forms.ChoiceField(
        label="Beside", widget=forms.Select, help_text="The other response of each pair."
    )
    samples = forms.ChoiceField(
        choices=[(FIRST, "The first of each instruction"), (ALL, "All, one pair each")],
        widget=forms.RadioSelect,
        initial=FIRST,
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        initial=0,
        help_text="Randomizes which of the two responses comes first.",
    )
    name = forms.SlugField(max_length=64, label="Name of the new dataset")
    title = forms.CharField(max_length=200, required=False, label="Title")

    def __init__(self, data: Any = None, *, source: Dataset) -> None:
        super().__init__(data, initial={"name": f"{source.name[:58]}-pairs"})
        self.source = source
        counts = generation_counts(source.pk)
        answered = list(contestants_with_generations(source.pk))
        field = self.fields["contestants"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = Judge.objects.filter(pk__in=[judge.pk for judge in answered]).order_by("name")
        field.label_from_instance = lambda obj: _about(obj, counts)  # type: ignore[method-assign]
        against = self.fields["against"]
        assert isinstance(against, forms.ChoiceField)
        against.choices = [
            (REFERENCE, f"The {HUMAN}"),
            ("Systems of the dataset", [(f"system:{name}", name) for name in dataset_systems(source.pk)]),
            ("Contestants", [(f"contestant:{judge.pk}", judge.name) for judge in answered]),
        ]

    def clean(self) -> dict[str, Any]:
        """Refuse a contestant that is compared with itself."""
        values = super().clean() or {}
        if "against" not in values or "contestants" not in values:
            return values
        baseline = self.baseline(values["against"])
        if baseline.contestant is not None and baseline.contestant in values["contestants"]:
            raise ValidationError(
                {"against": f"'{baseline.contestant}' is among the contestants: choose another."}
            )
        return values | {"baseline": baseline}

    @staticmethod
    def baseline(against: str) -> Baseline:
        """Return what the choice means."""
        what, _, which = against.partition(":")
        if what == "system":
            return Baseline(system=which)
        if what == "contestant":
            return Baseline(contestant=Judge.objects.get(pk=int(which)))
        return Baseline(reference=True)


def _about(judge: Judge, counts: dict[int, tuple[int, int]]) -> str:
    n, samples = counts.get(judge.pk, (0, 0))
    words = f"{n:,} instruction{'s' if n != 1 else ''} answered"
    return f"{judge.name}: {words}" + (f", {samples} samples" if samples > 1 else "")
