"""Wrappers between loop and adapter, for checks: they see each call of an operator, and which prompt it asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lab.models.backbone import Answer, Ledger
from lab.models.connect import connected
from lab.models.prompts import Prompt
from sdp.experiments.certifying import Certifying
from sdp.loop import run_episode
from sdp.operators import Verdict
from sdp.reach import READS
from sdp.trajectory import Trajectory


class Noting(Ledger):
    """A ledger that records which operator of an adapter asked what. asked: pairs (operator, fields as JSON values).

    answered: how many prompts the engine was asked, through whichever ledger.
    """

    def __init__(self, engine: str) -> None:
        super().__init__(connected(engine))
        self.running, self.asked, self.answered = "", list[tuple[str, Any]](), 0
        inner = self.backbone.ask

        def counted(prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            self.answered += 1
            return inner(prompt, sample=sample, **fields)

        self.backbone.ask = counted  # type: ignore[method-assign]

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        self.asked.append((self.running, prompt.fill(**fields).model_dump(mode="json")))
        return super().ask(prompt, sample=sample, **fields)


class Between:
    """A wrapper between the loop and an adapter: `around` sees each call of an operator."""

    def __init__(self, inner: Any, ledger: Noting) -> None:
        self.inner, self.ledger = inner, ledger

    def __getattr__(self, name: str) -> Any:
        operator = getattr(self.inner, name)
        if name not in READS:
            return operator

        def called(*arguments: Any) -> Any:
            self.ledger.running = name
            try:
                return self.around(name, operator, arguments)
            finally:
                self.ledger.running = ""

        return called

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        return operator(*arguments)


class Rejecting(Between):
    """Rejects attempts with its own reasons: the first one, and all after `spared` certified ones."""

    def __init__(self, inner: Any, ledger: Noting, spared: int = 0) -> None:
        super().__init__(inner, ledger)
        self.spared, self.rejections, self.replans = spared, 0, 0

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        result = operator(*arguments)
        self.replans += name == "replan"
        if name != "validate":
            return result
        if result.k and self.rejections and self.spared:
            self.spared -= 1
            return result
        self.rejections += 1
        return Verdict(0, f"refusal zq{self.rejections}")


class Played(NamedTuple):
    """An episode: its trajectory, the wrapper between loop and adapter, and the ledger of its prompts."""

    trajectory: Trajectory
    between: Any
    ledger: Noting


def play(setup: Certifying, task: str, wrap: Callable[[Any, Noting], Any] = Between, **settings: Any) -> Played:
    """Play a resolved experiment with a wrapper between loop and adapter. settings: changes to the loop's settings."""
    setup = replace(setup, settings=replace(setup.settings, **settings))
    ledger = Noting(setup.engine)
    with setup.answering(task):
        between = wrap(setup.adapter(task, ledger), ledger)
        return Played(run_episode(task, between, setup.settings, ledger), between, ledger)
