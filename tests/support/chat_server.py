"""A small real server on the loopback that speaks the chat-completions protocol and misbehaves as it is told.

    with ChatServer() as server:
        server.script(status(429, retry_after="0"), answer({"choice": 3}))    # one behaviour a request, in order
        server.behave(lambda request: answer({"choice": 3}))                  # then a function of the request

A behaviour is a `Response`; the functions below name the usual ones. Every request is counted and kept.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client sent: the parsed body, its headers, and which request of the server's life it is, from 0."""

    body: dict[str, Any]
    headers: dict[str, str]
    number: int

    @property
    def text(self) -> str:
        """The contents of all messages."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass(frozen=True)
class Response:
    """What the server does. cut: bytes of the body that are sent of those announced. reset: hang up, without a word."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    reset: bool = False


Behaviour = Callable[[Request], Response]


def models(*names: str) -> Response:
    """A list of models."""
    return Response(body=json.dumps({"data": [{"id": name, "object": "model"} for name in names]}).encode())


def says(
    content: str | None, finish_reason: str = "stop", refusal: str | None = None, usage: dict[str, int] | None = None,
    **about: Any,
) -> Response:  # fmt: skip
    """A well-formed completion with this text; 7 tokens in and 3 out unless `usage` says otherwise ({}: not told)."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage != {}:
        completion["usage"] = usage or {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Response(body=json.dumps(completion).encode(), **about)


def answer(value: Any, **about: Any) -> Response:
    """The value as JSON, and nothing beside it."""
    return says(json.dumps(value), **about)


def in_prose(value: Any) -> Response:
    """The value in a code fence, with friendly words around it."""
    return says(f"Sure! Here is what you asked for:\n```json\n{json.dumps(value, indent=1)}\n```\nAnything else?")


def empty() -> Response:
    return says("")


def refuses() -> Response:
    return says(None, refusal="I cannot help with that.")


def cut_by_length(text: str) -> Response:
    """A text that ran into the limit of tokens."""
    return says(text, finish_reason="length")


def status(code: int, message: str = "no", retry_after: str | None = None, kind: str | None = None) -> Response:
    """An error in the protocol's form."""
    body = {"error": {"message": message, "type": kind, "code": kind, "param": None}}
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Response(code, json.dumps(body).encode(), headers)


def busy_until(seconds: float) -> Response:
    """429 with Retry-After as an HTTP date."""
    return status(429, "busy", retry_after=formatdate(time.time() + seconds, usegmt=True))


def out_of_quota() -> Response:
    return status(429, "You exceeded your current quota", kind="insufficient_quota")


def echoes_key(request: Request) -> Response:
    """401 that quotes the Authorization header, as careless proxies do."""
    return status(401, f"Incorrect credentials: {request.headers.get('authorization')}")


def cut_off_body(value: Any) -> Response:
    """Headers that announce the whole body, half of it, and the end of the connection."""
    whole = answer(value)
    return Response(body=whole.body, cut=len(whole.body) // 2)


def no_json() -> Response:
    return Response(body=b"<html>Bad gateway, but status 200</html>", headers={"Content-Type": "text/html"})


def resets() -> Response:
    return Response(reset=True)


class ChatServer:
    """The server. `address` is what OPENAI_BASE_URL wants; `requests` are those it got, oldest first."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self._behaviour: Behaviour = behaviour or (lambda request: answer({}))
        self._script: Iterator[Response | Behaviour] = iter(())
        self.requests: list[Request] = []
        self.paths: list[str] = []  # of the requests, with their queries
        self.listing = status(404)  # what GET /models gives
        self._lock = threading.Lock()
        self._server = _Quiet(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, *steps: Response | Behaviour) -> None:
        """The next requests get these, one each; after them `behave` holds again."""
        self._script = iter(steps)

    def behave(self, behaviour: Behaviour) -> None:
        """What every request gets that the script does not cover."""
        self._behaviour = behaviour

    @property
    def count(self) -> int:
        return len(self.requests)

    def respond(self, body: dict[str, Any], headers: dict[str, str]) -> Response:
        """Book a request and say what to do with it."""
        with self._lock:
            request = Request(body, headers, len(self.requests))
            self.requests.append(request)
            step = next(self._script, self._behaviour)
        return step if isinstance(step, Response) else step(request)

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a slow answer that nobody waits for must not hold the test
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is none of our errors."""


def _handler(chat: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or a kept connection waits 40 ms for every answer

        def do_GET(self) -> None:
            """The list of models, which counts as no request."""
            self._send(chat.listing)

        def do_POST(self) -> None:
            chat.paths.append(self.path)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = chat.respond(body, {name.lower(): value for name, value in self.headers.items()})
            time.sleep(response.delay)
            self._reset() if response.reset else self._send(response)

        def _send(self, response: Response) -> None:
            headers = {"Content-Type": "application/json", "Content-Length": str(len(response.body))}
            self.send_response(response.status)
            for name, value in (headers | response.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.body[: response.cut])
            self.close_connection = response.cut is not None

        def _reset(self) -> None:
            # Linger 0 makes the kernel send RST instead of a polite FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr: tests read it."""

    return Handler
