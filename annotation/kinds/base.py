"""What a kind of item says of itself: an `ItemKind`, one subclass a kind, one instance in the registry.

A kind is a value that people and judges give to an item: its form, its checks, what it says in words. Everything
else asks the kind, or its *scale*: what the numbers in a value can be used for (Stevens' levels of measurement).
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from annotation.domain.errors import LabelValueError
from annotation.domain.grading import AnswerGrade
from annotation.domain.scales import STANDARD, Scales
from annotation.domain.scales import Scale as CriterionScale
from annotation.domain.simulation import SimulatedAnnotator
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.evidence import LABELS, PART, MarkReason
from annotation.kinds.grades import PreferencePoint
from annotation.kinds.reasonable import RULE, SetOption
from annotation.kinds.reasons import REASONS
from annotation.kinds.shown import AnswerPart, ShownItem, ShownPart
from annotation.kinds.values import NO_SCALES, Stored, Value, ValueRules

NO_ANSWER = gettext_noop("no answer")
NOTHING = "–"
TEMPLATES = "annotation/annotator/kinds"

Scale = Literal["preference", "ordinal", "nominal", "ranks"]
Parts = Literal["", "criteria", "aspects", "responses"]
Text = Callable[[str], str]


class AnswerError(Exception):
    """A part of an answer is missing, or is none of those offered: what to say, the form field that it is about, and
    the id of the input to go to.
    """

    def __init__(self, words: str, *, field: str, anchor: str) -> None:
        super().__init__(words)
        self.field = field
        self.anchor = anchor


class ItemKind:
    """One kind of item.

    A subclass has to have the words, `validate`, `numbers`, `has_field`, `fields`, `read` and `words`; all else has a
    default that is right for a value whose meaning does not depend on the order shown.
    """

    # --- words ---------------------------------------------------------------------------------------------------

    name: ClassVar[str]
    """As it is stored, and in the names of its template (`kinds/NAME.html`) and of its prompts."""
    label: ClassVar[str]
    noun: ClassVar[tuple[str, str]]
    """What one item and what many are called in a sentence."""
    hint: ClassVar[str]
    """What it is, in one line beside its name."""
    question: ClassVar[str]
    """What people are asked, unless the study says otherwise."""
    work: ClassVar[str]
    """What people do, as a heading: "Compare answers". Pages translate it, as all that annotators read of a kind."""
    invitation: ClassVar[str]
    """What they are invited to do, in a sentence."""
    task: ClassVar[str]
    """What they do with an item, in a sentence."""
    answered: ClassVar[str] = gettext_noop("You answered this item.")
    part: ClassVar[str] = "Part"
    part_shown: ClassVar[str] = "Part"
    """What one part is called by researchers, and by annotators."""
    parts_heading: ClassVar[str] = "Parts"
    said: ClassVar[str] = ""
    """What is said of one part: "rating". Empty where there are no parts."""
    seconds: ClassVar[int] = 60
    """Seconds that a label takes where nothing better is known: for estimates alone."""

    # --- what its items and studies have -------------------------------------------------------------------------

    responses: ClassVar[tuple[int, int | None]] = (1, 1)
    """Least and most responses of an item."""
    parts: ClassVar[Parts] = ""
    """What a value says something of, one by one."""
    parts_field: ClassVar[str] = ""
    """The field of a file that lists them, where it has a name of its own."""
    ordered: ClassVar[Literal["", "responses", "aspects"]] = ""
    """What is shown in an order of each person's own."""
    kept: ClassVar[bool] = False
    """Whether a new item's page is kept but for its own words, which its templates mark (`{% anew %}`)."""
    scale: ClassVar[Scale]
    """What the numbers of a value are: a choice between two sides, points, names, or ranks."""
    bare_field: ClassVar[str] = ""
    """What a bare label of a file is of an object: ``{"choice": 1}``; empty where labels are objects."""
    tolerant: ClassVar[bool] = False
    """Whether an answer can be near its gold without being right."""
    study_rules: ClassVar[frozenset[str]] = frozenset()
    """Rules of a study that have a meaning for this kind and not for every kind."""
    evidence: ClassVar[tuple[str, ...]] = ()
    """Reasons for which passages of a response can be marked (`annotation.kinds.evidence`); none where they can't."""
    column: ClassVar[Literal["choice", "value"]] = "value"
    """The column of a label that has all that statistics need."""
    presented: ClassVar[bool] = False
    """Whether a judge reads an item in both presentation orders."""

    # --- its page ------------------------------------------------------------------------------------------------

    bar: ClassVar[str] = "parts"
    progress: ClassVar[str] = "answered"
    """What is done with each part, in "3 of 5 rated"."""
    styles: ClassVar[tuple[str, ...]] = ()
    scripts: ClassVar[tuple[str, ...]] = ()
    """Static files that its page needs."""

    @property
    def template(self) -> str:
        """The page of an item, which has its form fields but the button."""
        return f"{TEMPLATES}/{self.name}.html"

    @property
    def bar_template(self) -> str:
        """The bar below it, with the button that sends the answer."""
        return f"{TEMPLATES}/_{self.bar}_bar.html"

    # --- values --------------------------------------------------------------------------------------------------

    def validate(self, value: object, rules: ValueRules) -> Value:
        """The value in its stored form, or a `LabelValueError` that names the field at fault."""
        raise NotImplementedError

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:  # noqa: ARG002
        """Undo the order in which parts were shown."""
        return dict(value)

    def numbers(self, value: Stored) -> dict[str, float | None]:
        """What the value says of each part as a number on the kind's scale; None where nothing could be said. A value
        without parts has one, named "". A value that is not of this kind has none.
        """
        raise NotImplementedError

    def said_of_parts(self, value: Stored) -> dict[str, Any]:
        """What the value says of each part, as it is stored; without parts, what it says at all, named ""."""
        return {"": next(iter(value.values()))}

    def raw(self, value: object, rules: ValueRules) -> object:  # noqa: ARG002
        """A value as files have it, in the form that `validate` checks."""
        return value

    def of_scores(self, scores: Sequence[float]) -> Value:  # noqa: ARG002
        """The verdict of a judge that scored each response by itself."""
        raise LabelValueError(
            "scores", f"expected a verdict beside the scores of {self.noun[1]}, found none."
        )

    def choice(self, value: Stored) -> int | None:  # noqa: ARG002
        """What the column `choice` repeats of a value."""
        return None

    def of_column(self, stored: Any) -> Value:
        """A value from what `column` has of it."""
        return dict(stored)

    def stored(self, choice: int | None, value: Stored | None) -> Value:  # noqa: ARG002
        """A value from the columns of a row."""
        return dict(value or {})

    def agrees(self, value: Stored, gold: Stored) -> bool:
        """Whether two canonical values say the same."""
        return self.numbers(value) == self.numbers(gold)

    def distances(self, value: Stored, gold: Stored, scales: Scales = NO_SCALES) -> list[float]:  # noqa: ARG002
        """The distance from gold of each part that has a gold: 0 and 1 for right and wrong; of ratings, on the `scales`
        of the criteria, a multiple of what is near.
        """
        said = self.numbers(value)
        known = {key: number for key, number in self.numbers(gold).items() if number is not None}
        return [float(said[key] != number) for key, number in known.items() if key in said]

    def grade(
        self, value: Stored, gold: Stored, *, tolerance: float = 0.0, scales: Scales = NO_SCALES
    ) -> AnswerGrade:
        """Compare canonical values. Where there is no distance that could be tolerated, the tolerance is 0."""
        if tolerance < 0:
            raise ValueError(f"tolerance must not be negative, got {tolerance}")
        found = self.distances(value, gold, scales)
        limit = tolerance if self.tolerant else 0
        within = sum(distance <= limit for distance in found)
        return AnswerGrade(is_right=not any(found), judgments=len(found), within=within)

    def score(
        self, value: Stored, gold: Stored, *, tolerance: float = 0.0, scales: Scales = NO_SCALES
    ) -> float | None:
        """How right a canonical value is, in [0, 1]; None where nothing in it can be compared with the gold."""
        graded = self.grade(value, gold, tolerance=tolerance, scales=scales)
        return graded.within / graded.judgments if graded.judgments else None

    def as_shown(self, value: Stored, order: Sequence[int], aspects: Sequence[str]) -> str:  # noqa: ARG002
        """What a canonical value looked like to the person: equal texts are equal presses. `aspects` are the keys of
        the item's aspects, for kinds that show them in an order.
        """
        shown = from_shown(self, value, order)
        return json.dumps({name: said for name, said in shown.items() if name != REASONS}, sort_keys=True)

    # --- the answer of a person ----------------------------------------------------------------------------------

    def has_field(self, name: str) -> bool:
        """Whether a form field is one of this kind's."""
        raise NotImplementedError

    def fields(self, value: Stored) -> dict[str, str]:
        """A value in the order shown as the fields of the work form, to fill it in."""
        raise NotImplementedError

    def read(self, text: Text, rules: ValueRules) -> Value:
        """The value in the order shown that was sent, `text` being what each form field has; an `AnswerError` about
        the first part that is missing.
        """
        raise NotImplementedError

    def points(self, rules: ValueRules) -> tuple[PreferencePoint, ...]:  # noqa: ARG002
        """What can be chosen on a scale of preference, from the strongest for A to the strongest for B, "both bad"
        last; nothing where answers are no preferences.
        """
        return ()

    def set_options(self, item: ShownItem, rules: ValueRules, part: str = "") -> tuple[SetOption, ...]:  # noqa: ARG002
        """The answers that can be marked as reasonable, of one part or of an item without parts; nothing where the kind
        has no response sets.
        """
        return ()

    def set_numbers(self, value: Stored) -> dict[str, list[float | None]]:  # noqa: ARG002
        """What the response set of a value includes of each part, as `numbers` has answers; parts without a set are
        left out. Of a category it is 1, or nothing where the set does not have it.
        """
        return {}

    def sets_refused(self, scales: Scales, *, several: bool) -> str:  # noqa: ARG002
        """Why a study can't ask for response sets, given the scales of its criteria and whether a label may have
        several categories; empty where it can.
        """
        return "" if RULE in self.study_rules else f"{self.noun[1]} have no response sets"

    def evidence_reasons(self, parts: Mapping[str, str]) -> tuple[MarkReason, ...]:
        """The reasons for which passages can be marked, of an item with these parts: keys, and what they're called."""
        plain = (MarkReason(name, label=gettext(LABELS[name])) for name in self.evidence if name != PART)
        of_parts = parts.items() if PART in self.evidence else ()
        return (*plain, *(MarkReason(PART, key, words) for key, words in of_parts))

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        """An answer, given as form fields, in the order in which a person would say it."""
        raise NotImplementedError

    def shown_parts(self, item: ShownItem) -> tuple[ShownPart, ...]:
        """The parts that an answer says something of, in the order shown, with their words."""
        if self.parts == "criteria":
            return tuple(ShownPart(each.key, each.question) for each in item.criteria)
        if self.parts == "aspects":
            return tuple(ShownPart(each.key, each.text) for each in item.aspects)
        if self.parts == "responses":
            return tuple(
                ShownPart(str(index), gettext("Answer %(letter)s") % {"letter": letter_of(index)}, response)
                for index, response in enumerate(item.responses)
            )
        return (ShownPart("", ""),)

    def number_words(self, number: float | None) -> str:
        """One number of a value in words, for counts of what people said."""
        return NO_ANSWER if number is None else f"{number:g}"

    def tally(
        self,
        seen: Sequence[float | None],
        scale: CriterionScale = STANDARD,  # noqa: ARG002
    ) -> list[float | None]:
        """The numbers that the counts of a part have columns for, in order, where `seen` were said; `scale` is that of
        a criterion.
        """
        known = sorted({number for number in seen if number is not None})
        return [*known, *([None] if None in seen else [])]

    # --- in words, for researchers -------------------------------------------------------------------------------

    def summary(self, numbers: Mapping[str, float]) -> str:
        """A value, or the means of several, in a few words."""
        return ", ".join(self.number_words(number) for number in numbers.values()) or NOTHING

    def remark(self, value: Stored) -> str:  # noqa: ARG002
        """What a value says beside its numbers, in words."""
        return ""

    def part_words(self, number: float) -> str:
        """One number of a judge or of gold."""
        return f"{number:g}"

    def mean_words(self, number: float) -> str:
        """The mean of what people said of one part."""
        return f"{number:.1f}"

    # --- simulated annotators ------------------------------------------------------------------------------------

    def draw(
        self,
        person: SimulatedAnnotator,
        *,
        item: str,
        metadata: Mapping[str, Any],
        lengths: Sequence[int],
        rules: ValueRules | None = None,
    ) -> tuple[Value, float]:
        """A canonical value that this person gives, and the seconds that it takes; the same for the same arguments.

        `metadata["truth"]` is the canonical value that is held to be right, `lengths` are those of the responses,
        `rules` what the study asks, scales of criteria included.
        """
        del lengths
        chance = random.Random(f"{person.seed}/{item}")  # noqa: S311  (a simulation, not a secret)
        value = self.missed(person, metadata["truth"], chance, NO_SCALES if rules is None else rules.scales)
        return value, person.seconds * math.exp(chance.gauss(0.0, 0.5))

    def missed(
        self, person: SimulatedAnnotator, truth: Stored, chance: random.Random, scales: Scales = NO_SCALES
    ) -> Value:
        """The truth as this person sees it: missed part by part."""
        raise NotImplementedError


def from_shown(kind: ItemKind, value: Stored, shown_order: Sequence[int]) -> Value:
    """A canonical value as it looks in the order shown: the way back of `to_canonical`."""
    inverse = [0] * len(shown_order)
    for shown, position in enumerate(shown_order):
        inverse[position] = shown
    return kind.to_canonical(value, inverse)


def letter_of(index: int) -> str:
    """The name of a response in the order shown: A to Z, then 27 and on."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)
