"""The form of a study. It checks what a person can be told beside a field; the services check the rest."""

import secrets
from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db.models import Field, Q, QuerySet
from django.utils import timezone

from annotation.domain.planning import Plan, study_plan
from annotation.forms.answers import (
    DimensionRow,
    ReasonsField,
    dimension_rows_of,
    dimension_rows_read,
    dimension_rows_to_fill,
    dimensions_of,
    dimensions_problem,
)
from annotation.forms.eligibility import (
    QuestionRow,
    problem_of,
    questions_of,
    rows_of,
    rows_read,
    rows_to_fill,
)
from annotation.forms.study_fields import (
    HELP_TEXTS,
    LABELS,
    PERCENT,
    NamesField,
    PercentField,
    noun,
    seconds_or,
)
from annotation.kinds import DEFAULT_KIND, KINDS, ItemKind, kind_of, kinds_with
from annotation.models import (
    Dataset,
    ItemSampling,
    PayBasis,
    QualificationRule,
    Study,
    StudyState,
    TiePolicy,
    User,
)
from annotation.selectors.datasets import (
    datasets_of_criteria,
    datasets_offered_by,
    datasets_visible_to,
    item_sizes,
)
from annotation.selectors.instructions import dataset_systems
from annotation.selectors.overview import studies_editable_by, studies_visible_to
from annotation.selectors.slices import (
    SliceCounts,
    dataset_criteria,
    dataset_parts,
    slice_counts,
    slice_items,
    study_slice,
    work_size,
)
from annotation.services.study_rules import FIXED_ONCE_OPEN
from web.rendering import MAX_MARKDOWN

MARKDOWN_FIELDS = ("guidelines", "consent")
DATASETS = ("dataset", "qualification_dataset", "training_dataset", "check_dataset")
LISTS = ("categories", "criteria")
PERCENTS = ("check_rate", "repeat_rate", "check_warn_below", "check_suspend_below", "qualification_threshold")
DEFAULTS = {
    # As it would be typed.
    field.name: f"{field.get_default() * PERCENT:g}" if field.name in PERCENTS else field.get_default()
    for field in Study._meta.concrete_fields
    if field.name in LABELS and field.name != "overlap" and field.has_default() and not field.null
    # A box that is not ticked is not empty, and a list may well be.
    if not isinstance(field.get_default(), bool | list)
}
MAX_SYSTEMS = 200  # in a list to choose from
DEADLINE_FORMAT = "%Y-%m-%dT%H:%M"


def _filled(data: Any) -> Any:
    """What was sent, with the value of a new study in place of every rule that was left empty.

    What an empty field means otherwise ("no limit") is said beside it; these have no such meaning.
    """
    filled = data.copy()
    for name, default in DEFAULTS.items():
        if not str(filled.get(name, "")).strip():
            filled[name] = default
    return filled


class DatasetChoiceField(forms.ModelChoiceField[Dataset]):
    """Datasets with how much of them can be used; `sizes` is set by the form."""

    sizes: dict[int, dict[str, tuple[int, int]]]

    def label_from_instance(self, obj: Any) -> str:
        parts = ", ".join(
            f"{noun(kind, n)} ({gold:,} with gold)" for kind, (n, gold) in self.sizes.get(obj.pk, {}).items()
        )
        return f"{obj.title} ({obj.name}): {parts}"


