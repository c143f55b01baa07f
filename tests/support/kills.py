"""Runs killed with SIGKILL at random moments, also in the middle of a write, and resumed each time."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tqdm.auto import tqdm

import chat_server as chat
from asking import manifest, play, run_rules
from faults import BOX
from flights import CONTEXT
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.runs.execution import play_all
from lab.runs.run import Run, read_lines

FILES = ("episodes.jsonl", "usage.jsonl", "answers.jsonl")
KEPT = {*FILES, "manifest.json", "run.lock"}
ENGINE = "rules@0.6"
SETTLED = ("calls", "tokens_in", "tokens_out", "paths")  # what an episode took, whenever and from wherever it came
Session = Callable[[Path], None]


class Moment(NamedTuple):
    """When to die: "timer", so many seconds after the start; or in the nth "write" or "fsync" of the process.

    part: how much of the data that write still puts into the file.
    """

    kind: str
    seconds: float
    nth: int
    part: float


@dataclass
class Outcome:
    """What the kills came to. torn: files found with half a line. differences: empty if all is well."""

    kills: Counter[str] = field(default_factory=Counter)
    torn: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def moment(random: Random) -> Moment:
    kind = random.choice(["timer", "timer", "write", "fsync"])
    return Moment(kind, random.uniform(0, 0.2), random.randint(1, 25), random.random())


def rules_session(folder: Path, tasks: int) -> None:
    """Play noisy rules until the run is done."""
    run_rules(folder / "run", tasks, pause=0.001)


def server_session(folder: Path, tasks: int, address: str) -> None:
    """Play against the server on two threads, with a cache, until the run is done."""
    os.environ["OPENAI_BASE_URL"] = address
    backbone = connect("small", cache=AnswerCache(folder / "cache" / "answers.sqlite"))
    with Run(folder / "run", manifest(tasks, "small", address)) as run:
        play_all(run, partial(play, backbone=backbone), 2, "threading", show_progress=False)


def steady(request: chat.Request) -> chat.Response:
    """A model at temperature 0: the same question has the same answer."""
    box, _ = BOX.search(request.text).groups()
    return chat.answer({"shelf": int(box) * 3 % 10, "why": f"box {box}"}, delay=0.002)


def disturb(session: Session, folder: Path, kills: int, tasks: int, random: Random) -> Outcome:
    """Kill and resume until the kills are reached and the last run is done; a run that is done makes way for a new."""
    outcome, calm, rounds = Outcome(), folder / "calm", 0
    finish(session, calm)
    while outcome.kills.total() < kills:
        rounds += 1
        disturbed = folder / f"killed-{rounds}"
        while outcome.kills.total() < kills and not done(disturbed, tasks):
            kill_once(session, disturbed, moment(random), outcome)
        finish(session, disturbed)
        outcome.differences += differences(calm, disturbed, tasks)
    return outcome


def done(folder: Path, tasks: int) -> bool:
    return len(read_lines(folder / "run" / "episodes.jsonl")) == tasks


def finish(session: Session, folder: Path) -> None:
    """A session that nobody disturbs."""
    process = CONTEXT.Process(target=session, args=(folder,))
    process.start()
    process.join(60)
    assert process.exitcode == 0, f"the undisturbed session ended with {process.exitcode}"


def kill_once(session: Session, folder: Path, when: Moment, outcome: Outcome) -> None:
    """A session that dies at this moment, unless it was done before."""
    here, there = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=doomed, args=(session, folder, when, there))
    process.start()
    assert here.poll(30), "the session did not start"
    process.join(when.seconds if when.kind == "timer" else 60)
    process.kill()
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        outcome.differences.append(f"a session in {folder} ended with {process.exitcode}")
    outcome.kills[when.kind] += process.exitcode == -signal.SIGKILL
    outcome.torn.update(name for name in FILES if torn(folder / "run" / name))


def torn(path: Path) -> bool:
    return path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0


def doomed(session: Session, folder: Path, when: Moment, started: Any) -> None:
    """The session, in a process whose nth write or fsync is its last."""
    left, lock = [when.nth], threading.Lock()

    def dying(call: Callable[..., Any], file: int, *data: bytes) -> Any:
        with lock:
            left[0] -= not stat.S_ISFIFO(os.fstat(file).st_mode)
            if left[0] == 0:
                if data:
                    call(file, data[0][: int(when.part * len(data[0]))])
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
        return call(file, *data)

    tqdm.set_lock(threading.RLock())  # its own is shared between processes, and would outlive a killed one
    started.send(None)
    if when.kind != "timer":
        setattr(os, when.kind, partial(dying, getattr(os, when.kind)))
    session(folder)


def differences(calm: Path, disturbed: Path, tasks: int) -> list[str]:
    """What a killed run has otherwise than the undisturbed one, in words."""
    one, other = calm / "run", disturbed / "run"
    checks = {
        "its episodes": sorted_lines(one) == sorted_lines(other) and len(sorted_lines(other)) == tasks,
        "its answers": answers(one) == answers(other) and len(answers(other)) > 0,
        "its accounts": accounts(one) == accounts(other) and len(accounts(other)) == tasks,
        "its manifest": (one / "manifest.json").read_bytes() == (other / "manifest.json").read_bytes(),
        "its files": {path.name for path in other.iterdir()} == KEPT,
        "its cache": cache_of(calm) == cache_of(disturbed),
    }
    return [f"{disturbed} differs in {what}" for what, same in checks.items() if not same]


def sorted_lines(run: Path) -> list[bytes]:
    return sorted((run / "episodes.jsonl").read_bytes().splitlines(keepends=True))


def answers(run: Path) -> set[tuple[str, str]]:
    return {(line["request"], line["text"]) for line in read_lines(run / "answers.jsonl")}


def accounts(run: Path) -> dict[str, Any]:
    """Task -> what it took, the last line of each."""
    usage = {line["task"]: line["usage"] for line in read_lines(run / "usage.jsonl")}
    return {
        task: {operator: {name: took[name] for name in SETTLED} for operator, took in operators.items()}
        for task, operators in usage.items()
    }


def cache_of(folder: Path) -> list[tuple[str, str]]:
    """What the cache holds, but for seconds; it must be sound."""
    path = folder / "cache" / "answers.sqlite"
    if not path.exists():
        return []
    with sqlite3.connect(path) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        assert verdict == "ok", f"{path}: {verdict}"
        rows = connection.execute("SELECT key, value FROM answers ORDER BY key").fetchall()
    # The seconds that an answer took are its own.
    return [(key, json.dumps(json.loads(value) | {"seconds": 0.0}, sort_keys=True)) for key, value in rows]
