"""Server of the synthetic web on loopback: its pages with their faults.

Every host of the synthetic web is served at one address; the request's Host header says which is meant. A browser may
open http://127.0.0.1:PORT/HOST/PATH.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self
from urllib.parse import urlsplit

from worlds.web.faults import Resource
from worlds.web.fetching import Address
from worlds.web.site import Site

LOOPBACK = "127.0.0.1"
SLOW = 30.0  # seconds until a slow page is sent; every limit that is worth setting is lower
LARGE = 64 << 20  # bytes that follow a page without an end in sight
CHUNK = b"<!-- " + b"." * 65_000 + b" -->\n"
PAGE = "text/html; charset=utf-8"


class Listener(ThreadingHTTPServer):
    """Threads in dozens may ask at once: with the usual five in the queue, the others would wait a second."""

    request_queue_size = 128


class Server:
    """Serves a site in threads of this process while it is open; a context manager."""

    def __init__(self, site: Site, slow: float = SLOW) -> None:
        """slow: seconds that slow pages take."""
        self.site, self.slow = site, slow
        self.closing = Event()
        self._http = Listener((LOOPBACK, 0), handler(self))
        self._thread = Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        return LOOPBACK, self._http.server_address[1]

    @property
    def hosts(self) -> dict[str, Address]:
        """Where each host of the site is served."""
        return dict.fromkeys(self.site.hosts, self.address)

    def close(self) -> None:
        """Stop serving; slow answers that are under way are dropped."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    """The class of the requests of one server."""

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # without a buffer, headers and body go as two packets, and the second waits 40 ms
        timeout = 60

        def do_GET(self) -> None:
            resource = server.site.resources.get(asked_for(self.headers.get("Host", ""), self.path))
            if resource is None or resource.fault == "dead":
                self._send(404, "<h1>Not found</h1>")
            elif resource.fault == "forbidden":
                self._send(403, "<h1>Access denied</h1>")
            elif resource.location:
                self._send(302, "", {"Location": resource.location})
            elif resource.fault == "slow" and server.closing.wait(server.slow):
                self.close_connection = True
            elif resource.fault == "large":
                self._send_large(resource)
            else:
                self._send(200, resource.html)

        def _send(self, status: int, body: str, headers: Mapping[str, str] | None = None) -> None:
            data = body.encode()
            self._head(status, {"Content-Length": str(len(data))} | dict(headers or {}))
            self.wfile.write(data)

        def _send_large(self, resource: Resource) -> None:
            data = resource.html.encode()
            self._head(200, {"Content-Length": str(len(data) + LARGE)})
            try:
                self.wfile.write(data)
                for _ in range(LARGE // len(CHUNK)):
                    self.wfile.write(CHUNK)
            except OSError:  # the reader has had enough
                pass
            self.close_connection = True

        def _head(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", PAGE)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    return Request


def asked_for(host: str, path: str) -> str:
    """The address in the synthetic web that a request means, without its query."""
    plain = urlsplit(path).path
    # From a browser, the first part of the path names the host.
    return f"http:/{plain}" if host.startswith(LOOPBACK) else f"http://{host.lower()}{plain}"
