"""What the mock server's models answer: a pure function of the model's name and the request.

=========================  ===================================================================================
``mock-first[-p]``         prefers what is shown first, with probability p (default 1)
``mock-second[-p]``        prefers what is shown second
``mock-longer[-p]``        prefers the longer response
``mock-shorter[-p]``       prefers the shorter response
``mock-overlap[-p]``       prefers the response that shares more words with the reference (or the instruction)
``mock-random``            prefers either with probability 1/2
``mock-tie[-p]``           calls a tie with probability p (default 1), where one is allowed; else random
``mock-slow-<ms>``         answers as ``mock-longer`` after so many milliseconds
``mock-unparsable``        talks without a verdict, whatever the constraint
``mock-truncated``         runs into the token limit before its verdict
``mock-empty``             answers with an empty text
``mock-500``               HTTP 500, always
``mock-500-once``          HTTP 500 the first time a request is seen, then as ``mock-longer``
``mock-flaky-<p>``         HTTP 503 the first time for a share p of the requests, then as ``mock-longer``
``mock-429``               HTTP 429 with Retry-After the first time a request is seen, then as ``mock-longer``
``mock-400-long``          HTTP 400: the prompt is too long
``mock-400-long-<n>``      the same for prompts of more than n characters, else as ``mock-longer``
``mock-401``               HTTP 401
``mock-html``              HTTP 200 with a page of HTML
``mock-null``              HTTP 200 with a null content
``mock-no-choices``        HTTP 200 with an empty list of choices
``mock-drop``              announces a reply and drops the connection in the middle of it
=========================  ===================================================================================

"With probability p" is a hash of (model, messages, seed), so the same request always gets the same answer.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

_NAME = re.compile(
    r"mock-(?P<kind>first|second|longer|shorter|overlap|tie|flaky)(?:-(?P<p>0(?:\.\d+)?|1(?:\.0+)?|\.\d+))?"
    r"|mock-(?P<plain>random|unparsable|truncated|empty|500|500-once|429|401|html|null|no-choices|drop)"
    r"|mock-(?P<slow>slow)-(?P<ms>\d{1,5})"
    r"|mock-(?P<long>400-long)(?:-(?P<limit>\d{1,7}))?"
)
LISTED = (
    "mock-longer-0.8",
    "mock-shorter",
    "mock-first-0.9",
    "mock-overlap-0.9",
    "mock-random",
    "mock-tie-0.2",
    "mock-unparsable",
)
"""The models that GET /v1/models lists; all others above are served too."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MockModel:
    """A model's name, taken apart."""

    kind: str
    p: float = 1.0
    delay_ms: int = 0
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Material:
    """What the mock finds in a prompt of ours."""

    instruction: str
    reference: str
    output_a: str
    output_b: str
    wants_line: bool


@dataclass(frozen=True, slots=True)
class MockAnswer:
    """A generated text, how it ended, and the probability of each verdict."""

    text: str
    finish_reason: str = "stop"
    probabilities: dict[str, float] = field(default_factory=dict)


def parse_model(name: str) -> MockModel | None:
    """Take a model's name apart; None if the server has no such model."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    if match["slow"]:
        return MockModel("slow", delay_ms=int(match["ms"]))
    if match["long"]:
        return MockModel("400-long", limit=int(match["limit"] or 0))
    return MockModel(match["kind"] or match["plain"], p=float(match["p"] or 1.0))


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the parts."""
    digest = sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def find_material(prompt: str) -> Material | None:
    """Find the two outputs and what belongs to them between the tags of our prompts; None if not there."""
    # The last closing tag is the prompt's own: after it stands none of the material.
    closing = re.findall(r"</output_b(\w*)>", prompt)
    if not closing:
        return None
    mark = re.escape(closing[-1])

    def between(tag: str) -> str | None:
        match = re.search(rf"<{tag}{mark}>\n(.*?)\n</{tag}{mark}>", prompt, re.DOTALL)
        return match[1] if match else None

    output_a, output_b = between("output_a"), between("output_b")
    if output_a is None or output_b is None:
        return None
    return Material(
        instruction=between("instruction") or "",
        reference=between("reference") or "",
        output_a=output_a,
        output_b=output_b,
        wants_line="Verdict:" in prompt.rpartition(f"</output_b{closing[-1]}>")[2],
    )


