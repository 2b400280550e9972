"""The question that a judge asks, with a place for each text of an item in it.

It is taken from the strategy itself: it is started on an item whose texts are marks, and what it asks is kept with the
places of the marks. So what an export asks is what the judge asks, to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.kinds import KINDS
from judges.exports.answers import ALONE, DOUBLE, JSON, LINE, RESULT, AnswerForm, whole_numbers
from judges.exports.errors import ExportRefusedError
from judges.strategies.info import StrategyInfo
from judges.strategies.prompts import Message
from judges.strategies.registry import strategy_info
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import AspectView, Chat, CriterionView, ItemView

INSTRUCTION, CONTEXT, REFERENCE = "instruction", "context", "reference"
OUTPUT_A, OUTPUT_B, RESPONSE, REQUIREMENT = "output_a", "output_b", "response", "requirement"
MARK = "mark"
"""The place in a tag where a mark stands if a text holds something like the tag; empty otherwise."""

COMPARE, SCORE, CHECK, RATE = "compare", "score", "check", "rate"
"""What a question is about: which of two responses is better; how good a response is; whether it meets a requirement;
how it does by a criterion."""
ABOUT = {
    COMPARE: "Pairs, compared",
    SCORE: "Pairs, each response scored alone",
    CHECK: "Checklist",
    RATE: "Rubric",
}

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKED = re.compile(f"{_OPEN}([a-z_]+){_CLOSE}")
_TAG = re.compile(r"</?(\w+)\{\{mark\}\}>")
_DIGEST = re.compile(r"(?<=\w)_[0-9a-f]{12}(?=>)")
_YES_NO = ("yes", "no")
Texts = tuple[tuple[str, tuple[str, ...]], ...]
"""Messages: their role, and their text in pieces, literal text at even places and names of texts at odd ones."""


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """What a judge asks once, or once for each response, requirement or criterion.

    Attributes
    ----------
    about : {"compare", "score", "check", "rate"}
    plain, with_context : tuple
        Its messages for an item without an input of its own, and for one with.
    answer : AnswerForm
    criterion : CriterionView or None
        Of a rubric.
    fenced : bool
        Texts stand in tags that the judge marks where a text holds one like them.
    """

    about: str
    plain: Texts
    with_context: Texts
    answer: AnswerForm
    criterion: CriterionView | None = None
    tags: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it shows whatever the item, in the order in which they come first."""
        found = [name for _, pieces in self.plain for name in pieces[1::2]]
        return tuple(name for name in dict.fromkeys(found) if name != MARK)

    def messages(
        self,
        place: Callable[[str], str],
        literal: Callable[[str], str] = lambda text: text,
        *,
        context: bool = False,
    ) -> tuple[Message, ...]:
        """Return the messages with the texts' places, and all other text, written as a target wants them."""
        return tuple(
            (role, _written(pieces, place, literal))
            for role, pieces in (self.with_context if context else self.plain)
        )

    def context_block(
        self, place: Callable[[str], str], literal: Callable[[str], str], around: Callable[[str], str]
    ) -> tuple[Message, ...]:
        """Return the messages with what an item's input adds to them put into `around`, a condition of the target."""
        written = []
        for (role, plain), (_, longer) in zip(self.plain, self.with_context, strict=True):
            head, block, tail = _inserted(_marked(plain), _marked(longer))
            parts = [_written(_pieces(text), place, literal) for text in (head, block, tail)]
            written.append((role, parts[0] + (around(parts[1]) if parts[1] else "") + parts[2]))
        return tuple(written)


def judge_questions(spec: JudgeSpec, criteria: Sequence[CriterionView] = ()) -> tuple[JudgeQuestion, ...]:
    """Return what a judge asks: one question, or one for each criterion.

    Parameters
    ----------
    criteria : sequence of CriterionView
        Of a rubric, whose criteria are the dataset's and no part of the judge.

    Raises
    ------
    ExportRefusedError
        It asks no single question, or its answer isn't read by a rule that can be written down.
    """
    info = strategy_info(spec.strategy)
    if why := why_refused(info, spec.params):
        raise ExportRefusedError("strategy", f"'{spec.strategy}' {why}")
    is_rubric = asked_about(info, spec.params) == RATE
    if is_rubric and not criteria:
        raise ExportRefusedError(
            "criteria", "a rubric's criteria are its dataset's: give them with the judge."
        )
    for each in criteria if is_rubric else ():
        if each.scale.low < 0 or each.scale.not_applicable:
            raise ExportRefusedError(
                "criteria",
                f"'{each.key}' is rated below 0 or with “not applicable”, and no rule of another tool reads that.",
            )
    return tuple(_question(spec, info, each) for each in (criteria if is_rubric else (None,)))


