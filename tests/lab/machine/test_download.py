"""Downloads that are interrupted, over a server of our own on the loopback address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.machine.download import DownloadFailed, download

BODY = bytes(range(256)) * 40
OTHER = BODY[::-1]
QUIET: list[str] = []


class FlakyServer(BaseHTTPRequestHandler):
    """Serves `body`, but breaks the connection half-way through the first answer, after which `then` is served.

    version: the headers that tell a body's version, given its ETag. asked: the byte ranges.
    """

    body = then = BODY
    version: dict[str, str] = {}
    asked: list[str | None] = []
    understands_ranges = True

    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404)
            return
        here, span = type(self), self.headers.get("Range")
        here.asked.append(span)
        body = self.body
        version = {name: text.format(hash(body)) for name, text in self.version.items()}
        same = self.headers.get("If-Range") in version.values()
        start = int(span[6:-1]) if span and same and self.understands_ranges else 0
        if start == len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{start}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        for name, text in version.items():
            self.send_header(name, text)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start : len(body) // 2] if len(self.asked) == 1 else body[start:])
        here.body = self.then

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    FlakyServer.body = FlakyServer.then = BODY
    FlakyServer.asked, FlakyServer.understands_ranges = [], True
    FlakyServer.version = {"ETag": '"{}"'}
    with ThreadingHTTPServer(("127.0.0.1", 0), FlakyServer) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


DATED = {"ETag": 'W/"{}"', "Last-Modified": "Sun, 22 Nov 2026 {} GMT"}


@pytest.mark.parametrize("version", [{"ETag": '"{}"'}, DATED], ids=["tag", "date"])
def test_an_interrupted_download_goes_on_where_it_stopped(server: str, version: dict[str, str], tmp_path: Path) -> None:
    FlakyServer.version = version
    said: list[str] = []
    download(f"{server}/file", tmp_path / "file", said.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and [path.name for path in tmp_path.iterdir()] == ["file"]
    assert FlakyServer.asked == [None, f"bytes={len(BODY) // 2}-"] and len(said) == 1


@pytest.mark.parametrize("version", [{"ETag": '"{}"'}, DATED, {}], ids=["tag", "date", "neither"])
def test_a_file_that_changes_between_two_tries_is_fetched_from_its_start(
    server: str, version: dict[str, str], tmp_path: Path
) -> None:
    FlakyServer.version, FlakyServer.then = version, OTHER
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == OTHER


def test_a_server_without_ranges_starts_over(server: str, tmp_path: Path) -> None:
    FlakyServer.understands_ranges = False
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY


@pytest.mark.parametrize("kept", [1000, len(BODY)])
def test_a_part_left_by_an_earlier_call_is_used_if_its_version_is_known(server: str, kept: int, tmp_path: Path) -> None:
    FlakyServer.asked.append(None)
    (tmp_path / "file.part").write_bytes(BODY[:kept])
    (tmp_path / "file.part.version").write_text(f'"{hash(BODY)}"')
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and FlakyServer.asked[1:] == [f"bytes={kept}-"]


def test_a_part_of_unknown_version_is_not_trusted(server: str, tmp_path: Path) -> None:
    FlakyServer.asked.append(None)
    (tmp_path / "file.part").write_bytes(OTHER[:1000])
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and FlakyServer.asked[1:] == [None]


def test_failures_name_the_address(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="/missing answers 404"):
        download(f"{server}/missing", tmp_path / "file", QUIET.append, pause=0)
    with pytest.raises(DownloadFailed, match="after 2 tries"):
        download("http://127.0.0.1:1/file", tmp_path / "file", QUIET.append, tries=2, pause=0)
    assert not (tmp_path / "file").exists()
