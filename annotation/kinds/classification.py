"""Classification: one or several categories from a list that a dataset or an item has.

A value is ``{"categories": {category: true | false}}``. It names every category that was offered, so that what was
not offered is not taken for refused when a list grows. The categories of an item are its aspects: key and definition.
Its response set (`annotation.kinds.reasonable`), where one is chosen, is a list of categories.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale, Scales
from annotation.domain.simulation import SimulatedAnnotator
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.base import NO_ANSWER, NOTHING, AnswerError, Text
from annotation.kinds.evidence import CHOICE
from annotation.kinds.evidence import RULE as EVIDENCE
from annotation.kinds.parts import PartsKind
from annotation.kinds.reasonable import (
    KEY,
    RULE,
    SetOption,
    also_words,
    field_of_answer,
    is_set_field,
    marked,
    set_checked,
    set_fields,
    set_of,
)
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import NO_SCALES, Stored, Value, ValueRules, quoted_short

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)
CHOSEN = "yes"
NAMED = 6  # categories that an error names


@dataclass(frozen=True, slots=True)
class CategoryScheme:
    """How the categories of a dataset are used.

    Attributes
    ----------
    level : {"nominal", "ordinal", "interval"}
        What their order means: nothing, which is more, or how much more (their names are then numbers).
    several : bool
        Whether a label may have more than one.
    order : tuple of str
        The list that items share, the lowest first; empty where each item has its own.
    """

    level: Level = "nominal"
    several: bool = False
    order: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, stored: Stored) -> "CategoryScheme":
        """From what `as_json` gave; nothing is the default."""
        order = tuple(stored.get("order", ()))
        return cls(stored.get("level", "nominal"), bool(stored.get("several", False)), order)

    def as_json(self) -> dict[str, Any]:
        return {"level": self.level, "several": self.several, "order": list(self.order)}

    def numbers(self, categories: Sequence[str]) -> list[float]:
        """The number of each category on the scheme's level: its value, its place in the order, or in this list."""
        if self.level == "interval":
            return [float(name) for name in categories]
        known = {name: float(place) for place, name in enumerate((*self.order, *categories))}
        known |= {name: float(place) for place, name in enumerate(self.order)}
        return [known[name] for name in categories]


UNORDERED = CategoryScheme()


