"""The oracle for a model that is shown rewards, with the engine `oracle@p`. Simulated.

Its candidates are the action of plain ReAct's oracle, errors included, and random valid actions. Then it takes the
candidate with the highest reward, the first among equals. It obeys rewards blindly, which a real model need not. So it
gains where rewards are right, loses where they are wrong, and equals plain ReAct where they do not distinguish.
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
from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone
from standins.agents import oracle
from standins.agents.oracle import Knows
from statefactory.planning.prompts import ChooseFields, Chosen, RatedFields, choose_prompt, rewarded_prompt
from worlds.benchmark import Expert


@rules.knows("statefactory.oracle")
def known(environment: Environment, expert: Expert, backbone: Backbone, by_schema: bool = False) -> rules.Known:
    """The answers of ReAct's oracle, and answers to the prompts that show rewards.

    backbone: the oracle itself; its answer to ReAct's prompt contains the errors.
    """
    own = partial(plain, environment.name, backbone, by_schema)
    rewarded: Mapping[PromptOf, Knows] = {
        choose_prompt: (lambda fields: chosen(own(fields), fields), unchanged),
        rewarded_prompt: (lambda fields: obeying(own(fields), fields), unchanged),
    }
    return oracle.known(environment, expert, rewarded)


def plain(world: str, backbone: Backbone, by_schema: bool, fields: ActFields) -> Act:
    """Plain ReAct's action after these turns: the same fields give the same random draw."""
    react_fields: dict[str, Any] = {name: getattr(fields, name) for name in ActFields.model_fields}
    return read(backbone.ask(react_prompt(world, by_schema), **react_fields).value, Act)


def chosen(own: Act, fields: ChooseFields) -> Chosen:
    """Its own action first, then random others; none if its own is not valid, as an error may be."""
    if own.action not in fields.options:
        return Chosen(thought="No listed one.", numbers=[])
    first = fields.options.index(own.action) + 1
    others = [number for number in range(1, len(fields.options) + 1) if fields.options[number - 1] != own.action]
    Random(key_of([fields.task, [turn.model_dump() for turn in fields.turns]])).shuffle(others)
    return Chosen(thought="What comes to mind first.", numbers=[first, *others][: fields.most])


def obeying(own: Act, fields: RatedFields) -> Act:
    """The candidate with the highest reward; its own action keeps its own thought."""
    best = max(fields.candidates, key=lambda candidate: candidate.reward)  # the first of equals
    return own if best.action == own.action else Act(thought="The highest reward.", action=best.action)


def unchanged(fields: Any, answer: AnswerModel, random: Random) -> AnswerModel:
    """No further error: the answer is derived from one that already has errors."""
    return answer
