"""The conditions of §5, Human-TN, LLM-TN and No-TN, and two of ours: networks, and nothing else of an episode differs.

Placebo-TN asks what the content of a network is worth. It has as many tasks as the human network of the domain, so that
as many verdicts have to be won before the last one, and its tasks say nothing of how the problem is solved. What an
agent does in them is its own affair: it may work on the problem (see `standins.procllm.noise_kinds`).
"""

from __future__ import annotations

from dataclasses import replace

from procllm.domains import Domain
from procllm.files import NOTES, REQUEST, SPECIFICATION
from procllm.network import TOP, BadNetwork, Method, Network

HUMAN, LLM, PLACEBO, NONE = "Human-TN", "LLM-TN", "Placebo-TN", "No-TN"
EXTENDED = "No-TN, extended goal"  # §6's
CONDITIONS = (HUMAN, LLM, PLACEBO, NONE)  # those that are played by default; the paper's are all but PLACEBO


def network_of(condition: str, domain: Domain, made: Network | None = None) -> Network:
    """The network of a condition. made: LLM-TN's.

    Raises ValueError for another condition, BadNetwork for LLM-TN without a network that a model made.
    """
    if condition == HUMAN:
        return domain.network
    if condition == PLACEBO:
        return placebo(domain.network)
    if condition == NONE:
        return top_alone(domain.network)
    if condition == EXTENDED:
        return with_extended_goal(domain.network)
    if condition != LLM:
        raise ValueError(f"No condition {condition!r}; choose from {list((*CONDITIONS, EXTENDED))}")
    if made is None:
        raise BadNetwork(f"{domain.title} has no network that a model made; see procllm.generation")
    return made


def placebo(network: Network) -> Network:
    """Placebo-TN: the top task of a network, with as many subtasks without content as it has tasks below the top."""
    (top,) = top_alone(network).methods
    count = sum(1 for _ in network.tree()) - 1
    # The request alone is their file: it is there from the start, so that any of them can be verified at any time.
    ponder = [
        Method(f"m-ponder-{n}", f"ponder matter {n}", f"matter {n} of the request has been pondered", (REQUEST,))
        for n in range(1, count + 1)
    ]
    return Network((replace(top, subtasks=tuple(method.task for method in ponder)), *ponder))


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
