"""Redaction of secrets. Keys come from the environment only; what is written or raised goes through `redact` first."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote, urlsplit, urlunsplit

# Of environment variables, and of headers.
SECRET_NAMES = re.compile(
    r"(API[_-]?KEY|([_-]|^)KEY$|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE|AUTHORIZATION)", re.IGNORECASE
)
# Keys as OpenAI, Hugging Face, Groq and xAI shape them, headers, and what stands before the @ of an address.
KEY_SHAPED = re.compile(
    r"\b(sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_\-]{16,}|\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{8,}|(?<=://)[^/\s@]+(?=@)"
)
# Proxies in both spellings, as clients read them; a password may stand in any of these.
ADDRESS_NAMES = ("OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
SHORTEST = 8  # characters of a value that is hidden; shorter ones would hide ordinary words
BEGINNING = 12  # characters of a key by which one that was cut off is recognised
HIDDEN = "[hidden]"


def redact(text: str) -> str:
    """`text` without the values of secret environment variables, encoded ones included, and without anything shaped
    like a key.
    """
    named = (value.strip() for name, value in os.environ.items() if SECRET_NAMES.search(name))
    passwords = (_password(os.environ.get(name, "")) for name in ADDRESS_NAMES)
    secrets = {value for value in (*named, *passwords) if len(value) >= SHORTEST}
    forms = secrets | {form for value in secrets for form in _encoded(value)}
    # Longest first, so that a key that contains another is hidden whole.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    for form in forms:
        text = _without_beginnings(text, form) if len(form) > BEGINNING else text
    return KEY_SHAPED.sub(HIDDEN, text)


def _encoded(value: str) -> Iterator[str]:
    """The ways in which programs write a value: URL, JSON and Python escapes, hex, and base64 of any text with it."""
    for url in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield from (url, re.sub("%..", lambda code: code[0].lower(), url))
    yield from (json.dumps(value)[1:-1], json.dumps(value).replace("/", r"\/")[1:-1], repr(value)[1:-1])
    raw = value.encode()
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):  # bytes of a user's name, say, modulo 3; the digits that mix with neighbours are left out
        digits = b64encode(bytes(before) + raw).decode().rstrip("=")
        inner = digits[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


def _without_beginnings(text: str, value: str) -> str:
    """`text` without what a server quotes of a long secret until it breaks off."""
    while (start := text.find(value[:BEGINNING])) >= 0:
        same = os.path.commonprefix([text[start:], value])
        text = text[:start] + HIDDEN + text[start + len(same) :]
    return text


def clean_address(address: str) -> str:
    """A server's address without user name, password, query or trailing slash: fit for manifests and cache keys."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _password(address: str) -> str:
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:  # no address at all
        return ""
