"""An example of what each operation takes and answers: bodies written by hand, answers built from the schema."""

from typing import Any

Schema = dict[str, Any]

BODIES: dict[str, Any] = {
    "anchors_one_change": {"every_days": 7, "budget": "2.00"},
    "comparisons_post": {"dataset": "teas", "margin": 0.02},
    "datasets_post": {
        "name": "teas",
        "title": "Teas",
        "split": "public",
        "items": [
            {
                "id": "tea-1",
                "instruction": "Describe this tea.",
                "responses": [
                    {"system": "model-a", "text": "A grassy green tea."},
                    {"system": "model-b", "text": "Tea."},
                ],
                "gold": 1,
            }
        ],
    },
    "datasets_one_change": {"title": "Teas of Japan", "documentation": {"limitations": "Green teas only."}},
    "datasets_one_items_post": {
        "items": [
            {"id": "tea-2", "instruction": "How long does it steep?", "responses": ["Two minutes.", "A day."]}
        ]
    },
    "datasets_one_access_post": {"user": "bo", "role": "viewer"},
    "datasets_one_access_one_change": {"role": "editor"},
    "datasets_one_transfer_post": {"to": "bo"},
    "decisions_post": {
        "by": "selection",
        "sweep": 3,
        "parts": [{"dataset": "teas", "role": "people", "weight": 1}],
        "fingerprint": "5f0c" * 16,
        "inputs_hash": "9e1b" * 16,
        "in_force": {"teas": 7},
        "reason": "It agrees best with us.",
    },
    "endpoints_post": {"name": "local", "base_url": "http://127.0.0.1:8001/v1", "api_key_env": "MODEL_KEY"},
    "exports_post": {"dataset": "teas", "what": "labels", "format": "csv"},
    "items_one_notes_post": {"text": "The instruction has a typo."},
    "judge-uploads_one_define_post": {"endpoint": "local", "model": "small", "fingerprint": "5f0c" * 16},
    "judges_one_anchors_post": {"dataset": "teas", "n": 100, "every_days": 7},
    "judgments_post": {
        "dataset": "teas",
        "judgments": [{"item": "tea-1", "judge": "my-judge", "order": 0, "verdict": 1, "model": "small"}],
    },
    "labels_post": {"dataset": "teas", "labels": [{"item": "tea-1", "annotator": "ann", "value": 1}]},
    "notes_one_change": {"text": "The instruction had a typo."},
    "reports_post": {"dataset": "teas", "epsilon": 0.15},
    "selections_post": {
        "sweep": 3,
        "parts": [
            {"dataset": "teas", "role": "people", "weight": 2},
            {"dataset": "adversarial", "role": "gold", "weight": 1},
        ],
        "constraints": {"local": True, "max_unparsed": 0.02},
    },
    "studies_post": {
        "dataset": "teas",
        "title": "Which tea is better?",
        "overlap": 3,
        "qualification_size": 0,
    },
    "studies_one_annotators_one_erase_post": {"with_labels": False},
    "studies_one_change": {"overlap": 4, "guidelines": "Judge the answer, not its length."},
    "studies_one_copy_post": {"slug": "which-tea-2"},
    "studies_one_invitations_post": {"note": "colleagues", "max_annotators": 5},
    "studies_one_items_post": {"items": [{"item": "tea-1", "priority": 1}, {"item": "tea-2"}]},
    "studies_one_access_post": {"team": 3, "role": "editor"},
    "studies_one_access_one_change": {"role": "viewer"},
    "studies_one_transfer_post": {"to": "bo"},
    "teams_post": {"name": "Tea tasters"},
    "teams_one_change": {"name": "Tea tasters of Kyoto"},
    "teams_one_members_post": {"user": "bo"},
    "teams_one_members_one_change": {"is_admin": True},
    "sweeps_one_resume_post": {"budget": "5.00"},
    "webhooks_post": {"name": "Pipeline", "url": "https://example.org/hook", "events": ["sweep.finished"]},
    "webhooks_one_change": {"is_enabled": False},
}
"""By the id of the operation; those of judges and sweeps stand with their views."""
OBJECTS: dict[str, Any] = {
    "comparisons_post": {"schema": "touchstone.report/2", "inputs_hash": "9e1b" * 16, "primary": "human_loo"},
    "decisions_one_judge_read": {"schema": "touchstone.judge/2", "name": "Rules", "fingerprint": "5f0c" * 16},
    "judges_one_document_read": {"schema": "touchstone.judge/2", "name": "Rules", "fingerprint": "5f0c" * 4},
    "reports_one_changes_read": {
        "same_inputs": False,
        "data": [],
        "options": [],
        "software": [],
        "figures": [],
    },
    "selections_post": {
        "schema": "touchstone.selection/1",
        "inputs_hash": "9e1b" * 16,
        "leader": "5f0c" * 16,
    },
    "sweeps_one_estimate_read": {"requests": 400, "cost": 0.12, "warnings": []},
}
"""Answers that the schema calls an object: their first members; the documentation has them whole."""
WORDS: dict[str, Any] = {
    "active_ms": 5200,
    "annotator": "a3f9c2",
    "author": "ada",
    "base_url": "http://127.0.0.1:8001/v1",
    "api_key_env": "MODEL_KEY",
    "category": "Brainstorm",
    "checks": [],
    "choice": 1,
    "cost": 0.0004,
    "created_by": "ada",
    "dataset": "teas",
    "decided_by": "ada",
    "error": "",
    "event": "sweep.finished",
    "fingerprint": "5f0c" * 16,
    "format": "csv",
    "id": 3,
    "inputs_hash": "9e1b" * 16,
    "instruction": "Describe this tea.",
    "item": "tea-1",
    "judge": "Rules",
    "message": "",
    "model": "small",
    "name": "Rules",
    "next": None,
    "owner": "ada",
    "previous": None,
    "raw_text": "Output (a) is better.",
    "reason": "It agrees best with us.",
    "response": "A grassy green tea.",
    "secret": "whsec_c2VjcmV0",
    "sha256": "9e1b" * 16,
    "slug": "which-tea",
    "study": "which-tea",
    "text": "A grassy green tea.",
    "thought": "",
    "title": "Teas",
    "url": "https://example.org/hook",
    "user": "ada",
    "username": "ada",
    "what": "labels",
}
"""By the name of a field, wherever that value fits its schema."""
DEEPEST = 6


