"""The researcher's forms. They check what a person can be told beside a field; the services check the rest."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db.models import Count, Q
from django.utils import timezone

from annotation.models import Dataset, Item, Kind, Study, StudyState, User
from annotation.rendering import MAX_MARKDOWN
from annotation.selectors.datasets import datasets_visible_to

MARKDOWN_FIELDS = ("guidelines", "consent")
FIXED_ONCE_OPEN = ("tie_policy", "qualification_size", "qualification_dataset")


class DatasetChoiceField(forms.ModelChoiceField[Dataset]):
    """Datasets with how much of them can be used."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.title} ({obj.name}): {obj.n_pairs:,} pairs, {obj.n_gold:,} with a known right answer"


class StudyForm(forms.ModelForm[Study]):
    """A study's rules. `rules()` is what the services take; the form itself saves nothing."""

    # Makes the address of a new study, so that the same form sent twice makes one study.
    nonce = forms.CharField(widget=forms.HiddenInput, required=False, max_length=12)
    dataset = DatasetChoiceField(queryset=Dataset.objects.none(), empty_label="Choose a dataset")
    qualification_dataset = DatasetChoiceField(
        queryset=Dataset.objects.none(),
        required=False,
        empty_label="The study's own dataset",
        label="Questions come from",
        help_text="Pairs with a known right answer. Of the study's own dataset, they are not labelled again.",
    )

    class Meta:
        model = Study
        fields = (
            "title",
            "dataset",
            "question",
            "guidelines",
            "consent",
            "overlap",
            "tie_policy",
            "items_per_annotator",
            "lease_minutes",
            "qualification_size",
            "qualification_pass",
            "qualification_dataset",
            "pay_per_item",
            "pay_currency",
            "completion_code",
        )
        labels = {
            "question": "Question above each pair",
            "overlap": "Labels per item",
            "tie_policy": "Ties",
            "items_per_annotator": "Most items per person",
            "lease_minutes": "Minutes to answer",
            "qualification_size": "Questions in the test",
            "qualification_pass": "Right answers to pass",
            "pay_per_item": "Pay per item",
            "pay_currency": "Currency",
            "completion_code": "Completion code",
        }
        help_texts = {
            "title": "Annotators see it.",
            "guidelines": "Markdown. What makes an answer better, with examples. Empty: no guidelines page.",
            "consent": "Markdown. What people agree to before they begin. Empty: no consent page.",
            "overlap": "How many people label the same item. Agreement needs two; four is usual.",
            "tie_policy": "Whether people may say that both answers are equally good.",
            "items_per_annotator": "Empty: as many as they like.",
            "lease_minutes": "An item that was opened and not answered goes to somebody else after this time.",
            "qualification_size": "Pairs with a known right answer, asked before the work; 0: no test.",
            "qualification_pass": "Who has fewer is told so politely and does not go on. 9 of 10 is usual.",
            "pay_per_item": "Shown to annotators; 0: nothing is said about pay.",
            "completion_code": "Shown at the end, for a crowdsourcing platform. Empty: everybody gets their own.",
            "pay_currency": "Three letters: USD, EUR.",
        }
        widgets = {
            "guidelines": forms.Textarea(attrs={"rows": 14, "spellcheck": "true"}),
            "consent": forms.Textarea(attrs={"rows": 10, "spellcheck": "true"}),
            "tie_policy": forms.RadioSelect,
        }

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.locked: dict[str, str] = {}
        for name in MARKDOWN_FIELDS:
            self.fields[name].validators.append(MaxLengthValidator(MAX_MARKDOWN))
            self.fields[name].widget.attrs["maxlength"] = MAX_MARKDOWN
        self.fields["tie_policy"].choices = self._meta.model._meta.get_field("tie_policy").choices  # type: ignore[attr-defined]
        currency = RegexValidator(r"^[A-Z]{3}\Z", "Expected three capital letters: USD.")
        self.fields["pay_currency"].validators.append(currency)
        pairs = Q(items__kind=Kind.PAIRWISE)
        datasets = (
            datasets_visible_to(user)
            .annotate(
                n_pairs=Count("items", filter=pairs),
                n_gold=Count("items", filter=pairs & Q(items__gold__isnull=False)),
            )
            .filter(n_pairs__gt=0)
            .order_by("name")
        )
        self.fields["dataset"].queryset = datasets  # type: ignore[attr-defined]
        self.fields["qualification_dataset"].queryset = datasets.filter(n_gold__gt=0)  # type: ignore[attr-defined]
        if self.instance._state.adding:
            self.fields["nonce"].initial = secrets.token_hex(3)
        else:
            self._lock()
            # 0.12, not 0.1200
            self.initial["pay_per_item"] = f"{self.instance.pay_per_item.normalize():f}"

    def _lock(self) -> None:
        del self.fields["nonce"]
        self.locked["dataset"] = "A study stays with its dataset; make a new study for another one."
        if self.instance.state != StudyState.DRAFT:
            why = (
                "Fixed since the study was opened: labels before and after a change would not mean the same."
            )
            self.locked |= dict.fromkeys(FIXED_ONCE_OPEN, why)
        for name, why in self.locked.items():
            self.fields[name].disabled = True
            self.fields[name].help_text = why
        if self.instance.state != StudyState.DRAFT:
            version = self.instance.guidelines_version
            self.fields["guidelines"].help_text = (
                f"Markdown. This is version {version}; a change makes it version {version + 1}. "
                "Every label carries the version that was in force when it was given."
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        size, needed, dataset = (data.get(f) for f in ("qualification_size", "qualification_pass", "dataset"))
        if size is not None and needed is not None and needed > size:
            self.add_error("qualification_pass", f"The test has {size} questions; more cannot be right.")
        if size and needed == 0:
            self.add_error(
                "qualification_pass", "With 0 everybody passes; make the test 0 questions instead."
            )
        if dataset is not None and size and "qualification_size" not in self.locked:
            self._check_gold(dataset, data.get("qualification_dataset") or dataset, size)
        return data

    def _check_gold(self, dataset: Dataset, source: Dataset, size: int) -> None:
        pairs = Item.objects.filter(dataset=source, kind=Kind.PAIRWISE)
        total, gold = pairs.count(), pairs.filter(gold__isnull=False).count()
        if gold < size:
            self.add_error(
                "qualification_size",
                f"{source.name} has {gold} pairs with a known right answer; the test cannot have {size} questions.",
            )
        elif source == dataset and total <= size:
            self.add_error(
                "qualification_size", f"The test would use all {total} pairs and leave none to label."
            )

    def rules(self) -> dict[str, Any]:
        """The columns that the services may set, without what is locked."""
        left_out = {"dataset", "nonce", *self.locked}
        return {name: value for name, value in self.cleaned_data.items() if name not in left_out}

    def show_rule(self, field: str, message: str) -> None:
        """A refusal of a service, beside its field where the form has it."""
        self.add_error(field if field in self.fields else None, message)


class InvitationForm(forms.Form):
    """A link into a study."""

    note = forms.CharField(
        required=False, max_length=200, help_text="For you: who gets this link. Annotators do not see it."
    )
    max_annotators = forms.IntegerField(
        label="Most people", required=False, min_value=1, max_value=1_000_000, help_text="Empty: no limit."
    )
    last_day = forms.DateField(
        required=False,
        help_text="The link lets people in until the end of this day (UTC). Empty: no end.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def clean_last_day(self) -> Any:
        day = self.cleaned_data["last_day"]
        if day is not None and day < timezone.now().date():
            raise forms.ValidationError("This day is over.")
        return day

    def expires_at(self) -> datetime | None:
        day = self.cleaned_data["last_day"]
        return None if day is None else datetime.combine(day + timedelta(days=1), time.min, tzinfo=UTC)
