"""Any world in a process of its own, so that a crash of its engine costs an episode and not the program.

    if __name__ == "__main__":  # in a program; notebooks do without
        world = Isolated(functools.partial(worlds.textworld.load, data="synthetic"))

Engines written in C (Z-machine, planner) run inside Python's process, so a segmentation fault would end the run. Here
it is a `WorldDied`, which the runner answers by repeating the episode.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from worlds.base import ListingWorld, Step, WorldDied

PATIENCE = 300.0  # seconds until a timeout; the slowest first answer measured, a cold JVM with a gold path, takes 25
SECONDS_TO_CLOSE = 10.0
PLAIN = ("data", "splits", "goes_on")  # the attributes of a ListingWorld; all else it has are methods


class Isolated(ListingWorld):
    """A `ListingWorld` that `make` builds in a child process, started at the first call and after every death.

    make: picklable, best a module's function with functools.partial. patience: seconds to wait for an answer before
    the child counts as dead. Errors of the world come through as they are; WorldDied means that the child is gone, and
    the next `reset` starts another.
    """

    def __init__(self, make: Callable[[], ListingWorld], patience: float = PATIENCE) -> None:
        self._make = make
        self._patience = patience
        self._child: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in PLAIN:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; only what every world has gets through")
        return self._ask(name)

    def tasks(self, split: str) -> Sequence[Any]:
        return self._ask("tasks", split)

    def reset(self, task: Any) -> Step:
        return self._ask("reset", task)

    def step(self, action: str) -> Step:
        return self._ask("step", action)

    def valid_actions(self) -> tuple[str, ...]:
        return self._ask("valid_actions")

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """Let the world close itself and end the child; can be called twice."""
        if self._pipe and self._child:
            with contextlib.suppress(OSError):
                self._pipe.send(None)
            self._child.join(SECONDS_TO_CLOSE)
        self._bury()

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        pipe = self._pipe or self._start()
        try:
            pipe.send((name, arguments))
            if not pipe.poll(self._patience):
                raise TimeoutError(f"no answer to {name} in {self._patience:g} s")
            answer, error = pipe.recv()
        except (EOFError, OSError) as problem:  # a TimeoutError is an OSError
            raise WorldDied(f"the world's process died ({self._bury() or problem}); reset starts another") from problem
        except KeyboardInterrupt:
            self._bury()  # its answer would be taken for that to the next question
            raise
        if error is not None:
            raise error
        return answer

    def _start(self) -> Connection:
        # Spawned, since a copy of a process with threads and native engines may start out broken.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._child = context.Process(target=_serve, args=(self._make, theirs), daemon=True)
        self._child.start()
        theirs.close()  # else this process would hold the pipe open, and never see the end of a dead child's
        return self._pipe

    def _bury(self) -> str:
        """End what is left of the child and forget it; how it ended, in words."""
        child, self._child = self._child, None
        pipe, self._pipe = self._pipe, None
        if pipe:
            pipe.close()
        if child is None:
            return ""
        child.join(1)  # a crash is told from a kill by its exit code, which takes a moment to come
        if child.is_alive():
            child.kill()
            child.join()
            return "it was stopped"
        return f"exit code {child.exitcode}"


def _serve(make: Callable[[], ListingWorld], pipe: Connection) -> None:
    """The child: build the world, answer until the parent says None or is gone."""
    try:
        made = make()
    except Exception as error:  # data that lacks, say: every question is answered with it
        with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
            while pipe.recv() is not None:
                pipe.send((None, error))
        return
    with contextlib.closing(made) as world, contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while (question := pipe.recv()) is not None:
            name, arguments = question
            try:
                value = getattr(world, name)
                pipe.send((value(*arguments) if callable(value) else value, None))
            except Exception as error:
                pipe.send((None, error))
