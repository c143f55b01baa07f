"""Acting agents on ScienceWorld: what they see and may do, the stand-in that knows a path, and a model's nonsense."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import chat_server as chat
from agents.experiments.acting import ASKING
from agents.experiments.acting_worlds import ScienceWorld
from agents.play import Settings
from chat_server import ChatServer
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.models.rules import NoRule
from lab.runs.collecting import collect

SHORT = ScienceWorld(data="synthetic", lengths=("short",), limit=1, settings=Settings(steps=60))


def played(setup: ScienceWorld) -> dict[str, Any]:
    run = collect(setup, workers=1, show_progress=False)
    assert run.evidence == ("simulated" if "oracle" in setup.engine else "measured")
    return next(iter(run.episodes.values())).result


def test_the_stand_in_plays_to_the_end_and_noise_costs_steps() -> None:
    plain, noisy = played(SHORT), played(replace(SHORT, engine="oracle@0.6"))
    task = SHORT.decided().tasks()[0]
    assert (plain["score"], plain["end"], plain["steps"]) == (1.0, "finished", len(SHORT.decided().solution(task)))
    assert noisy["steps"] > plain["steps"]


@pytest.mark.parametrize("agent", [name for name, agent in ASKING.items() if not agent.searches])
def test_every_agent_plays_to_the_end_with_an_expert_and_with_errors(agent: str) -> None:
    plain, noisy = (played(replace(SHORT, agent=agent, engine=engine)) for engine in ("oracle", "oracle@0.8"))
    assert (plain["score"], plain["end"]) == (1.0, "finished")
    assert noisy["end"] and noisy["steps"] <= 60 and noisy["malformed"] == 0


def test_no_honest_rule_plays_it() -> None:
    setup = replace(SHORT, engine="rules").resolved()
    with pytest.raises(NoRule, match="scienceworld"):
        setup.play(setup.tasks()[0], Ledger(connected(setup.engine)))


def test_the_room_is_seen_without_a_step_and_a_refused_action_is_told() -> None:
    setup = SHORT.resolved()
    visiting = setup.environment(setup.tasks()[0])
    assert "Rooms: " in visiting.begin()
    before = visiting.view()
    refused = visiting.act("dance with the axe")
    assert not refused.valid and not refused.done and visiting.view() == before
    assert visiting.act("teleport to outside").valid and visiting.view() != before
    assert visiting.result()["score"] >= 0


def test_a_model_that_talks_nonsense_ends_by_its_caps(server: ChatServer) -> None:
    texts = ["hm", "Thought: a\nAction: dance", "Thought: b\nAction: look around"]
    server.behave(lambda request: chat.says(texts[request.number % 3]))
    result = played(replace(SHORT, engine="small?patience=5", settings=Settings(steps=4)))
    assert (result["end"], result["steps"], result["malformed"], result["invalid"]) == ("out of steps", 4, 2, 2)
