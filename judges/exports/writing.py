"""A judge as the files of a target: what of it is carried, what would be lost, and refused until that is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import ABOUT, JudgeQuestion, judge_questions
from judges.strategies.documents import JudgeDocument, document_make
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import CriterionView

SYSTEM, TURNS, TIE, CONTEXT, REFERENCE = "system", "turns", "tie", "context", "reference"
TEMPERATURE, TOP_P, MAX_TOKENS, SEED, STOP = "temperature", "top_p", "max_tokens", "seed", "stop"
THINKING = "thinking"
EXTRA_BODY, CONSTRAINED, ENDPOINT, FENCES = "extra_body", "constrained", "endpoint", "fences"
ORDERS, SAMPLES, PROBABILITIES, ABSTENTION = "orders", "samples", "probabilities", "abstention"

ASPECTS: Mapping[str, str] = MappingProxyType(
    {
        SYSTEM: "System message",
        TURNS: "Worked examples as turns of the conversation",
        ENDPOINT: "Model and address",
        TEMPERATURE: "Temperature",
        TOP_P: "Top-p",
        MAX_TOKENS: "Token limit",
        THINKING: "Thinking effort or budget",
        SEED: "Seed",
        STOP: "Stop texts",
        EXTRA_BODY: "Further fields of the request (`extra_body`)",
        CONSTRAINED: "Constrained decoding",
        CONTEXT: "Input of an item beside its instruction",
        REFERENCE: "Human-written reference",
        TIE: "Ties",
        ORDERS: "Both presentation orders",
        SAMPLES: "Several samples and their vote",
        PROBABILITIES: "Log-probabilities of the verdict",
        ABSTENTION: "Threshold for abstaining",
        FENCES: "Marked delimiters where a response holds one of them",
    }
)
"""What there may be in a judge beside its words, in the order of the documentation's table."""

