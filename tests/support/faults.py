"""A run against a server that misbehaves in every way at random, and the accounts of both sides held together.

What the server does is drawn from a seed by the number of the request, in bursts. It books every request, so that the
run's files can be compared with what was really sent.
"""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import chat_server as chat
from asking import ASK, QUESTIONS, manifest
from chat_server import ChatServer, Request, Response
from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.models import client
from lab.models.backbone import Backbone, Ledger, by_operator
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.engines import SCHEMA
from lab.runs.execution import Played, play_all
from lab.runs.run import Episode, Run

TIMEOUT, SLOW = 1.0, 3.0  # seconds: of the client, and of an answer that comes too late
WAIT = 0.1  # the longest wait between two tries where the server does not say
HOPELESS = 40  # every so many tasks, one whose first question always meets a 500
LONGEST_BURST = 6
GOOD = ("good", "in prose")
BAD_REPLIES = ("no JSON", "wrong schema", "refusal", "empty", "cut by length")  # arrive in full, and count tokens
NO_REPLIES = ("429 with Retry-After", "429", "500", "time-out", "reset", "cut-off body", "no completion")
NOTE = re.compile(r"\d waiting: ([\w -]+)")
BOX = re.compile(r"Box (\d+), (\d+)")


@dataclass
class Booked:
    """One request as the server saw it. text: of the answer if that was right and sent in full."""

    question: str
    kind: str
    text: str | None
    tokens: tuple[int, int]

    @property
    def replied(self) -> bool:
        return self.kind not in NO_REPLIES


class Troubled:
    """The server's behaviour, and its books."""

    def __init__(self, seed: int, requests: int = 100_000) -> None:
        self._kinds = kinds(Random(seed), requests)
        self.books: dict[int, Booked] = {}

    def __call__(self, request: Request) -> Response:
        if not (found := BOX.search(request.text)):  # a small request that finds out whether anything gets through
            return chat.says("OK")
        box, task = found.groups()
        hopeless = int(task) % HOPELESS == HOPELESS - 1 and int(box) % QUESTIONS == 0
        kind = "500" if hopeless else self._kinds[request.number]
        value = {"shelf": request.number, "why": f"request {request.number}"}
        tokens = (5 + request.number % 7, 1 + request.number % 3)
        text = json.dumps(value, separators=(",", ":")) if kind in GOOD else None
        self.books[request.number] = Booked(box, kind, text, tokens)
        return response(kind, value, {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]})


def kinds(random: Random, requests: int) -> list[str]:
    """Good and bad in turns; a fault comes in a burst of one kind, time-outs in short ones; all kinds, then again."""
    drawn: list[str] = []
    while len(drawn) < requests:
        for kind in random.sample(BAD_REPLIES + NO_REPLIES, k=len(BAD_REPLIES + NO_REPLIES)):
            drawn += random.choices(GOOD, [3, 1], k=random.randint(1, 9))
            drawn += [kind] * random.randint(1, 3 if kind == "time-out" else LONGEST_BURST)
    return drawn


def response(kind: str, value: dict[str, Any], usage: dict[str, int]) -> Response:
    """What the server does for each kind."""
    whole = json.dumps(value)
    match kind:
        case "good":
            return chat.says(whole, usage=usage)
        case "in prose":
            return chat.says(f"Here it is:\n```json\n{whole}\n```\nAnything else?", usage=usage)
        case "no JSON":
            return chat.says("The third shelf, I would say.", usage=usage)
        case "wrong schema":
            return chat.says(json.dumps({"shelf": "the third", "why": 3}), usage=usage)
        case "refusal":
            return chat.says(None, refusal="I cannot help with that.", usage=usage)
        case "empty":
            return chat.says("", usage=usage)
        case "cut by length":
            return chat.says(whole[:-4], finish_reason="length", usage=usage)
        case "429 with Retry-After":
            return chat.status(429, retry_after="0.2")
        case "time-out":
            return chat.says(whole, usage=usage, delay=SLOW)
        case "reset":
            return chat.resets()
        case "cut-off body":
            return chat.cut_off_body(value)
        case "no completion":
            return chat.no_json()
    return chat.status(int(kind))


def play(task: str, backbone: Backbone) -> Played:
    """An episode that keeps its accounts also where it fails, as the suite's own do."""
    ledger = Ledger(backbone, record=True)
    boxes = range(int(task) * QUESTIONS, (int(task) + 1) * QUESTIONS)
    try:
        shelves = [ledger.ask(ASK, box=box, labels=[task]).value.shelf for box in boxes]
    except Exception as error:
        error.played = Played(None, by_operator(ledger.calls), ledger.recorded)
        raise
    return Played({"shelves": shelves}, by_operator(ledger.calls), ledger.recorded)


