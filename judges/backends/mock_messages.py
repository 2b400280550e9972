"""Anthropic's Messages as the mock server answers them: its models' answers, in the other protocol's form."""

import json
from typing import Any

FINISHED = {"stop": "end_turn", "length": "max_tokens"}
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def chat_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return a Messages request as a chat request; raises KeyError or TypeError for one that is none."""
    if not isinstance(body["max_tokens"], int):
        raise TypeError("max_tokens")
    messages = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    chat = {
        "model": body["model"],
        "messages": messages + list(body["messages"]),
        "max_tokens": body["max_tokens"],
    }
    if "temperature" in body:
        chat["temperature"] = body["temperature"]
    wanted = (body.get("output_config") or {}).get("format")
    if wanted:
        chat["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": wanted["schema"]},
        }
    for tool in body.get("tools") or ():
        function = {"name": tool["name"], "parameters": tool["input_schema"]}
        chat["tools"] = [{"type": "function", "function": function}]
        chat["tool_choice"] = {"type": "function", "function": {"name": tool["name"]}}
    return chat


def message_of(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a chat reply as a message."""
    choice = reply["choices"][0]
    said, content = choice["message"], []
    if said.get("reasoning_content"):
        content.append({"type": "thinking", "thinking": said["reasoning_content"], "signature": "mock"})
    for call in said.get("tool_calls") or ():
        function = call["function"]
        arguments = json.loads(function["arguments"])
        content.append({"type": "tool_use", "id": "toolu_mock", "name": function["name"], "input": arguments})
    if said.get("content"):
        content.append({"type": "text", "text": said["content"]})
    usage = reply["usage"]
    return {
        "id": f"msg_{reply['id']}",
        "type": "message",
        "role": "assistant",
        "model": reply["model"],
        "content": content,
        "stop_reason": FINISHED.get(choice["finish_reason"], choice["finish_reason"]),
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }
