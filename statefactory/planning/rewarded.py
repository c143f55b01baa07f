"""ReAct with rewards (C.6.2): it chooses some valid actions, predicts their outcomes, and acts on their rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.answers import Act, read
from agents.environment import Environment
from agents.history import CALLS, History
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.models.backbone import Backbone
from statefactory.planning.lookahead import Candidate, Lookahead, Meter, OutOfBudget
from statefactory.planning.prompts import Chosen, Rated, choose_prompt, rewarded_prompt
from statefactory.predictors import Path

LOOK_AHEAD = "look ahead"  # name of the turns of predictor and world model
K = {
    "alfworld": 3,
    "blocksworld": 3,
    "scienceworld": 5,
}  # candidates per turn, by world (C.6.2); FEWEST in other worlds
FEWEST = 3
DECIMALS = 3  # of a reward in the prompt
Looking = Callable[[Backbone], Lookahead[Any]]


def rewarded(
    environment: Environment, backbone: Backbone, looking: Looking, path: Path, settings: Settings = DEFAULT,
    watch: Watch = unwatched,
) -> History:  # fmt: skip
    """Play one task; see `agents.play.Play` for prompts, counts and errors.

    looking: makes the predictor with its world model, whose calls count as the agent's own. path: the goal and the
    first observation. Without listed or chosen actions a turn is plain ReAct.
    """
    answering = Meter(backbone, settings.calls or 2 * settings.steps)
    play = Play(environment, answering, settings, watch)
    episode = Episode(play, answering, looking(answering), path, K.get(environment.name, FEWEST))
    try:
        episode.to_the_end()
    except OutOfBudget:
        episode.book("")
        play.end(CALLS)
    return play.history


@dataclass
class Episode:
    """ReAct with rewards on one task. memory: the predictor's memory after the path."""

    play: Play
    answering: Meter
    ahead: Lookahead[Any]
    path: Path
    most: int
    memory: Any = field(default=None, init=False)
    booked: int = field(default=0, init=False)  # number of calls that are assigned to a turn of the history

    def to_the_end(self) -> None:
        """Play turn by turn. Raises OutOfBudget."""
        self.memory = self.ahead.start(self.path)
        while not self.play.over:
            candidates, after = self.look(self.choose())
            if self.act(candidates) is not None:
                self.advance(candidates, after)

    def choose(self) -> list[str]:
        """Ask for at most K candidates among the valid actions."""
        self.book("")  # calls of the memory's start or last advance
        options, play = list(self.play.environment.valid_actions()), self.play
        if not options:
            return []
        prompt = choose_prompt(play.environment.name, play.settings.by_schema)

        def among(value: Any) -> Chosen:
            chosen = read(value, Chosen)
            chosen.among(options, self.most)
            return chosen

        chosen = play.ask(prompt, among, options=options, most=self.most)
        self.booked = len(self.answering.calls)
        return chosen.among(options, self.most) if chosen else []

    def look(self, actions: Sequence[str]) -> tuple[list[Candidate], list[Any]]:
        """Predict and rate the candidates; returns them with the memory after each."""
        if self.play.over or not actions:
            return [], []
        candidates, after = self.ahead.candidates(self.path, self.memory, actions)
        flag_notes = (
            f"  (flagged: {', '.join(sorted(candidate.flags))})" * bool(candidate.flags) for candidate in candidates
        )
        lines = (f"{candidate.reward:+.{DECIMALS}f}  {candidate.action}" for candidate in candidates)
        self.book("\n".join(line + note for line, note in zip(lines, flag_notes, strict=True)))
        return candidates, after

    def act(self, candidates: Sequence[Candidate]) -> Act | None:
        """Ask for the next action until an answer is well-formed; None if the episode ends before."""
        play, act = self.play, None
        prompt = rewarded_prompt(play.environment.name, play.settings.by_schema)
        rated = [Rated(action=candidate.action, reward=round(candidate.reward, DECIMALS)) for candidate in candidates]
        while act is None and not play.over:
            act = play.act(prompt, candidates=rated) if rated else play.act()
        self.booked = len(self.answering.calls)
        return act

    def advance(self, candidates: Sequence[Candidate], after: Sequence[Any]) -> None:
        """Extend path and memory by the real action and observation. Reuse the memory of a candidate with both."""
        turn = self.play.history.turns[-1]
        predicted = {
            (candidate.action, candidate.outcome.observation): memory
            for candidate, memory in zip(candidates, after, strict=True)
        }
        if (turn.action, turn.observation) in predicted:
            self.memory = predicted[turn.action, turn.observation]
        elif not self.play.over:
            self.memory = self.ahead.predictor.advance(self.memory, turn.action, turn.observation)
        self.path = self.path.then(turn.action, turn.observation)

    def book(self, text: str) -> None:
        """Store the calls of predictor and world model as a turn of the history."""
        calls = self.answering.calls[self.booked :]
        if calls or text:
            self.play.book(LOOK_AHEAD, text, calls)
        self.booked = len(self.answering.calls)
