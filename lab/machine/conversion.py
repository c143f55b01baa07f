"""Conversion of a pinned GGUF file to a format that OpenVINO loads fast, once per machine.

    NAME.openvino/openvino_*.xml, *.bin   the model with Q8_0 weights, and its tokenizer with the chat template
    NAME.openvino/conversion.json         the source's hash, the versions, the sha256 of every file, the end tokens

OpenVINO cannot read the pinned Q4_K_M, so the weights are first converted to Q8_0, which rounds them once more. The
Q8_0 file has a pinned hash as well, so the same weights answer on every machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lab.machine import weights
from lab.machine.download import Report
from lab.machine.files import sha256_of
from lab.machine.weights import Model

RECORD = "conversion.json"
Q8_0 = "q8_0.gguf"
# Tokens that end an answer in some chat template.
ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "</s>")
# In its own process: building the graph takes memory that is not freed, and if it is killed, this can be reported.
SAVE = "import openvino_genai, sys; openvino_genai.LLMPipeline(sys.argv[1], 'CPU', enable_save_ov_model=True)"


class NotConverted(RuntimeError):
    """A model could not be converted; the message says why."""


def folder_of(model: Model) -> Path:
    """The folder of the converted model."""
    return weights.folder() / f"{model.name}.openvino"


def converted(model: Model, report: Report) -> Path:
    """The folder of the converted model; converts it if it is missing or damaged.

    A killed process leaves no valid result behind. Of two concurrent calls, the second waits for the first.
    Raises WrongHash, NotConverted, OSError.
    """
    folder, staging = folder_of(model), weights.folder() / f".{model.name}.openvino"
    if not fault(model):  # checked before locking, too: the folder may be writable by its owner only
        return folder
    with open(f"{staging}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system also releases it when the process is killed
        if not (why := fault(model)):
            return folder
        report(f"{model.name} is converted for OpenVINO, once, in a minute or two ({why})")
        shutil.rmtree(staging, ignore_errors=True)  # left by a killed process
        staging.mkdir(parents=True)
        try:
            weights.checked(model, weights.folder())
            _convert(model, staging, lock.fileno())
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(staging, folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return folder


def fault(model: Model) -> str:
    """What is wrong with the converted model, "" if nothing. Reads all of its files, which takes a second or two."""
    folder = folder_of(model)
    try:
        record = json.loads((folder / RECORD).read_text())
        if {name: record[name] for name in ("source", "q8_0", "openvino")} != _identity(model):
            return "it was made of another file, or for another version"
        for file, sha256 in record["files"].items():
            if sha256_of(folder / file) != sha256:
                return f"{file} is damaged"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is not there"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{RECORD} cannot be read"
    return ""


def _identity(model: Model) -> dict[str, str]:
    (source,) = model.files.values()
    return {"source": source, "q8_0": model.q8_0, "openvino": version("openvino-genai")}


def _convert(model: Model, staging: Path, lock: int) -> None:
    ends = write_q8_0(model.path, staging / Q8_0)
    sha256 = sha256_of(staging / Q8_0)
    if sha256 != model.q8_0:
        raise NotConverted(
            f"{model.path.name} as Q8_0 has sha256 {sha256}, and {model.q8_0} is pinned in weights.yaml: the package "
            f"gguf {version('gguf')} may write it otherwise than the one of requirements.txt"
        )
    # The child inherits the lock: if only this process is killed, the child still writes to the staging folder.
    command = [sys.executable, "-c", SAVE, str(staging / Q8_0)]
    run = subprocess.run(command, capture_output=True, text=True, pass_fds=[lock])
    (staging / Q8_0).unlink()
    if run.returncode < 0:
        raise NotConverted(
            f"the conversion of {model.name} was ended by signal {-run.returncode}; 9 mostly means too little memory: "
            "close other programs, and run the same command again"
        )
    files = {path.name: sha256_of(path) for path in sorted(staging.iterdir())}
    if run.returncode or "openvino_model.bin" not in files:
        message = (run.stderr.strip() or "it wrote no model").splitlines()[-1]
        raise NotConverted(f"OpenVINO cannot convert {model.name}: {message}")
    (staging / RECORD).write_text(json.dumps(_identity(model) | {"files": files, "ends": ends}, indent=1))


def write_q8_0(source: Path, target: Path) -> list[int]:
    """Copy a GGUF file with its weights as Q8_0, tensor by tensor; returns the ids of its end tokens."""
    import gguf
    import numpy as np
    from gguf import GGMLQuantizationType as Kind
    from gguf.quants import dequantize, quant_shape_to_byte_shape, quantize

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        value = gguf.LlamaFileType.MOSTLY_Q8_0 if field.name == "general.file_type" else field.contents()
        writer.add_key_value(field.name, value, kind, sub_type=inner)

    def target_type(tensor: Any) -> Kind:
        """The target type: F32 (biases, norms) stays; Q8_0 needs rows of whole blocks, else F16."""
        if tensor.tensor_type == Kind.F32:
            return Kind.F32
        return Kind.Q8_0 if tensor.shape[0] % gguf.GGML_QUANT_SIZES[Kind.Q8_0][0] == 0 else Kind.F16

    types = {Kind.F32: np.float32, Kind.F16: np.float16, Kind.Q8_0: np.uint8}
    for tensor in reader.tensors:
        shape, target_kind = [int(size) for size in reversed(tensor.shape)], target_type(tensor)
        shape = list(quant_shape_to_byte_shape(shape, target_kind)) if target_kind == Kind.Q8_0 else shape
        stored = np.dtype(types[target_kind])
        writer.add_tensor_info(tensor.name, shape, stored, int(np.prod(shape)) * stored.itemsize, raw_dtype=target_kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in reader.tensors:
        weights_f32 = (
            np.array(tensor.data) if tensor.tensor_type == Kind.F32 else dequantize(tensor.data, tensor.tensor_type)
        )
        writer.write_tensor_data(
            weights_f32 if target_type(tensor) == Kind.F32 else quantize(weights_f32, target_type(tensor))
        )
    writer.close()
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    end_ids = {int(reader.fields["tokenizer.ggml.eos_token_id"].contents())}
    return sorted(end_ids | {token_id for token_id, token in enumerate(tokens) if token in ENDS})