def requested_choices(body: dict[str, Any], prompt: str) -> tuple[str, ...]:
    """Return the allowed verdicts: those of the constraint, else those the prompt names."""
    constraint = body.get("structured_outputs")
    if isinstance(constraint, dict) and isinstance(constraint.get("choice"), list):
        return tuple(str(each) for each in constraint["choice"])
    try:
        names = body["response_format"]["json_schema"]["schema"]["properties"]["choice"]["enum"]
        return tuple(str(each) for each in names)
    except (KeyError, TypeError):
        tail = prompt.rpartition("</output_b")[2]
        return ("A", "B", "tie") if re.search(r"\btie\b", tail) else ("A", "B")


def respond(model: MockModel, name: str, body: dict[str, Any]) -> MockAnswer:
    """Generate the answer to a well-formed request."""
    messages = body["messages"]
    prompt = str(messages[-1]["content"])
    if model.kind == "unparsable":
        return MockAnswer(
            "Both outputs have their merits, and a great deal could be said about each of them."
        )
    if model.kind == "empty":
        return MockAnswer("")
    if model.kind == "truncated":
        return MockAnswer("Let me look at the instruction first. It asks", finish_reason="length")
    material = find_material(prompt)
    if material is None:
        return MockAnswer(f"A mock answer, number {int(draw(name, messages, body.get('seed')) * 1e6)}.")
    choices = requested_choices(body, prompt)
    probabilities = _probabilities(model, material, choices)
    verdict = _pick(probabilities, draw(name, messages, body.get("seed")))
    return MockAnswer(_dress(verdict, body, material), probabilities=probabilities)


def _probabilities(model: MockModel, material: Material, choices: tuple[str, ...]) -> dict[str, float]:
    a, b = choices[0], choices[1]
    tie = choices[2] if len(choices) > 2 else None
    chances = dict.fromkeys(choices, 0.0)
    if model.kind == "tie" and tie:
        return {a: (1 - model.p) / 2, b: (1 - model.p) / 2, tie: model.p}
    lead = _lead(model.kind, material)
    p = 0.5 if lead == 0 else model.p
    chances[a], chances[b] = (p, 1 - p) if lead >= 0 else (1 - p, p)
    return chances


def _lead(kind: str, material: Material) -> float:
    """Return how far A leads in the model's eyes: above 0 it prefers A, below 0 it prefers B."""
    if kind in {"first", "second"}:
        return 1.0 if kind == "first" else -1.0
    if kind in {"random", "tie"}:
        return 0.0
    a, b = material.output_a, material.output_b
    if kind == "overlap":
        wanted = set(_WORD.findall((material.reference or material.instruction).lower()))
        return _share(a, wanted) - _share(b, wanted)
    longer = float(len(a) - len(b))
    return -longer if kind == "shorter" else longer


def _share(text: str, wanted: set[str]) -> float:
    words = set(_WORD.findall(text.lower()))
    return 2 * len(words & wanted) / ((len(words) + len(wanted)) or 1)


def _pick(probabilities: dict[str, float], number: float) -> str:
    reached = 0.0
    for verdict, chance in probabilities.items():
        reached += chance
        if number < reached:
            return verdict
    return max(probabilities, key=lambda verdict: probabilities[verdict])


def _dress(verdict: str, body: dict[str, Any], material: Material) -> str:
    if "response_format" in body:
        return json.dumps({"choice": verdict})
    if material.wants_line and "structured_outputs" not in body:
        return f"The instruction was read, and both outputs were weighed against it.\n\nVerdict: {verdict}"
    return verdict


def token_logprobs(answer: MockAnswer, top: int) -> list[dict[str, Any]]:
    """Return log-probabilities for the answer's words, the verdicts' own where the word is a verdict."""
    tokens = []
    for word in re.findall(r"\s*\S+", answer.text):
        bare = word.strip()
        known = answer.probabilities if bare in answer.probabilities else {bare: 1.0}
        rivals = sorted(known.items(), key=lambda pair: -pair[1])[:top]
        tokens.append(
            {
                "token": word,
                "logprob": _log(known[bare]),
                "top_logprobs": [{"token": token, "logprob": _log(chance)} for token, chance in rivals],
            }
        )
    return tokens


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -9999.0
