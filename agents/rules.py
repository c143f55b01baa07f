"""The rules engine's answers to the agents' prompts on the made encyclopedia: they know what SDP's rules know there.

Those of agents that answer at once follow the whole chain in one call. Rules do not tire of long questions as models
do: under noise, one answer that goes wrong is all that can go wrong, so that no row of rules or noise says which agent
is better.
"""

from __future__ import annotations

from agents.prompts import CHAIN_OF_THOUGHT, DIRECT, ActFields, QuestionFields, Reasoned, Said, react_prompt, written
from agents.worlds import multihop
from lab.models.prompts import AnswerModel
from lab.models.rules import rule
from worlds.encyclopedia.reading.hops import answer_in, asked, concluded, decomposed
from worlds.multihop.questions import Paragraph, filled
from worlds.multihop.world import from_text

UNKNOWN = "unknown"


@rule(DIRECT)
def direct(fields: QuestionFields) -> Said:
    """What follows from the paragraphs; "unknown" where the question or the evidence is not there to read."""
    return Said(answer=_follows(fields.question, _hops(fields)))


@rule(CHAIN_OF_THOUGHT)
def chain_of_thought(fields: QuestionFields) -> Reasoned:
    """The same, hop by hop."""
    found = _hops(fields)
    return Reasoned(
        reasoning=" ".join(f"{hop} {entity}." for hop, entity in found), answer=_follows(fields.question, found)
    )


@rule(react_prompt(multihop.NAME))
def react(fields: ActFields) -> AnswerModel:
    """The next action in free text."""
    return written(*next_action(fields))


@rule(react_prompt(multihop.NAME, by_schema=True))
def react_by_schema(fields: ActFields) -> AnswerModel:
    """The same, bound to the schema."""
    return written(*next_action(fields), free=False)


def next_action(fields: ActFields) -> tuple[str, str]:
    """A thought and an action: search for whom the next open hop is about, then in its words, and finish in the end."""
    question = fields.task.removeprefix(multihop.QUESTION)
    shown = from_text("\n\n".join(turn.observation for turn in fields.turns))
    hops, found = decomposed(question), answered(question, shown)
    known = [entity for _, entity in found]
    if len(found) == len(hops):
        said = " ".join(f"{hop} {entity}." for hop, entity in found)
        return said or "The question cannot be read.", f"finish[{concluded(question, known)}]"
    open_hop = filled(hops[len(found)], known)
    subject = asked(open_hop)
    tries = [f"search[{subject.subject}]"] if subject else []
    done = {turn.action for turn in fields.turns}
    action = next((each for each in [*tries, f"search[{open_hop}]"] if each not in done), f"finish[{UNKNOWN}]")
    return f"Still open: {open_hop}", action


def answered(question: str, paragraphs: list[Paragraph]) -> list[tuple[str, str]]:
    """Each hop as it is asked and what the paragraphs say, up to the first that they do not answer."""
    found: list[tuple[str, str]] = []
    for hop in decomposed(question):
        said = filled(hop, [entity for _, entity in found])
        entity = next((here for one in paragraphs if (here := answer_in(*one, said))), "")
        if not entity:
            break
        found.append((said, entity))
    return found


def _hops(fields: QuestionFields) -> list[tuple[str, str]]:
    """The hops where the evidence answers all of them, else none."""
    found = answered(fields.question, from_text(fields.evidence))
    return found if len(found) == len(decomposed(fields.question)) else []


def _follows(question: str, found: list[tuple[str, str]]) -> str:
    return concluded(question, [entity for _, entity in found])