@dataclass
class Outcome:
    """A campaign's run, the server's books, and what was said meanwhile. stops: how often the run had to be resumed."""

    episodes: int
    results: list[Episode]
    not_measured: dict[str, str]
    usage: dict[str, Any]
    books: list[Booked]
    cached: list[dict[str, Any]]
    said: str
    stops: int = 0
    faults: list[str] = field(default_factory=list)


class Once(Run):
    """A run that plays no episode again that was not measured, so that each is in the accounts once."""

    def pending(self) -> list[str]:
        return [task for task in super().pending() if task not in self.not_measured]


def campaign(folder: Path, episodes: int, seed: int, workers: int, patience: float) -> Outcome:
    """Play the episodes on threads against a troubled server until each is scored, failed or not measured."""
    troubled, said, stops = Troubled(seed), io.StringIO(), 0
    with ChatServer(troubled) as server, patch.object(client, "LONGEST_WAIT", WAIT), redirect_stderr(said):
        said_at_once = patch.object(progress, "LOG_PAUSE", 0.0)
        with patch.dict(os.environ, {"OPENAI_BASE_URL": server.address}):
            backbone = connect(f"small?patience={patience}&timeout={TIMEOUT}", cache=AnswerCache(folder / "a.sqlite"))
            # As if it had answered before: else three statuses 500 to a first question tell of a schema not taken.
            backbone.server.takes(ASK.name, (SCHEMA,), True)
        with Once(folder / "run", manifest(episodes, "small", server.address)) as run, said_at_once:
            while run.pending():
                try:
                    play_all(run, partial(play, backbone=backbone), workers, "threading")
                except Unavailable:
                    stops += 1
            results, usage, not_measured = run.results(), run.usage(), dict(run.not_measured)
    books = [troubled.books[number] for number in sorted(troubled.books)]
    cached = cached_values(folder / "a.sqlite")
    outcome = Outcome(episodes, results, not_measured, usage, books, cached, said.getvalue(), stops)
    outcome.faults = disagreements(outcome)
    return outcome


def cached_values(path: Path) -> list[dict[str, Any]]:
    """All that is in a cache."""
    with sqlite3.connect(path) as connection:
        return [json.loads(value) for (value,) in connection.execute("SELECT value FROM answers")]


def totals(usage: dict[str, Any]) -> Counter[str]:
    """The sums over all episodes: calls, tokens, retries, and calls by path."""
    total: Counter[str] = Counter()
    for operators in usage.values():
        for took in operators.values():
            total.update({name: took[name] for name in ("calls", "tokens_in", "tokens_out", "retries", "cached")})
            total.update({f"path {path}": times for path, times in took["paths"].items()})
    return total


def expected(books: list[Booked]) -> Counter[str]:
    """The same sums from the server's side."""
    questions: dict[str, list[str]] = {}
    for booked in books:
        questions.setdefault(booked.question, []).extend([booked.kind] if booked.replied else [])
    replies = [booked for booked in books if booked.replied]
    total: Counter[str] = Counter(calls=len(questions), retries=len(books) - len(replies), cached=0)
    total.update(tokens_in=sum(b.tokens[0] for b in replies), tokens_out=sum(b.tokens[1] for b in replies))
    total.update(f"path {path_of(kinds)}" for kinds in questions.values())
    return total


def path_of(kinds: list[str]) -> str:
    """How an answer was read, from the kinds of the replies that came."""
    if not kinds or (len(kinds) == 1 and kinds[0] in BAD_REPLIES and kinds[0] != "refusal"):
        return "failed"  # no reply at all, or none to the re-ask
    if len(kinds) == 1:
        return {"good": "schema", "in prose": "repaired"}.get(kinds[0], "malformed")
    return "reasked" if kinds[1] in GOOD else "malformed"


def disagreements(outcome: Outcome) -> list[str]:
    """What does not add up, in words; nothing if all is well."""
    episodes, ended = outcome.episodes, len(outcome.results) + len(outcome.not_measured)
    sent = {booked.text: booked.tokens for booked in outcome.books if booked.text}
    right = sum(times for path, times in expected(outcome.books).items() if path in RIGHT)
    mine, theirs = totals(outcome.usage), expected(outcome.books)
    checks = {
        f"{ended} episodes have a result or a fault, of {episodes}": ended == episodes,
        f"{len(outcome.usage)} of {episodes} have accounts": len(outcome.usage) == episodes,
        f"the run counts {dict(mine)}, the server {dict(theirs)}": +mine == +theirs,
        "an episode has neither a result nor an error, or both": all(
            (episode.result is None) == episode.failed for episode in outcome.results
        ),
        f"{len(outcome.cached)} answers are cached and {right} were right": len(outcome.cached) == right,
        "something is cached that the server did not send": all(value["text"] in sent for value in outcome.cached),
    }
    return [words for words, holds in checks.items() if not holds]


RIGHT = ("path schema", "path repaired", "path reasked")
