"""A judge as a file that means the same everywhere: `judge.json`.

It has the whole specification with the text of every prompt, the versions of the strategies, and what the promotion
found. Whoever loads it gets the judge that was exported or an error: its fingerprint is computed anew and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.model_ref import require
from judges.strategies.registry import STRATEGIES, strategy_info
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import NO_PARAMS

SCHEMA = "touchstone.judge/2"
EARLIER = "touchstone.judge/1"
"""What exports were before they held the texts of prompts: read where the texts are still files of the project."""
EXPORT_AGAIN = "Export the judge again with this version, or run the version that made it."


@dataclass(frozen=True, slots=True)
class JudgeDocument:
    """A judge and what is known of it.

    Attributes
    ----------
    decision : mapping
        What the promotion found: on which dataset, the figures with their intervals, the threshold for abstaining.
        Empty for a judge that was never promoted.
    """

    name: str
    spec: JudgeSpec
    decision: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)

    @property
    def threshold(self) -> float | None:
        """The certainty from which on it decides by itself; None where none is known."""
        found = (self.decision.get("abstention") or {}).get("threshold")
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def document_make(name: str, spec: JudgeSpec, decision: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a judge as JSON values; `document_read` undoes it."""
    models = spec.models()
    first = next(iter(models.values()), None)
    return {
        "schema": SCHEMA,
        "name": name,
        "fingerprint": spec.fingerprint(),
        "kind": spec.kind,
        "strategy": spec.strategy,
        "strategy_versions": strategy_versions(spec),
        "backend": "" if first is None else first.backend,
        "model": ", ".join(dict.fromkeys(model.model for model in models.values())),
        "models": {
            role: {"backend": model.backend, "model": model.model, "revision": model.revision}
            for role, model in models.items()
        },
        "spec": spec_whole(spec),
        **({"decision": dict(decision)} if decision else {}),
    }


def spec_whole(spec: JudgeSpec) -> dict[str, Any]:
    """Return a specification as JSON values with the text of each prompt, those of the project's files too.

    It is the same judge: what counts for the fingerprint is the text, wherever it stands.
    """
    values = spec.to_dict()
    config = spec.strategy_config()
    if config.prompt is not None:
        values["prompt_source"] = config.prompt.source
    values["step_prompts"] = {
        step: {"name": prompt.name, "sha": prompt.sha, "source": prompt.source}
        for step, prompt in config.prompts.items()
    }
    values["members"] = {key: spec_whole(member) for key, member in spec.members.items()}
    return values


def strategy_versions(spec: JudgeSpec) -> dict[str, int]:
    """Return the version of each strategy that a judge is made of."""
    found = {spec.strategy: strategy_info(spec.strategy).version}
    for member in spec.members.values():
        found |= strategy_versions(member)
    return dict(sorted(found.items()))


def document_read(values: object) -> JudgeDocument:
    """Return the judge of an export, or of a specification that somebody wrote.

    Parameters
    ----------
    values : mapping
        A document of `document_make`, of the schema before it, or the fields of a `JudgeSpec` and perhaps a ``name``.

    Raises
    ------
    SpecError
        Names the field: it is of a schema that is not known, has a field that cannot be, or is another judge than the
        one that was exported.
    """
    require("judge", values, Mapping)
    assert isinstance(values, Mapping)
    if "schema" not in values:
        given = dict(values)
        name = given.pop("name", "") or str(given.get("strategy", ""))
        require("name", name, str)
        if given.get("model"):
            given.setdefault("backend", "openai")
        return JudgeDocument(name, JudgeSpec.from_dict(given))
    if values["schema"] not in (SCHEMA, EARLIER):
        raise SpecError("schema", f"expected '{SCHEMA}' or '{EARLIER}', found {values['schema']!r}.")
    if why := values.get("cannot_run"):
        raise SpecError("cannot_run", f"nobody can ask this judge: {why}")
    for name, kind in (("name", str), ("fingerprint", str), ("spec", Mapping)):
        if name not in values:
            raise SpecError(name, "missing.")
        require(name, values[name], kind)
    decision = values.get("decision") or {}
    require("decision", decision, Mapping)
    _check_versions(values)
    try:
        spec = JudgeSpec.from_dict(values["spec"])
    except SpecError as error:
        hint = f" {EXPORT_AGAIN}" if values["schema"] == EARLIER and "prompt" in error.field else ""
        raise SpecError(f"spec.{error.field}", f"{error.problem}{hint}") from None
    if (found := spec.fingerprint()) != values["fingerprint"]:
        raise SpecError(
            "fingerprint",
            f"expected {found}, that of the specification below it, found {values['fingerprint']}: "
            f"the file was changed, or its strategy reads answers otherwise now. {EXPORT_AGAIN}",
        )
    return JudgeDocument(values["name"], spec, decision)


def _check_versions(values: Mapping[str, Any]) -> None:
    versions = values.get("strategy_versions") or {}
    require("strategy_versions", versions, Mapping)
    for name, version in versions.items():
        info = STRATEGIES.get(name)
        if info is not None and info.version != version:
            raise SpecError(
                f"strategy_versions.{name}",
                f"expected {info.version}, that of this installation, found {version}: "
                f"answers are asked for or read otherwise. {EXPORT_AGAIN}",
            )
