"""Redaction of secrets. Keys come from the environment only; what is written or raised goes through `redact` first."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit, urlunsplit

SECRET_NAMES = re.compile(r"(API_?KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
# Keys as OpenAI, Hugging Face, Groq and xAI shape them, headers, and what stands before the @ of an address.
KEY_SHAPED = re.compile(
    r"\b(sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_\-]{16,}|\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{8,}|(?<=://)[^/\s@]+(?=@)"
)
# Proxies in both spellings, as clients read them; a password may stand in any of these.
ADDRESS_NAMES = ("OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
HIDDEN = "[hidden]"


def redact(text: str) -> str:
    """`text` without the values of secret environment variables and without anything shaped like a key."""
    named = (value.strip() for name, value in os.environ.items() if SECRET_NAMES.search(name))
    passwords = (_password(os.environ.get(name, "")) for name in ADDRESS_NAMES)
    # Longest first, so that a key that contains another is hidden whole. Short values would hide ordinary words.
    values = {value for value in (*named, *passwords) if len(value) >= 8}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return KEY_SHAPED.sub(HIDDEN, text)


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