Files: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class ExportJudge:
    """A judge as the targets' modules take it."""

    document: JudgeDocument
    questions: tuple[JudgeQuestion, ...]
    name: str
    """Its name as a file's: letters, digits and underscores."""

    @property
    def question(self) -> JudgeQuestion:
        """The only one, or the first of a rubric's."""
        return self.questions[0]


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """A tool that a judge can go into.

    Attributes
    ----------
    name, title : str
        On the command line, and for people.
    write : callable
        Returns the files of a judge that the target can carry.
    version : str
        Of the library whose tests load the export.
    how : str
        What the files are, and how the tool loads them: Markdown, a sentence or two.
    about : mapping of str to str
        What it can carry of `questions.ABOUT`, and as what.
    carries, loses : mapping of str to str
        Each of `ASPECTS`, with how it is carried, or why it is not.
    """

    name: str
    title: str
    write: Callable[[ExportJudge], Files]
    version: str
    how: str
    about: Mapping[str, str]
    carries: Mapping[str, str]
    loses: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of an export.

    Attributes
    ----------
    files : mapping of str to str
        Text by path; README.md and judge.json among them.
    carried, lost : tuple of str
        What of `ASPECTS` the judge has and the files have too, and what they have not, which was accepted.
    """

    files: Mapping[str, str]
    carried: tuple[str, ...]
    lost: tuple[str, ...] = field(default=())


def target_export(
    target: ExportTarget,
    document: JudgeDocument,
    *,
    accept: Collection[str] = (),
    criteria: Sequence[CriterionView] = (),
) -> Exported:
    """Return a judge as files of a target.

    Parameters
    ----------
    accept : collection of str
        What of `ASPECTS` may be lost.
    criteria : sequence of CriterionView
        Of a rubric.

    Raises
    ------
    ExportRefusedError
        The target can't carry this judge, or loses something that isn't accepted; the message names it and says why.
    """
    if unknown := sorted(set(accept) - set(ASPECTS)):
        raise ExportRefusedError("accept", f"there is no '{unknown[0]}'; there is {', '.join(ASPECTS)}.")
    questions = judge_questions(document.spec, criteria)
    about = questions[0].about
    if about not in target.about:
        raise ExportRefusedError("kind", f"{target.title} has no place for “{ABOUT[about]}”.")
    has = aspects_of(document, questions)
    lost = tuple(name for name in has if name in target.loses)
    if refused := [name for name in lost if name not in accept]:
        reasons = " ".join(f"{ASPECTS[name]} ({name}): {target.loses[name]}" for name in refused)
        raise ExportRefusedError(
            "accept",
            f"{target.title} can't carry the whole judge. {reasons} To export without, accept "
            f"{','.join(lost)}.",
        )
    judge = ExportJudge(document, questions, file_name(document.name))
    carried = tuple(name for name in has if name not in lost)
    files = target.write(judge)
    whole = document_make(document.name, document.spec, document.decision)
    files["judge.json"] = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    files["README.md"] = _readme(target, judge, carried, lost)
    return Exported(files, carried, lost)


@dataclass(frozen=True, slots=True)
class ExportOffer:
    """What a target would make of a judge.

    Attributes
    ----------
    lost : tuple of (str, str, str)
        Of each of `ASPECTS` that would be lost: its name, what it is, and why.
    refused : str
        Why the target can't carry the judge at all; empty where it can.
    """

    target: ExportTarget
    carried: tuple[str, ...] = ()
    lost: tuple[tuple[str, str, str], ...] = ()
    refused: str = ""


def target_offer(
    target: ExportTarget, document: JudgeDocument, criteria: Sequence[CriterionView] = ()
) -> ExportOffer:
    """Return what a target would make of a judge, by exporting it."""
    try:
        made = target_export(target, document, accept=ASPECTS, criteria=criteria)
    except ExportRefusedError as error:
        return ExportOffer(target, refused=error.problem)
    return ExportOffer(
        target,
        carried=made.carried,
        lost=tuple((name, ASPECTS[name], target.loses[name]) for name in made.lost),
    )


def aspects_of(document: JudgeDocument, questions: Sequence[JudgeQuestion]) -> tuple[str, ...]:
    """Return what of `ASPECTS` a judge has."""
    spec, first = document.spec, questions[0]
    roles = {role for role, _ in first.plain}
    decoding, options, params = spec.decoding, spec.backend_options, spec.params
    found = {
        SYSTEM: "system" in roles,
        TURNS: "assistant" in roles,
        ENDPOINT: True,
        TEMPERATURE: decoding.temperature is not None,
        TOP_P: decoding.top_p is not None,
        MAX_TOKENS: decoding.limit is not None,
        THINKING: decoding.reasoning_effort is not None or decoding.thinking_budget is not None,
        SEED: decoding.seed is not None,
        STOP: bool(decoding.stop),
        EXTRA_BODY: bool(_extra_body(spec)),
        CONSTRAINED: options.get("structured", "none") != "none",
        CONTEXT: first.plain != first.with_context,
        REFERENCE: "reference" in first.texts,
        TIE: "tie" in first.answer.labels,
        ORDERS: spec.order_matters or bool(params.get("both_orders")),
        SAMPLES: spec.samples > 1 or int(params.get("draws", 1)) > 1,
        PROBABILITIES: bool(params.get("probabilities") or params.get("expected")),
        ABSTENTION: document.threshold is not None,
        FENCES: bool(first.tags),
    }
    return tuple(name for name in ASPECTS if found[name])


def _extra_body(spec: JudgeSpec) -> Mapping[str, Any]:
    """Return what a request has beside the protocol's own fields."""
    model = spec.main_model()
    if model.backend != "openai":  # what needs its requests refuses it
        return dict(model.backend_options.get("extra_body") or {})
    return dict(request_fields(model).get("extra_body", {}))


def file_name(name: str) -> str:
    """Return a name of letters, digits and underscores.

    >>> file_name("Rules (8B), v2")
    'rules_8b_v2'
    """
    plain = "".join(each if each.isascii() and each.isalnum() else " " for each in name.lower())
    return "_".join(plain.split())[:60] or "judge"


def _readme(target: ExportTarget, judge: ExportJudge, carried: Sequence[str], lost: Sequence[str]) -> str:
    document = judge.document
    lines = [
        f"# {document.name}",
        "",
        f"A judge for {target.title}, exported by Touchstone. Its fingerprint is `{document.spec.fingerprint()}`; the "
        "whole judge is in `judge.json`.",
        "",
        target.how,
        "",
        f"- {ABOUT[judge.question.about]}: {target.about[judge.question.about]}",
        *(f"- {ASPECTS[name]}: {target.carries[name]}" for name in carried),
        *(f"- Lost. {ASPECTS[name]}: {target.loses[name]}" for name in lost),
        "- An answer in another form than the prompt asks for is no verdict here; Touchstone reads more forms.",
    ]
    if document.decision:
        figures = json.dumps(dict(document.decision), indent=2, ensure_ascii=False)
        lines += ["", "## What its promotion found", "", "```json", figures, "```"]
    return "\n".join(lines) + "\n"
