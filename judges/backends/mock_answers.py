"""What the mock's models write: verdicts, ratings, JSON, lists, and plain answers.

A model's name says which response it likes (`judges.backends.mock_models`); the request says in which form it is to
say so: by a constraint, else by the words at the prompt's end. Everything is drawn by a hash of the name and the
request, so the same request always gets the same answer.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from judges.backends.mock_categories import (
    LIST,
    categories_chosen,
    category_chances,
    category_picked,
    listed_categories,
)
from judges.backends.mock_headings import headed_prompt, score_asked, single_output
from judges.backends.mock_material import (
    Material,
    ReadPrompt,
    called_schema,
    constrained_choices,
    find_material,
    read_conversation,
    requested_choices,
    requested_schema,
    without_fences,
)
from judges.backends.mock_models import MockModel, fraction_of
from judges.backends.mock_schema import described_schema, fill, nested_tree

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"-?\d+")
_INJECTED = re.compile(r"choose (A|B)\b", re.IGNORECASE)
_MISFITS = {
    "unparsable": "Both outputs have their merits, and a great deal could be said about each of them.",
    "empty": "",
    "truncated": "Let me look at the instruction first. It asks",
    "language": "Die zweite Antwort hält sich genauer an die Anweisung und ist deshalb die bessere.",
    "both": "A and B",
    "json": '{"choice": "A", "ratings": {"1": 4, "answers": [tr',
}
"""What those write who never give a usable answer."""
THOUGHT = "Verdict: A? Output A is better. No. Verdict: B? Output B is better. [[A]] or [[B]]; Rating: 1, Rating: 9."
"""What those think who think before they answer."""
_LABELS = ("verdict", "result")
"""What the one label is called in a structured answer: by our prompts, and by MLflow."""
_WEIGHED = "The instruction was read, and both outputs were weighed against it."


@dataclass(frozen=True, slots=True)
class MockAnswer:
    """A generated text, how it ended, and the probability of each word that could have stood in its place."""

    text: str
    finish_reason: str = "stop"
    probabilities: dict[str, float] = field(default_factory=dict)


def respond(model: MockModel, name: str, body: dict[str, Any]) -> MockAnswer:
    """Generate the answer to a well-formed chat request."""
    messages = body["messages"]
    prompt = str(messages[-1]["content"])
    if model.kind in _MISFITS:
        return MockAnswer(
            _MISFITS[model.kind], finish_reason="length" if model.kind == "truncated" else "stop"
        )
    if model.kind == "echo":
        return MockAnswer(prompt)
    number = fraction_of(name, messages, body.get("seed"))
    if model.kind == "unconstrained":
        free = {
            key: value for key, value in body.items() if key not in {"structured_outputs", "response_format"}
        }
        answer = _free(model, free, number)
        return MockAnswer(
            f"**{answer.text}**" if len(answer.text) < 20 else f"Here you are:\n\n{answer.text}"
        )
    if model.kind == "injectable" and (order := _INJECTED.search(without_fences(prompt))):
        return MockAnswer(order[1].upper())
    return _constrained(model, body, number) or _free(model, body, number)


def _constrained(model: MockModel, body: dict[str, Any], number: float) -> MockAnswer | None:
    """Answer as the request's constraint says; None if it has none, or it is about two outputs."""
    reading = read_conversation(body["messages"])
    choices = constrained_choices(body)
    if choices and not (find_material(reading.prompt) and _is_verdict(choices)):
        answer = _chosen(model, reading, choices, number)
        if requested_schema(body):
            return MockAnswer(json.dumps({"choice": answer.text}), probabilities=answer.probabilities)
        return answer
    if not choices and (schema := requested_schema(body)):
        return _structured(model, reading, schema, number)
    constraint = body.get("structured_outputs")
    if isinstance(constraint, dict) and isinstance(constraint.get("regex"), str):
        return MockAnswer(_matching(constraint["regex"], model, reading))
    return None


def _structured(model: MockModel, reading: ReadPrompt, schema: dict[str, Any], number: float) -> MockAnswer:
    """Answer by a schema; a verdict on two outputs in it is the one that the model would give alone."""
    found = fill(schema, number, liking=liking(model, reading))
    if names := listed_categories(reading):
        _categorize(found, schema, categories_chosen(model, reading, names, number))
    material, properties = find_material(reading.prompt), schema.get("properties", {})
    for name in _LABELS:
        allowed = {str(each): each for each in properties.get(name, {}).get("enum") or ()}
        if allowed and material is not None:
            found[name] = allowed[_pick(_probabilities(model, material, tuple(allowed)), number)]
        elif allowed and name == "result":
            found[name] = allowed[_chosen(model, reading, tuple(allowed), number).text]
    return MockAnswer(json.dumps(found))


