"""HTTP client for model requests: the OpenAI SDK's, with a timeout for each try as a whole, and with retries.

The SDK's own timeout bounds a single read: a server that sends a byte a second would hold a question for hours. An
awaited request can be cancelled at any moment, which closes its socket. So requests run on one event loop in its own
thread, and the calling threads wait for it. A try that meets an overload is retried with exponential backoff that
honours Retry-After.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from email.utils import parsedate_to_datetime
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.secrets import redact
from lab.models.backbone import Call

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
# Bytes of a body after decompression; a larger body could fill this machine's memory.
MOST_BYTES = 8 * 2**20  # of an answer: about two million tokens
SPARE = 0.1  # seconds more than the connect timeout, so that a slow connect is reported as such
PASSING_STATUS = (408, 409, 425, 429)  # besides 5xx (but 501, not implemented): the same request may succeed later
REFUSING_STATUS = (401, 402, 403, 404, 405)  # wrong key, empty account, unknown model, no API: usually for all requests
# Errors of a filter that refuses a question, as Azure, OpenAI, Alibaba, LiteLLM and OpenRouter state them.
FILTERED = re.compile(
    "'code': '(content_filter|content_policy_violation|data_inspection_failed|ResponsibleAIPolicyViolation)'"
    "|ContentPolicyViolation|'flagged_input':"
)
PROBING = 10.0  # seconds within which a small request must succeed after another one failed
LONGEST_QUOTE = 500  # characters of a server's error that are quoted
FIRST_WAIT = 0.2  # seconds, doubled at each try: the minimum wait if Retry-After is shorter
LONGEST_WAIT = 60.0  # seconds between two tries, unless Retry-After is longer
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a fork has none of its parent's threads
_starting = threading.Lock()

Open = Callable[["AsyncOpenAI"], AbstractAsyncContextManager[Any]]


class Kind(Enum):
    """Outcome of a request. Only an overload is retried; refusals and truncated answers are the model's own result."""

    ANSWER = "answer"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    BAD_REQUEST = "bad request"
    OVERLOAD = "overload"
    NOT_THIS_API = "not this API"


class EndpointError(RuntimeError):
    """A request failed permanently; the message has the server's last error, with keys redacted."""

    call: Call = Call("unknown", "unknown", "failed")
    request: str = ""


class EndpointUnavailable(EndpointError, Unavailable):
    """The server answers no request at all: no connection, no permission, no quota, or web pages for answers."""


class BadBody(ValueError):
    """The reply is no answer: truncated, not UTF-8, or written by a proxy. The message says which."""


class NotThisApi(BadBody):
    """The reply is complete, but not in the form of this API. The message quotes it."""


class WebPage(BadBody):
    """The reply is a web page, which servers send where there is no API."""


class SchemaNotTaken(ValueError):
    """This schema cannot be enforced. The message says why, if a model in this process raised it."""


class Chat(Protocol):
    """Sends requests: to a server, or to a model in this process. process: id of the process that made it."""

    process: int

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes: ...