class Classification(PartsKind):
    name = "classification"
    label = "Classification"
    noun = ("item to classify", "items to classify")
    hint = "One text: one or several categories from a list."
    question = gettext_noop("Which category fits?")
    work = gettext_noop("Choose categories")
    invitation = gettext_noop("You're invited to choose categories.")
    task = gettext_noop("You will read an instruction and say which category it belongs to.")
    answered = gettext_noop("You chose:")
    part = part_shown = gettext_noop("Category")
    parts_heading = "Categories"
    said = "chosen or not"
    seconds = 40
    responses = (0, 1)
    parts = "aspects"
    parts_field = "categories"
    bare_field = "category"
    scale = "nominal"
    bar = "classification"
    scripts = ("js/rubric.js",)
    study_rules = frozenset([RULE, EVIDENCE])
    evidence = (CHOICE,)
    field = "categories"
    input = "category"
    is_whole = True

    def raw(self, value: object, rules: ValueRules) -> object:
        """A name or a list of names will do; their case is that of the list."""
        sets: dict[str, object] = {}
        if isinstance(value, Mapping):
            if isinstance(answers := value.get(KEY), list):
                sets = {KEY: [_of_list(name, rules.aspects) for name in answers]}
            rest = {name: said for name, said in value.items() if name not in sets}
            given = rest.get("category", rest.get(self.field)) if len(rest) == 1 else None
            if given is None or isinstance(given, Mapping):
                return rest | sets
            value = given
        names = value if isinstance(value, list) else [value]
        return {self.field: [_of_list(name, rules.aspects) for name in names]} | sets

    def checked(self, given: object, rules: ValueRules) -> dict[str, bool]:
        chosen = _chosen(given)
        for name in chosen:
            if name not in rules.aspects:
                raise LabelValueError(
                    self.field, f"expected {_listed(rules.aspects)}, found {quoted_short(name)}."
                )
        if not chosen:
            raise LabelValueError(self.field, "expected at least one category, found none.")
        if len(chosen) > 1 and not rules.several:
            problem = f'expected one category, found {len(chosen)}; a list for several has "several": true.'
            raise LabelValueError(self.field, problem)
        return {name: name in chosen for name in rules.aspects}

    def set_checked(self, given: object, found: Stored, rules: ValueRules) -> list[str]:
        if rules.several:
            raise LabelValueError(KEY, "is not expected where a label may have several categories.")
        (chosen,) = chosen_of(found)
        return set_checked(given, rules.aspects, chosen)

    def set_options(self, item: ShownItem, rules: ValueRules, part: str = "") -> tuple[SetOption, ...]:  # noqa: ARG002
        names = (aspect.key for aspect in item.aspects)
        return tuple(SetOption(name, field_of_answer(name), name, name) for name in names)

    def set_numbers(self, value: Stored) -> dict[str, list[float | None]]:
        answers = set_of(value)
        if answers is None:
            return {}
        return {name: [1.0] if name in answers else [] for name in value[self.field]}

    def sets_refused(self, scales: Scales, *, several: bool) -> str:
        if several:
            return "a label may have several categories already, so there is no forced choice beside a set"
        return super().sets_refused(scales, several=several)

    def distances(self, value: Stored, gold: Stored, scales: Scales = NO_SCALES) -> list[float]:  # noqa: ARG002
        """All of the chosen categories are right together, or wrong."""
        return [int(chosen_of(value) != chosen_of(gold))]

    def has_field(self, name: str) -> bool:
        return name == self.input or super().has_field(name) or is_set_field(name)

    def fields(self, value: Stored) -> dict[str, str]:
        """Of a label with one category both forms of the fields: radios have one name, checkboxes one each."""
        chosen = sorted(chosen_of(value))
        one = {self.input: chosen[0]} if len(chosen) == 1 else {}
        fields = one | {f"{self.input}-{name}": CHOSEN for name in chosen}
        return fields | set_fields(set_of(value) or ())

    def read(self, text: Text, rules: ValueRules) -> Value:
        if rules.several:
            chosen = [name for name in rules.aspects if text(f"{self.input}-{name}") == CHOSEN]
        else:
            chosen = [name for name in rules.aspects if name == text(self.input)]
        if not chosen:
            one = gettext("Choose a category first.")
            words = gettext("Choose at least one category first.") if rules.several else one
            raise AnswerError(words, field=self.input, anchor="part-1")
        found: Value = {self.field: {name: name in chosen for name in rules.aspects}}
        if rules.response_sets and not rules.several:
            found[KEY] = set_checked(marked(text, rules.aspects), rules.aspects, chosen[0])
        return found

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        names = [each.key for each in item.aspects]
        if item.several:
            chosen = [name for name in names if fields.get(f"{self.input}-{name}") == CHOSEN]
        else:
            chosen = [name for name in names if name == fields.get(self.input)]
        name = gettext("Categories") if item.several else gettext("Category")
        also = also_words(each for each in names if each not in chosen and fields.get(field_of_answer(each)))
        return (AnswerPart(name, ", ".join(chosen) or gettext(NO_ANSWER), also=also),)

    def remark(self, value: Stored) -> str:
        chosen = chosen_of(value)
        return also_words(str(each) for each in set_of(value) or () if each not in chosen)

    def number_words(self, number: float | None) -> str:
        return "Chosen" if number else "Not chosen"

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:  # noqa: ARG002
        return [1.0, 0.0]

    def summary(self, numbers: Mapping[str, float]) -> str:
        """What was chosen; of several people, what more than half of them chose."""
        return ", ".join(name for name, share in numbers.items() if share > 0.5) or NOTHING

    def part_words(self, number: float) -> str:
        return "chosen" if number else "not chosen"

    def mean_words(self, number: float) -> str:
        return f"{100 * number:.0f}%"

    def draw(
        self,
        person: SimulatedAnnotator,
        *,
        item: str,
        metadata: Mapping[str, Any],
        lengths: Sequence[int],
        rules: ValueRules | None = None,
    ) -> tuple[Value, float]:
        """With a response set where the study asks: what is right and `metadata["reasonable"]`, each missed as often as
        the truth, and the choice.
        """
        value, seconds = super().draw(person, item=item, metadata=metadata, lengths=lengths, rules=rules)
        if rules is None or not rules.response_sets:
            return value, seconds
        chance = random.Random(f"{person.seed}/{item}/set")  # noqa: S311  (a simulation, not a secret)
        likely = {*chosen_of(metadata["truth"]), *metadata.get(KEY, ())}
        found = {name for name in sorted(likely) if chance.random() < person.accuracy} | chosen_of(value)
        return value | {KEY: [name for name in value[self.field] if name in found]}, seconds

    def missed(
        self,
        person: SimulatedAnnotator,
        truth: Stored,
        chance: random.Random,
        scales: Scales = NO_SCALES,  # noqa: ARG002
    ) -> Value:
        """Another category in place of one of those that are right."""
        offered, chosen = list(truth[self.field]), chosen_of(truth)
        others = [name for name in offered if name not in chosen]
        if others and chance.random() >= person.accuracy:
            chosen = (chosen - {chance.choice(sorted(chosen))}) | {chance.choice(others)}
        return {self.field: {name: name in chosen for name in offered}}


def chosen_of(value: Stored) -> frozenset[str]:
    """The categories that a stored value has chosen.

    >>> sorted(chosen_of({"categories": {"a": True, "b": False, "c": True}}))
    ['a', 'c']
    """
    return frozenset(name for name, chosen in value["categories"].items() if chosen)


def _chosen(given: object) -> list[str]:
    """Names from a list of them, or from an object that says of each whether it is chosen."""
    if isinstance(given, Mapping):
        for name, chosen in given.items():
            if not isinstance(chosen, bool):
                raise LabelValueError(
                    f"categories.{name}", f"expected true or false, found {quoted_short(chosen)}."
                )
        return [name for name, chosen in given.items() if chosen]
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise LabelValueError(
            "categories", f"expected a list of category names, found {quoted_short(given)}."
        )
    return list(dict.fromkeys(given))


def _of_list(name: object, offered: Collection[str]) -> object:
    """A name as the list writes it: tables make numbers of some names, and people write "toxic" for "Toxic"."""
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    words = str(name).strip() if isinstance(name, str | int | float) else name
    if not isinstance(words, str) or words in offered:
        return words
    alike = [each for each in offered if each.casefold() == words.casefold()]
    return alike[0] if len(alike) == 1 else words


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none, since the item has no categories"
    more = f" or {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"one of {', '.join(names[:NAMED])}{more}"
