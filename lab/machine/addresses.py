"""Addresses of servers: OPENAI_BASE_URL and what goes with it, and that no request leaves for another server."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from lab.machine.faults import Unavailable
from lab.machine.secrets import clean_address

OPENAI = "https://api.openai.com/v1"
PORTS = {"http": 80, "https": 443}


class MissingKey(Unavailable):
    """An endpoint was chosen, and the environment has neither an address nor a usable key for it."""


def stated_address(who: str, instead: str, usual: str = "") -> str:
    """OPENAI_BASE_URL, or OpenAI's own address where there is a key alone.

    who, instead, usual: for the message. Raises MissingKey if neither is set, ValueError for what is no address.
    """
    address = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not address and (usual or not os.environ.get("OPENAI_API_KEY")):
        raise MissingKey(
            f"{who}: set OPENAI_BASE_URL to the server that has it{usual and f', usually {usual}'} (and OPENAI_API_KEY "
            f"if the server wants one), or use {instead}"
        )
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise MissingKey("OPENAI_API_KEY holds a line break or a letter that no key has; copy the key again")
    if address and not address.startswith(("http://", "https://")):
        raise ValueError("OPENAI_BASE_URL must start with http:// or https://, as in http://localhost:8000/v1")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"OPENAI_BASE_URL is no address ({error}); it looks like http://localhost:8000/v1") from None
    if parts.query or parts.fragment:
        names = ", ".join(f'"{name}":"…"' for name, _ in parse_qsl(parts.query, keep_blank_values=True))
        raise ValueError(
            f"OPENAI_BASE_URL holds a query; set it to {clean_address(address)}, and state the query in the engine "
            f"string: MODEL?query={{{names}}} (for Azure: MODEL?preset=azure)"
        )
    return address or OPENAI


def client_settings(address: str, options: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Settings of the SDK's client for a cleaned address: the full address, the environment's key, headers and query.

    options: the engine's. Raises MissingKey where a header names a variable that is not set.
    """
    stated = os.environ.get("OPENAI_BASE_URL", "").strip()
    return {
        # The environment's address may carry what the cleaned one must not, unless it has changed since.
        "base_url": stated if clean_address(stated) == address else address,
        "api_key": os.environ.get("OPENAI_API_KEY", "").strip() or "none",  # the SDK wants a word
        "default_headers": {name: _held(name, value) for name, value in options.get("headers", {}).items()},
        "default_query": {name: _held(name, value) for name, value in options.get("query", {}).items()},
    }


def _held(name: str, value: str) -> str:
    """The value of a header or of a query, of the variable that it names if it names one."""
    if not value.startswith("$"):
        return value
    if held := os.environ.get(value[1:], "").strip():
        return held
    raise MissingKey(f"{name} is to hold {value}, and no environment variable of that name is set")


def within_origin(address: str, refusal: type[Exception]) -> Callable[[Any], Awaitable[None]]:
    """A hook of the HTTP client that raises `refusal` before a request, and with it a prompt and a key, would follow a
    redirect to another server. The same host over https is the same server.
    """
    scheme, host, port = _origin(address)
    allowed = {(scheme, host, port), ("https", host, PORTS["https"] if port == PORTS["http"] else port)}

    async def check(request: Any) -> None:
        if (to := _origin(str(request.url))) not in allowed:
            raise refusal(
                f"{clean_address(address)} redirects to another server, {to[0]}://{to[1]}:{to[2]}, which gets no "
                "prompt. If that is the right one, set OPENAI_BASE_URL to its address"
            )

    return check


def _origin(address: str) -> tuple[str, str, int]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or PORTS[parts.scheme]
