"""Fault injection: runs on a machine that fails, and how many are lost, miscounted or end without useful advice.

    python benchmarks/campaign_machine.py

Each case plays 40 episodes in its own process, and is run again up to six times, as a user would. Lost: the run never
finishes, or finishes without episodes that no fault touched. Miscounted: a failure of the machine counts as one of the
agent, or the other way round. Unhelpful: the run stops with a message that names no fix.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

ROOT = Path.cwd()  # of the checkout that is tried
sys.path += [str(ROOT), str(ROOT / "tests" / "support"), str(Path(__file__).parent)]

from asking import ASK  # noqa: E402
from chat_server import ChatServer, answer, says  # noqa: E402
from lab.models.backbone import Ledger  # noqa: E402
from lab.runs.collecting import collect  # noqa: E402
from lab.runs.experiment import Experiment  # noqa: E402

TASKS, BAD = 40, ("011", "025")
TRIES = 6


@dataclass(frozen=True, kw_only=True)
class Failing(Experiment):
    """Episodes two of which meet a fault. marks: a folder for those that meet it once; "" for always."""

    fault: str = ""
    marks: str = ""

    method: ClassVar[str] = "failing"
    packages: ClassVar[tuple[str, ...]] = ("lab",)

    def decided(self) -> Failing:
        return replace(self, data="synthetic")

    def tasks(self) -> list[str]:
        return [f"{number:03d}" for number in range(TASKS)]

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        time.sleep(0.01)
        if self.fault == "ask":
            ledger.ask(ASK, box=int(task))
        elif task in BAD and not (self.marks and (Path(self.marks) / task).exists()):
            if self.marks:
                (Path(self.marks) / task).touch()
            meet(self.fault)
        return {"task": task}


def meet(fault: str) -> None:
    """Raise a fault, or die of it."""
    if number := getattr(signal, fault, None):
        os.kill(os.getpid(), number)
    if fault == "exit":
        os._exit(3)
    if fault == "display":
        from lab.machine import progress

        progress._active[-1]._shows.append(broken_display) if progress._active else None
        progress.note("a remark")
        return
    raise {
        "memory": MemoryError(), "full disk": OSError(28, "No space left on device"),
        "descriptors": OSError(24, "Too many open files"), "threads": RuntimeError("can't start new thread"),
        "agent": KeyError("x"), "ends": SystemExit(2),
    }[fault]  # fmt: skip


def broken_display(*_: object) -> None:
    import zmq

    raise zmq.ZMQError(88, "Socket operation on non-socket")


class Case(NamedTuple):
    """A fault, and whose it is: "agent", "machine", or "" where no episode suffers from it.

    workers: as for `collect`. once: whether it passes. limits: of the process, soft and hard. engine: "small" asks a
    server.
    """

    fault: str
    whose: str
    workers: int = 2
    once: bool = False
    limits: tuple[tuple[str, int, int], ...] = ()
    engine: str = "rules"


CASES = [
    *(Case(f, "machine", w, once) for f in ("SIGKILL", "SIGSEGV", "exit") for w in (2, 1, 0) for once in (False, True)),
    *(Case(fault, "machine", w) for fault in ("memory", "full disk", "descriptors", "threads") for w in (2, 1)),
    *(Case(fault, "agent", w) for fault in ("agent", "ends") for w in (2, 1)),
    *(Case("display", "", w) for w in (1, 0)),
    *(Case("ask", "machine", w, limits=(("RLIMIT_NOFILE", soft, hard),), engine="small")
      for w, soft, hard in ((64, 256, 256), (55, 256, 256), (64, 256, 4096), (64, 64, 64), (8, 128, 128))),
    Case("ask", "machine", 64, limits=(("RLIMIT_AS", 2**29, 2**29),), engine="small"),
    Case("ask", "machine", 8, limits=(("RLIMIT_AS", 2**29, 2**29),), engine="small"),
    Case("malformed", "machine", 8, engine="small"),
    Case("malformed", "machine", 1, engine="small"),
]  # fmt: skip
FIX = re.compile(r"run again|Take workers=|ulimit -|free some|max_tokens|Make room")


def session(case: Case, folder: str, address: str) -> None:
    """What the process of a case does."""
    for name, soft, hard in case.limits:
        resource.setrlimit(getattr(resource, name), (soft, hard))
    os.environ |= {"LAB_CACHE": f"{folder}/cache.sqlite", "OPENAI_BASE_URL": address, "OPENAI_API_KEY": ""}
    fault = "ask" if case.fault == "malformed" else case.fault
    engine = f"{case.engine}?patience=3" if case.engine == "small" else case.engine
    setup = Failing(fault=fault, engine=engine, marks=folder if case.once else "")
    print(
        collect(setup, workers=case.workers, run=f"{folder}/run", show_progress=case.fault == "display").outcomes()[:3]
    )


def tried(case: Case, address: str) -> tuple[str, str]:
    """ "" or "lost", "miscounted", "unhelpful"; and the last words."""
    with tempfile.TemporaryDirectory(prefix="lab-machine-") as folder:
        code = f"import campaign_machine as own; own.session(own.Case(*{tuple(case)!r}), {folder!r}, {address!r})"
        paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "tests/support", Path(__file__).parent))
        for _ in range(TRIES):
            command = [sys.executable, "-c", code]
            ended = subprocess.run(
                command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=120
            )
            if ended.returncode == 0 or (ended.returncode > 0 and case.engine == "small"):
                break  # else it is run again, as a user would
        words = " ".join(ended.stderr.split()[-60:])
        if ended.returncode:
            booked = Path(folder, "run", "episodes.jsonl")
            if case.fault == "malformed" and booked.exists() and booked.read_text():
                return "miscounted", words
            if not (case.limits or case.fault == "malformed"):
                return "lost", words
            # Such a run should be refused before it starts, with the fix in its message.
            advised = FIX.search(words) and "not measured" not in words
            return ("" if advised else "unhelpful"), words
        n, failed, missing = map(int, re.findall(r"\d+", ended.stdout.splitlines()[-1]))
        if n + missing < TASKS or (case.engine == "small" and missing):
            return "lost", ended.stdout
        bad = len(BAD) if case.engine == "rules" and not case.once else 0
        right = (failed, missing) == {"agent": (bad, 0), "machine": (0, bad), "": (0, 0)}[case.whose]
        return "" if right and case.fault != "malformed" else "miscounted", ended.stdout


def main() -> int:
    """Play all cases; 1 if anything was lost, miscounted or unhelpful."""
    counts = dict.fromkeys(("lost", "miscounted", "unhelpful"), 0)
    with ChatServer(lambda request: answer({"shelf": 1, "why": ""})) as good, ChatServer(lambda _: says("hm")) as bad:
        for case in CASES:
            verdict, words = tried(case, (bad if case.fault == "malformed" else good).address)
            about = f"{case.fault}, {case.workers} workers, {case.limits} once={case.once}"
            print(f"{verdict or 'ok':10} {about}: {words.strip()[-150:]}", flush=True)
            counts |= {verdict: counts[verdict] + 1} if verdict else {}
    print(f"{len(CASES)} cases: {counts}")
    return any(counts.values())


if __name__ == "__main__":
    sys.exit(main())
