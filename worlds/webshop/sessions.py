"""Recorded shopping: sessions of people, and episodes of a language agent that thinks aloud (ReAct).

They are over the full catalogue of 1.18 million products and cannot be replayed in the small shop; they say how long
shopping takes, and the episodes say what the pages look like.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lab.machine.faults import MissingData
from lab.machine.paths import official_data

PEOPLE = "human_trajs_50.jsonl.gz"
AGENT = "react_gpt3_500_episodes.jsonl.gz"


class Recording(Protocol):
    """A recorded visit: how many actions it took, and the reward at its end, in [0, 1]."""

    @property
    def length(self) -> int: ...

    @property
    def reward(self) -> float: ...


@dataclass(frozen=True, slots=True)
class HumanSession:
    """A person's visit. pages: the kinds of pages seen, from the start page on; page texts were not recorded."""

    id: str
    instruction: str
    pages: tuple[str, ...]
    reward: float

    @property
    def length(self) -> int:
        return len(self.pages) - 1


@dataclass(frozen=True, slots=True)
class AgentEpisode:
    """A ReAct episode without its thoughts. goal: the index of its instruction; steps: (action, page shown) pairs."""

    goal: int
    instruction: str
    start: str
    steps: tuple[tuple[str, str], ...]
    reward: float

    @property
    def length(self) -> int:
        return len(self.steps)


def human_sessions(folder: Path | None = None, successful: bool = True) -> list[HumanSession]:
    """The sessions of people: the 18 with reward 1 of the 50 published, or all. Raises MissingData.

    folder: of the WebShop data, by default the official one.
    """
    sessions = [
        HumanSession(
            record["session"],
            record["goal"]["instruction_text"],
            tuple(step["page"] for step in record["steps"]),
            float(record["reward"]),
        )
        for record in records(folder, PEOPLE)
    ]
    return [session for session in sessions if not successful or session.reward == 1.0]


def agent_episodes(folder: Path | None = None, successful: bool = True) -> list[AgentEpisode]:
    """The ReAct episodes: the 179 with reward 1 of 500, or all. Raises MissingData."""
    episodes = [episode(record) for record in records(folder, AGENT)]
    return [one for one in episodes if not successful or one.reward == 1.0]


def episode(record: dict[str, Any]) -> AgentEpisode:
    opening, *steps = record["steps"]
    done = tuple((step["action"], step["observation"]) for step in steps if not step["action"].startswith("think["))
    return AgentEpisode(
        record["goal_idx"], record["instruction"], opening["observation"], done, float(record["reward"])
    )


def lengths(recordings: Iterable[Recording]) -> list[int]:
    """How many actions each took, sorted."""
    return sorted(recording.length for recording in recordings)


def records(folder: Path | None, name: str) -> list[dict[str, Any]]:
    path = (folder or official_data() / "webshop") / name
    if not path.exists():
        raise MissingData(
            f"WebShop's recorded sessions are not at {path}. No fetch brings them: they come with the "
            "data folder that LAB_DATA names"
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
