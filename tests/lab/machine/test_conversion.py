"""Conversion for OpenVINO: weights as Q8_0, and a converted model that is broken or of another version made again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from pathlib import Path

import gguf
import numpy as np
import pytest

from lab.machine import conversion, weights
from lab.machine.conversion import NotConverted, converted, fault, folder_of, write_q8_0
from lab.machine.weights import Model, WrongHash

WORDS = ["a", "<|im_end|>", "b", "<|endoftext|>"]


def source(path: Path) -> Path:
    """A GGUF file of three tensors: blocks of Q4_0, a row that no block fits, and a norm."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_token_list(WORDS)
    writer.add_eos_token_id(2)
    rows = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    packed = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.Q4_0)
    writer.add_tensor("blocks", packed, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.add_tensor("odd", rows[:, :5].astype(np.float16))
    writer.add_tensor("norm", rows[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model whose file is here, and an OpenVINO that only writes that it was called."""
    monkeypatch.setenv("LAB_MODELS", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    path = source(tmp_path / "models" / "toy.gguf")
    write_q8_0(path, tmp_path / "expected.gguf")
    monkeypatch.setattr(conversion, "version", lambda name: "2026.4")
    saves(monkeypatch, "import sys, pathlib; at = pathlib.Path(sys.argv[1]); at.with_name('openvino_model.bin')"
                       ".write_bytes(at.read_bytes()[:99])")  # fmt: skip
    q8_0 = weights.sha256_of(tmp_path / "expected.gguf")
    return Model("toy", "a toy", "MIT", "answers", {"toy.gguf": weights.sha256_of(path)}, q8_0=q8_0)


def saves(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(conversion, "SAVE", code)


def test_weights_become_q8_0_within_its_precision_and_all_else_stays(tmp_path: Path) -> None:
    ends = write_q8_0(source(tmp_path / "a.gguf"), tmp_path / "b.gguf")
    before, after = (gguf.GGUFReader(tmp_path / name) for name in ("a.gguf", "b.gguf"))
    assert [tensor.tensor_type.name for tensor in after.tensors] == ["Q8_0", "F16", "F32"]
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert old.name == new.name and list(old.shape) == list(new.shape)
        plain = [gguf.quants.dequantize(one.data, one.tensor_type) for one in (old, new)]
        assert np.abs(plain[0] - plain[1]).max() <= np.abs(plain[0]).max() / 127
    assert after.fields["tokenizer.ggml.tokens"].contents() == WORDS
    assert ends == [1, 2, 3]  # the file's own, and those that end answers in other templates


def test_a_model_is_converted_once_and_told(model: Model) -> None:
    said: list[str] = []
    folder = converted(model, said.append)
    assert converted(model, said.append) == folder and len(said) == 1 and "conversion.json is not there" in said[0]
    record = json.loads((folder / "conversion.json").read_text())
    data = (folder / "openvino_model.bin").read_bytes()
    assert record["files"] == {"openvino_model.bin": hashlib.sha256(data).hexdigest()}
    assert sorted(path.name for path in folder.iterdir()) == ["conversion.json", "openvino_model.bin"]


def test_a_conversion_that_is_whole_needs_no_folder_that_can_be_written_to(model: Model) -> None:
    folder = converted(model, print)
    lock = weights.folder() / ".toy.openvino.lock"
    lock.unlink()
    lock.mkdir()  # root may write anywhere: this cannot be opened by anyone
    assert converted(model, print) == folder


@pytest.mark.parametrize(
    ("file", "bytes_", "why"),
    [
        ("openvino_model.bin", b"other", "openvino_model.bin is damaged"),
        ("openvino_model.bin", None, "openvino_model.bin is not there"),
        ("conversion.json", b"{", "conversion.json cannot be read"),
        ("conversion.json", b"[]", "conversion.json cannot be read"),
        ("conversion.json", None, "conversion.json is not there"),
    ],
)
def test_a_broken_or_older_conversion_is_made_again(
    model: Model, monkeypatch: pytest.MonkeyPatch, file: str, bytes_: bytes | None, why: str
) -> None:
    path = converted(model, print) / file
    path.unlink() if bytes_ is None else path.write_bytes(bytes_)
    said: list[str] = []
    converted(model, said.append)
    assert why in said[0] and not fault(model)
    monkeypatch.setattr(conversion, "version", lambda name: "2026.5")
    assert fault(model) == "it was made of another file, or for another version"


def test_another_source_or_other_weights_are_refused_and_leave_nothing(model: Model) -> None:
    with pytest.raises(NotConverted, match="as Q8_0 has sha256"):
        converted(Model(**{**vars(model), "q8_0": "0" * 64}), print)
    model.path.write_bytes(b"other")
    with pytest.raises(WrongHash, match="is pinned"):
        converted(model, print)
    assert not folder_of(model).exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9; 9 mostly means too little memory"),
        ("raise RuntimeError('no such tensor')", "cannot convert toy: RuntimeError: no such tensor"),
        ("pass", "it wrote no model"),
    ],
)
def test_a_failed_conversion_leaves_nothing(model: Model, monkeypatch: pytest.MonkeyPatch, code: str, why: str) -> None:
    saves(monkeypatch, code)
    with pytest.raises(NotConverted, match=why):
        converted(model, print)
    assert sorted(path.name for path in weights.folder().iterdir()) == [".toy.openvino.lock", "toy.gguf"]


def test_after_a_kill_the_next_waits_for_the_writer(
    model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    code = """if True:
        import pathlib, sys, time
        log = open(LOG, "a", buffering=1)
        print("begins", file=log)
        time.sleep(0.5)
        pathlib.Path(sys.argv[1]).with_name("openvino_model.bin").write_bytes(b"new")
        print("ends", file=log)
    """
    saves(monkeypatch, code.replace("LOG", repr(str(log))))
    killed = multiprocessing.get_context("fork").Process(target=converted, args=(model, print))
    killed.start()
    while killed.is_alive() and not (log.exists() and log.read_text()):
        time.sleep(0.01)
    killed.kill()
    killed.join()
    assert (converted(model, print) / "openvino_model.bin").read_bytes() == b"new" and not fault(model)
    assert log.read_text().split() == ["begins", "ends"] * 2


def test_of_two_processes_one_converts_and_the_other_waits(model: Model) -> None:
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    two = [context.Process(target=converted, args=(model, said.put)) for _ in range(2)]
    for process in two:
        process.start()
    for process in two:
        process.join(60)
    assert [process.exitcode for process in two] == [0, 0]
    assert "once" in said.get(timeout=5) and said.empty()