def examples_add(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Give each body and each successful answer an example, where its view gives none."""
    for operations in result["paths"].values():
        for operation in operations.values():
            name = operation["operationId"]
            for media in operation.get("requestBody", {}).get("content", {}).values():
                if name in BODIES:
                    media.setdefault("examples", {"Example": {"value": BODIES[name]}})
            for status, answer in operation["responses"].items():
                for kind, media in answer.get("content", {}).items():
                    if (
                        status.startswith("2")
                        and kind == "application/json"
                        and "format" not in media["schema"]
                    ):
                        found = _example(result, name, media["schema"])
                        media.setdefault("examples", {"Example": {"value": found}})
    return result


def _example(result: Schema, operation: str, part: Schema) -> Any:
    if operation in OBJECTS and "$ref" not in part:
        return OBJECTS[operation]
    return _value(result, part, "", 0)


def _value(result: Schema, part: Schema, name: str, depth: int) -> Any:
    """A value that the schema allows: the word for its name if that fits, else one of its type."""
    while "$ref" in part:
        part = result["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    for choice in ("allOf", "oneOf", "anyOf"):
        if choice in part:
            return _value(result, part[choice][0], name, depth)
    kinds = part.get("type", "object" if "properties" in part else "")
    kind = next((one for one in kinds if one != "null"), "null") if isinstance(kinds, list) else kinds
    if "enum" in part:
        return part["enum"][0]
    if name in WORDS and _fits(WORDS[name], kinds, part):
        return WORDS[name]
    if kind == "object":
        fields = part.get("properties", {}) if depth < DEEPEST else {}
        return {key: _value(result, one, key, depth + 1) for key, one in fields.items()}
    if kind == "array":
        return [_value(result, part["items"], name.removesuffix("s"), depth + 1)] if depth < DEEPEST else []
    formats = {
        "date-time": "2026-11-23T14:05:00Z",
        "decimal": "2.00",
        "uri": "https://example.org/",
        "double": 0.5,
    }
    if (shape := part.get("format")) in formats:
        return formats[shape]
    return {"integer": max(1, part.get("minimum", 1)), "number": 0.5, "boolean": True, "string": name}.get(
        kind
    )


def _fits(word: Any, kinds: Any, part: Schema) -> bool:
    named = {str: "string", int: "integer", float: "number", type(None): "null", list: "array"}[type(word)]
    free = isinstance(word, str) and ("format" not in part or part["format"] == "uri")
    return named in (kinds if isinstance(kinds, list) else [kinds]) and (not isinstance(word, str) or free)