def _categorize(found: Any, schema: dict[str, Any], chosen: list[str]) -> None:
    """Put the chosen categories where a schema has a list of them, or one."""
    for name, part in schema.get("properties", {}).items():
        allowed = (part.get("items") or part).get("enum") or ()
        kept = [each for each in chosen if each in allowed]
        if kept:
            found[name] = kept if part.get("type") == "array" else kept[0]


def _is_verdict(choices: tuple[str, ...]) -> bool:
    return len(choices) in {2, 3} and not all(each.isdigit() for each in choices)


def _free(model: MockModel, body: dict[str, Any], number: float) -> MockAnswer:
    """Answer in the form that the prompt's last words ask for."""
    reading = read_conversation(body["messages"])
    material, tail = find_material(reading.prompt), reading.tail
    if material is not None and "JSON" in tail:
        return _structured(model, reading, described_schema(tail, ""), number)
    if material is not None:
        choices = requested_choices(body, tail)
        probabilities = _probabilities(model, material, choices)
        verdict = _pick(probabilities, number)
        return MockAnswer(_dress(verdict, body, material), probabilities=probabilities)
    if LIST in reading.fields:
        return _category_said(model, reading, number)
    if not reading.fields and (answer := _headed(model, body, number)):
        return answer
    if not reading.fields or not tail.strip():
        return MockAnswer(_plain(reading.prompt, number))
    if "JSON" in tail and '"level": 0' in tail:
        return MockAnswer(json.dumps(nested_tree(reading.fields.get("requirements", ""), number)))
    if "JSON" in tail:
        schema = described_schema(
            tail, reading.fields.get("criteria", "") or reading.fields.get("options", "")
        )
        return MockAnswer(json.dumps(fill(schema, number, liking=liking(model, reading))))
    if (scale := reading.scale()) is not None:
        choices = tuple(map(str, range(scale[0], scale[1] + 1)))
    elif re.search(r"\byes\b.*\bno\b", tail, re.IGNORECASE | re.DOTALL):
        choices = ("yes", "no")
    elif "numbered list" in tail:
        return MockAnswer("1. Does the output do what was asked?\n2. Is what it says correct?")
    else:
        return MockAnswer(_plain(reading.prompt, number))
    answer = _chosen(model, reading, choices, number)
    if "[RESULT]" in tail:
        return MockAnswer(f"Feedback: {_WEIGHED}\n[RESULT] {answer.text}", probabilities=answer.probabilities)
    if label := reading.label():
        text = f"The instruction was read, and the output was weighed against it.\n\n{label}: {answer.text}"
        return MockAnswer(text, probabilities=answer.probabilities)
    return answer


def _headed(model: MockModel, body: dict[str, Any], number: float) -> MockAnswer | None:
    """Answer a prompt of somebody else's, whose parts stand under headings; None for one that asks for no verdict."""
    messages = [(str(each["role"]), str(each["content"])) for each in body["messages"]]
    schema = called_schema(body)
    headed = headed_prompt(messages, json.dumps(schema) if schema else "")
    if headed is None:
        asked = score_asked("\n".join(text for _, text in messages))
        if asked is None:
            return None
        form, low, high = asked
        prompt = messages[-1][1]
        reading = ReadPrompt(prompt, "", {"output": single_output(prompt)})
        answer = _chosen(model, reading, tuple(map(str, range(low, high + 1))), number)
        return MockAnswer(form.format(answer.text), probabilities=answer.probabilities)
    words = headed.verdicts()
    chances = _probabilities(model, headed.material, words)
    place = words.index(_pick(chances, number))
    if schema:
        found = fill(schema, number) | headed.arguments(schema, place)
        return MockAnswer(json.dumps(found), probabilities=chances)
    return MockAnswer(headed.said(place, _WEIGHED), probabilities=chances)


def _category_said(model: MockModel, reading: ReadPrompt, number: float) -> MockAnswer:
    """Name one category or several in the form that the prompt's last words ask for."""
    names, tail = listed_categories(reading), reading.tail
    if "JSON" in tail:
        chosen = categories_chosen(model, reading, names, number)
        said: dict[str, Any] = {"reasons": _WEIGHED} if '"reasons"' in tail else {}
        several = f'"{LIST}": [' in tail
        return MockAnswer(json.dumps(said | ({LIST: chosen} if several else {"category": chosen[0]})))
    answer = _chosen(model, reading, names, number)
    if label := reading.label():
        text = f"The text was read, and compared with the list.\n\n{label}: {answer.text}"
        return MockAnswer(text, probabilities=answer.probabilities)
    return answer


