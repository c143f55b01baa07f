"""A server that answers with junk of every kind, and what becomes of a run that meets it.

A kind of junk belongs to one of three groups, by what must become of an episode whose question gets nothing else:

    broken     no answer of a model: the episode is not measured, and played again once the server is mended
    malformed  an answer of a model that is none: asked again, then the episode has failed; it is never cached
    harmless   an answer, with junk around it that says nothing: the episode is scored

Each kind is tried on one task of a run, the first; the others are scored whatever happens to it.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from asking import Asking
from faults import cached_values
from lab.machine.faults import Unavailable
from lab.models import backbone as accounting
from lab.models import client
from lab.runs.collecting import collect
from lab.runs.experiment import Results

TASKS, POISON = 6, 0  # tasks of a run, a question each, and which of them meets the junk
TIMEOUT, PATIENCE = 0.4, 0.7  # seconds
TOO_LONG = 6.0  # seconds of a run of which one question is given up after PATIENCE
ENDLESS = 12.0, 400 * 2**20  # seconds and bytes after which junk ends, so that a client that takes it all survives
TRUTH = {"shelf": 50, "why": "it is free, and near the door"}
TEXT = json.dumps(TRUTH)
RIGHT = {"shelves": [TRUTH["shelf"]]}
BOX = re.compile(r"Box (\d+)")

Send = Callable[[socket.socket], None]


@dataclass(frozen=True)
class Junk:
    """A kind of junk: its name, its group, and what is written to the client's socket."""

    name: str
    group: str
    send: Send


def packet(body: bytes, status: str = "200 OK", length: int | None = None, **headers: str) -> bytes:
    """A response. length: what the header says, where it is not the truth; -1 for no such header."""
    told = {"Content-Type": "application/json", "Content-Length": str(len(body) if length is None else length)}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in told.items() if (name, value) != ("Content-Length", "-1")]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body


