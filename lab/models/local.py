"""The `local` engine: a small model on this machine's CPU, in this process, behind the same client as any endpoint.

OpenVINO (the package openvino-genai) answers up to AT_ONCE questions in a batch: generating a token reads all weights
once, whatever the number of questions, so a batch of eight is generated three times as fast as one after the other.
Reading prompts gains nothing. The weights are Q8_0, converted once from the pinned file (lab/machine/conversion.py).
It samples from all tokens unless `top_p` is given.
A common prefix of prompts is read once, which changes the last digits of probabilities: an answer can depend on what
was asked before, a sampled one more easily than one at temperature 0. The same questions in the same order get the same
answers; which questions share a batch can change them, too.
In place of an address, keys and recordings hold the sha256 of the pinned file, OpenVINO's version and the format of the
weights, so that they are the same on every machine.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import re
import secrets
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from lab.machine import conversion, progress, weights
from lab.machine.conversion import NotConverted
from lab.machine.faults import Unavailable
from lab.models.cache import AnswerCache
from lab.models.client import EndpointError, EndpointUnavailable, SchemaNotTaken
from lab.models.endpoint import SEEDS, Endpoint
from lab.models.engines import LLAMA, RUNTIME, BadEngine, Engine, parse

PACKAGE, MODULE = "openvino-genai", "openvino_genai"
INSTALL = "python -m pip install -r requirements-local.txt"
ELSEWHERE = (
    "Or run a server of your own, such as llama.cpp's llama-server or Ollama, and take its model's name as the engine, "
    "after: export OPENAI_BASE_URL=http://localhost:8080/v1"
)
MOST_THREADS = 2  # default of the option `threads`; more were not measured
TIMES_THE_FILE = 2.2  # memory of a loaded model, as a multiple of its weights' file; measured: 2.0
AT_ONCE = 8  # questions in a batch; more gain little on two cores
# Seconds of sleep before each token of a batch: a step of the library holds the GIL, and threads that ask need it a few
# times, to store the last answer and to make the next question.
YIELD = 0.005
# Prompt-lookup decoding: this many tokens are guessed from the prompt and the answer so far, and checked in one step.
# Answers that repeat their prompt, such as states and plans, are several times as fast; the text stays the same.
GUESSED_ALONE, GUESSED_TOGETHER = 8, 5
NGRAM = 3  # tokens that must match before the following ones are guessed
ALIVE = 1.0  # seconds between two checks that the serving thread still runs
LONGEST = 8192  # tokens; the tokenizer that OpenVINO makes from a GGUF file drops the rest


class MissingLocal(Unavailable):
    """The engine `local` lacks its package or its model, or cannot use them; the message says what to do."""


class Serving(NamedTuple):
    """The settings with which a model is loaded. threads: for the computation."""

    model: str
    threads: int


_loaded: dict[tuple[int, Serving], Loaded] = {}  # by process id, too: a fork has none of its parent's threads
_starting = threading.Lock()


def connect(engine: Engine, **settings: Any) -> Endpoint:
    """The model that the engine names; it is loaded at the first question.

    settings: `cache`, as for any endpoint. Raises ValueError for an unknown model, BadEngine for one that does not
    answer prompts, MissingLocal.
    """
    model = weights.named(engine.name)
    if model.use != "answers":
        usable = ", ".join(f"local:{name}" for name, other in weights.known().items() if other.use == "answers")
        raise BadEngine(f"Engine {engine.text!r}: {engine.name} is for {model.use}; models that answer: {usable}")
    if why := unfit(engine):
        raise MissingLocal(f"Engine {engine.text!r} cannot answer here: {why}. {ELSEWHERE}")
    missing = [] if find_spec(MODULE) else [f"the package {PACKAGE}"]
    missing += [] if model.present else [f"the model {model.name} (looked for in {weights.folder()})"]
    if missing:
        raise MissingLocal(
            f"The engine local lacks {' and '.join(missing)}. These two lines add what it needs:\n"
            f"    {INSTALL}\n    python -m lab model get {model.name}\n{ELSEWHERE}"
        )
    (sha256,) = model.files.values()
    address = f"sha256:{sha256}/openvino-{version(PACKAGE)}-q8_0"
    serving = Serving(model.name, engine.options.get("threads", default_threads()))
    settings = {"cache": AnswerCache()} | settings
    return Endpoint(engine.at(address), address, local=partial(loaded, serving), **settings)


def get(name: str, report: weights.Report) -> Path:
    """Download a model as `weights.get` does; convert it if it can answer here. Raises NotConverted, too."""
    path, model = weights.get(name, report), weights.named(name)
    if model.use == "answers" and find_spec(MODULE) and not unfit(parse(f"local:{name}")):
        conversion.converted(model, report)
    return path


def unfit(engine: Engine) -> str:
    """Why the engine cannot answer on this machine, whatever is installed; "" if there is no reason."""
    if engine.options.get(RUNTIME) == LLAMA:
        return f"{RUNTIME}={LLAMA} is of recordings alone, and local models are now run by OpenVINO"
    if (context := engine.options["context"]) > LONGEST:
        return f"OpenVINO reads at most {LONGEST} tokens, and context={context}"
    return unsupported()


def unsupported() -> str:
    """Why OpenVINO does not run on this machine; "" if there is no reason."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux" and machine != "arm64":
        return f"OpenVINO is set up for Linux and for arm64, and this is {system} on {machine}"
    if system == "Linux" and machine == "x86_64":
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if flags and "avx2" not in flags[1].split():
            return "OpenVINO needs AVX2, which this processor lacks"
    return ""


