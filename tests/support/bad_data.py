"""Damaged data folders and a server of damaged downloads, for the tests and for benchmarks/campaign_bad_data.py."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = b"<!DOCTYPE html><html><body>Sorry, too many downloads today.</body></html>"
BOMB = 300 << 20  # bytes

# --- folders ------------------------------------------------------------------------------------------------------


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change what is in a file, packed again if it was packed."""
    packed = path.suffix == ".gz"
    content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    changed = change(content)
    path.write_bytes(gzip.compress(changed, mtime=0) if packed else changed)


def half_the_rows(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    if len(lines) == 1:  # a JSON of one object
        return json.dumps(dict(list(json.loads(content).items())[::2])).encode()
    return b"".join(lines[: len(lines) // 2])


def one_letter(content: bytes) -> bytes:
    """One digit or letter becomes another, so that rows and length stay."""
    place = next(place for place in range(len(content) // 2, len(content)) if content[place : place + 1].isalnum())
    other = b"7" if content[place : place + 1] != b"7" else b"8"
    return content[:place] + other + content[place + 1 :]


def bombed(path: Path) -> None:
    with gzip.open(path, "wb", 9) if path.suffix == ".gz" else open(path, "wb") as file:
        for _ in range(BOMB >> 20):
            file.write(bytes(1 << 20))


def linked(path: Path, to: str) -> None:
    path.unlink()
    path.symlink_to(to)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dated_back(path: Path) -> None:
    """Changed, with the size and the time that it had."""
    before = path.stat()
    path.write_bytes(one_letter(path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


FILE_DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "no rows": lambda path: rewritten(path, lambda content: b""),
    "one row": lambda path: rewritten(path, lambda content: content.splitlines(keepends=True)[0]),
    "half the rows": lambda path: rewritten(path, half_the_rows),
    "rows twice": lambda path: rewritten(path, lambda content: content + content),
    "another letter": lambda path: rewritten(path, one_letter),
    "another letter, dated back": dated_back,
    "half the bytes": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "last bytes cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "bytes behind": lambda path: path.write_bytes(path.read_bytes() + b"\0junk"),
    "a page": lambda path: path.write_bytes(PAGE),
    "a page, packed": lambda path: rewritten(path, lambda content: PAGE),
    "NUL bytes": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "no UTF-8": lambda path: rewritten(path, lambda content: content[:50] + b"\xff\xfe" + content[52:]),
    "a bomb": bombed,
    "a folder": as_folder,
    "a link to nowhere": lambda path: linked(path, "nowhere"),
    "a loop of links": lambda path: linked(path, path.name),
}

# --- downloads ----------------------------------------------------------------------------------------------------


class Mirror:
    """Serves `files` (path -> bytes), one of them, `bad`, in the manner `how` names until it is set to ""."""

    def __init__(self, files: Mapping[str, bytes], bad: str = "", how: str = "") -> None:
        self.files, self.bad, self.how = files, bad, how
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Mirror:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


Raw = tuple[str, list[tuple[str, str]], bytes]  # status, headers, body


def _length(body: bytes) -> tuple[str, str]:
    return "Content-Length", str(len(body))


def _page(body: bytes, kind: str = "text/html") -> Raw:
    return "200 OK", [("Content-Type", kind), _length(body)], body


def _chunked(body: bytes, end: bytes) -> Raw:
    return "200 OK", [("Transfer-Encoding", "chunked")], f"{len(body):x}\r\n".encode() + body + end


# What comes instead of the body that was asked for. Every one names a version, so that a part could be gone on with.
HOW: Mapping[str, Callable[[bytes], Raw]] = {
    "a page": lambda body: _page(PAGE),
    "a page called a file": lambda body: _page(PAGE, "application/octet-stream"),
    "a page after blanks": lambda body: _page(b"\xef\xbb\xbf\n\n  " + PAGE),
    "a page in UTF-16": lambda body: _page(PAGE.decode().encode("utf-16")),
    "a page without length": lambda body: ("200 OK", [], PAGE),
    "a page in chunks": lambda body: _chunked(PAGE, b"\r\n0\r\n\r\n"),
    "an XML error": lambda body: _page(b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "text/xml"),
    "a JSON error": lambda body: _page(b'{"error": "rate limited"}', "application/json"),
    "an error in words": lambda body: _page(b"Not found", "text/plain"),
    "nothing": lambda body: _page(b""),
    "204": lambda body: ("204 No Content", [], b""),
    "202 and a page": lambda body: ("202 Accepted", [_length(PAGE)], PAGE),
    "203 and half": lambda body: ("203 Other", [_length(body[:40])], body[:40]),
    "206 unasked": lambda body: (
        "206 Partial Content", [_length(body[:40]), ("Content-Range", f"bytes 0-39/{len(body)}")], body[:40]
    ),
    "206 unasked, no range": lambda body: ("206 Partial Content", [_length(body[:40])], body[:40]),
    "206 of the middle": lambda body: (
        "206 Partial Content", [_length(body[40:60]), ("Content-Range", f"bytes 40-59/{len(body)}")], body[40:60]
    ),
    "206 of junk": lambda body: ("206 Partial Content", [_length(body), ("Content-Range", "bytes x/y")], body),
    "length too long": lambda body: ("200 OK", [("Content-Length", str(len(body) + 99))], body),
    "length too short": lambda body: ("200 OK", [("Content-Length", str(len(body) - 30))], body),
    "length no number": lambda body: ("200 OK", [("Content-Length", "many")], body[:-30]),
    "length below 0": lambda body: ("200 OK", [("Content-Length", "-5")], body[:-30]),
    "length of a petabyte": lambda body: ("200 OK", [("Content-Length", str(10**15))], body),
    "half, no length": lambda body: ("200 OK", [], body[: len(body) // 2]),
    "half a chunk": lambda body: ("200 OK", [("Transfer-Encoding", "chunked")], b"fffff\r\n" + body[:40]),
    "a chunk of no size": lambda body: ("200 OK", [("Transfer-Encoding", "chunked")], b"zz\r\n" + body),
    "packed unasked": lambda body: (
        "200 OK", [("Content-Encoding", "gzip"), _length(gzip.compress(body))], gzip.compress(body)
    ),
    "packed and cut": lambda body: ("200 OK", [("Content-Encoding", "gzip")], gzip.compress(body)[:-8]),
    "a bomb": lambda body: ("200 OK", [("Content-Encoding", "gzip")], gzip.compress(bytes(20 << 20))),
    "NUL bytes": lambda body: _page(bytes(len(body)), "application/octet-stream"),
    "random bytes": lambda body: _page(bytes(range(128, 256)) * 9, "application/octet-stream"),
    "one byte changed": lambda body: _page(body[: len(body) // 2] + b"\xff" + body[len(body) // 2 + 1 :], "x/y"),
    "to a page": lambda body: ("302 Found", [("Location", "/page"), ("Content-Length", "0")], b""),
    "to itself": lambda body: ("302 Found", [("Location", "?again"), ("Content-Length", "0")], b""),
    "to no host": lambda body: ("302 Found", [("Location", "http://[bad"), ("Content-Length", "0")], b""),
    "to a local file": lambda body: ("302 Found", [("Location", "file:///etc/passwd"), ("Content-Length", "0")], b""),
    "to nowhere": lambda body: ("302 Found", [("Content-Length", "0")], b""),
    "400": lambda body: ("400 Bad Request", [_length(PAGE)], PAGE),
    "403": lambda body: ("403 Forbidden", [_length(PAGE)], PAGE),
    "404": lambda body: ("404 Not Found", [_length(PAGE)], PAGE),
    "416 unasked": lambda body: ("416 Range Not Satisfiable", [_length(b"")], b""),
    "429": lambda body: ("429 Too Many Requests", [_length(b"")], b""),
    "500": lambda body: ("500 Internal Server Error", [_length(PAGE)], PAGE),
    "503": lambda body: ("503 Service Unavailable", [_length(PAGE)], PAGE),
    "status of words": lambda body: ("two hundred", [], body),
    "a long header": lambda body: ("200 OK", [("X-Long", "x" * 70_000), _length(body)], body),
    "hung up": lambda body: ("", [], b""),
    "reset": lambda body: ("reset", [], b""),
}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, mirror: Mirror, *arguments: object) -> None:
        self.mirror = mirror
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/page":
            return self._send(*_page(PAGE))
        body = self.mirror.files[path]
        if self.mirror.how and path == self.mirror.bad:
            return self._send(*HOW[self.mirror.how](body))
        version = f'"{hash(body)}"'
        span = self.headers.get("Range", "") if self.headers.get("If-Range") == version else ""
        start = int(span.removeprefix("bytes=").rstrip("-") or 0)
        if start >= len(body):
            return self._send("416 Range Not Satisfiable", [("Content-Range", f"bytes */{len(body)}")], b"")
        headers = [("ETag", version), _length(body[start:])]
        if start:
            headers.append(("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}"))
        self._send("206 Partial Content" if start else "200 OK", headers, body[start:])

    def _send(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.close_connection = True
        if status == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        head = "".join(f"{name}: {value}\r\n" for name, value in [*headers, ("X-Served", "yes")])
        if status:
            self.wfile.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body)
