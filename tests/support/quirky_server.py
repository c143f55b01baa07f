"""Servers with the quirks of real ones: each function is a behaviour of `chat_server.ChatServer`, and wraps another.

    server.behave(rejects_parameters(takes(right, "tools"), "temperature"))

`right` answers as the request asks: as the call of its tool, or as text.
"""

from __future__ import annotations

import json
from typing import Any

import chat_server as chat
from chat_server import Behaviour, Request, Response

SHELF = {"shelf": 3, "why": "it is free"}


def right(request: Request, value: Any = SHELF, **stated: Any) -> Response:
    """The value, as the call of the tool that is forced, else as text. stated: the model, the fingerprint."""
    if "tools" not in request.body:
        return with_body(chat.answer(value), **stated)
    name = request.body["tool_choice"]["function"]["name"]
    assert name == request.body["tools"][0]["function"]["name"]
    call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": json.dumps(value)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return with_body(chat.answer(value), choices=choices, **stated)


def with_body(response: Response, **more: Any) -> Response:
    """The response with other entries of its body."""
    return Response(response.status, json.dumps(json.loads(response.body) | more).encode(), response.headers)


def way(request: Request) -> str:
    """How a request binds its answer."""
    if "tools" in request.body:
        return "tool"
    return request.body.get("response_format", {}).get("type", "text")


def takes(inner: Behaviour, *ways: str, status: int = 400) -> Behaviour:
    """A server that takes answers bound in these ways alone."""
    return lambda request: inner(request) if way(request) in (*ways, "text") else chat.status(status, "no such format")


def rejects_parameters(inner: Behaviour, *names: str) -> Behaviour:
    """A server of reasoning models, which take no such parameters and say so."""

    def behave(request: Request) -> Response:
        if name := next((name for name in names if name in request.body), ""):
            body = {"message": f"Unsupported parameter: '{name}'", "code": "unsupported_parameter", "param": name}
            return Response(400, json.dumps({"error": body}).encode())
        return inner(request)

    return behave


def redirects_to(address: str, status: int = 307) -> Behaviour:
    """A server that sends everybody elsewhere."""
    return lambda request: Response(status, headers={"Location": f"{address}/chat/completions"})


def fitting(request: Request) -> Response:
    """Any answer that keeps to the schema of the request."""
    schema = request.body["response_format"]["json_schema"]["schema"]
    return with_body(chat.answer(_instance(schema, schema)), model="small-2026-01-01")


def _instance(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _instance(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [""])[0])
    match schema.get("type"):
        case "object":
            return {name: _instance(part, root) for name, part in schema["properties"].items()}
        case "array":
            return [_instance(schema["items"], root)] * max(1, schema.get("minItems", 1))
        case "string":
            return "words"
    return {"boolean": True}.get(str(schema.get("type")), 1)