_DIRECT = "judges.strategies.direct:"
_OWN = "judges.strategies.own:"
_ASKED_ABOUT = {
    "judges.strategies.rating:rating": SCORE,
    "judges.strategies.rubric:rubric_each": RATE,
    "judges.strategies.checklist:checklist_each": CHECK,
    f"{_OWN}own_pairwise": COMPARE,
    f"{_OWN}own_rubric": RATE,
    f"{_OWN}own_checklist": CHECK,
}
"""By the function of a strategy; those of `_DIRECT` compare."""


def why_refused(info: StrategyInfo, params: Mapping[str, Any]) -> str:
    """Say why judges of a strategy with these settings are no single question; empty if they are one."""
    if info.composed:
        return "is made of other judges: export its members one by one."
    if not info.needs_model:
        return "asks no model."
    if info.kind == "generation":
        return "answers instructions and judges nothing."
    if "chat" not in info.requests:
        return "reads likelihoods, vectors or classes rather than an answer."
    if info.name == "published":
        return "asks by a published configuration, which goes into the tool that it came from as it is."
    if info.target.startswith(_DIRECT):
        return ""
    if getattr(KINDS[info.kind], "is_whole", False):
        return "chooses from the categories of its items, which are no part of the judge."
    if info.target not in _ASKED_ABOUT:
        if not (KINDS[info.kind].presented or info.target.endswith("_all")):
            return "orders the parts of an item, for which other tools have no form."
        if KINDS[info.kind].presented:
            return "asks several questions, and what it asks later depends on earlier answers."
        return "asks about all parts of an item in one answer."
    if params.get("in_turn"):
        return "asks in one conversation, in which earlier answers are seen."
    return _own_refused(info, params) if info.target.startswith(_OWN) else ""


def _own_refused(info: StrategyInfo, params: Mapping[str, Any]) -> str:
    if _ASKED_ABOUT[info.target] != COMPARE and params["ask"] == "together":
        return "asks about all parts of an item in one answer."
    if params.get("preference_points", 3) != 3:
        return "asks for a preference on 5 or 7 points, for which other tools have no form."
    if params["read"] == "pattern" or params.get("words") or params["path"] or params["schema"]:
        return "reads its answer by a pattern, words, a path or a schema of its own."
    if params["read"] == "json" and not params["reasons"]:
        return "reads its answer from JSON without reasons."
    return ""


def _question(spec: JudgeSpec, info: StrategyInfo, criterion: CriterionView | None) -> JudgeQuestion:
    about = asked_about(info, spec.params)
    prompt = spec.strategy_config().prompt
    tags = tuple(dict.fromkeys(_TAG.findall("" if prompt is None else prompt.source)))
    # A text that holds something like a tag shows where the mark stands.
    odd = f"<{tags[0]}" if tags else ""
    plain = _asked(spec, _item(info.kind, about, criterion, odd, context=False))
    longer = _asked(spec, _item(info.kind, about, criterion, odd, context=True))
    return JudgeQuestion(
        about,
        _texts(plain, odd),
        _texts(longer, odd),
        _answer(spec, info, about, criterion),
        criterion,
        tags,
    )


def asked_about(info: StrategyInfo, params: Mapping[str, Any]) -> str:
    """Return what judges of a strategy with these settings are asked about: a key of `ABOUT`."""
    about = _ASKED_ABOUT.get(info.target, COMPARE)
    return SCORE if about == COMPARE and params.get("ask") == "each" else about


def _item(kind: str, about: str, criterion: CriterionView | None, odd: str, *, context: bool) -> ItemView:
    responses: tuple[str, ...] = (
        (OUTPUT_A, OUTPUT_B) if about == COMPARE else (RESPONSE,) * (2 if about == SCORE else 1)
    )
    return ItemView(
        item_id=0,
        kind=kind,
        instruction=_mark(INSTRUCTION) + odd,
        responses=tuple(map(_mark, responses)),
        context=_mark(CONTEXT) if context else "",
        reference=_mark(REFERENCE),
        criteria=() if criterion is None else (criterion,),
        aspects=(AspectView("1", _mark(REQUIREMENT)),) if about == CHECK else (),
    )