def completion(content: Any = TEXT, usage: Any = None, **choice: Any) -> bytes:
    """The body of a completion; usage and choice as given, be it junk."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3} if usage is None else usage
    whole = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | choice
    return json.dumps({"object": "chat.completion", "choices": [whole], "usage": usage}).encode()


GOOD = packet(completion())


def writes(data: bytes) -> Send:
    return lambda connection: connection.sendall(data)


def drips(data: bytes, at_once: int = 0, pause: float = 0.05) -> Send:
    """A byte at a time, the first ones at once."""

    def send(connection: socket.socket) -> None:
        connection.sendall(data[:at_once])
        for byte in data[at_once:]:
            time.sleep(pause)
            connection.sendall(bytes([byte]))

    return send


def endless(head: bytes, part: bytes) -> Send:
    """The part again and again, as fast as it goes."""

    def send(connection: socket.socket) -> None:
        connection.sendall(head)
        until, times = time.monotonic() + ENDLESS[0], ENDLESS[1] // len(part)
        while times and time.monotonic() < until:
            connection.sendall(part)
            times -= 1

    return send


def silent(connection: socket.socket) -> None:
    time.sleep(3 * TIMEOUT)


def resets(data: bytes = b"") -> Send:
    def send(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return send


def closes(connection: socket.socket) -> None:
    """Hang up without a word."""


def broken() -> Iterator[tuple[str, Send]]:
    """Faults of the connection, of HTTP, of the body, and of the protocol's envelope."""
    body, page = completion(), b"<!doctype html><html><head><title>Welcome</title></head><body>Hello</body></html>"
    whole = json.loads(body)
    yield from {
        "reset at once": resets(),
        "reset in the headers": resets(GOOD[:30]),
        "reset in the body": resets(GOOD[:-20]),
        "closed without a word": closes,
        "closed in the headers": writes(GOOD[:40]),
        "silence": silent,
        "silence after the headers": lambda c: (c.sendall(GOOD[:-20]), silent(c))[0],
        "a dripping body": drips(GOOD, at_once=len(GOOD) - 60),
        "dripping headers": drips(GOOD),
        "dripping chunks": drips(
            packet(b"", length=-1, Transfer_Encoding="chunked") + b"1\r\n \r\n" * 200, at_once=110
        ),
        "endless 100 Continue": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "endless headers": endless(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        "an endless body": endless(
            packet(b"1\r\n{\r\n", length=-1, Transfer_Encoding="chunked"), b"10000\r\n" + b" " * 65536 + b"\r\n"
        ),
    }.items()
    raw = {
        "no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n",
        "binary noise": bytes(range(256)) * 4,
        "TLS to plain": b"\x15\x03\x03\x00\x02\x02\x28",
        "HTTP/0.9": body,
        "status not a number": packet(body, "OK 200"),
        "status 0": packet(body, "000 Nothing"),
        "status 299 without a body": packet(b"", "299 Odd"),
        "status 204": packet(b"", "204 No Content"),
        "status 206": packet(body[:40], "206 Partial Content", Content_Range="bytes 0-39/200"),
        "status 304": packet(b"", "304 Not Modified"),
        "status 600": packet(b"?", "600 Beyond"),
        "status 999": packet(b"?", "999 Denied"),
        "500": packet(b"oops", "500 Internal Server Error"),
        "500 in invalid UTF-8": packet(b"\xff\xfe{", "500 Internal Server Error"),
        "500 with a list": packet(b"[1, 2]", "500 Internal Server Error"),
        "500 with an error that is a text": packet(b'{"error": "no"}', "500 Internal Server Error"),
        "502 with a page": packet(page, "502 Bad Gateway", Content_Type="text/html"),
        "503 with Retry-After: inf": packet(b"", "503 Busy", Retry_After="inf"),
        "503 with Retry-After: nan": packet(b"", "503 Busy", Retry_After="nan"),
        "503 with Retry-After: -5": packet(b"", "503 Busy", Retry_After="-5"),
        "503 with Retry-After in the year 1": packet(b"", "503 Busy", Retry_After="Mon, 01 Jan 0001 00:00:00 GMT"),
        "503 with Retry-After that is no date": packet(b"", "503 Busy", Retry_After="soon"),
        "503 with Retry-After of a day": packet(b"", "503 Busy", Retry_After="86400"),
        "429 for this request alone": packet(b'{"error": {"message": "too large"}}', "429 Too Many Requests"),
        "403 for this request alone": packet(page, "403 Forbidden", Content_Type="text/html"),
        "404 for this request alone": packet(b"{}", "404 Not Found"),
        "400": packet(b'{"error": {"message": "no", "code": [1], "type": {}}}', "400 Bad Request"),
        "413": packet(b"", "413 Too Large"),
        "418 with NUL bytes": packet(b"\0\0\0", "418 Teapot"),
        "a redirect to itself": packet(b"", "307 Temporary Redirect", Location="/v1/chat/completions"),
        "a redirect to no address": packet(b"", "307 Temporary Redirect", Location="http://[bad"),
        "a redirect to another scheme": packet(b"", "307 Temporary Redirect", Location="file:///etc/passwd"),
        "a redirect to nowhere": packet(b"", "302 Found"),
        "content-length too long": packet(body, length=len(body) + 50),
        "content-length too short": packet(body, length=len(body) - 20),
        "content-length negative": packet(body, length=-5),
        "content-length no number": GOOD.replace(b"Content-Length: ", b"Content-Length: x"),
        "two content-lengths": GOOD.replace(b"Content-Length", b"Content-Length: 3\r\nContent-Length", 1),
        "chunks of no size": packet(b"zz\r\nhello\r\n", length=-1, Transfer_Encoding="chunked"),
        "chunks that end early": packet(b"ffff\r\n" + body, length=-1, Transfer_Encoding="chunked"),
        "bad gzip": packet(b"no gzip at all", Content_Encoding="gzip"),
        "half a gzip": packet(gzip.compress(body)[:40], Content_Encoding="gzip"),
        "gzip of a wrong checksum": packet(gzip.compress(body)[:-8] + b"\0" * 8, Content_Encoding="gzip"),
        "bad deflate": packet(b"\x78\x9c\xff\xff", Content_Encoding="deflate"),
        "a gzip bomb": packet(gzip.compress(bytes(80 * 2**20)), Content_Encoding="gzip"),
        "packed twice, said once": packet(gzip.compress(gzip.compress(body)), Content_Encoding="gzip"),
        "a header of NUL": GOOD.replace(b"Content-Type: ", b"Content-Type: \0"),
        "a header without a colon": GOOD.replace(b"\r\n", b"\r\nnonsense\r\n", 1),
        "a header of 200 kB": GOOD.replace(b"\r\n", b"\r\nX-Long: " + b"x" * 200_000 + b"\r\n", 1),
    }
    bodies = {
        "an empty body": b"",
        "blanks": b" \n ",
        "a web page as JSON": page,
        "half JSON": body[: len(body) // 2],
        "JSON and more": body + body,
        "invalid UTF-8 in the text": body.replace(b"door", b"d\xff\xfer"),
        "invalid UTF-8 in the usage": body.replace(b"prompt", b"pr\xc3mpt"),
        "encoded surrogates": body.replace(b"door", b"\xed\xa0\x80"),
        "Latin-1": body.replace(b"door", "Tür".encode("latin-1")),
        "UTF-16": body.decode().encode("utf-16"),
        "NUL bytes": body.replace(b"door", b"d\0r"),
        "depth 100,000": b"[" * 100_000 + b"]" * 100_000,
        "a number of 5,000 digits": body.replace(b"7", b"7" * 5000, 1),
        "null": b"null",
        "a number": b"50",
        "a text": b'"OK"',
        "a list": b"[" + body + b"]",
        "an error with status 200": b'{"error": {"message": "model is loading", "code": 503}}',
        "XML": b"<?xml version='1.0'?><choices/>",
        "no choices": b'{"choices": []}',
        "choices null": b'{"choices": null}',
        "choices a mapping": json.dumps({"choices": {"0": whole["choices"][0]}}).encode(),
        "a choice null": b'{"choices": [null]}',
        "a choice of the old protocol": json.dumps({"choices": [{"text": json.dumps(TRUTH)}]}).encode(),
        "no message": b'{"choices": [{"finish_reason": "stop"}]}',
        "a message that is a text": json.dumps({"choices": [{"message": json.dumps(TRUTH)}]}).encode(),
        "content a number": completion(50),
        "content a boolean": completion(True),
        "content a mapping": completion(TRUTH),
        "finish_reason error": completion(finish_reason="error"),
        "finish_reason abort": completion(finish_reason="abort"),
        "finish_reason a number": completion(finish_reason=1),
        "finish_reason a list": completion(finish_reason=["stop"]),
    }
    yield from ((name, writes(data)) for name, data in raw.items())
    yield from ((f"body: {name}", writes(packet(data))) for name, data in bodies.items())
    for kind in ("text/html", "text/plain", "", "application/octet-stream"):
        yield f"a web page as {kind or 'no type'}", writes(packet(page, Content_Type=kind))


def malformed() -> Iterator[tuple[str, Send]]:
    """Texts that are no answer, or have lost their end, and are said to be whole."""
    text, indented = json.dumps(TRUTH), json.dumps(TRUTH, indent=1)
    swapped = json.dumps({"why": TRUTH["why"], "shelf": 50})
    texts = {
        "empty": "",
        "null": None,
        "blanks": " \n",
        "cut before the last brace": text[:-1],
        "cut in a number": swapped[:-2],
        "cut after a number": swapped[:-1],
        "cut in a text": text[:-8],
        "cut in a text, at a brace": json.dumps(TRUTH | {"why": "put {it}"})[:-3],
        "cut in a key": text[:14],
        "cut, in a fence": f"```json\n{indented[:-2]}",
        "cut, fence closed": f"```json\n{indented[:-2]}\n```",
        "cut, of a list": f"[{text}",
        "cut, as Python writes it": repr(TRUTH)[:-1],
        "cut in a thought": f"<think>perhaps {text}, or",
        "a number": "50",
        "half a number": "5",
        "prose": "The fiftieth shelf, I would say.",
        "a web page": "<!doctype html><html><body>Bad gateway</body></html>",
        "another schema": '{"answer": 50}',
        "a field too many": json.dumps(TRUTH | {"also": 1}),
        "a wrong type": '{"shelf": "fifty", "why": "x"}',
        "NaN": '{"shelf": NaN, "why": "x"}',
        "Infinity": '{"shelf": Infinity, "why": "x"}',
        "a shelf of 5,000 digits": '{"shelf": ' + "9" * 5000 + ', "why": "x"}',
        "two answers in a list": f"[{text}, {swapped.replace('50', '5')}]",
        "deep": '{"shelf": ' + "[" * 5000 + "]" * 5000 + ', "why": "x"}',
        "the same for ever": '{"why": "' + "free " * 10_000,
        "a lone surrogate": "\ud800",
        "NUL bytes": "\0" * 50,
    }
    yield from ((f"text: {name}", writes(packet(completion(said)))) for name, said in texts.items())
    yield (
        "a refusal",
        writes(packet(completion(None, message={"content": None, "refusal": "I cannot help with that."}))),
    )
    yield "content_filter", writes(packet(completion("", finish_reason="content_filter")))
    for reason in ("length", "max_tokens", "model_length"):
        yield f"a whole answer that ended by {reason}", writes(packet(completion(finish_reason=reason)))


def harmless() -> Iterator[tuple[str, Send]]:
    """Answers with junk around them."""
    usages = {
        "negative": {"prompt_tokens": -5000, "completion_tokens": -9},
        "NaN": {"prompt_tokens": math.nan, "completion_tokens": math.nan},
        "infinite": {"prompt_tokens": math.inf, "completion_tokens": 3},
        "texts": {"prompt_tokens": "7", "completion_tokens": "many"},
        "booleans": {"prompt_tokens": True, "completion_tokens": False},
        "fractions": {"prompt_tokens": 7.5, "completion_tokens": 3.5},
        "nested": {"prompt_tokens": {"total": 7}, "completion_tokens": [3]},
        "null counts": {"prompt_tokens": None, "completion_tokens": None},
        "enormous": {"prompt_tokens": 10**30, "completion_tokens": 10**300},
        "half there": {"prompt_tokens": 7},
        "a list": [7, 3],
        "a text": "seven",
        "a number": 10,
        "false": False,
        "other names": {"input": 7, "output": 3},
    }
    yield from ((f"usage: {name}", writes(packet(completion(usage=usage)))) for name, usage in usages.items())
    body = completion()
    yield from {
        "server-sent events": writes(packet(b"data: " + body + b"\n\ndata: [DONE]\n\n")),
        "content a list of parts": writes(packet(completion([{"type": "text", "text": TEXT}]))),
        "a byte order mark": writes(packet(b"\xef\xbb\xbf" + body)),
        "no finish_reason": writes(packet(completion(finish_reason=None))),
        "an unknown finish_reason": writes(packet(completion(finish_reason="eos_token"))),
        "a second choice of junk": writes(packet(body.replace(b"}], ", b"}, null], "))),
        "unknown fields": writes(packet(body.replace(b"{", b'{"junk": [[{}]], "id": -1, ', 1))),
        "no content-type": writes(packet(body, Content_Type="")),
        "text/html around JSON": writes(packet(body, Content_Type="text/html; charset=nonsense")),
        "no content-length": writes(packet(body, length=-1)),
        "chunked": writes(packet(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), length=-1, Transfer_Encoding="chunked")),
        "gzip": writes(packet(gzip.compress(body), Content_Encoding="gzip")),
        "deflate": writes(packet(zlib.compress(body), Content_Encoding="deflate")),
        "an unknown packing": writes(packet(body, Content_Encoding="junk")),
        "100 Continue before": writes(b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD),
        "in a fence": writes(packet(completion(f"Sure:\n```json\n{json.dumps(TRUTH)}\n```\nIt's done."))),
        "twice the same": writes(packet(completion(TEXT + TEXT))),
        "single quotes, a last comma": writes(packet(completion(repr(TRUTH)[:-1] + ",}"))),
        "HTTP/9.9": writes(GOOD.replace(b"HTTP/1.1", b"HTTP/9.9")),
        "bytes after the body": writes(GOOD + b"junk"),
    }.items()


@cache
def kinds() -> tuple[Junk, ...]:
    """All of them."""
    groups = (broken, malformed, harmless)
    return tuple(Junk(name, group.__name__, send) for group in groups for name, send in group())


@dataclass(frozen=True, kw_only=True)
class Alone(Asking):
    """Episodes of one question, each a group of its own."""

    questions: int = 1

    def group(self, task: str) -> str:
        return task


class JunkServer:
    """Answers the question about box 0 with junk, as long as there is some, and every other one well."""

    def __init__(self, junk: Junk) -> None:
        self.junk: Junk | None = junk
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def __enter__(self) -> JunkServer:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # ends the accept, which a close does not
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=self._listening.accept()[:1], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """One request, and the connection's end."""
        with suppress(OSError), connection:
            data = b""
            while b"\r\n\r\n" not in data:
                data += _received(connection)
            head, _, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            while len(body) < int(length[1] if length else 0):
                body += _received(connection)
            asked = BOX.search(body.decode())
            if head.startswith(b"GET /v1/models"):
                connection.sendall(packet(b"{}", "404 Not Found"))
            elif self.junk and (asked is None or int(asked[1]) == POISON) and b"OK." not in body:
                self.junk.send(connection)  # also where a redirect has lost the question
            else:
                connection.sendall(packet(completion(), Connection="close"))


def _received(connection: socket.socket) -> bytes:
    if not (part := connection.recv(65536)):
        raise ConnectionError("the client has hung up")
    return part


@dataclass
class Verdict:
    """What became of a run that met a kind of junk: what should not be, by kind of harm; nothing if all is well."""

    junk: Junk
    harm: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, what: str) -> None:
        self.harm.setdefault(kind, []).append(what)


