"""Networks that a model makes (LLM-TN, paper §6 and appendix E): requested, validated, and repaired once.

The paper requests the JSON of appendix D and shows two nodes. Here the model returns a list of methods, which a schema
can express, and the prompt shows two. The list is converted to D's format and validated like any other network.
No rule answers this prompt: a network written by hand is never called LLM-made. Offline, networks come from a recording
of a real model, whatever their quality.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import Field, create_model

from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields
from procllm.domains import Domain
from procllm.files import File, listed
from procllm.network import TOP, BadNetwork, Network, read

ASKS = 2  # the first attempt, and one repair


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
                f"method{number}": {
                    "task": method.task,
                    "subtasks": {f"subtask{n}": name for n, name in enumerate(method.subtasks, 1)},
                    "effect": method.effect,
                    "effect_files": {f"file{n}": path for n, path in enumerate(method.effect_files, 1)},
                }
                for number, method in enumerate(self.methods, 1)
            },
            indent=1,
        )


class Attempt(NamedTuple):
    """One answer. stated: the model's JSON. text: the same in appendix D's format. Both are "" if it is malformed.

    fault: why the network cannot be used, or "". network: None in that case.
    """

    stated: str
    text: str
    fault: str
    network: Network | None


class Made(NamedTuple):
    """All attempts of a model at a domain's network. network: None if the repaired one cannot be used either."""

    domain: str
    backbone: str
    network: Network | None
    attempts: tuple[Attempt, ...]


@cache
def _with_paths(paths: tuple[str, ...]) -> type[StatedNetwork]:
    """The answer model that accepts only these paths as effect files."""
    # Built at run time from the domain's files: pydantic reads such types, a type checker cannot.
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
    """Ask for a network of the domain; if it cannot be used, ask once more, with the fault shown.

    Raises NoRule for the engine `rules`, which makes no networks.
    """
    # If the repaired network cannot be used either, LLM-TN has none: nobody corrects it by hand.
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
