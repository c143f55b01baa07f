"""The conditions of §5 (Human-TN, LLM-TN, No-TN) and others; they differ only in the network of an episode.

LLM-TN's network is made by a model here; "LLM-TN (paper)" has the structure that Gemini 2.5 Pro made for the paper
(E.1, E.2). Human-TN asks for more or less than appendix D in a few effects; "Human-TN (paper)" asks for exactly as
much.

Placebo-TN measures what the content of a network is worth. It has as many tasks as the domain's human network, so an
episode needs as many positive verdicts, but its tasks say nothing about how to solve the problem. The agent is free to
work on the problem in them (see `standins.procllm.noise_kinds`).
"""

from __future__ import annotations

from dataclasses import replace

from procllm.domains import Domain
from procllm.files import NOTES, REQUEST, SPECIFICATION
from procllm.network import TOP, BadNetwork, Method, Network, read

HUMAN, LLM, PLACEBO, NONE = "Human-TN", "LLM-TN", "Placebo-TN", "No-TN"
HUMAN_PAPER, LLM_PAPER = f"{HUMAN} (paper)", f"{LLM} (paper)"
EXTENDED = "No-TN, extended goal"  # of §6
CONDITIONS = (HUMAN, LLM, PLACEBO, NONE)
ALL = (*CONDITIONS, EXTENDED, HUMAN_PAPER, LLM_PAPER)


def network_of(condition: str, domain: Domain, made: Network | None = None) -> Network:
    """The network of a condition. made: LLM-TN's, made by a model.

    Raises ValueError for an unknown condition, and BadNetwork if the domain has no network for LLM-TN or LLM-TN
    (paper).
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
    """Placebo-TN: the top task, with as many empty subtasks as the network has tasks below its top."""
    (top,) = top_alone(network).methods
    count = sum(1 for _ in network.tree()) - 1
    # Their only effect file is the request. It exists from the start, so these tasks can be verified at any time.
    ponder = [
        Method(f"m-ponder-{n}", f"ponder matter {n}", f"matter {n} of the request has been pondered", (REQUEST,))
        for n in range(1, count + 1)
    ]
    return Network((replace(top, subtasks=tuple(method.task for method in ponder)), *ponder))


def top_alone(network: Network) -> Network:
    """No-TN: one task that states the end conditions (§5), which are those of the network's top task."""
    # The paper's set of methods is empty, and K's one task describes the end conditions (§5). A method without subtasks
    # is equivalent, and keeps the files that the verifier has to see.
    top = network.find_first_relevant(TOP)
    return Network((replace(top, subtasks=()),) if top else ())


def with_extended_goal(network: Network) -> Network:
    """No-TN with a goal that also asks for notes on both documents, which §6 says ends the read loops."""
    (top,) = top_alone(network).methods
    effect = f"{top.effect}; and the notes hold what the request and the problem specification say"
    # §6 extends the goal's text. The verifier sees only the effect files (F), so these must include the notes and
    # both documents.
    files = tuple(dict.fromkeys((*top.files, NOTES, REQUEST, SPECIFICATION)))
    return Network((replace(top, effect=effect, files=files),))