class StudyForm(forms.ModelForm[Study]):
    """A study's rules. `rules()` is what the services take; the form itself saves nothing.

    `slice` is what the study would offer, once that is known.
    """

    slice: SliceCounts | None = None

    # Makes the address of a new study, so that the same form sent twice makes one study.
    nonce = forms.CharField(widget=forms.HiddenInput, required=False, max_length=12)
    dataset = DatasetChoiceField(queryset=Dataset.objects.none(), empty_label="Choose a dataset")
    categories = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    criteria = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    subset = forms.ChoiceField(required=False)
    sampling_baseline = forms.ChoiceField(required=False)
    training_dataset = DatasetChoiceField(
        queryset=Dataset.objects.none(), required=False, empty_label="The study's own dataset"
    )
    qualification_dataset = DatasetChoiceField(
        queryset=Dataset.objects.none(),
        required=False,
        empty_label="The study's own dataset",
        label="Questions come from",
    )
    check_dataset = DatasetChoiceField(
        queryset=Dataset.objects.none(), required=False, empty_label="The study's own dataset"
    )
    # Carries what is wrong with the rows of the editor, which are no fields of their own.
    eligibility = forms.CharField(required=False, disabled=True, label="Questions about the person")
    dimensions = forms.CharField(required=False, disabled=True, label="Dimensions")
    reasons = ReasonsField(required=False)
    passthrough = NamesField(required=False, max_length=1500)
    check_rate = PercentField()
    repeat_rate = PercentField()
    check_warn_below = PercentField(required=False)
    check_suspend_below = PercentField(required=False)
    qualification_threshold = PercentField()

    class Meta:
        model = Study
        fields = ("title", "dataset", "guidelines", "consent", *LABELS)
        labels = LABELS
        help_texts = HELP_TEXTS
        widgets = {
            "kind": forms.RadioSelect,
            "sampling": forms.RadioSelect,
            "tie_policy": forms.RadioSelect,
            "preference_points": forms.RadioSelect,
            "evidence": forms.RadioSelect,
            "qualification_rule": forms.RadioSelect,
            "pay_basis": forms.RadioSelect,
            "retention_action": forms.RadioSelect,
            "guidelines": forms.Textarea(attrs={"rows": 16, "spellcheck": "true"}),
            "consent": forms.Textarea(attrs={"rows": 10, "spellcheck": "true"}),
            "closes_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format=DEADLINE_FORMAT),
        }

    def __init__(self, data: Any = None, *args: Any, user: User, **kwargs: Any) -> None:
        undecided = data is not None and not str(data.get("qualification_size", "")).strip()
        super().__init__(None if data is None else _filled(data), *args, **kwargs)
        self.locked: dict[str, str] = {}
        self._words()
        sizes = item_sizes(Dataset.objects.all())
        self.sizes = {pk: kinds for pk, kinds in sizes.items() if kinds}
        self._offer_datasets(user)
        self._offer_studies(user)
        if self.instance._state.adding:
            self.fields["nonce"].initial = secrets.token_hex(3)
        else:
            self._lock()
            for name in ("pay_per_item", "pay_per_hour", "pay_for_test"):
                # 0.12, not 0.1200
                self.initial.setdefault(name, getattr(self.instance, name))
                self.initial[name] = f"{getattr(self.instance, name).normalize():f}"
        self._offer_parts()
        if undecided:
            filled: Any = self.data  # a copy of what was sent
            filled["qualification_size"] = str(self.suggested_test())
        elif self.instance._state.adding and "qualification_size" not in (kwargs.get("initial") or {}):
            self.initial["qualification_size"] = self.suggested_test()
        self.question_rows: list[QuestionRow] = (
            rows_read(self.data) if self.is_bound else rows_of(self.instance.eligibility or [])
        )
        is_typed = self.is_bound and "dimensions" not in self.locked
        self.dimension_rows: list[DimensionRow] = (
            dimension_rows_read(self.data) if is_typed else dimension_rows_of(self.instance.dimensions or [])
        )
        self.fields["reasons"].stored = self.instance.reasons or []  # type: ignore[attr-defined]

    # --- what is offered -------------------------------------------------------------------------------------

    def _words(self) -> None:
        for name, field in self.fields.items():
            field.label = LABELS.get(name, field.label)
            field.help_text = HELP_TEXTS.get(name, field.help_text)
            model_field = next((one for one in Study._meta.concrete_fields if one.name == name), None)
            if model_field is not None and model_field.has_default() and field.initial is None:
                field.initial = model_field.get_default()
            if isinstance(field.widget, forms.RadioSelect) and model_field is not None:
                field.choices = model_field.choices  # type: ignore[attr-defined]  # without an empty one
        for name in MARKDOWN_FIELDS:
            self.fields[name].validators.append(MaxLengthValidator(MAX_MARKDOWN))
            self.fields[name].widget.attrs["maxlength"] = MAX_MARKDOWN
        currency = RegexValidator(r"^[A-Z]{3}\Z", "Expected three capital letters: USD.")
        self.fields["pay_currency"].validators.append(currency)

    def _offer_datasets(self, user: User) -> None:
        offered = datasets_offered_by(user)
        stored = {getattr(self.instance, f"{name}_id") for name in DATASETS} - {None}
        if stored:  # of a study that they edit, whatever they may do with its datasets
            offered = datasets_visible_to(user).filter(Q(pk__in=offered.values("pk")) | Q(pk__in=stored))
        visible = offered.order_by("name")
        for name in DATASETS:
            field = self.fields[name]
            assert isinstance(field, DatasetChoiceField)
            field.sizes = self.sizes
            field.queryset = visible.filter(pk__in=self.sizes)
        kind = self.kind_chosen()
        gold = [pk for pk, kinds in self.sizes.items() if kinds.get(kind, (0, 0))[1]]
        chosen = self.dataset_chosen()
        asks = self.rules_asked()
        fitting = datasets_of_criteria(chosen.pk, gold) if "criteria" in asks and chosen else gold
        for name in DATASETS[1:]:
            stored = getattr(self.instance, f"{name}_id")
            offered = visible.filter(pk__in={*fitting, stored} - {None})
            self.fields[name].queryset = offered  # type: ignore[attr-defined]

    def _offer_studies(self, user: User) -> None:
        # Who takes a study's test is shown its items: it's shared by those who decide what the study shows.
        mine = Q(pk__in=studies_editable_by(user).values("pk")) | Q(pk=self.instance.qualification_from_id)
        tests = studies_visible_to(user).filter(mine, qualification_size__gt=0, qualification_from=None)
        field = self.fields["qualification_from"]
        field.queryset = tests.exclude(pk=self.instance.pk).order_by("title")  # type: ignore[attr-defined]
        field.empty_label = "No, use its own test"  # type: ignore[attr-defined]

    def _offer_parts(self) -> None:
        """What the chosen dataset has: its categories, subsets, systems and criteria."""
        dataset = self.dataset_chosen()
        parts = dataset_parts(dataset) if dataset else {"categories": [], "subsets": []}
        asks = self.rules_asked()
        systems = dataset_systems(dataset.pk)[:MAX_SYSTEMS] if dataset and "sampling_baseline" in asks else []
        criteria = dataset_criteria(dataset.pk) if dataset and "criteria" in asks else []
        offers = {
            "categories": [(name, name) for name in parts["categories"]],
            "subset": [("", "All"), *((name, name) for name in parts["subsets"])],
            "sampling_baseline": [("", "Choose a system"), *((name, name) for name in systems)],
            "criteria": [(key, f"{key}: {question}") for key, question in criteria],
        }
        for name, choices in offers.items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]

    def _lock(self) -> None:
        del self.fields["nonce"]
        self.locked["dataset"] = (
            "The dataset of a study can't be changed. Create a new study for another dataset."
        )
        if self.instance.state != StudyState.DRAFT:
            why = "Fixed: the study has been opened."
            self.locked |= dict.fromkeys(FIXED_ONCE_OPEN, why)
            version = self.instance.guidelines_version
            self.fields["guidelines"].help_text = (
                f"Markdown. This is version {version}; a change makes it version {version + 1}. "
                "Every label carries the version that was current when it was given."
            )
        for name, why in self.locked.items():
            self.fields[name].disabled = True
            self.fields[name].help_text = why

    # --- what was chosen, before anything is checked -----------------------------------------------------------

    def _raw(self, name: str) -> Any:
        if self.is_bound and name not in self.locked:
            return self.data.get(self.add_prefix(name))
        return self.get_initial_for_field(self.fields[name], name)

    def kind_chosen(self) -> str:
        """The kind that is chosen so far."""
        kind = self._raw("kind")
        return str(kind) if kind in KINDS else DEFAULT_KIND

    def rules_asked(self) -> frozenset[str]:
        """The rules that have a meaning for the kind that is chosen so far."""
        return kind_of(self.kind_chosen()).study_rules

    @property
    def kinds_with(self) -> dict[str, str]:
        """For each rule that some kinds have, these kinds, as the script of the form reads them."""
        rules = frozenset().union(*(kind.study_rules for kind in KINDS.values()))
        return {rule: "|".join(kinds_with(rule)) for rule in rules}

    def kind_options(self) -> list[tuple[forms.boundfield.BoundWidget, ItemKind]]:
        """The choices of the kind, each with what is known of it."""
        return [(option, KINDS[str(option.data["value"])]) for option in self["kind"]]

    def dataset_chosen(self) -> Dataset | None:
        """The dataset that is chosen so far, of those that are offered."""
        value = self._raw("dataset")
        if isinstance(value, Dataset):
            value = value.pk
        offered: QuerySet[Dataset] = self.fields["dataset"].queryset  # type: ignore[attr-defined]
        return offered.filter(pk=value).first() if str(value or "").isdecimal() else None

    def kinds_offered(self) -> list[str]:
        """Kinds that the chosen dataset has items of."""
        dataset = self.dataset_chosen()
        return list(self.sizes.get(dataset.pk, {})) if dataset else []

    def suggested_test(self) -> int:
        """Questions of the test that is suggested: none where the chosen data have no gold for it."""
        dataset = self.dataset_chosen()
        n, gold = self.sizes.get(dataset.pk, {}).get(self.kind_chosen(), (0, 0)) if dataset else (0, 0)
        usual: int = Study._meta.get_field("qualification_size").default
        return usual if gold >= usual and n >= 2 * usual else 0

    def question_rows_to_fill(self) -> list[QuestionRow]:
        return rows_to_fill(self.question_rows)

    def dimension_rows_to_fill(self) -> list[DimensionRow]:
        """The rows of the editor; of a study whose dimensions are fixed, these alone."""
        return (
            self.dimension_rows
            if "dimensions" in self.locked
            else dimension_rows_to_fill(self.dimension_rows)
        )

    # --- checking ------------------------------------------------------------------------------------------------

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        self._drop_what_does_not_apply(data)
        # The field begins with the usual question of pairs; who leaves it so wants the usual one of the kind.
        if data.get("question") in {kind.question for kind in KINDS.values()}:
            data["question"] = kind_of(self.kind_chosen()).question
        if not self.errors.keys() & {"dataset", "kind", *LISTS, "subset"}:
            self._check_slice(data)
        self._check_test(data)
        if problem := problem_of(self.question_rows):
            self.add_error("eligibility", problem)
        if "dimensions" in self.rules_asked() and (problem := dimensions_problem(self.dimension_rows)):
            self.add_error("dimensions", problem)
        deadline = data.get("closes_at")
        if "closes_at" in self.changed_data and deadline is not None and deadline <= timezone.now():
            self.add_error("closes_at", "This time is in the past.")
        return data

    def _drop_what_does_not_apply(self, data: dict[str, Any]) -> None:
        """Fields that the page hides for this kind or rule, as nobody has seen what is in them."""
        asks = KINDS[data["kind"]].study_rules if data.get("kind") in KINDS else frozenset()

        def drop(*names: str) -> None:
            for name in names:
                if name not in self.locked:
                    column = Study._meta.get_field(name)
                    assert isinstance(column, Field)
                    data[name] = column.get_default()
                    self.errors.pop(name, None)

        of_kinds = {"criteria", "preference_points", "tie_policy", "qualification_rule", "response_sets"}
        drop(*((of_kinds | {"submit_on_choice", "show_differences", "evidence"}) - asks))
        if not data.get("ask_comment"):
            drop("require_comment")
        if not data.get("reasons"):
            drop("require_reason")
        if data.get("tie_policy") == TiePolicy.BOTH_BAD and "both_bad" not in asks:
            drop("tie_policy")
        if data.get("sampling") != ItemSampling.LENGTH_BALANCED:
            drop("sampling_baseline")
        if data.get("sampling") == ItemSampling.ALL:
            drop("sample_size")
        if not data.get("qualification_size") or data.get("qualification_rule") == QualificationRule.TOLERANT:
            data["qualification_pass"] = 0

    def _check_slice(self, data: dict[str, Any]) -> None:
        dataset, kind = data["dataset"], data["kind"]
        if kind not in self.sizes.get(dataset.pk, {}):
            self.add_error("kind", f"{dataset.name} has no {noun(kind)}.")
            return
        offered = slice_items(
            dataset_id=dataset.pk, kind=kind, categories=data["categories"], subset=data["subset"]
        )
        self.slice = slice_counts(offered, dataset.pk)
        if not self.slice.items:
            self.add_error(
                "categories" if data["categories"] else "subset", "No item matches this selection."
            )
        elif "qualification_size" not in self.locked:
            self._check_gold(dataset, kind, data, self.slice)

    def _check_test(self, data: dict[str, Any]) -> None:
        size, needed = data.get("qualification_size"), data.get("qualification_pass")
        if data.get("qualification_rule") == QualificationRule.TOLERANT or not size or needed is None:
            return
        if needed > size:
            self.add_error("qualification_pass", f"The test has {size} questions; more cannot be right.")
        if needed == 0:
            self.add_error(
                "qualification_pass",
                "With 0, everyone passes. For no test, set the number of questions to 0.",
            )

    def _check_gold(self, dataset: Dataset, kind: str, data: dict[str, Any], offered: SliceCounts) -> None:
        """Whether there is gold for the test, the training and the checks, and work beside them."""
        needs = {
            "training": data.get("training_size") or 0,
            "qualification": 0 if data.get("qualification_from") else data.get("qualification_size") or 0,
            "check": data.get("check_size") or 0,
        }
        used = 0
        left: dict[int, int] = {}
        for purpose, size in needs.items():
            source = data.get(f"{purpose}_dataset") or dataset
            own = source == dataset
            gold = offered.gold if own else self.sizes.get(source.pk, {}).get(kind, (0, 0))[1]
            left.setdefault(source.pk, gold)
            if left[source.pk] < size:
                beside = "" if left[source.pk] == gold else f", {left[source.pk]} of them not used above"
                self.add_error(
                    f"{purpose}_size",
                    f"{source.name} has {noun(kind, gold)} with a known right answer{beside}; "
                    f"{size} are wanted here.",
                )
                return
            left[source.pk] -= size
            used += size if own else 0
        if used and used >= offered.items:
            field = next(f"{purpose}_size" for purpose, size in needs.items() if size)
            self.add_error(field, f"This would use all {noun(kind, offered.items)} and leave none to label.")

    def rules(self) -> dict[str, Any]:
        """The columns that the services may set, without what is locked."""
        left_out = {"dataset", "nonce", "dimensions", *self.locked}
        rules = {name: value for name, value in self.cleaned_data.items() if name not in left_out}
        if "dimensions" not in self.locked:
            asked = "dimensions" in self.rules_asked()
            rules["dimensions"] = dimensions_of(self.dimension_rows) if asked else []
        return rules | {"eligibility": questions_of(self.question_rows)}

    def show_rule(self, field: str, message: str) -> None:
        """A refusal of a service, beside its field where the form has it."""
        message = message[:1].upper() + message[1:].rstrip(".") + "."
        self.add_error(field if field in self.fields else None, message)


def plan_of(form: StudyForm, *, seconds: str = "") -> Plan | None:
    """The plan of a form as it stands, faults and all; None as long as it does not say what is offered.

    Checking a bound form writes what is right of it into its instance, which is never saved here.
    """
    if form.is_bound:
        form.is_valid()
    study = form.instance
    if not form.is_bound and study.dataset_id is not None:
        form.slice = slice_counts(study_slice(study), study.dataset_id)
    if (
        study.dataset_id is None
        or {"dataset", "kind", "categories", "subset", "overlap"} & form.errors.keys()
    ):
        return None
    return study_plan(
        items=work_size(study),
        overlap=study.overlap,
        seconds=seconds_or(seconds, study.kind),
        hidden_share=(study.check_rate or 0) + (study.repeat_rate or 0),
        per_item=study.pay_per_item,
        per_hour=study.pay_per_hour,
        by_time=study.pay_basis == PayBasis.TIME,
        floor=study.pay_floor_per_hour,
    )