class Client:
    """An SDK client that returns raw bodies. Thread-safe; its sockets close when it is garbage-collected."""

    def __init__(self, own: bool = False, **server: Any) -> None:
        """server: base_url, api_key and other SDK settings. own: the server is on this machine; use no proxy."""
        import openai

        # Redirects are not followed: no prompt and no key may go to another server.
        server["http_client"] = openai.DefaultAsyncHttpxClient(trust_env=not own, follow_redirects=False)
        self._sdk = openai.AsyncOpenAI(max_retries=0, **server)  # our retries are bounded
        self.process = os.getpid()
        weakref.finalize(self, _close, self._sdk, _loop()).atexit = False

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """The body of a chat completion. Raises as `body` does."""
        # As `extra_body`, which the SDK passes on: it does not know all parameters that servers accept.
        parameters = {name: value for name, value in request.items() if name not in ("model", "messages")}
        arguments = {"model": request["model"], "messages": request["messages"], "extra_body": parameters}
        return self.body(lambda sdk: sdk.chat.completions.with_streaming_response.create(**arguments), seconds)

    def body(self, send: Open, seconds: float, times: int = 1) -> bytes:
        """Send a request once and return the body of the reply; stops after `seconds`, whatever the server does.

        send: one of the SDK's `with_streaming_response` calls. times: the body may have `times * MOST_BYTES` bytes.
        Raises TimeoutError. Raises BadBody for a reply that is not HTTP, NotThisApi for a longer body.
        Raises the SDK's errors, of which APITimeoutError means that connecting took too long.
        """
        import openai

        sdk = self._sdk.with_options(timeout=openai.Timeout(None, connect=seconds))
        future = asyncio.run_coroutine_threadsafe(_within(send(sdk), seconds + SPARE, times * MOST_BYTES), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # on Ctrl-C: cancel the request, too
            raise


def is_page(body: bytes) -> bool:
    """Whether a body is a web page, or other markup: what a server sends where it has no API at this address."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def body_json(body: bytes) -> Any:
    """Parse a body as JSON. Raises BadBody, for a web page WebPage."""
    if is_page(body):
        raise WebPage("a web page, and no answer of a model")
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, a number of 5,000 digits, a depth of 5,000
        raise BadBody(f"no JSON in UTF-8: {error}") from None


async def _within(sending: AbstractAsyncContextManager[Any], seconds: float, most: int) -> bytes:
    import openai

    body = bytearray()
    try:
        async with asyncio.timeout(seconds), sending as response:
            async for part in response.iter_bytes():
                body += part
                if len(body) > most:
                    raise NotThisApi(f"the body has more than {most:,} bytes")
    except (openai.OpenAIError, BadBody, TimeoutError, MemoryError):
        raise
    # The SDK has no error for a body that breaks off or does not decompress.
    except Exception as error:
        raise BadBody(f"{type(error).__name__}: {error}") from None
    return bytes(body)


def _loop() -> asyncio.AbstractEventLoop:
    """This process's event loop."""
    with _starting:
        if os.getpid() not in _loops:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="requests", daemon=True).start()
        return _loops[os.getpid()]


def _close(sdk: AsyncOpenAI, loop: asyncio.AbstractEventLoop) -> None:
    if loop is _loops.get(os.getpid()):
        asyncio.run_coroutine_threadsafe(sdk.close(), loop)


