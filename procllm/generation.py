"""Networks that a model makes (LLM-TN, paper §6 and appendix E): asked for, checked, and repaired once.

The paper asks for the JSON of appendix D and shows two nodes; here a list of methods is asked for, which a schema can
hold, with two methods shown, and written in D's shape to be checked as any other network is. No rule answers this
prompt: a network written by hand is never called LLM-made. Offline, networks come from a recording of a real model,
whatever they are worth.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import Field, create_model

from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import AnswerModel, Fields
from procllm.domains import Domain
from procllm.files import File, listed
from procllm.network import TOP, BadNetwork, Network, read

ASKS = 2  # the first, and one repair


class NetworkFields(Fields):
    """What the prompt shows. previous, fault: the last answer, JSON, and what is wrong with it; "" the first time."""

    specification: str
    files: tuple[File, ...]
    top: str
    previous: str
    fault: str


class StatedMethod(AnswerModel):
    """A method as a model states it; its place in the list is its number."""

    task: str = Field(description="the task's name")
    subtasks: list[str] = Field(description="names of the tasks to do first, in order; empty for a task done at once")
    effect: str = Field(description="what holds in the files once the task is done")
    effect_files: list[str] = Field(description="the files in which the effect can be seen", min_length=1)


class StatedNetwork(AnswerModel):
    """The network as a model states it."""

    methods: list[StatedMethod] = Field(
        description='list of {"task", "subtasks": list of names, "effect", "effect_files": list of paths}'
    )

    def to_json(self) -> str:
        """The network in the shape of appendix D, heads and keys numbered in the order given."""
        return json.dumps(
            {
                f"method{place}": {
                    "task": method.task,
                    "subtasks": {f"subtask{n}": name for n, name in enumerate(method.subtasks, 1)},
                    "effect": method.effect,
                    "effect_files": {f"file{n}": path for n, path in enumerate(method.effect_files, 1)},
                }
                for place, method in enumerate(self.methods, 1)
            },
            indent=1,
        )


class Attempt(NamedTuple):
    """One answer. stated: as the model gave it; text: the same in appendix D's shape; both "" where it could not be
    read. fault: why it cannot be used, or "". network: None then.
    """

    stated: str
    text: str
    fault: str
    network: Network | None


class Made(NamedTuple):
    """What a model made for a domain. network: None where also the repaired one cannot be used."""

    domain: str
    backbone: str
    network: Network | None
    attempts: tuple[Attempt, ...]


@cache
def _with_paths(paths: tuple[str, ...]) -> type[StatedNetwork]:
    """The answer in which only files that there are can be named."""
    # Types made from the episode's files when it runs: pydantic reads them, a type checker cannot.
    known: Any = Literal[paths]
    method: Any = create_model(
        "StatedMethod", __base__=StatedMethod, effect_files=(list[known], StatedMethod.model_fields["effect_files"])
    )
    return create_model(
        "StatedNetwork", __base__=StatedNetwork, methods=(list[method], StatedNetwork.model_fields["methods"])
    )


def _narrow(fields: NetworkFields) -> type[StatedNetwork]:
    return _with_paths(tuple(file.path for file in fields.files))


PLANNING = read_prompt("procllm/network.md", NetworkFields, StatedNetwork, narrow=_narrow)


def make(domain: Domain, backbone: Backbone) -> Made:
    """Ask for a network of the domain, and once more with the fault shown if it cannot be used.

    Raises NoRule under rules: they make no networks.
    """
    # A network that cannot be used after its repair leaves LLM-TN without one: nobody mends it by hand.
    attempts = [_attempt(domain, backbone, "", "")]
    while attempts[-1].fault and len(attempts) < ASKS:
        attempts.append(_attempt(domain, backbone, attempts[-1].stated, attempts[-1].fault))
    return Made(domain.name, backbone.engine.label, attempts[-1].network, tuple(attempts))


def _attempt(domain: Domain, backbone: Backbone, previous: str, fault: str) -> Attempt:
    fields: dict[str, Any] = {
        "specification": domain.specification,
        "files": listed(domain.solver, bool(domain.tools_specification)),
        "top": TOP,
        "previous": previous,
        "fault": fault,
    }
    stated, text = "", ""
    try:
        answer = backbone.ask(PLANNING, **fields).value
        stated, text = answer.model_dump_json(), answer.to_json()
        return Attempt(stated, text, "", read(text, domain.paths))
    except (BadNetwork, MalformedAnswer) as error:
        return Attempt(stated, text, str(error), None)
