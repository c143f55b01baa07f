"""Pages fetched from allowed hosts alone, bounded in size, time and redirects.

A host is allowed by being in a table of hosts, which says at which address it is served: no name is ever looked up, so
nothing else can be reached, whatever a page or a redirect says. Every redirect is checked as the first address is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, responses
from ipaddress import ip_address
from socket import SHUT_RDWR
from threading import Event, Timer
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from worlds.base import WorldDied

REDIRECTS = (301, 302, 303, 307, 308)
MOST_TOLD = 200  # characters of an address in an error
PRIVATE_NAMES = ("localhost", ".localhost", ".local", ".internal")

Address = tuple[str, int]  # as sockets take it


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: of one request, from connecting to the last byte. size: bytes of a page. redirects: of one scrape."""

    seconds: float = 3.0
    size: int = 1_000_000
    redirects: int = 5


class Fetched(NamedTuple):
    """html: "" where `error` says why there is none. address: where the redirects led."""

    address: str
    html: str = ""
    error: str = ""


class Answer(NamedTuple):
    """What a server answered to one request. error: why there is no whole body."""

    status: int
    kind: str
    location: str
    body: bytes
    error: str = ""


def fetch(url: str, hosts: Mapping[str, Address], limits: Limits) -> Fetched:
    """The HTML at an address, or why there is none. Raises WorldDied if nobody serves an allowed host."""
    seen, at = list[str](), url
    while True:
        error = refusal(at, hosts)
        if not error and at in seen:
            error = f"it redirects in a circle, by way of {told(at)}"
        elif not error and len(seen) > limits.redirects:
            error = f"it redirects more than {limits.redirects} times"
        if error:
            return Fetched(at, error=f"redirected to {told(at)}: {error}" if seen and at not in seen else error)
        seen.append(at)
        answer = request(at, hosts[host_of(at)], limits)
        if answer.status not in REDIRECTS or not answer.location:
            return Fetched(at, text_of(answer), fault_of(answer))
        try:
            at = urljoin(at, answer.location).partition("#")[0]
        except ValueError:
            return Fetched(at, error=f"redirected to {told(answer.location)}, which is no address")


def refusal(url: str, hosts: Mapping[str, Address]) -> str:
    """Why an address is not fetched, "" if it may be."""
    try:
        scheme, host = urlsplit(url).scheme, host_of(url)
    except ValueError:
        return f"{told(url)} is no address"
    if scheme != "http" or not host or not url.isascii() or not url.isprintable() or " " in url:
        return f"{told(url)} is no address that can be fetched; give one that a search found"
    if host in hosts:
        return ""
    return f"{host} is a private address, which is never fetched" if is_private(url) else f"{host} is no allowed host"


def told(text: str) -> str:
    """What a stranger wrote, as errors show it: in quotes and short, so that it cannot pass for their own words."""
    return repr(text[:MOST_TOLD])


def host_of(url: str) -> str:
    """Host and port as the address has them; a user's name belongs to them, so that it matches no allowed host."""
    return urlsplit(url).netloc.lower()


def is_private(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    try:
        return not ip_address(name).is_global
    except ValueError:
        return name == PRIVATE_NAMES[0] or name.endswith(PRIVATE_NAMES[1:])


def request(url: str, address: Address, limits: Limits) -> Answer:
    """One request and its answer. Raises WorldDied if nobody listens at the address."""
    parts = urlsplit(url)
    connection = HTTPConnection(*address, timeout=limits.seconds)
    try:
        connection.connect()
    except OSError as error:
        raise WorldDied(f"nobody serves {parts.netloc} at {address[0]}:{address[1]} ({error})") from error
    # A time-out of the socket is of one read, and a server that sends a byte a second would never meet it.
    late = Event()
    timer = Timer(limits.seconds, cut, [connection, late])
    timer.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Host": parts.netloc, "Accept": "text/html"})
        response = connection.getresponse()
        body = response.read(limits.size + 1)
        header = response.headers.get
        answer = Answer(response.status, header("Content-Type", ""), header("Location", ""), body)
        if len(body) > limits.size:
            return answer._replace(error=f"the page has more than {limits.size:,} bytes")
        if response.length and not late.is_set():
            return answer._replace(error="the connection broke off in the middle of the page")
    except (OSError, HTTPException) as error:
        answer = Answer(0, "", "", b"", f"the connection broke off ({type(error).__name__})")
        if isinstance(error, TimeoutError):  # the socket's, which may come just before the timer
            late.set()
    finally:
        timer.cancel()
        connection.close()
    return answer._replace(error=f"no whole answer within {limits.seconds:g} seconds") if late.is_set() else answer


def cut(connection: HTTPConnection, late: Event) -> None:
    """End a connection from another thread: who reads from it gets the end of the data."""
    late.set()
    try:
        if connection.sock is not None:
            connection.sock.shutdown(SHUT_RDWR)
    except OSError:  # it ended by itself
        pass


def fault_of(answer: Answer) -> str:
    """Why an answer is no page, "" if it is one."""
    if answer.error:
        return answer.error
    if answer.status != 200:
        return f"the server answered {answer.status} {responses.get(answer.status, '')}".rstrip()
    kind = answer.kind.partition(";")[0].strip().lower()
    return "" if kind in ("text/html", "text/plain", "application/xhtml+xml", "") else f"it is no page but {told(kind)}"


def text_of(answer: Answer) -> str:
    if fault_of(answer):
        return ""
    charset = answer.kind.partition("charset=")[2].strip(" \"'") or "utf-8"
    try:
        return answer.body.decode(charset, "replace")
    except LookupError:  # no such encoding
        return answer.body.decode("utf-8", "replace")
