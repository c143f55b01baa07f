"""One compiled game in TextWorld's emulator, in this process: commands in, the game's words out."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worlds.textworld.games import textworld_package

LONGEST = 190  # characters; the emulator cuts a command at 198 bytes
UNKNOWN_VERB = "That's not a verb I recognise."  # the game's own words
# Verbs of the interpreter, not of the world: they ask for "yes", write files, undo moves or print hidden state.
NOT_PLAY = {
    "quit", "q", "restart", "restore", "save", "script", "transcript", "unscript", "undo", "oops", "o", "restrict",
    "verify", "version",
}  # fmt: skip
WORD = 9  # a game compares only so many letters of a word
# The emulator takes a backslash for a command of its own, and control characters for the end of input: either can
# make it print without end.
STRANGE = re.compile(r"[^A-Za-z0-9 .,;:'\"?!()/&-]")
SENTENCES = re.compile(r"[.,;:\"?!]|\b(?:then|and)\b", re.IGNORECASE)
EARLIER_STANDING = re.compile(r"<(score|moves)>.*?</\1>(?=.*<\1>)", re.DOTALL)
LOGO = re.compile(r"\A.*\\\$\$\$\$\$\$\$ *\n", re.DOTALL)
PROMPT = re.compile(r"\n>[^\n]*\Z")
AFTERWARDS = re.compile(r"\s*Would you like to RESTART, RESTORE a saved game, QUIT.*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Turn:
    """The game's answer to a command. points: the score so far, of at most `most`. won, lost: either ends the game."""

    text: str
    points: int
    most: int
    won: bool
    lost: bool


class Emulator:
    """A running game. It has no process or file of its own; closing it frees the emulator."""

    def __init__(self, game: Path) -> None:
        """game: a compiled game. Raises FileNotFoundError if it is gone."""
        # Requesting admissible commands makes the package track the world's state, from which it derives them.
        self._env = start(game, "admissible_commands", "score", "max_score", "won", "lost")
        self._state: Any = None

    def reset(self) -> Turn:
        """Start the game again; returns the objective and the first room."""
        return self._turn(self._env.reset())

    def send(self, command: str) -> Turn:
        """Send one command, which may have several sentences; the interpreter's verbs are refused as unknown.

        Raises RuntimeError if the emulator has halted.
        """
        words = plain(command)
        if not allowed(words):
            return Turn(UNKNOWN_VERB, *self._standing())
        state, _, _ = self._env.step(words)
        turn = self._turn(state)
        if self._env.unwrapped._jericho._emulator_halted() and not (turn.won or turn.lost):
            raise RuntimeError("the emulator halted in the middle of a game")
        return turn

    def commands(self) -> tuple[str, ...]:
        """The admissible commands, sorted; they include looking around."""
        return tuple(sorted(self._state["admissible_commands"]))

    def close(self) -> None:
        self._env.close()

    def _turn(self, state: Any) -> Turn:
        self._state = state
        return Turn(game_words(state["feedback"]), *self._standing())

    def _standing(self) -> tuple[int, int, bool, bool]:
        state = self._state
        return int(state["score"]), int(state["max_score"]), bool(state["won"]), bool(state["lost"])


def start(game: Path, *wanted: str) -> Any:
    """TextWorld's own environment for a compiled game. wanted: the fields of EnvInfos to request."""
    with textworld_package() as textworld, warnings.catch_warnings():
        # The emulator warns of every game without a known table of addresses; TextWorld's wrappers need none.
        warnings.filterwarnings("ignore", message="Game .* is not fully supported")
        env = textworld.start(str(game), textworld.EnvInfos(**dict.fromkeys(wanted, True)))
        layer = env
        while isinstance(layer._wrapped_env, textworld.core.Wrapper):
            layer = layer._wrapped_env
        layer._wrapped_env = LastStanding(layer._wrapped_env)
        return env


class LastStanding:
    """Wraps the emulator: of the scores that a command of several sentences prints, it keeps only the last.

    The package would read everything from the first to the last score as one score, and lose the text between them.
    """

    def __init__(self, emulator: Any) -> None:
        self._emulator = emulator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)

    def step(self, command: str) -> tuple[Any, Any, Any]:
        state, score, done = self._emulator.step(command)
        state["feedback"] = EARLIER_STANDING.sub("", state["feedback"])
        return state, score, done


def plain(command: str) -> str:
    """The command on one line, cut at LONGEST characters, with underscores for characters that a game cannot read."""
    return STRANGE.sub("_", " ".join(command.split()))[:LONGEST]


def allowed(command: str) -> bool:
    """Whether no sentence of a command begins with a verb of the interpreter."""
    first_words = (words[0].lower() for words in map(str.split, SENTENCES.split(command)) if words)
    return not any(word.startswith("tw-") or word[:WORD] in {verb[:WORD] for verb in NOT_PLAY} for word in first_words)


def game_words(raw: str) -> str:
    """A game's output without logo, prompt, status line, and the question what to do after the end.

    Lines keep their order; spaces around them and repeated blank lines are removed.
    """
    text = AFTERWARDS.sub("", PROMPT.sub("", LOGO.sub("", raw)))
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines)
