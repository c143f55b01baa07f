"""How answers to the prompts for ScienceWorld go wrong under `oracle@p`: within what a model could answer there."""

from __future__ import annotations

from random import Random

from lab.models.rules import corruption, verdict
from sdp.adapters.scienceworld import prompts
from standins.agents.noise import another_action


@corruption(prompts.PLAN)
def without_one(fields: prompts.PlanFields, answer: prompts.Targets, random: Random) -> prompts.Targets:
    """A plan that leaves a condition out or, of a single one, asks for it in another room."""
    if len(answer.targets) > 1:
        place = random.randrange(len(answer.targets))
        return prompts.Targets(targets=[*answer.targets[:place], *answer.targets[place + 1 :]])
    return prompts.Targets(targets=[f"The agent is in the {random.choice(fields.rooms or ['hallway'])}."])


@corruption(prompts.ACT)
def another(fields: prompts.ActFields, answer: prompts.Action, random: Random) -> prompts.Action:
    """Something else with a thing that is seen."""
    return prompts.Action(action=another_action(fields.room, random))


@corruption(prompts.JUDGE)
def misjudged(fields: prompts.JudgeFields, answer: prompts.Judged, random: Random) -> prompts.Judged:
    """The first condition held where it did not, and the other way round."""
    return prompts.Judged(reason="it seems otherwise", held=0 if answer.held else 1)


@verdict(prompts.JUDGE)
def holds(answer: prompts.Judged) -> bool:
    return answer.held > 0
