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
QUIET: list[str] = []


class FlakyServer(BaseHTTPRequestHandler):
    """Serves BODY, but breaks the connection half-way through the first answer. asked: the byte ranges."""

    asked: list[str | None] = []
    understands_ranges = True

    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404)
            return
        span = self.headers.get("Range")
        self.asked.append(span)
        start = int(span[6:-1]) if span and self.understands_ranges else 0
        if start >= len(BODY):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(BODY)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        self.wfile.write(BODY[start : len(BODY) // 2] if len(self.asked) == 1 else BODY[start:])

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    FlakyServer.asked, FlakyServer.understands_ranges = [], True
    with ThreadingHTTPServer(("127.0.0.1", 0), FlakyServer) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_an_interrupted_download_goes_on_where_it_stopped(server: str, tmp_path: Path) -> None:
    said: list[str] = []
    download(f"{server}/file", tmp_path / "file", said.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and [path.name for path in tmp_path.iterdir()] == ["file"]
    assert FlakyServer.asked == [None, f"bytes={len(BODY) // 2}-"] and len(said) == 1


def test_a_server_without_ranges_starts_over(server: str, tmp_path: Path) -> None:
    FlakyServer.understands_ranges = False
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY


@pytest.mark.parametrize("kept", [1000, len(BODY)])
def test_a_part_left_by_an_earlier_call_is_used(server: str, kept: int, tmp_path: Path) -> None:
    FlakyServer.asked.append(None)
    (tmp_path / "file.part").write_bytes(BODY[:kept])
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and FlakyServer.asked[1:] == [f"bytes={kept}-"]


def test_a_part_that_is_longer_than_the_file_is_fetched_again(server: str, tmp_path: Path) -> None:
    FlakyServer.asked.append(None)
    (tmp_path / "file.part").write_bytes(BODY + b"!")
    download(f"{server}/file", tmp_path / "file", QUIET.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY


def test_failures_name_the_address(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="/missing answers 404"):
        download(f"{server}/missing", tmp_path / "file", QUIET.append, pause=0)
    with pytest.raises(DownloadFailed, match="after 2 tries"):
        download("http://127.0.0.1:1/file", tmp_path / "file", QUIET.append, tries=2, pause=0)
    assert not (tmp_path / "file").exists()
