"""The conditions of §5, Human-TN, LLM-TN and No-TN, and others: networks, and nothing else of an episode differs.

LLM-TN is what a model makes here; "LLM-TN (paper)" has the structure that Gemini 2.5 Pro made for the paper (E.1, E.2).
Human-TN asks for more or less than appendix D in a few effects; "Human-TN (paper)" asks for as much.

Placebo-TN asks what the content of a network is worth. It has as many tasks as the human network of the domain, so that
as many verdicts have to be won before the last one, and its tasks say nothing of how the problem is solved. What an
agent does in them is its own affair: it may work on the problem (see `standins.procllm.noise_kinds`).
"""

from __future__ import annotations

from dataclasses import replace

from procllm.domains import Domain
from procllm.files import NOTES, REQUEST, SPECIFICATION
from procllm.network import TOP, BadNetwork, Method, Network, read

HUMAN, LLM, PLACEBO, NONE = "Human-TN", "LLM-TN", "Placebo-TN", "No-TN"
HUMAN_PAPER, LLM_PAPER = f"{HUMAN} (paper)", f"{LLM} (paper)"
EXTENDED = "No-TN, extended goal"  # §6's
CONDITIONS = (HUMAN, LLM, PLACEBO, NONE)
ALL = (*CONDITIONS, EXTENDED, HUMAN_PAPER, LLM_PAPER)


def network_of(condition: str, domain: Domain, made: Network | None = None) -> Network:
    """The network of a condition. made: LLM-TN's.

    Raises ValueError for another condition, BadNetwork for an LLM-TN that the domain has no network for.
    """
    if condition == HUMAN:
        return domain.network
    if condition == HUMAN_PAPER:
        return as_printed(domain)
    if condition == LLM_PAPER:
        if not domain.llm:
            raise BadNetwork(f"The paper prints no network that a model made for {domain.title} (appendix E has two)")
        return read(domain.llm, domain.paths)
    if condition == PLACEBO:
        return placebo(domain.network)
    if condition == NONE:
        return top_alone(domain.network)
    if condition == EXTENDED:
        return with_extended_goal(domain.network)
    if condition != LLM:
        raise ValueError(f"No condition {condition!r}; choose from {', '.join(ALL)}")
    if made is None:
        raise BadNetwork(f"{domain.title} has no network that a model made; see procllm.generation")
    return made


def as_printed(domain: Domain) -> Network:
    """Human-TN's network with the effects of appendix D, where these ask for more or less."""
    effects = {method.head: method.effect for method in domain.network.methods} | dict(domain.printed_effects)
    return Network(tuple(replace(method, effect=effects[method.head]) for method in domain.network.methods))


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
