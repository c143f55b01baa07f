"""The runtime OpenVINO (the package openvino-genai): answers in this process, one question at a time.

It reads prompts several times as fast as llama.cpp does. Its weights are Q8_0, made once of the pinned file
(lab/models/conversion.py), so its answers are not llama.cpp's. It samples from all tokens unless `top_p` is given.
What prompts begin with alike is read once, which moves probabilities in their last digits: a sampled answer, more
easily than one at temperature 0, can depend on what was asked before. The same questions in the same order get the same
answers.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.models import conversion
from lab.models.client import SchemaNotTaken
from lab.models.retries import EndpointError

if TYPE_CHECKING:
    from lab.models.local import Serving
    from lab.models.weights import Model

PACKAGE = "openvino-genai"
TIMES_THE_FILE = 2.2  # memory that a loaded model takes, as a multiple of its weights' file; measured: 2.0
SEEDS = 2**31
LONGEST = 8192  # tokens; the tokenizer that OpenVINO makes of a GGUF file drops what comes after


def address(sha256: str) -> str:
    """For cache keys: the pinned file, the runtime with its version, and the form of the weights."""
    return f"sha256:{sha256}/openvino-{version(PACKAGE)}-q8_0"


def unsupported() -> str:
    """Why this machine's processor cannot run it, "" where nothing speaks against it."""
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if flags and "avx2" not in flags[1].split():
            return "this processor lacks AVX2"
    return ""


def start(model: Model, serving: Serving) -> Loaded:
    """Load the model, converted before if need be. Raises WrongHash, NotConverted, ImportError, MemoryError."""
    folder = conversion.converted(model, progress.say)
    need, free = TIMES_THE_FILE * (folder / "openvino_model.bin").stat().st_size, free_memory()
    if free is not None and free < need:
        raise MemoryError(f"it takes about {need / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free")
    return Loaded(folder, serving)


def free_memory() -> int | None:
    """Bytes that this process may still take, also within a container's limit; None where the system does not say."""
    try:
        free = int(re.findall(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[0]) * 1024
    except (OSError, IndexError):
        return None
    container = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((container / f"memory.{name}").read_text()) for name in ("max", "current"))
        # What was read of files counts as used, and is given up when memory is short.
        cached = sum(map(int, re.findall(r"^(?:in)?active_file (\d+)", (container / "memory.stat").read_text(), re.M)))
    except (OSError, ValueError):  # no container, or "max": no limit
        return free
    return min(free, limit - used + cached)


class Loaded:
    """A loaded model that takes chat-completion requests. Thread-safe: questions queue."""

    def __init__(self, folder: Path, serving: Serving) -> None:
        import openvino_genai

        self._genai, self._context, self.process = openvino_genai, serving.context, os.getpid()
        # f32: on processors that have bf16 the default would answer otherwise than on others.
        self._pipe = openvino_genai.LLMPipeline(
            str(folder), "CPU", INFERENCE_NUM_THREADS=serving.threads, INFERENCE_PRECISION_HINT="f32"
        )
        self._ends = set(json.loads((folder / conversion.RECORD).read_text())["ends"])
        self._queue = ThreadPoolExecutor(1, "openvino")  # one question at a time, while Ctrl-C still gets through

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """A chat completion, as JSON. Raises TimeoutError, SchemaNotTaken, EndpointError for too long a prompt."""
        stopped = threading.Event()
        future = self._queue.submit(self._answer, request, stopped)
        try:
            return future.result(seconds)
        except BaseException:
            stopped.set()  # Ctrl-C, or too late: it ends at the next token
            future.cancel()
            raise

    def close(self) -> None:
        """Give the memory back, when the question under way is answered."""
        self._queue.shutdown(cancel_futures=True)
        self._pipe = None

    def _answer(self, request: Mapping[str, Any], stopped: threading.Event) -> bytes:
        tokenizer, going = self._pipe.get_tokenizer(), self._genai.StreamingStatus
        text = tokenizer.apply_chat_template(list(request["messages"]), add_generation_prompt=True)
        read = tokenizer.encode(text, add_special_tokens=False)
        tokens = read.input_ids.shape[1]
        if tokens >= self._context:
            raise EndpointError(
                f"The prompt takes {tokens:,} tokens or more and the engine has context={self._context}; state a "
                f"larger one in the engine string (…?context=N), above {LONGEST} with runtime=llama.cpp"
            )
        config = self._settings(request, self._context - tokens)
        try:
            result = self._pipe.generate(read, config, lambda _: going.CANCEL if stopped.is_set() else going.RUNNING)
        except RuntimeError as error:
            if "response_format" in request:
                raise SchemaNotTaken(str(error)) from None
            raise EndpointError(f"OpenVINO could not answer: {error}") from None
        cut = result.finish_reasons[0] == self._genai.GenerationFinishReason.LENGTH
        written = result.tokens[0]
        counts = {"prompt_tokens": tokens, "completion_tokens": len(written)}
        choice = {"message": {"content": tokenizer.decode(written)}, "finish_reason": "length" if cut else "stop"}
        return json.dumps({"choices": [choice], "usage": counts}).encode()

    def _settings(self, request: Mapping[str, Any], room: int) -> Any:
        config = self._genai.GenerationConfig()
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or room
        config.max_new_tokens = min(limit, room)
        config.apply_chat_template = False  # it is applied already, to count the tokens
        config.stop_token_ids = self._ends
        if request.get("temperature", 1.0) > 0:
            config.do_sample, config.temperature = True, request.get("temperature", 1.0)
            config.top_p = request.get("top_p", 1.0)
            # The library's own default is one seed for all questions.
            config.rng_seed = request["seed"] % SEEDS if "seed" in request else secrets.randbelow(SEEDS)
        config.stop_strings = set(request.get("stop", ()))
        if "response_format" in request:
            schema = request["response_format"]["json_schema"]["schema"]
            config.structured_output_config = self._genai.StructuredOutputConfig(json_schema=json.dumps(schema))
        return config
