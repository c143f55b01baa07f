"""The `local` engine: a small model on this machine's CPU, in this process, behind the same client as any endpoint.

One of two runtimes answers: OpenVINO (local_openvino.py) where its package and processor are, what is asked together
together; else llama.cpp (the package xllamacpp), which serves the model file at a free port of this machine, one
question at a time. There, where two tokens are almost equally likely, an answer at temperature 0 can still depend on
the threads and on which prompts were asked before. Keys and recordings hold the sha256 of the pinned file in place of
the address, so that they are the same on every machine; OpenVINO's add the runtime, its version and the form of the
weights.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import conversion, weights
from lab.machine.conversion import NotConverted
from lab.machine.faults import Unavailable
from lab.models import local_openvino
from lab.models.cache import AnswerCache
from lab.models.client import Chat, Client
from lab.models.endpoint import Endpoint
from lab.models.engines import LLAMA, OPENVINO, BadEngine, Engine, parse

if TYPE_CHECKING:
    from lab.machine.weights import Model


CACHE_MEGABYTES = 512  # kept states of earlier prompts; a token takes 12 kB (0.5B) or 28 kB (1.5B)


class Served(Client):
    """A client of a server in this process, which stops with it."""

    def __init__(self, server: Any) -> None:
        self.server = server  # llama.cpp's server stops when its last reference goes
        self.url = f"{server.listening_address}/v1"
        super().__init__(own=True, base_url=self.url, api_key="none")  # on this machine: no key is told

    def close(self) -> None:
        """Stop the server, whoever still has this client."""
        self.server = None


def start(model: Model, context: int, threads: int) -> Served:
    """Load the model and serve it. context: tokens.

    Raises WrongHash, ImportError, and RuntimeError with the library's words.
    """
    weights.checked(model, weights.folder())  # answers are kept under the pinned hash, and no other file may give them
    # Threads that spin while they wait are ten times slower where they share cores. Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(model.path)
    settings.hostnames, settings.port = ["127.0.0.1"], 0  # 0: a free port, so that processes run side by side
    settings.n_ctx = context
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.n_parallel = 1  # asks queue: two at once would share the cores, and split the context
    settings.cache_ram_mib = CACHE_MEGABYTES
    settings.use_jinja = True  # the chat template that the model file brings
    settings.verbosity = 0
    return Served(xllamacpp.Server(settings))


INSTALL = "python -m pip install -r requirements-local.txt"
PACKAGES = {OPENVINO: "openvino_genai", LLAMA: "xllamacpp"}  # as they are imported
STARTS = {OPENVINO: local_openvino.start, LLAMA: start}
MOST_THREADS = 2  # without the option `threads`: more were not measured; benchmarks/test_lab_local.py compares 1 and 2


class MissingLocal(Unavailable):
    """The engine `local` lacks its package or its model, or cannot use them; the message says what to do."""


class Serving(NamedTuple):
    """What a model is loaded with. context: tokens. threads: of the computation."""

    model: str
    context: int
    threads: int
    runtime: str = LLAMA


_loaded: dict[tuple[int, Serving], Any] = {}  # by process, too: a fork has none of its parent's threads
_starting = threading.Lock()


def connect(engine: Engine, **settings: Any) -> Endpoint:
    """The model that the engine names; it is loaded when it is first asked.

    settings: `cache`, as for any endpoint. Raises ValueError, BadEngine for a model that answers nothing,
    MissingLocal.
    """
    model = weights.named(engine.name)
    if model.use != "answers":
        able = ", ".join(f"local:{name}" for name, other in weights.known().items() if other.use == "answers")
        raise BadEngine(f"Engine {engine.text!r}: {engine.name} is for {model.use}; models that answer: {able}")
    runtime = runtime_of(engine)
    lacking = [] if find_spec(PACKAGES[runtime]) else [f"the package {PACKAGES[runtime].replace('_', '-')}"]
    lacking += [] if model.present else [f"the model {model.name} (looked for in {weights.folder()})"]
    if lacking:
        raise MissingLocal(
            f"The engine local lacks {' and '.join(lacking)}. These two lines add what it needs:\n"
            f"    {INSTALL}\n    python -m lab model get {model.name}"
        )
    if runtime == OPENVINO and (why := unfit(engine)):
        raise MissingLocal(f"OpenVINO cannot run {model.name}: {why}. Take runtime={LLAMA} in the engine string")
    (sha256,) = model.files.values()
    address = local_openvino.address(sha256) if runtime == OPENVINO else f"sha256:{sha256}"
    serving = Serving(model.name, engine.options["context"], engine.options.get("threads", default_threads()), runtime)
    settings = {"cache": AnswerCache()} | settings
    return Endpoint(engine.at(address), address, local=partial(loaded, serving), **settings)


def get(name: str, report: weights.Report) -> Path:
    """Fetch a model as `weights.get` does, and convert it where OpenVINO will run it. Raises NotConverted, too."""
    path, model = weights.get(name, report), weights.named(name)
    if model.use == "answers" and runtime_of(parse(f"local:{name}")) == OPENVINO:
        conversion.converted(model, report)
    return path


def runtime_of(engine: Engine) -> str:
    """The runtime that the engine states; else OpenVINO where it can answer, and llama.cpp elsewhere."""
    if "runtime" in engine.options:
        return engine.options["runtime"]
    return OPENVINO if find_spec(PACKAGES[OPENVINO]) and not unfit(engine) else LLAMA


def unfit(engine: Engine) -> str:
    """Why OpenVINO cannot run the engine on this machine, "" where nothing speaks against it."""
    if not weights.named(engine.name).q8_0:
        return "weights.yaml pins no q8_0 of it"
    if (context := engine.options["context"]) > local_openvino.LONGEST:
        return f"it reads at most {local_openvino.LONGEST} tokens, and context={context}"
    return local_openvino.unsupported()


def default_threads() -> int:
    """As many as there are cores for this process, and at most MOST_THREADS."""
    return min(MOST_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def loaded(serving: Serving) -> Chat:
    """The model in this process; the first caller waits until it is loaded. Raises MissingLocal."""
    key = os.getpid(), serving
    with _starting:
        if key not in _loaded:
            _loaded[key] = _start(serving)
        return _loaded[key]


@atexit.register
def stop() -> None:
    """Unload this process's models; backbones made before are of no more use."""
    with _starting:
        for key in list(_loaded):
            if key[0] == os.getpid():
                _loaded.pop(key).close()