def default_threads() -> int:
    """The number of cores that this process may use, at most MOST_THREADS."""
    return min(MOST_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def loaded(serving: Serving) -> Loaded:
    """The model in this process; the first caller waits until it is loaded. Raises MissingLocal."""
    key = os.getpid(), serving
    with _starting:
        if key not in _loaded:
            _loaded[key] = _start(serving)
        return _loaded[key]


@atexit.register
def stop() -> None:
    """Unload this process's models; existing backbones cannot be used any more."""
    with _starting:
        for key in list(_loaded):
            if key[0] == os.getpid():
                _loaded.pop(key).close()


def _forget() -> None:
    """Replace the lock in a forked child: one that a thread of the parent held would stay locked."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forget)


# What to do about an error of loading, by its type; the first match counts.
REMEDIES: Mapping[type[Exception], str] = {
    weights.WrongHash: "Remove the file, then: python -m lab model get {model}",
    NotConverted: ELSEWHERE,
    ImportError: f"Install {PACKAGE} again with: {INSTALL}",
    MemoryError: "Close other programs, each process that asks loads its own copy; or take a smaller model",
    OSError: "Are the models in {folder} yours to read, and is there room to convert one?",
    RuntimeError: "Is there memory for it?",
}


def _start(serving: Serving) -> Loaded:
    model = weights.named(serving.model)
    try:
        folder = conversion.converted(model, progress.say)
        need, free = TIMES_THE_FILE * (folder / "openvino_model.bin").stat().st_size, free_memory()
        if free is not None and free < need:
            raise MemoryError(f"it takes about {need / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free")
        return Loaded(folder, serving.threads)
    except tuple(REMEDIES) as error:
        remedy = next(text for kind, text in REMEDIES.items() if isinstance(error, kind)).format(
            model=model.name, folder=weights.folder()
        )
        message = " ".join(str(error).split()) or "no memory is left"
        raise MissingLocal(f"OpenVINO cannot load {model.path}: {message.rstrip('.')}. {remedy}") from None


def free_memory() -> int | None:
    """Bytes that this process may still allocate, within a container's limit; None if the system does not say."""
    try:
        free = int(re.findall(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[0]) * 1024
    except (OSError, IndexError):
        return None
    container = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((container / f"memory.{name}").read_text()) for name in ("max", "current"))
        # The file cache counts as used, but is freed when memory is short.
        cached = sum(map(int, re.findall(r"^(?:in)?active_file (\d+)", (container / "memory.stat").read_text(), re.M)))
    except (OSError, ValueError):  # no container, or "max": no limit
        return free
    return min(free, limit - used + cached)


class Job(NamedTuple):
    """A question that is being answered. read: its tokens. stopped: set when nobody waits for the answer any more."""

    read: Any
    config: Any
    answer: Future[Any]
    stopped: threading.Event


class Loaded:
    """A loaded model that answers chat-completion requests. Thread-safe: concurrent questions share a batch."""

    def __init__(self, folder: Path, threads: int) -> None:
        import openvino_genai

        self._genai, self.process = openvino_genai, os.getpid()
        self._folder, self._threads = folder, threads
        self._pipe = self._opened()
        self._tokenizer = self._pipe.get_tokenizer()
        self._ends = set(json.loads((folder / conversion.RECORD).read_text())["ends"])
        self._asked: SimpleQueue[Job | None] = SimpleQueue()
        # In a thread of its own, so that Ctrl-C still works.
        self._thread = threading.Thread(target=self._serve, name="openvino", daemon=True)
        self._thread.start()

    def chat(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """A chat completion, as JSON.

        Raises TimeoutError, SchemaNotTaken, and EndpointError for a prompt that is too long.
        Raises EndpointUnavailable if the library could not be opened again after a fault.
        """
        text = self._tokenizer.apply_chat_template(list(request["messages"]), add_generation_prompt=True)
        input_ids = self._tokenizer.encode(text, add_special_tokens=False).input_ids
        tokens = input_ids.shape[1]
        if tokens >= LONGEST:
            raise EndpointError(
                f"The prompt takes {LONGEST:,} tokens or more, and OpenVINO reads at most {LONGEST:,}; state a smaller "
                "context in the engine string (…?context=N), to which prompts are cut"
            )
        job = Job(input_ids, self._settings(request, LONGEST - tokens), Future(), threading.Event())
        self._asked.put(job)
        try:
            result = self._waited(job, time.monotonic() + seconds)
        except EndpointUnavailable:
            raise
        except RuntimeError as error:
            if "response_format" in request:
                raise SchemaNotTaken(str(error)) from None
            raise EndpointError(f"OpenVINO could not answer: {error}") from None
        except BaseException:
            job.stopped.set()  # Ctrl-C or timeout: generation ends at the next token
            raise
        truncated = result.finish_reason == self._genai.GenerationFinishReason.LENGTH
        counts = {"prompt_tokens": tokens, "completion_tokens": len(result.generated_ids)}
        content = self._tokenizer.decode(list(result.generated_ids))
        choice = {"message": {"content": content}, "finish_reason": "length" if truncated else "stop"}
        return json.dumps({"choices": [choice], "usage": counts}).encode()

    def close(self) -> None:
        """Free the memory. Questions under way are given up at the next token: at exit nobody waits for them."""
        self._asked.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _waited(self, job: Job, until: float) -> Any:
        while self._thread.is_alive():
            with suppress(TimeoutError):
                return job.answer.result(max(0.0, min(ALIVE, until - time.monotonic())))
            if time.monotonic() >= until:
                raise TimeoutError
        if job.answer.done():  # answered just before the thread ended
            return job.answer.result()
        raise EndpointUnavailable(
            "OpenVINO ended in this process, see any message above; start the process again to go on"
        )

    def _opened(self) -> Any:
        scheduler = self._genai.SchedulerConfig()
        scheduler.enable_prefix_caching, scheduler.max_num_seqs = True, AT_ONCE
        scheduler.max_num_batched_tokens = LONGEST  # a prompt is read in one step
        # f32: the default is bf16 on processors that have it, which would change answers.
        settings = {
            "INFERENCE_NUM_THREADS": self._threads, "INFERENCE_PRECISION_HINT": "f32", "prompt_lookup": True
        }  # fmt: skip
        return self._genai.ContinuousBatchingPipeline(str(self._folder), scheduler, "CPU", settings)

    def _serve(self) -> None:
        """Answer questions, one token of each at a time, until closed."""
        live: list[tuple[Job, Any]] = []
        suspects: list[Job] = []
        ids = count()
        while None not in (jobs := self._taken(wait=not (live or suspects)) if not suspects else []):
            for job in [suspects.pop()] if suspects and not live else filter(None, jobs):
                job.config.num_assistant_tokens = GUESSED_TOGETHER if live or len(jobs) > 1 else GUESSED_ALONE
                try:
                    live.append((job, self._pipe.add_request(next(ids), job.read, job.config)))
                except RuntimeError as error:
                    job.answer.set_exception(error)
            if len(live) > 1:
                time.sleep(YIELD)
            try:
                if live:
                    self._pipe.step()
            except RuntimeError as error:
                # An invalid schema fails here, for the whole batch; each question is then asked alone.
                if len(live) == 1:
                    live[0][0].answer.set_exception(error)
                else:
                    suspects = [job for job, _ in live]
                live, self._pipe = [], None  # the pipeline cannot be used after an error
                self._pipe = self._opened()
            for job, handle in live:
                if job.stopped.is_set():
                    handle.cancel()
                elif handle.get_status() != self._genai.GenerationStatus.RUNNING:
                    job.answer.set_result(handle.read_all()[0])
            live = [(job, handle) for job, handle in live if not (job.answer.done() or job.stopped.is_set())]
        for _, handle in live:
            handle.cancel()
        self._pipe = None

    def _taken(self, wait: bool) -> list[Job | None]:
        """The waiting questions; None means: close. wait: block until there is one."""
        jobs = [self._asked.get()] if wait else []
        while not self._asked.empty():
            jobs.append(self._asked.get())
        return jobs

    def _settings(self, request: Mapping[str, Any], room: int) -> Any:
        config = self._genai.GenerationConfig()
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or room
        config.max_new_tokens = min(limit, room)
        config.apply_chat_template = False  # already applied, to count the tokens
        config.stop_token_ids = self._ends
        config.max_ngram_size = NGRAM
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
