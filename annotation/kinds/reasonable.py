"""Response sets: beside the answer that a person picks, every answer that they find reasonable.

Stored in a value as ``"reasonable"``, a list of answers (of a rubric one for each criterion), beside what the person
picked, their *forced choice*, which is in every set. A value without it comes from a study that did not ask.

L. Guerdan et al., "Validating LLM-as-a-Judge systems under rating indeterminacy", NeurIPS 2025.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from annotation.domain.errors import LabelValueError
from annotation.domain.wording import gettext
from annotation.kinds.values import Stored, ValueRules, quoted_short

RULE = "response_sets"
"""The rule of studies that ask for sets, and what kinds that can have them list it as."""
KEY = "reasonable"
MARKED = "yes"
"""What the form field of an answer has that is in the set."""
PREFIX = f"{KEY}-"
NAMED = 8  # answers that an error names
Answer = TypeVar("Answer", int, str, int | str)


@dataclass(frozen=True, slots=True)
class SetOption:
    """An answer that can be marked as reasonable.

    Attributes
    ----------
    value : str
        As the form field of the choice has it.
    field : str
        The form field that marks it.
    label, short : str
        Its words, and what a small button has room for.
    """

    value: str
    field: str
    label: str
    short: str


def extras(rules: ValueRules) -> list[str]:
    """The members that a value may have for its set."""
    return [KEY] if rules.response_sets else []


def field_of_answer(answer: object, part: str = "") -> str:
    """The form field that marks an answer, of one part or of an item without parts.

    >>> field_of_answer(4, "clarity"), field_of_answer("1-much")
    ('reasonable-4.clarity', 'reasonable-1-much')
    """
    return f"{PREFIX}{answer}.{part}" if part else f"{PREFIX}{answer}"


def is_set_field(name: str) -> bool:
    """Whether a form field marks an answer as reasonable."""
    return name.startswith(PREFIX)


def marked(text: Callable[[str], str], answers: Iterable[Answer], part: str = "") -> list[Answer]:
    """The answers that a form has marked."""
    return [answer for answer in answers if text(field_of_answer(answer, part)) == MARKED]


def set_fields(answers: Iterable[object], part: str = "") -> dict[str, str]:
    """A set as the fields of the work form."""
    return {field_of_answer(answer, part): MARKED for answer in answers}


def set_checked(
    given: object, offered: Sequence[Answer], chosen: Answer | None, *, field: str = KEY
) -> list[Answer]:
    """The set of one part in the order of what is offered, with the forced choice; `LabelValueError` for other answers.

    Examples
    --------
    >>> set_checked(["0", "1", "0"], ["1", "0", "2"], "1"), set_checked([], ["1", "0", "2"], "2")
    (['1', '0'], ['2'])
    """
    if not isinstance(given, list | tuple):
        raise LabelValueError(field, f"expected a list of answers, found {quoted_short(given)}.")
    found = {} if chosen is None else {chosen: True}
    for answer in given:
        if isinstance(answer, bool) or not isinstance(answer, int | str) or answer not in offered:
            raise LabelValueError(field, f"expected {_listed(offered)}, found {quoted_short(answer)}.")
        found[answer] = True  # type: ignore[index]
    return sorted(found, key=lambda answer: offered.index(answer) if answer in offered else len(offered))


def sets_checked(
    given: object, offered: Mapping[str, Sequence[Answer]], chosen: Mapping[str, Answer]
) -> dict[str, list[Answer]]:
    """`set_checked` of each part: a set for some or all parts that have a choice."""
    if not isinstance(given, Mapping):
        raise LabelValueError(KEY, f"expected an object of lists, found {quoted_short(given)}.")
    for part in given:
        if part not in chosen:
            raise LabelValueError(f"{KEY}.{part}", "expected a set of what the value rates, and it doesn't.")
    return {
        part: set_checked(given[part], offered[part], choice, field=f"{KEY}.{part}")
        for part, choice in chosen.items()
        if given.get(part) is not None
    }


def set_of(value: Stored, part: str = "") -> list[int | str] | None:
    """The set that a stored value has, of one part or of an item without parts; None where it was not asked.

    >>> set_of({"choice": 1, "reasonable": ["1", "0"]}), set_of({"choice": 1}) is None
    (['1', '0'], True)
    """
    found = value.get(KEY)
    if isinstance(found, Mapping):
        found = found.get(part)
    return list(found) if isinstance(found, list | tuple) else None


def also_words(words: Iterable[str]) -> str:
    """What is reasonable beside the choice, in words; nothing where that is nothing.

    >>> also_words(["Tie", "B is better"]), also_words([])
    ('also reasonable: Tie, B is better', '')
    """
    found = ", ".join(words)
    return gettext("also reasonable: %(answers)s") % {"answers": found} if found else ""


def _listed(offered: Sequence[object]) -> str:
    more = f" or {len(offered) - NAMED} more" if len(offered) > NAMED else ""
    return f"answers among {', '.join(map(str, offered[:NAMED]))}{more}"