def _forget() -> None:
    """In a forked child: a lock that a parent's thread held would stay locked."""
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_forget)


# What to do about an error of loading, by its type; the first that fits.
REMEDIES: Mapping[type[Exception], str] = {
    weights.WrongHash: "Remove the file, then: python -m lab model get {model}",
    NotConverted: f"Or take runtime={LLAMA} in the engine string",
    ImportError: f"Install {{package}} again with: {INSTALL}; where libgomp.so.1 is missing: apt-get install libgomp1",
    MemoryError: "Close other programs, each process that asks loads its own copy; or take a smaller model",
    OSError: "Are the models in {folder} yours to read, and is there room to convert one?",
    RuntimeError: "Is there memory for context={context}?",
}


def _start(serving: Serving) -> Any:
    model = weights.named(serving.model)
    try:
        return STARTS[serving.runtime](model, serving.context, serving.threads)
    except tuple(REMEDIES) as error:
        remedy = next(text for kind, text in REMEDIES.items() if isinstance(error, kind)).format(
            model=model.name, package=PACKAGES[serving.runtime], folder=weights.folder(), context=serving.context
        )
        message = " ".join(str(error).split()) or "no memory is left"
        raise MissingLocal(f"{serving.runtime} cannot load {model.path}: {message.rstrip('.')}. {remedy}") from None