def tried(junk: Junk, folder: Path) -> Verdict:
    """Play a run that meets the junk, then again with the server mended, and judge what became of each episode."""
    verdict, cache, prices = Verdict(junk), folder / "answers.sqlite", folder / "prices.yaml"
    prices.write_text("small: {input: 10, output: 100}\n")
    with JunkServer(junk) as server:
        about = {"OPENAI_BASE_URL": server.address, "LAB_CACHE": cache, "LAB_RUNS": folder}
        settings = {name: str(value) for name, value in about.items()}
        with (
            patch.dict(os.environ, settings),
            patch.object(client, "LONGEST_WAIT", 0.1),
            patch.object(accounting, "PRICES", prices),
        ):
            began = time.monotonic()
            met = _played(verdict)
            if (seconds := time.monotonic() - began) > TOO_LONG:
                verdict.add("hangs", f"{seconds:.1f} s")
            if met:
                _judge(met, verdict)
            server.junk = None
            again = _played(verdict)
    if again:
        _judge_mended(again, verdict)
    for value in cached_values(cache) if cache.exists() else []:
        if json.loads(value["text"]) != TRUTH:
            verdict.add("junk cached", value["text"][:80])
    return verdict


def _played(verdict: Verdict) -> Results[Any] | None:
    setup = Alone(engine=f"small?patience={PATIENCE}&timeout={TIMEOUT}", count=TASKS)
    try:
        with redirect_stderr(io.StringIO()):
            return collect(setup, workers=1, run="run", show_progress=False)
    except Unavailable as error:
        verdict.add("runs stopped", str(error)[:150])
    except Exception as error:
        verdict.add("crashes", f"{type(error).__name__}: {error}"[:150])
    return None


