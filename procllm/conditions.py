"""The conditions of §5: Human-TN, LLM-TN and No-TN are networks, and nothing else of an episode differs."""

from __future__ import annotations

from dataclasses import replace

from procllm.domains.base import Domain
from procllm.files import NOTES, REQUEST, SPECIFICATION
from procllm.network import TOP, BadNetwork, Network

HUMAN, LLM, NONE, EXTENDED = "Human-TN", "LLM-TN", "No-TN", "No-TN, extended goal"
CONDITIONS = (HUMAN, LLM, NONE)  # those that the paper compares; EXTENDED is §6's


def network_of(condition: str, domain: Domain, made: Network | None = None) -> Network:
    """The network of a condition. made: LLM-TN's.

    Raises ValueError for another condition, BadNetwork for LLM-TN without a network that a model made.
    """
    if condition == HUMAN:
        return domain.network
    if condition == NONE:
        return top_alone(domain.network)
    if condition == EXTENDED:
        return with_extended_goal(domain.network)
    if condition != LLM:
        raise ValueError(f"No condition {condition!r}; choose from {list((*CONDITIONS, EXTENDED))}")
    if made is None:
        raise BadNetwork(f"{domain.title} has no network that a model made; see procllm.generation")
    return made


def top_alone(network: Network) -> Network:
    """No-TN: one task that states the end conditions (§5), which are those of the network's top task."""
    # The paper's set of methods is empty, and K's one task describes the end conditions (§5). A method without subtasks
    # is the same, and keeps the files that the verifier has to see.
    top = network.find_first_relevant(TOP)
    return Network((replace(top, subtasks=()),) if top else ())


def with_extended_goal(network: Network) -> Network:
    """No-TN whose goal also asks for notes of both documents, which §6 says ends the loops of reading."""
    (top,) = top_alone(network).methods
    effect = f"{top.effect}; and the notes hold what the request and the problem specification say"
    # §6 extends the goal in words; the verifier sees the effect files alone (F), so that the notes and both documents
    # have to be among them.
    files = tuple(dict.fromkeys((*top.files, NOTES, REQUEST, SPECIFICATION)))
    return Network((replace(top, effect=effect, files=files),))
