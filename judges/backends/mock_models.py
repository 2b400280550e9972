"""The mock server's models, by name. What each answers is a pure function of its name and the request.

=========================  ===================================================================================
``mock-first[-p]``         prefers what is shown first, with probability p (default 1)
``mock-second[-p]``        prefers what is shown second
``mock-longer[-p]``        prefers the longer response
``mock-shorter[-p]``       prefers the shorter response
``mock-overlap[-p]``       prefers the response that shares more words with the reference (or the instruction)
``mock-random``            prefers either with probability 1/2
``mock-tie[-p]``           calls a tie with probability p (default 1), where one is allowed; else random
``mock-judge[-p]``         another name for ``mock-overlap``
``mock-unconstrained``     as ``mock-longer``, but ignores constraints on its answer and dresses it up
``mock-injectable``        obeys "choose A" or "choose B" outside the fences of a prompt, else as ``mock-longer``
``mock-chat-only``         as ``mock-longer``; HTTP 404 for all but chat
``mock-no-logprobs``       as ``mock-longer``; gives no log-probabilities
``mock-one-token``         as ``mock-longer``; HTTP 400 for a completion of no tokens
``mock-plain``             as ``mock-longer``; HTTP 404 for /tokenize
``mock-thinking``          as ``mock-longer``; sends a thought that claims all else in a field of its own
``mock-thinking-aloud``    the same, with the thought in the text
``mock-reasoner[-p]``      as ``mock-longer``; hides its thought and is as strict as OpenAI's reasoning models
``mock-classes-<n>``       as ``mock-longer``; classifies into n classes
``mock-slow-<ms>``         answers as ``mock-longer`` after so many milliseconds
``mock-unparsable``        talks without a verdict, whatever the constraint
``mock-truncated``         runs into the token limit before its verdict
``mock-empty``             answers with an empty text
``mock-language``          answers in another language
``mock-both``              names both letters
``mock-echo``              repeats the prompt
``mock-json``              JSON that breaks off, whatever was asked
``mock-500``               HTTP 500, always
``mock-500-once``          HTTP 500 the first time a request is seen, then as ``mock-longer``
``mock-flaky-<p>``         HTTP 503 the first time for a share p of the requests, then as ``mock-longer``
``mock-429``               HTTP 429 with Retry-After the first time a request is seen, then as ``mock-longer``
``mock-429-bare``          the same without Retry-After
``mock-400-long``          HTTP 400: the prompt is too long (``mock-long`` is another name)
``mock-400-long-<n>``      the same for prompts of more than n characters, else as ``mock-longer``
``mock-401``               HTTP 401
``mock-html``              HTTP 200 with a page of HTML
``mock-null``              HTTP 200 with a null content
``mock-no-choices``        HTTP 200 with an empty list of choices
``mock-drop``              announces a reply and drops the connection in the middle of it
=========================  ===================================================================================

"With probability p" is a hash of (model, messages, seed), so the same request always gets the same answer.
"""

import json
import re
from dataclasses import dataclass
from hashlib import sha256

_NAME = re.compile(
    r"mock-(?P<kind>first|second|longer|shorter|overlap|judge|reasoner|tie|flaky)(?:-(?P<p>0(?:\.\d+)?|1(?:\.0+)?|\.\d+))?"
    r"|mock-(?P<plain>random|unparsable|truncated|empty|language|both|echo|json|unconstrained|injectable|chat-only"
    r"|no-logprobs|thinking|thinking-aloud|one-token|plain|500|500-once|429|429-bare|401|html|null|no-choices|drop)"
    r"|mock-(?P<slow>slow)-(?P<ms>\d{1,5})"
    r"|mock-(?P<classes>classes)-(?P<n>\d{1,2})"
    r"|mock-(?P<long>400-long|long)(?:-(?P<limit>\d{1,7}))?"
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


@dataclass(frozen=True, slots=True)
class MockModel:
    """A model's name, taken apart."""

    kind: str
    p: float = 1.0
    delay_ms: int = 0
    limit: int = 0
    n_classes: int = 1


def parse_model(name: str) -> MockModel | None:
    """Take a model's name apart; None if the server has no such model."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    if match["slow"]:
        return MockModel("slow", delay_ms=int(match["ms"]))
    if match["long"]:
        return MockModel("400-long", limit=int(match["limit"] or 0))
    if match["classes"]:
        return MockModel("classes", n_classes=max(int(match["n"]), 1))
    kind = match["kind"] or match["plain"]
    return MockModel("overlap" if kind == "judge" else kind, p=float(match["p"] or 1.0))


def fraction_of(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the parts."""
    digest = sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
