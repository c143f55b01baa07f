"""Redaction of secrets. Keys come from the environment only; `redact` is applied to all text written or raised."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote, urlsplit, urlunsplit

# Names of environment variables and of headers that hold secrets.
SECRET_NAMES = re.compile(
    r"(API[_-]?KEY|([_-]|^)KEY$|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE|AUTHORIZATION)", re.IGNORECASE
)
# Keys of OpenAI, Hugging Face, Groq and xAI, headers, and user and password before the @ of an address.
KEY_SHAPED = re.compile(
    r"\b(sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_\-]{16,}|\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{8,}|(?<=://)[^/\s@]+(?=@)"
)
# Addresses that may contain a password; clients read proxies in both spellings.
ADDRESS_NAMES = ("OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
SHORTEST = 8  # characters of a value to hide; hiding shorter ones would hide ordinary words
BEGINNING = 12  # characters by which a truncated key is recognised
HIDDEN = "[hidden]"


def redact(text: str) -> str:
    """`text` without the values of secret environment variables, also encoded ones, and without key-shaped text."""
    values = (value.strip() for name, value in os.environ.items() if SECRET_NAMES.search(name))
    passwords = (_password(os.environ.get(name, "")) for name in ADDRESS_NAMES)
    secrets = {value for value in (*values, *passwords) if len(value) >= SHORTEST}
    encodings = secrets | {encoding for value in secrets for encoding in _encoded(value)}
    # Longest first, so that a key that contains another is hidden as a whole.
    for encoding in sorted(encodings, key=len, reverse=True):
        text = text.replace(encoding, HIDDEN)
    for encoding in encodings:
        text = _without_beginnings(text, encoding) if len(encoding) > BEGINNING else text
    return KEY_SHAPED.sub(HIDDEN, text)


def _encoded(value: str) -> Iterator[str]:
    """Yield encodings of a value: URL, JSON and Python escapes, hex, and base64 of any text that contains it."""
    for url in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield from (url, re.sub("%..", lambda code: code[0].lower(), url))
    yield from (json.dumps(value)[1:-1], json.dumps(value).replace("/", r"\/")[1:-1], repr(value)[1:-1])
    raw = value.encode()
    yield from (raw.hex(), raw.hex().upper())
    # offset: length, modulo 3, of the text before, such as a user's name. Digits shared with neighbours are dropped.
    for offset in range(3):
        digits = b64encode(bytes(offset) + raw).decode().rstrip("=")
        inner = digits[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


def _without_beginnings(text: str, value: str) -> str:
    """Hide beginnings of a long secret, as servers quote them."""
    while (start := text.find(value[:BEGINNING])) >= 0:
        prefix = os.path.commonprefix([text[start:], value])
        text = text[:start] + HIDDEN + text[start + len(prefix) :]
    return text


def clean_address(address: str) -> str:
    """A server's address without user name, password, query or trailing slash: fit for manifests and cache keys."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _password(address: str) -> str:
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:  # not an address
        return ""
