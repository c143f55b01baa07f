"""A prompt with a rule, and episodes that ask it: importable, so that worker processes find them too."""

from __future__ import annotations

import builtins
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from pydantic import Field

from lab.machine.faults import BackendDied
from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone, Ledger, by_operator
from lab.models.connect import connect
from lab.models.prompts import Fields, Prompt
from lab.models.rules import corruption, rule, verdict
from lab.results.outcomes import Judgement
from lab.runs.execution import Play, Played, play_all
from lab.runs.experiment import Experiment
from lab.runs.manifest import Manifest
from lab.runs.run import Episode, Run

SHELVES = 10
QUESTIONS = 3  # in an episode


class BoxFields(Fields):
    """box: its number. labels: what is written on it."""

    box: int
    labels: list[str] = []


class Placing(AnswerModel):
    """Where a box goes."""

    shelf: int = Field(description="the number of the shelf")
    why: str = Field(description="the reason, in one sentence")


ASK = Prompt(
    name="tests.place",
    version="1",
    operator="realize",
    system="You put boxes on shelves.",
    template="Box {{ box }}{% for label in labels %}, {{ label }}{% endfor %}. Which shelf?",
    fields=BoxFields,
    answer=Placing,
)


@corruption(ASK)
def misplaced(fields: BoxFields, answer: Placing, random: Random) -> Placing:
    """Any other shelf."""
    shelf = (answer.shelf + random.randint(1, SHELVES - 1)) % SHELVES
    return Placing(shelf=shelf, why=answer.why)


@rule(ASK)
def place(fields: BoxFields) -> Placing:
    """The rule: seven shelves on for each box."""
    return Placing(shelf=fields.box * 7 % SHELVES, why=f"box {fields.box}")


class CheckFields(Fields):
    """Where a box was put."""

    box: int
    shelf: int


class Checked(AnswerModel):
    """Whether that is right."""

    right: bool = Field(description="whether the box stands on its shelf")


CHECK = Prompt(
    name="tests.check",
    version="1",
    operator="validate",
    system="You look at shelves.",
    template="Is shelf {{ shelf }} the one for box {{ box }}?",
    fields=CheckFields,
    answer=Checked,
)


@corruption(CHECK)
def overlooked(fields: CheckFields, answer: Checked, random: Random) -> Checked:
    """The other verdict."""
    return Checked(right=not answer.right)


@verdict(CHECK)
def certifies(answer: Checked) -> bool:
    """What the answer says."""
    return answer.right


@rule(CHECK)
def check(fields: CheckFields) -> Checked:
    """Whether it is the shelf of the rule above."""
    return Checked(right=fields.shelf == fields.box * 7 % SHELVES)


def play(task: str, backbone: Backbone, record: bool = True, pause: float = 0.0) -> Played:
    """An episode: ask for a few boxes. The result depends on the answers alone."""
    ledger = Ledger(backbone, record=record)
    shelves = []
    for box in range(QUESTIONS):
        shelves.append(ledger.ask(ASK, box=int(task) * QUESTIONS + box, labels=[task]).value.shelf)
        time.sleep(pause)
    return Played({"shelves": shelves}, by_operator(ledger.calls), ledger.recorded)


def episodes(engine: str, **about: Any) -> Play:
    """`play` with a backbone for this engine string, as a notebook would write it."""
    return partial(play, backbone=connect(engine), **about)


def manifest(tasks: int, engine: str = "rules", address: str = "rules", **parameters: Any) -> Manifest:
    """Of an experiment of this many tasks."""
    return Manifest.of("asking", engine, address, parameters, [f"{task:03d}" for task in range(tasks)], ["lab"])


def run_rules(folder: Path, tasks: int, pause: float, workers: int = 1, backend: str = "loky") -> None:
    """Play a run of the noisy rules; what subprocesses call, to be killed or interrupted."""
    with Run(folder, manifest(tasks, "rules@0.6")) as run:
        play_all(run, episodes("rules@0.6", pause=pause), workers, backend, show_progress=False)


@dataclass(frozen=True, kw_only=True)
class Asking(Experiment):
    """An experiment whose episodes ask for as many boxes as `questions` says; groups of two belong together.

    wrong: ids of tasks whose episodes raise `fault`, by name: of the agent, or of the machine.
    """

    count: int = 3
    questions: int = QUESTIONS
    wrong: tuple[str, ...] = ()
    fault: str = "ZeroDivisionError"

    method: ClassVar[str] = "asking"
    packages: ClassVar[tuple[str, ...]] = ("lab",)

    def decided(self) -> Asking:
        return replace(self, data="synthetic")

    def tasks(self) -> list[str]:
        return [f"{number:03d}" for number in range(self.count)]

    def group(self, task: str) -> str:
        return str(int(task) // 2)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        shelves = [ledger.ask(ASK, box=int(task) * self.questions + box).value.shelf for box in range(self.questions)]
        if task in self.wrong:
            raise getattr(builtins, self.fault, BackendDied)(f"{self.fault} in {task}")
        return {"shelves": shelves}


@dataclass(frozen=True, kw_only=True)
class Checking(Asking):
    """The same, and each place is checked: two operators. An episode is its pairs of shelf and verdict."""

    method: ClassVar[str] = "checking"

    def operators(self) -> tuple[str, ...]:
        return ASK.operator, CHECK.operator

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        pairs = []
        for box in range(int(task) * self.questions, (int(task) + 1) * self.questions):
            shelf = ledger.ask(ASK, box=box).value.shelf
            pairs.append([shelf, ledger.ask(CHECK, box=box, shelf=shelf).value.right])
        return {"pairs": pairs}


@dataclass(frozen=True, kw_only=True)
class Shelving(Asking):
    """The same, and scored: 1 where every box came to its shelf."""

    method: ClassVar[str] = "shelving"
    metric: ClassVar[str] = "all in place"

    def judged(self, episode: Episode) -> Judgement:
        if episode.failed:
            return super().judged(episode)
        first, shelves = int(episode.task) * self.questions, episode.result["shelves"]
        wrong = sum(shelf != box * 7 % SHELVES for box, shelf in enumerate(shelves, first))
        return Judgement(float(not wrong), f"{wrong} in the wrong place" if wrong else "")
