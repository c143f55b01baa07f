"""The stand-in for a model that is shown rewards, where the engine is `oracle@p`. Simulated.

It chooses what plain ReAct's stand-in would do, errors included, and valid actions at random beside it. Then it takes
the candidate of the highest reward, the first of several: it obeys rewards blindly, which a real model need not. So it
gains where rewards are right, loses where they are wrong, and does as plain ReAct where they say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

from agents.answers import Act, read
from agents.environment import Environment
from agents.planning_prompts import PromptOf
from agents.prompts import ActFields, react_prompt
from lab.machine.files import key_of
from lab.models import rules
from lab.models.backbone import Backbone
from lab.models.prompts import AnswerModel
from standins.agents import oracle
from standins.agents.oracle import Knows
from statefactory.planning.prompts import ChooseFields, Chosen, RatedFields, choose_prompt, rewarded_prompt
from worlds.benchmark import Expert


@rules.knows("statefactory.oracle")
def known(environment: Environment, expert: Expert, backbone: Backbone, by_schema: bool = False) -> rules.Known:
    """As ReAct's oracle, with answers to the prompts that show rewards.

    backbone: the stand-in itself, whose answer to ReAct's prompt has the errors.
    """
    own = partial(plain, environment.name, backbone, by_schema)
    rewarded: Mapping[PromptOf, Knows] = {
        choose_prompt: (lambda fields: chosen(own(fields), fields), unchanged),
        rewarded_prompt: (lambda fields: obeying(own(fields), fields), unchanged),
    }
    return oracle.known(environment, expert, rewarded)


def plain(world: str, backbone: Backbone, by_schema: bool, fields: ActFields) -> Act:
    """What plain ReAct would do after these turns: its fields, its draw."""
    asked: dict[str, Any] = {name: getattr(fields, name) for name in ActFields.model_fields}
    return read(backbone.ask(react_prompt(world, by_schema), **asked).value, Act)


def chosen(own: Act, fields: ChooseFields) -> Chosen:
    """Its own action first, then others at random; none where its own is not a valid one, as errors may be."""
    if own.action not in fields.options:
        return Chosen(thought="No listed one.", numbers=[])
    first = fields.options.index(own.action) + 1
    others = [number for number in range(1, len(fields.options) + 1) if fields.options[number - 1] != own.action]
    Random(key_of([fields.task, [turn.model_dump() for turn in fields.turns]])).shuffle(others)
    return Chosen(thought="What comes to mind first.", numbers=[first, *others][: fields.most])


def obeying(own: Act, fields: RatedFields) -> Act:
    """The candidate of the highest reward; its own action in its own words."""
    best = max(fields.candidates, key=lambda candidate: candidate.reward)  # the first of equals
    return own if best.action == own.action else Act(thought="The highest reward.", action=best.action)


def unchanged(fields: Any, answer: AnswerModel, random: Random) -> AnswerModel:
    """No further error: an answer follows from one that has its errors already."""
    return answer
