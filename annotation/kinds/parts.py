"""What kinds share whose value says something of each of several parts: ``{"ratings": {criterion: 4}}``."""

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from annotation.domain.scales import Scales
from annotation.domain.simulation import SimulatedAnnotator
from annotation.kinds.base import AnswerError, ItemKind, Text
from annotation.kinds.reasonable import KEY, RULE, extras
from annotation.kinds.values import NO_SCALES, Stored, Value, ValueRules, field_of


class PartsKind(ItemKind):
    """A kind with a `field` in its value that has something for each part, and a form field for each, `input-KEY`."""

    field: ClassVar[str]
    input: ClassVar[str]
    is_whole: ClassVar[bool] = False
    """What is said of the parts is one answer, so votes are about all of it and not about each part."""

    def names(self, rules: ValueRules) -> tuple[str, ...]:
        """The keys of the parts of an item."""
        if self.parts == "responses":
            return tuple(str(position) for position in range(rules.n_responses))
        return rules.criteria if self.parts == "criteria" else rules.aspects

    def validate(self, value: object, rules: ValueRules) -> Value:
        given = field_of(value, self.field, extras(rules) if RULE in self.study_rules else ())
        found: Value = {self.field: self.checked(given[self.field], rules)}
        if given.get(KEY) is not None:
            found[KEY] = self.set_checked(given[KEY], found, rules)
        return found

    def checked(self, given: object, rules: ValueRules) -> dict[str, Any]:
        """What is said of the parts, or a `LabelValueError`."""
        raise NotImplementedError

    def set_checked(self, given: object, found: Stored, rules: ValueRules) -> Any:
        """The response sets of the parts beside what was found to be said of them, or a `LabelValueError`; of kinds
        that list the rule.
        """
        raise NotImplementedError

    def numbers(self, value: Stored) -> dict[str, float | None]:
        given = value.get(self.field)
        if not isinstance(given, Mapping):
            return {}
        return {str(key): self.number(said) for key, said in given.items()}

    def said_of_parts(self, value: Stored) -> dict[str, Any]:
        return dict(value[self.field])

    def number(self, said: Any) -> float | None:
        return float(said) if isinstance(said, int | float) else None

    def has_field(self, name: str) -> bool:
        return name.startswith(f"{self.input}-")

    def fields(self, value: Stored) -> dict[str, str]:
        return {f"{self.input}-{key}": self.typed(said) for key, said in value[self.field].items()}

    def typed(self, said: Any) -> str:
        """What a form field has for what is said of a part."""
        return str(said)

    def read(self, text: Text, rules: ValueRules) -> Value:
        """Parts come one after another, so the first that is missing is the one to go to."""
        found = {}
        for number, key in enumerate(self.names(rules), start=1):
            name = f"{self.input}-{key}"
            said = self.understood(text(name), rules, key)
            if said is MISSING:
                raise AnswerError(self.missing(number, key, rules), field=name, anchor=f"part-{number}")
            found[key] = said
        return {self.field: found}

    def understood(self, typed: str, rules: ValueRules, key: str) -> Any:
        """What the form field of a part says; `MISSING` where it is none of what is offered."""
        raise NotImplementedError

    def missing(self, number: int, key: str, rules: ValueRules) -> str:
        """What to say of a part without an answer."""
        raise NotImplementedError

    def missed(
        self, person: SimulatedAnnotator, truth: Stored, chance: random.Random, scales: Scales = NO_SCALES
    ) -> Value:
        del scales
        return {self.field: {key: self.miss(person, said, chance) for key, said in truth[self.field].items()}}

    def miss(self, person: SimulatedAnnotator, said: Any, chance: random.Random) -> Any:
        """What this person says of a part of which `said` is right."""
        raise NotImplementedError


MISSING: Any = object()