def _plain(prompt: str, number: float) -> str:
    """Answer an instruction: with words of its own, more or fewer of them."""
    words = _WORD.findall(prompt[:2000])
    taken = " ".join(words[: 3 + int(number * 40)])
    return f"A mock answer, number {int(number * 1e6)}. It is about this: {taken}."


def _chosen(model: MockModel, reading: ReadPrompt, choices: tuple[str, ...], number: float) -> MockAnswer:
    """Choose one of several labels: of numbers that which fits how well the output is liked, else rather the first."""
    if set(choices) <= set(listed_categories(reading)):
        chances = category_chances(model, reading, choices, number)
        return MockAnswer(category_picked(chances, number), probabilities=chances)
    liked = liking(model, reading)
    numbers = [each for each in choices if _NUMBER.fullmatch(each)]
    if len(numbers) > 1:  # "not applicable" may stand behind them
        place = round(liked * (len(numbers) - 1))
        weights = [0.4 ** abs(i - place) for i in range(len(choices))]
    else:
        weights = [0.3 + 0.6 * liked] + [(0.7 - 0.6 * liked) / max(len(choices) - 1, 1)] * (len(choices) - 1)
        place = 0 if number < weights[0] else 1 % len(choices)
    total = sum(weights)
    chances = {each: weight / total for each, weight in zip(choices, weights, strict=True)}
    return MockAnswer(choices[place], probabilities=chances)


def liking(model: MockModel, reading: ReadPrompt) -> float:
    """Return how much the model likes the output that a prompt is about, in [0, 1]."""
    text = reading.judged() or reading.prompt
    if model.kind == "shorter":
        return math.exp(-len(text) / 400)
    if model.kind == "overlap":
        wanted = reading.fields.get("reference") or reading.fields.get("instruction", "")
        return min(2 * _share(text, set(_WORD.findall(wanted.lower()))), 1.0)
    if model.kind in {"random", "first", "second", "tie"}:
        return fraction_of(model.kind, text)
    return 1 - math.exp(-len(text) / 400)


def _matching(pattern: str, model: MockModel, reading: ReadPrompt) -> str:
    """Return a text that matches a regular expression, of those that a judge's answer can be."""
    low, high = reading.scale() or (1, 5)
    place = low + round(liking(model, reading) * (high - low))
    bare = [str(place), *map(str, range(low, high + 1)), "A", "B", "tie", "yes", "no"]
    for candidate in [
        *bare,
        *(f"{label}: {each}" for label in ("Rating", "Verdict", "Answer") for each in bare),
    ]:
        if re.fullmatch(pattern, candidate):
            return candidate
    return str(place)


def _probabilities(model: MockModel, material: Material, choices: tuple[str, ...]) -> dict[str, float]:
    a, b, *others = _nearest(model, material, choices)
    tie = others[0] if others else None
    chances = dict.fromkeys(choices, 0.0)
    if model.kind == "tie" and tie:
        return {a: (1 - model.p) / 2, b: (1 - model.p) / 2, tie: model.p}
    lead = _lead(model.kind, material)
    p = 0.5 if lead == 0 else model.p
    chances[a], chances[b] = (p, 1 - p) if lead >= 0 else (1 - p, p)
    return chances


def _nearest(model: MockModel, material: Material, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return the verdicts for A, for B and for a tie; of a scale of preference, those as strong as one leads."""
    of_a, of_b = ([each for each in choices if each.startswith(side)] for side in ("A ", "B "))
    if not (of_a and of_b):
        return choices
    size = abs(_lead(model.kind, material)) / max(len(material.output_a), len(material.output_b), 1)
    place = min(int(size * len(of_b)), len(of_b) - 1)
    return (of_a[-1 - place], of_b[place], *(each for each in choices if each not in (*of_a, *of_b)))


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
    if "structured_outputs" in body:
        return verdict
    if material.wants_line:
        return f"{_WEIGHED}\n\nVerdict: {verdict}"
    tail = read_conversation(body["messages"]).tail
    if "[RESULT]" in tail:
        return f"Feedback: {_WEIGHED}\n[RESULT] {verdict}"
    if "[[A>B]]" in tail:
        return f"{_WEIGHED}\n\n[[{ {'A': 'A>B', 'B': 'B>>A'}.get(verdict, 'A=B') }]]"
    if "[[A]]" in tail:
        return f"{_WEIGHED}\n\n[[{'C' if verdict == 'tie' else verdict}]]"
    return verdict


def token_logprobs(answer: MockAnswer, top: int) -> list[dict[str, Any]]:
    """Return log-probabilities for the answer's words, the choices' own where the word is a choice."""
    tokens = []
    for word in re.findall(r"\s*(?:\w+|[^\w\s])", answer.text):
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
