"""The client that requests go through: the OpenAI SDK's, with each try bounded as a whole.

The SDK's own timeout bounds a read: a server that sends a byte a second would hold a question for hours. What is
awaited can be ended at any moment, and its socket is closed then. So requests are awaited on one event loop, in a
thread of its own, while the threads that ask wait for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from lab.machine.addresses import within_origin
from lab.models.retries import BadBody, NotThisApi, Redirected, WebPage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Bytes of a body, unpacked; beyond them a server could fill this machine's memory.
MOST_BYTES = 8 * 2**20  # of an answer: about two million tokens
SPARE = 0.1  # seconds longer than for connecting, so that it can be told that this is what took too long
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads
_starting = threading.Lock()

Open = Callable[["AsyncOpenAI"], AbstractAsyncContextManager[Any]]


class SchemaNotTaken(ValueError):
    """A model in this process cannot keep to this schema; the message says why."""


class Chat(Protocol):
    """What requests go through: a client of a server, or a model in this process. process: whose it is."""

    process: int

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes: ...


class Client:
    """An SDK client whose answers are bodies. Thread-safe; its sockets close when it is no more referred to."""

    def __init__(self, own: bool = False, **server: Any) -> None:
        """place: base_url and api_key. own: a server on this machine, to which no proxy leads."""
        import openai

        hooks = {"request": [within_origin(server["base_url"], Redirected)]}
        server["http_client"] = openai.DefaultAsyncHttpxClient(trust_env=not own, event_hooks=hooks)
        self._sdk = openai.AsyncOpenAI(max_retries=0, **server)  # our retries are bounded
        self.process = os.getpid()
        weakref.finalize(self, _close, self._sdk, _loop()).atexit = False

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """The body of a chat completion; raises as `body` does."""
        # As they are: the SDK knows not all parameters that servers take.
        rest = {name: value for name, value in request.items() if name not in ("model", "messages")}
        model, messages = request["model"], request["messages"]

        def send(sdk: AsyncOpenAI) -> AbstractAsyncContextManager[Any]:
            return sdk.chat.completions.with_streaming_response.create(model=model, messages=messages, extra_body=rest)

        return self.body(send, seconds)

    def body(self, send: Open, seconds: float, times: int = 1) -> bytes:
        """The body of the reply to one try, which ends after so many seconds whatever the server does.

        send: one of the SDK's `with_streaming_response` calls. times: of MOST_BYTES that the body may have. Raises
        TimeoutError, BadBody for what is no HTTP, NotThisApi for a longer body, and the SDK's errors, its
        APITimeoutError where it was connecting that took too long.
        """
        import openai

        sdk = self._sdk.with_options(timeout=openai.Timeout(None, connect=seconds))
        future = asyncio.run_coroutine_threadsafe(_within(send(sdk), seconds + SPARE, times * MOST_BYTES), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C came: the request ends, too
            raise


def is_page(body: bytes) -> bool:
    """Whether a body is a web page, or other markup: what a server sends where it has no API at this address."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def body_json(body: bytes) -> Any:
    """What a body holds. Raises BadBody."""
    if is_page(body):
        raise WebPage("a web page, and no answer of a model")
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, a number of 5,000 digits, a depth of 5,000
        raise BadBody(f"no JSON in UTF-8: {error}") from None


async def _within(sending: AbstractAsyncContextManager[Any], seconds: float, most: int) -> bytes:
    import openai

    body, redirected = bytearray(), ""
    try:
        async with asyncio.timeout(seconds), sending as response:
            async for part in response.iter_bytes():
                body += part
                if len(body) > most:
                    raise NotThisApi(f"the body has more than {most:,} bytes")
    except (openai.OpenAIError, BadBody, TimeoutError, MemoryError):
        raise
    except Redirected as error:
        redirected = str(error)
    # A body that breaks off, a packing that is none, a redirect to no address: for these the SDK has no error.
    except Exception as error:
        raise BadBody(f"{type(error).__name__}: {error}") from None
    if redirected:  # here, without a context that holds the request, and with it the key
        raise Redirected(redirected)
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
    """In a forked child: a lock that a parent's thread held would stay locked."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forget)
