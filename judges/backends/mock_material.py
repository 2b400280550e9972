"""What the mock's models find in a prompt: the fenced texts, and what the words after them ask for."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_CLOSING = re.compile(r"</(\w+)>")
_MARK = re.compile(r"_[0-9a-f]{12}\Z")
_SCALE = re.compile(r"\bfrom (\d+)\b.*? to (\d+)\b", re.DOTALL)
_DESCRIBED = re.compile(r"^\W*(\d+)\s*[:=.)]", re.MULTILINE)
_AS_JSON = re.compile(r'\w+: ("(?:[^"\\]|\\.)*")', re.DOTALL)
_LABEL = re.compile(r"^(Rating|Score|Answer|Category): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Material:
    """The texts of a prompt about two outputs."""

    instruction: str
    reference: str
    output_a: str
    output_b: str
    wants_line: bool


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """A prompt, taken apart.

    Attributes
    ----------
    fields : dict
        The fenced texts, by the name of their fence.
    tail : str
        What stands after the last fence: what is asked for. The whole prompt if it has none.
    """

    prompt: str
    tail: str
    fields: dict[str, str] = field(default_factory=dict)

    def scale(self) -> tuple[int, int] | None:
        """Return the lowest and the highest number that a rating may have, if one is asked for."""
        if match := _SCALE.search(self.tail):
            return int(match[1]), int(match[2])
        numbers = [
            int(each) for each in _DESCRIBED.findall(self.tail + "\n" + self.fields.get("options", ""))
        ]
        return (min(numbers), max(numbers)) if len(numbers) > 1 else None

    def label(self) -> str:
        """Return what is to stand before the answer on a line of its own, such as "Rating"; empty without any."""
        found = _LABEL.search(self.tail)
        return found[1] if found else ""

    def judged(self) -> str:
        """Return the one output that is judged; empty for a prompt about several, or none."""
        return next(
            (self.fields[name] for name in ("output", "response", "answer") if name in self.fields), ""
        )


def read_prompt(prompt: str) -> ReadPrompt:
    """Take a prompt apart. The last closing tag is the prompt's own, and shows the mark that all of them carry."""
    closing = _CLOSING.findall(prompt)
    if not closing:
        return ReadPrompt(prompt, prompt)
    found = _MARK.search(closing[-1])
    mark = found[0] if found else ""
    fence = re.compile(rf"<(\w+?){mark}>\n(.*?)\n</\1{mark}>", re.DOTALL)
    fields = {match[1]: match[2] for match in fence.finditer(prompt)}
    return ReadPrompt(prompt, prompt.rpartition(f"</{closing[-1]}>")[2], fields)


def read_conversation(messages: list[dict[str, Any]]) -> ReadPrompt:
    """Take a conversation apart: a later question may rest on what an earlier one showed, and how it was asked."""
    readings = [read_prompt(_plain(str(each["content"]))) for each in messages if each["role"] == "user"]
    readings = readings or [read_prompt(_plain(str(messages[-1]["content"])))]
    fields = {name: text for reading in readings for name, text in reading.fields.items()}
    tails = [reading.tail for reading in readings if reading.fields and reading.tail.strip()]
    return ReadPrompt(readings[-1].prompt, tails[-1] if tails else readings[-1].tail, fields)


def _plain(content: str) -> str:
    """Return a message; one that is a text shown as JSON, as MLflow shows it, as this text."""
    shown = _AS_JSON.fullmatch(content)
    return str(json.loads(shown[1], strict=False)) if shown else content


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
        wants_line="Verdict:" in read_prompt(prompt).tail,
    )


def requested_choices(body: dict[str, Any], tail: str) -> tuple[str, ...]:
    """Return the allowed verdicts of a comparison: those of the constraint, else those that the prompt names."""
    if given := constrained_choices(body):
        return given
    return ("A", "B", "tie") if re.search(r"\btie\b", tail) else ("A", "B")


def constrained_choices(body: dict[str, Any]) -> tuple[str, ...]:
    """Return the choices that the request is constrained to, in vLLM's way or by a JSON schema; empty without any."""
    constraint = body.get("structured_outputs")
    if isinstance(constraint, dict) and isinstance(constraint.get("choice"), list):
        return tuple(str(each) for each in constraint["choice"])
    try:
        return tuple(str(each) for each in requested_schema(body)["properties"]["choice"]["enum"])
    except (KeyError, TypeError):
        return ()


def requested_schema(body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema that the answer is to follow; an empty one if there is none."""
    constraint = body.get("structured_outputs")
    if isinstance(constraint, dict) and isinstance(constraint.get("json"), dict):
        return dict(constraint["json"])
    try:
        schema = body["response_format"]["json_schema"]["schema"]
    except (KeyError, TypeError):
        return {}
    return schema if isinstance(schema, dict) else {}


def called_schema(body: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the function that the model is to call; empty if it is to call none."""
    try:
        parameters = body["tools"][0]["function"]["parameters"]
    except (KeyError, TypeError, IndexError):
        return {}
    return parameters if isinstance(parameters, dict) else {}


def without_fences(prompt: str) -> str:
    """Return what a naive reader takes for the prompt's own words: what is outside of every fence as it sees them."""
    return re.sub(r"<(\w+)>\n.*?\n</\1>", "", prompt, flags=re.DOTALL)
