"""A Hugging Face hub with one dataset, as far as `snapshot_download` asks it."""

from __future__ import annotations

import hashlib
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0" * 39 + "1"


class Hub:
    """Serves the files below a folder as one dataset. broken: paths that it answers with an error, so many times."""

    def __init__(self, folder: Path, broken: dict[str, int] | None = None) -> None:
        self.folder, self.broken, self.asked = folder, broken or {}, []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def files(self) -> dict[str, Path]:
        return {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*") if path.is_file()}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *arguments: Any) -> None:
        self.hub = hub
        super().__init__(*arguments)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        if body:
            self.hub.asked.append(path)
        files = self.hub.files()
        if path.startswith("/api/datasets/") and "/tree/" in path:
            self._send([{"type": "file", "path": name, "size": file.stat().st_size, "oid": _oid(file)}
                        for name, file in files.items()], body)  # fmt: skip
        elif path.startswith("/api/datasets/"):
            siblings = [{"rfilename": name} for name in files]
            self._send({"id": "a/b", "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}, body)
        else:
            name = path.split(f"/resolve/{COMMIT}/")[-1]
            self._file(files.get(name), name, body)

    def _file(self, file: Path | None, name: str, body: bool) -> None:
        if body and self.hub.broken.get(name, 0):
            self.hub.broken[name] -= 1
            self.send_error(404)
        elif file is None:
            self.send_error(404)
        else:
            headers = {"ETag": f'"{_oid(file)}"', "X-Repo-Commit": COMMIT}
            self._bytes(file.read_bytes(), headers, body)

    def _send(self, value: Any, body: bool) -> None:
        self._bytes(json.dumps(value).encode(), {"Content-Type": "application/json"}, body)

    def _bytes(self, data: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(200)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


def _oid(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()
