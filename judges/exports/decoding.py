"""The fields of a chat request that a judge's model is asked with, as the OpenAI protocol names them."""

from __future__ import annotations

from typing import Any

from judges.backends.openai_protocol import build_body
from judges.backends.wire import WireRequest
from judges.exports.errors import ExportRefusedError
from judges.strategies.model_ref import OPTION_DEFAULTS, ModelRef
from judges.strategies.thinking import form_of

_FIELDS = frozenset(
    {
        *("temperature", "top_p", "seed", "stop", "max_tokens", "max_completion_tokens", "max_output_tokens"),
        "reasoning_effort",
    }
)
"""What clients of the protocol know by name; others go with ``extra_body``."""


def request_fields(model: ModelRef) -> dict[str, Any]:
    """Return the fields of a request beside the model and the messages, ``extra_body`` as a field of its own.

    How a server is told to think is written in its own form.

    Raises
    ------
    ExportRefusedError
        It is no model that is asked by the OpenAI protocol.
    """
    if model.backend != "openai":
        raise ExportRefusedError(
            "backend",
            f"'{model.backend}' is no server of the OpenAI protocol, which is what other tools ask.",
        )
    options = {**OPTION_DEFAULTS, **model.backend_options}
    request = WireRequest(kind="chat", messages=(), model=model.model, decoding=model.decoding)
    body = build_body(
        request,
        structured="none",
        max_tokens_field=str(options["max_tokens_field"]),
        extra={},
        thinking_form=form_of(model.backend, model.backend_options),
    )
    extra = {name: value for name, value in body.items() if name not in (*_FIELDS, "model", "messages")}
    extra |= dict(options["extra_body"])
    return {
        **{name: value for name, value in body.items() if name in _FIELDS},
        **({"extra_body": extra} if extra else {}),
    }