def _forget() -> None:
    """Replace the lock in a forked child: one that a thread of the parent held would stay locked."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def with_retries(call: Callable[[], T], address: str, patience: float, others: Callable[[], bool] = lambda: False) -> T:
    """Call until a try succeeds, and return its result.

    patience: seconds after which no further try is started. others: whether the server answers other requests; called
    when this one got no answer. Raises EndpointError, or EndpointUnavailable if others get no answer either.
    Raises at once any error that a retry cannot mend.
    """
    deadline = time.monotonic() + patience
    try:
        for attempt in count(1):
            try:
                return call()
            except NotThisApi as error:
                message = f"{address} does not answer as this API does: {_quoted(str(error))}{end_of(address)}"
                break
            except Exception as error:
                if kind_of(error) is not Kind.OVERLOAD:
                    raise
                why, asked_wait = reason(error), retry_after(error)
                wait = _wait(asked_wait, attempt)
                if time.monotonic() + wait >= deadline:
                    message = f"{address} gave no answer: {_given_up(error, why, asked_wait, attempt, patience)}"
                    break
            progress.waits(why, f"waiting {wait:.1f} s for {address}: {why} (try {attempt})")
            time.sleep(wait)
    finally:
        progress.waits("")
    # Raised outside the handlers: an error's context would hold the request, and with it the key.
    if others():
        raise EndpointError(f"{message}. It answers other requests")
    raise EndpointUnavailable(f"{message}. It answers no other request either")


def _given_up(error: Exception, why: str, asked: float | None, number: int, patience: float) -> str:
    quote = f" ({_quoted(str(error))})" if isinstance(error, BadBody) else ""
    wait = f", asking to wait {asked:.0f} s" if asked else ""
    longer = " (or timeout=SECONDS for one try)" if why == "time-out" else ""
    return (
        f"{why}{quote}{wait} at try {number}, and the patience is {patience:g} s. Give it longer with the engine "
        f"option patience=SECONDS{longer}"
    )


def _wait(asked: float | None, number: int) -> float:
    """Seconds before the next try: Retry-After if given, else exponential backoff.

    Both have jitter, so that many workers do not return at once. Retry-After is only a minimum: a server that keeps
    asking for no wait is overloaded all the same.
    """
    doubled = 2.0 ** min(number - 1, 60)
    if asked is None:
        return random.uniform(0, min(LONGEST_WAIT, doubled))
    return max(asked, min(LONGEST_WAIT, FIRST_WAIT * doubled)) + random.uniform(0.02, 0.2)


def gets_through(small: Callable[[], object], address: str, patience: float) -> bool:
    """Whether a small request is answered within `PROBING` seconds; if so, the failed request itself is at fault."""
    import openai

    try:
        with_retries(small, address, min(patience, PROBING))
    except openai.APIStatusError as error:
        return not _of_all(error)  # an error that concerns only this request counts as an answer
    except EndpointError:
        return False
    return True


def refused(error: Any, address: str, others: Callable[[], bool] = lambda: False) -> EndpointError:
    """The error to raise for a status error that a retry cannot mend. others: as in `with_retries`."""
    kind = EndpointUnavailable if _of_all(error) and not others() else EndpointError
    likely = end_of(address) if error.status_code in (404, 405) else ""
    if 300 <= error.status_code < 400:
        target = redact(error.response.headers.get("location", "nowhere"))[:LONGEST_QUOTE]
        likely = (
            f". It redirects to {target}, which gets no prompt; if that is right, set OPENAI_BASE_URL to its address"
        )
    return kind(f"{address} refuses the request: {_quoted(str(error))}{likely}")


def only_pages(address: str) -> EndpointUnavailable:
    """The error to raise if a server answers with web pages."""
    likely = end_of(address) or ". Set OPENAI_BASE_URL to the address of a server of models"
    return EndpointUnavailable(f"{address} answers with a web page, and not as a model does{likely}")


def end_of(address: str) -> str:
    """A hint on what is likely wrong with an address that has no API; "" if there is none."""
    if "/v1" in address:
        return ""
    return f". Addresses usually end in /v1: try OPENAI_BASE_URL={address.rstrip('/')}/v1"


def _quoted(text: str) -> str:
    safe = redact(text)
    return f"{safe[:LONGEST_QUOTE]}{'…' if len(safe) > LONGEST_QUOTE else ''}"


def _of_all(error: Any) -> bool:
    return error.status_code in REFUSING_STATUS or 300 <= error.status_code < 400 or _spent(error)


def _spent(error: Any) -> bool:
    # OpenAI sends 429 for a rate limit, which passes, and for an exhausted quota, which does not.
    return "insufficient_quota" in (error.code, error.type)


def kind_of(error: BaseException) -> Kind | None:
    """Classify a failed request's error; None if it does not come from the server or the network."""
    import openai

    match error:
        case openai.APIStatusError():
            if error.status_code < 500 and FILTERED.search(str(error.body)):
                return Kind.REFUSAL
            passing = error.status_code in PASSING_STATUS or (error.status_code >= 500 and error.status_code != 501)
            return Kind.OVERLOAD if passing and not _spent(error) else Kind.BAD_REQUEST
        case NotThisApi():
            return Kind.NOT_THIS_API
        case openai.APIConnectionError() | BadBody() | TimeoutError():  # network faults, incomplete bodies
            return Kind.OVERLOAD
    return None


def reason(error: BaseException) -> str:
    """A few words on why a call failed, for a progress line."""
    name = type(error).__name__
    words = {"APITimeoutError": "time-out", "TimeoutError": "time-out", "APIConnectionError": "no connection"}
    usual = "broken body" if isinstance(error, BadBody) else words.get(name, name)
    return str(getattr(error, "status_code", usual))


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, in retry-after-ms or Retry-After (seconds or a date); else None."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        with suppress(ValueError):
            seconds = float(value) * unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
