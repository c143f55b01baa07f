"""The runtime llama.cpp (the package xllamacpp): serves a model file at a free port of this machine only.

Where two tokens are almost equally likely, an answer at temperature 0 can still depend on the threads and on which
prompts were asked before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lab.machine import weights
from lab.models.client import Client

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