def _asked(spec: JudgeSpec, item: ItemView) -> tuple[Message, ...]:
    # The plain judge: samples and both orders repeat the question, and what is repeated is one.
    once = {"both_orders": False, "draws": 1}
    params = {name: once.get(name, value) for name, value in spec.params.items()}
    steps = build_strategy(replace(spec, params=params, samples=1, reference_system=""))(item)
    asked = next(steps)
    steps.close()
    first = asked[0] if isinstance(asked, tuple) else asked
    if not isinstance(first, Chat):
        raise ExportRefusedError("strategy", f"'{spec.strategy}' asks for something else than an answer.")
    return first.messages


def _answer(spec: JudgeSpec, info: StrategyInfo, about: str, criterion: CriterionView | None) -> AnswerForm:
    if about == CHECK:
        labels: tuple[str, ...] = (*_YES_NO, "cannot tell") if spec.params.get("cannot_tell") else _YES_NO
        name = "answer"
    elif about == RATE and criterion is not None:
        labels, name = tuple(str(value) for value, _ in criterion.options), "rating"
    elif about == SCORE:
        labels, name = whole_numbers(*_scale(spec)), "rating" if info.target.endswith(":rating") else "score"
    else:
        labels, name = ("A", "B", "tie") if spec.allow_tie else ("A", "B"), "verdict"
    if not info.target.startswith(_OWN):
        return AnswerForm(labels, LINE if spec.params.get("cot") or _reasons_first(info) else ALONE, name)
    if spec.params["read"] == "json":
        return AnswerForm(labels, JSON, name)
    return _marked_form(spec, labels, name)


def _reasons_first(info: StrategyInfo) -> bool:
    return info.target == f"{_DIRECT}cot"


def _marked_form(spec: JudgeSpec, labels: tuple[str, ...], name: str) -> AnswerForm:
    """Return where the label stands in a prompt whose answer is read in words: in the mark that it asks for."""
    prompt = spec.strategy_config().prompt
    source = "" if prompt is None else prompt.source
    if "[[A>>B]]" in source:
        words = {"A": ("A>>B", "A>B"), "B": ("B>>A", "B>A"), "tie": ("A=B",)}
        return AnswerForm(labels, DOUBLE, name, {label: words[label] for label in labels})
    if "[RESULT]" in source:
        return AnswerForm(labels, RESULT, name)
    if "[[" in source:
        return AnswerForm(labels, DOUBLE, name, {"tie": ("C",)} if "tie" in labels else {})
    if not spec.params["reasons"]:
        return AnswerForm(labels, ALONE, name)
    return AnswerForm(labels, LINE, name)


def _scale(spec: JudgeSpec) -> tuple[int, int]:
    if "scale" in spec.params:
        low, _, high = str(spec.params["scale"]).partition("-")
        return int(low), int(high)
    return int(spec.params["low"]), int(spec.params["high"])


# --- marks ----------------------------------------------------------------------------------------------------


def _mark(name: str) -> str:
    return f"{_OPEN}{name}{_CLOSE}"


def _texts(messages: tuple[Message, ...], odd: str) -> Texts:
    instruction = _mark(INSTRUCTION)
    return tuple(
        (role, _pieces(_DIGEST.sub(_mark(MARK), content.replace(instruction + odd, instruction))))
        for role, content in messages
    )


def _written(pieces: Sequence[str], place: Callable[[str], str], literal: Callable[[str], str]) -> str:
    return "".join(
        ("" if piece == MARK else place(piece)) if at % 2 else literal(piece)
        for at, piece in enumerate(pieces)
    )


def _pieces(content: str) -> tuple[str, ...]:
    return tuple(_MARKED.split(content))


def _marked(pieces: Sequence[str]) -> str:
    return "".join(_mark(piece) if at % 2 else piece for at, piece in enumerate(pieces))


def _inserted(short: str, longer: str) -> tuple[str, str, str]:
    """Return what both have first, what the longer one has between, and what both have last."""
    head = next(
        (at for at, (one, other) in enumerate(zip(short, longer, strict=False)) if one != other), len(short)
    )
    # Never in the middle of a mark.
    head = short.rfind(_OPEN, 0, head) if short.rfind(_OPEN, 0, head) > short.rfind(_CLOSE, 0, head) else head
    block = longer[head : head + len(longer) - len(short)]
    if short[:head] + block + short[head:] != longer:
        raise ExportRefusedError("prompt", "it shows an item's input in more than one place.")
    return short[:head], block, short[head:]
