"""The form of the planning page: what is assumed, what is asked, which designs, what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.utils.http import urlencode

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, KINDS, kind_of
from metaeval.figures import FIGURES, KIND_LABELS
from metaeval.forms import EPSILONS
from metaeval.reports.planning import (
    POPULATION_WORDS,
    QUESTION_WORDS,
    PlanAsked,
    PlannedRow,
    PlanPage,
    design_words,
    plan_words,
)
from metaeval.reports.preregistration import STOPPING_WORDS
from metaeval.stats import AgreementModel, InvalidInputError, agreement_model
from metaeval.stats.planned_scores import FIGURES as PLANNED
from metaeval.stats.planned_scores import MOST_LABELS, PlannedFigure
from metaeval.stats.planned_sums import score_model

# Not a number field of the browser: what it cannot read would be gone when the form comes back.
_NUMBER = forms.TextInput(attrs={"inputmode": "decimal"})
GUESSES = "guess"
MOST_ITEMS, MOST_PEOPLE = 1_000_000, 10_000
# A page computes at most so many designs: about 5 ms each.
MOST_OF_A_LIST = {"items": 6, "labels": 4, "people": 3}


class CountsField(forms.CharField):
    """A few whole numbers with commas between them, each once, in ascending order."""

    def __init__(self, *, least: int, most: int, most_of_them: int, **kwargs: Any) -> None:
        self.least, self.most, self.most_of_them = least, most, most_of_them
        super().__init__(max_length=80, widget=forms.TextInput(attrs={"inputmode": "text"}), **kwargs)

    def clean(self, value: Any) -> tuple[int, ...]:
        text = super().clean(value)
        parts = [part for part in text.replace(",", " ").split() if part]
        if len(parts) > self.most_of_them:
            raise forms.ValidationError(f"Enter at most {self.most_of_them} numbers.")
        # ASCII digits only, and no more of them than the limit has: nothing else is a count.
        if not all(part.isascii() and part.isdigit() and len(part) <= 7 for part in parts):
            raise forms.ValidationError("Enter whole numbers with commas between them, such as 100, 200.")
        found = sorted({int(part) for part in parts})
        if found[0] < self.least or found[-1] > self.most:
            raise forms.ValidationError(f"Enter numbers from {self.least:,} to {self.most:,}.")
        return tuple(found)


def _percent(label: str, hint: str = "", *, most: float = 100.0, required: bool = False) -> forms.FloatField:
    return forms.FloatField(
        label=label, required=required, min_value=0, max_value=most, widget=_NUMBER, help_text=hint
    )


def _points(label: str, hint: str = "", *, least: float = 0.0, most: float = 200.0) -> forms.FloatField:
    return forms.FloatField(
        label=label, required=False, min_value=least, max_value=most, widget=_NUMBER, help_text=hint
    )


def _money(label: str, hint: str = "") -> forms.FloatField:
    return forms.FloatField(
        label=label, required=False, min_value=0, max_value=1e5, widget=_NUMBER, help_text=hint
    )


class PlanForm(forms.Form):
    """What an address leaves out is preset."""

    kind = forms.ChoiceField(label="Kind of item")
    figure = forms.ChoiceField(label="What to measure")
    question = forms.ChoiceField(label="Question", choices=tuple(QUESTION_WORDS.items()))
    population = forms.ChoiceField(label="Population", choices=tuple(POPULATION_WORDS.items()))
    confidence = forms.ChoiceField(
        label="Confidence level", choices=(("90", "90%"), ("95", "95%"), ("99", "99%"))
    )
    margin = _percent("Margin (points)", "The smallest difference that matters in practice.", most=99)
    difference = forms.FloatField(
        label="True difference (points)",
        required=False,
        min_value=-99,
        max_value=99,
        widget=_NUMBER,
        help_text="The difference that the study should detect. If empty, the one assumed below.",
    )
    target = forms.FloatField(
        label="Power to reach (%)", required=False, min_value=1, max_value=99.9, widget=_NUMBER
    )
    width = forms.FloatField(
        label="Half width to reach (points)", required=False, min_value=0.1, max_value=50, widget=_NUMBER
    )
    pilot = forms.ChoiceField(label="Assumptions from", required=False)
    judge = forms.ChoiceField(label="Judge of the pilot", required=False)
    rival = forms.ChoiceField(label="Compared with", required=False)
    agree_people = _percent("Two annotators agree (%)", "On an item, ties included.")
    agree_judge = _percent("The judge agrees with one annotator (%)")
    discordance = _percent("Two judges differ (%)", "Share of items with different verdicts.")
    ahead = forms.FloatField(
        label="Lead of the first judge (points)", required=False, min_value=-99, max_value=99, widget=_NUMBER
    )
    value = _points("Figure of a judge, or of annotators (points)", least=-100.0, most=100.0)
    gap = _points("Difference (points)", "Of a judge minus annotators or another judge.", least=-200.0)
    items_sd = _points(
        "Spread between items (points)", "Standard deviation of an item's score with very many annotators."
    )
    within_sd = _points(
        "Spread within an item (points)", "Standard deviation of the score that a single label gives an item."
    )
    person_sd = _percent(
        "Differences between annotators (points)",
        "Standard deviation of the figure from each annotator alone.",
        most=50,
    )
    per_instruction = forms.FloatField(
        label="Items per instruction", required=False, min_value=1, max_value=1000, widget=_NUMBER
    )
    intraclass = forms.FloatField(
        label="Correlation within an instruction", required=False, min_value=0, max_value=1, widget=_NUMBER
    )
    items = CountsField(
        label="Items",
        least=10,
        most=MOST_ITEMS,
        most_of_them=MOST_OF_A_LIST["items"],
        help_text="Up to 6 numbers.",
    )
    labels = CountsField(
        label="Labels per item",
        least=2,
        most=MOST_LABELS,
        most_of_them=MOST_OF_A_LIST["labels"],
        help_text="Up to 4.",
    )
    people = CountsField(
        label="Annotators",
        least=2,
        most=MOST_PEOPLE,
        most_of_them=MOST_OF_A_LIST["people"],
        help_text="Up to 3.",
    )
    n_judges = forms.IntegerField(
        label="Judges",
        min_value=1,
        max_value=1000,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        help_text="Intervals are corrected for the number of judges.",
    )
    label_price = _money("Price of a label")
    verdict_price = _money("Price of a verdict", "Of one judge in one presentation order.")
    orders = forms.ChoiceField(label="Presentation orders", choices=(("2", "Both"), ("1", "One")))
    budget = _money("Budget for more labels", "Of a running study: more annotators, or more items?")

    PRESET: Mapping[str, str] = {
        "value": "75",
        "gap": "5",
        "items_sd": "10",
        "within_sd": "20",
        "figure": "judge_minus_people",
        "question": "not_inferior",
        "population": "alike",
        "confidence": "95",
        "margin": "5",
        "target": "80",
        "width": "3",
        "agree_people": "66",
        "agree_judge": "66",
        "discordance": "25",
        "ahead": "5",
        "person_sd": "4",
        "per_instruction": "1",
        "intraclass": "0",
        "items": "200, 400, 800, 1600",
        "labels": "2, 3, 5",
        "people": "16",
        "n_judges": "2",
        "orders": "2",
        "budget": "100",
    }
    # Guesses of correlations are correlations.
    CORRELATIONS: Mapping[str, str] = {
        "value": "0.4", "gap": "0.05", "items_sd": "0.25", "within_sd": "0.45", "person_sd": "0.08"
    }  # fmt: skip
    ASKED = (
        "kind",
        "figure",
        "question",
        "margin",
        "difference",
        "target",
        "width",
        "population",
        "confidence",
    )
    GUESSED = (
        "agree_people", "agree_judge", "ahead", "discordance", "person_sd", "per_instruction", "intraclass"
    )  # fmt: skip
    SPREADS = ("value", "gap", "items_sd", "within_sd", "person_sd", "per_instruction", "intraclass")
    PILOTED = ("pilot", "judge", "rival")
    DESIGNED = ("items", "labels", "people", "n_judges")
    PRICED = ("label_price", "verdict_price", "orders", "budget")

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        kind: str = DEFAULT_KIND,
        scales: tuple[Scale, ...] = (),
        kinds: Sequence[str] = (),
        pilots: Sequence[tuple[str, str]] = (),
        judges: Sequence[tuple[str, str]] = (),
        preset: Mapping[str, str] | None = None,
        currency: str = "$",
    ) -> None:
        self.currency = currency
        self.item_kind, self.scales, words = kind, scales, plan_words(kind, scales)
        self.preset = {**self.PRESET, **(self.CORRELATIONS if words.point else {})}
        data = {**self.preset, "kind": kind, "label_price": "0.5", "verdict_price": "0.002", **(preset or {})}
        data = {name: given.get(name, data.get(name, "")) for name in self.base_fields}
        data["kind"] = kind
        names = {name for name, _ in pilots}
        data["pilot"] = data["pilot"] if data["pilot"] in names else GUESSES
        for name in ("judge", "rival"):
            data[name] = data[name] if data[name] in dict(judges) else ""
        super().__init__(data)
        for name in self.CORRELATIONS if words.point else ():
            self.fields[name].label = str(self.fields[name].label).replace("points", "correlation")
        if kind_of(kind).presented:
            self.fields["person_sd"].help_text += " 3 to 6 among AlpacaEval's 16."
        for name, choices in (
            ("kind", [(one, KIND_LABELS[one]) for one in (kinds or KINDS)]),
            ("figure", list(words.figures.items())),
            ("pilot", [(GUESSES, "my own assumptions"), *pilots]),
            ("judge", [("", "none"), *judges]),
            ("rival", [("", "none"), *judges]),
        ):
            cast("forms.ChoiceField", self.fields[name]).choices = list(choices)
        for name in ("label_price", "verdict_price", "budget"):
            self.fields[name].label = f"{self.fields[name].label} ({currency.strip()})"

    def _some(self, names: Sequence[str]) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def asked_fields(self) -> list[forms.BoundField]:
        """What is asked."""
        return self._some(self.ASKED)

    @property
    def pilot_fields(self) -> list[forms.BoundField]:
        """Where assumptions come from."""
        return self._some(self.PILOTED)

    @property
    def guess_fields(self) -> list[forms.BoundField]:
        """What is guessed."""
        return self._some(self.GUESSED if kind_of(self.item_kind).presented else self.SPREADS)

    @property
    def design_fields(self) -> list[forms.BoundField]:
        """Which designs."""
        return self._some(self.DESIGNED)

    @property
    def price_fields(self) -> list[forms.BoundField]:
        """What they cost."""
        # Pairs alone are shown in two orders, and of them it is known what the next money buys.
        of_pairs = () if kind_of(self.item_kind).presented else ("orders", "budget")
        return self._some([name for name in self.PRICED if name not in of_pairs])

    @property
    def uses_pilot(self) -> bool:
        """Whether a pilot is asked for."""
        return bool(self.data.get("pilot") not in (GUESSES, "", None))

    @property
    def pilot_words(self) -> str:
        """Where assumptions come from."""
        chosen = cast("forms.ChoiceField", self.fields["pilot"]).choices
        pilot = {str(key): str(words) for key, words in cast("list[tuple[str, str]]", chosen)}
        judges = dict(cast("list[tuple[str, str]]", cast("forms.ChoiceField", self.fields["judge"]).choices))
        named = [judges[self.data[name]] for name in ("judge", "rival") if self.data[name]]
        words = pilot[self.data["pilot"]]
        return f"{words} ({', '.join(named)})" if self.uses_pilot and named else words

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        figure, question = values.get("figure", ""), values.get("question")
        if not figure.startswith("judge_minus") and question not in (None, "precise"):
            self.add_error("question", "Power needs a difference. For this figure, choose the half width.")
        if question == "equivalent" and not values.get("margin"):
            self.add_error("margin", "Equivalence takes a margin above 0.")
        if question == "equivalent" and values.get("confidence") and int(values["confidence"]) <= 50:
            self.add_error("confidence", "Two one-sided tests take more than 50%.")
        if not self.errors and not self.uses_pilot:
            try:
                self._guessed(values)
            except InvalidInputError as error:
                self.add_error(None, f"These assumptions contradict each other: {error}.")
        return values

    def model(self) -> AgreementModel:
        """What is guessed, of a form that is valid."""
        return self._guessed(self.cleaned_data)

    def _guessed(self, values: Mapping[str, Any]) -> AgreementModel:
        def share(name: str) -> float:
            value = values.get(name)
            found = float(self.preset[name]) if value is None else float(value)
            return found if name in self.CORRELATIONS and plan_words(self.item_kind).point else found / 100

        size, intraclass = values.get("per_instruction") or 1.0, values.get("intraclass") or 0.0
        if not kind_of(self.item_kind).presented:
            figures = FIGURES[self.item_kind]
            bounds = figures.of_judges(figures.primaries[0]).bounds or (0.0, 1.0)
            spreads = {name: share(name) for name in ("items_sd", "within_sd", "person_sd")}
            return AgreementModel(
                {
                    figure: score_model(
                        value=share("gap" if (minus := figure.startswith("judge_minus")) else "value"),
                        bounds=bounds,
                        intraclass=intraclass,
                        cluster_size=size,
                        is_difference=minus,
                        **spreads,
                    )
                    for figure in PLANNED
                },
                size,
            )
        return agreement_model(
            people=share("agree_people"),
            judge=share("agree_judge"),
            difference=share("ahead"),
            discordance=share("discordance"),
            person_sd=share("person_sd"),
            cluster_size=size,
            intraclass=intraclass,
        )

    def asked(self) -> PlanAsked:
        """What is asked, of a form that is valid."""
        values = self.cleaned_data
        precise = values["question"] == "precise"
        target = values["width"] if precise else values["target"]
        preset = self.PRESET["width" if precise else "target"]
        difference = values["difference"]
        return PlanAsked(
            figure=cast("PlannedFigure", values["figure"]),
            question=values["question"],
            population=values["population"],
            margin=(values["margin"] or 0.0) / 100,
            target=(float(preset) if target is None else target) / 100,
            difference=None if difference is None else difference / 100,
            confidence=int(values["confidence"]) / 100,
            items=values["items"],
            labels=values["labels"],
            people=values["people"],
            n_judges=values["n_judges"],
            label_price=values["label_price"] or 0.0,
            verdict_price=values["verdict_price"] or 0.0,
            orders=int(values["orders"]) if kind_of(self.item_kind).presented else 1,
            currency=self.currency,
            kind=self.item_kind,
            scales=self.scales,
        )

    def query(self) -> str:
        """The whole plan as an address has it."""
        return urlencode({name: value for name, value in self.data.items() if value != ""})


class PreregistrationForm(forms.Form):
    """Which design is registered, why, and when labeling stops."""

    design = forms.ChoiceField(label="Design")
    title = forms.CharField(label="Title", max_length=200)
    question = forms.CharField(
        label="Research question",
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What you want to know, and what you will conclude from each result.",
    )
    epsilon = forms.ChoiceField(label="Epsilon of the alternative annotator test", choices=EPSILONS)
    stopping = forms.ChoiceField(label="Stopping rule", choices=tuple(STOPPING_WORDS.items()))
    notes = forms.CharField(
        label="Notes",
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Exclusions, attention checks, other analyses.",
    )

    def __init__(self, *args: Any, page: PlanPage, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = {row.key: row for row in page.rows}
        words = [(key, design_words(row.design)) for key, row in self.rows.items()]
        cast("forms.ChoiceField", self.fields["design"]).choices = words
        if not FIGURES[page.asked.kind].has_replacement:
            del self.fields["epsilon"]
        if page.best is not None:
            self.fields["design"].initial = page.best.key

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("stopping") == "other" and not values.get("notes"):
            self.add_error("notes", "Describe the stopping rule.")
        return values

    @property
    def row(self) -> PlannedRow:
        """The design, of a form that is valid."""
        return self.rows[self.cleaned_data["design"]]
