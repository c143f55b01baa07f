"""The `local` engine: a small model on this machine's CPU, served in this process to the same client as any endpoint.

llama.cpp (the package xllamacpp) serves the model file at a free port of this machine only. Keys and recordings hold
the sha256 of the file in place of the address, so that they are the same on every machine. Where two tokens are almost
equally likely, an answer at temperature 0 can still depend on the threads and on which prompts were asked before.
"""

from __future__ import annotations

import atexit
import os
import threading
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from lab.machine.faults import Unavailable
from lab.models import weights
from lab.models.cache import AnswerCache
from lab.models.endpoint import Endpoint
from lab.models.engines import BadEngine, Engine

INSTALL = "python -m pip install -r requirements-local.txt"
MOST_THREADS = 2  # without the option `threads`: more were not measured; benchmarks/test_lab_local.py compares 1 and 2
CACHE_MEGABYTES = 512  # kept states of earlier prompts; a token takes 12 kB (0.5B) or 28 kB (1.5B)


class MissingLocal(Unavailable):
    """The engine `local` lacks its package or its model, or cannot use them; the message says what to do."""


class Serving(NamedTuple):
    """What one server is started with. context: tokens. threads: of the computation."""

    model: str
    context: int
    threads: int


_servers: dict[Serving, Any] = {}
_starting = threading.Lock()


def connect(engine: Engine, **settings: Any) -> Endpoint:
    """The model that the engine names; it is loaded when it is first asked.

    settings: `cache`, as for any endpoint. Raises UnknownModel, BadEngine for a model that answers nothing,
    MissingLocal.
    """
    model = weights.named(engine.name)
    if model.use != "answers":
        able = ", ".join(f"local:{name}" for name, other in weights.known().items() if other.use == "answers")
        raise BadEngine(f"Engine {engine.text!r}: {engine.name} is for {model.use}; models that answer: {able}")
    lacking = [] if find_spec("xllamacpp") else ["the package xllamacpp"]
    lacking += [] if model.present else [f"the model {model.name} (looked for in {weights.folder()})"]
    if lacking:
        raise MissingLocal(
            f"The engine local lacks {' and '.join(lacking)}. These two lines add what it needs:\n"
            f"    {INSTALL}\n    python -m lab model get {model.name}"
        )
    serving = Serving(model.name, engine.options["context"], engine.options.get("threads", default_threads()))
    (sha256,) = model.files.values()
    settings = {"cache": AnswerCache()} | settings
    return Endpoint(engine, f"sha256:{sha256}", base_url=partial(served, serving), **settings)


def default_threads() -> int:
    """As many as there are cores for this process, and at most MOST_THREADS."""
    return min(MOST_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def served(serving: Serving) -> str:
    """The address at which this process serves the model; the first caller waits until it is loaded."""
    with _starting:
        if serving not in _servers:
            _servers[serving] = _start(serving)
        return f"{_servers[serving].listening_address}/v1"


@atexit.register
def stop() -> None:
    """Stop this process's servers; backbones made before are of no more use."""
    with _starting:
        _servers.clear()  # llama.cpp's server stops when its last reference goes


def _start(serving: Serving) -> Any:
    model = weights.named(serving.model)
    try:
        # Answers are kept under the pinned hash, and no other file may give them.
        weights.checked(model, weights.folder())
    except (weights.WrongHash, OSError) as error:
        raise MissingLocal(f"{error}. Remove the file, then: python -m lab model get {model.name}") from None
    xllamacpp = _library()
    settings = xllamacpp.CommonParams()
    settings.model.path = str(model.path)
    settings.hostnames, settings.port = ["127.0.0.1"], 0  # 0: a free port, so that processes run side by side
    settings.n_ctx = serving.context
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = serving.threads
    settings.n_parallel = 1  # asks queue: two at once would share the cores, and split the context
    settings.cache_ram_mib = CACHE_MEGABYTES
    settings.use_jinja = True  # the chat template that the model file brings
    settings.verbosity = 0
    try:
        return xllamacpp.Server(settings)
    except RuntimeError as error:
        raise MissingLocal(
            f"llama.cpp cannot serve {model.path}: {error} Is there memory for context={serving.context}?"
        ) from None


def _library() -> Any:
    # Threads that spin while they wait are ten times slower where they share cores. Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingLocal(
            f"xllamacpp cannot be loaded: {error}. Install it again with: {INSTALL}; "
            "where libgomp.so.1 is missing: apt-get install libgomp1"
        ) from None
    return xllamacpp