def _judge(met: Results[Any], verdict: Verdict) -> None:
    should = {"broken": "not measured", "malformed": "failed", "harmless": "scored"}[verdict.junk.group]
    for number in range(TASKS):
        task = f"{number:03d}"
        episode, why = met.episodes.get(task), met.not_measured.get(task, "")
        state = "not measured" if episode is None else "failed" if episode.failed else "scored"
        if episode and not episode.failed and (episode.result != RIGHT or (number == POISON and should != "scored")):
            verdict.add("junk accepted", f"{task}: {episode.result}")
        elif state != (should if number == POISON else "scored"):
            said = (episode.error if episode else why) or "?"
            verdict.add("episodes lost", f"{task} is {state}: {said.strip().splitlines()[-1][:150]}")
    for totals in (totals for took in met.usage.values() for totals in took.values()):
        amounts = [totals["tokens_in"], totals["tokens_out"], totals["usd"] or 0.0]
        if not all(isinstance(amount, int | float) and 0 <= amount < 1e6 for amount in amounts):
            verdict.add("wrong totals", str(amounts))


def _judge_mended(again: Results[Any], verdict: Verdict) -> None:
    for number in range(TASKS):
        episode = again.episodes.get(f"{number:03d}")
        stays = verdict.junk.group == "malformed" and number == POISON  # what the agent failed has failed
        if episode is None or (episode.failed if not stays else not episode.failed):
            verdict.add("episodes lost", f"{number:03d} with the server mended: {episode and episode.error}"[-200:])
