"""Questions over the encyclopedia, with their hops, the paragraphs that answer them and others that do not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from lab.machine.printing import hint
from scripts.encyclopedia.articles import Paragraph, paragraph
from scripts.encyclopedia.chains import answers_otherwise, links
from scripts.encyclopedia.contexts import distractors
from scripts.encyclopedia.drafts import Draft, draft
from scripts.encyclopedia.layout import SIZE
from scripts.encyclopedia.templates import Split, Template
from scripts.encyclopedia.templates import templates as of_split

Style = Literal["hotpotqa", "musique"]
# How many in 100 questions are of a type (hotpotqa) or of so many hops (musique), as in the validation splits.
MIXES: dict[Style, dict[str | int, int]] = {
    "hotpotqa": {"bridge": 80, "comparison": 14, "yes/no": 6},
    "musique": {2: 52, 3: 31, 4: 17},
}
PARAGRAPHS: dict[Style, int] = {"hotpotqa": 10, "musique": 20}  # shown with a question
SMALLEST = 1_000  # articles, so that there are enough of each kind
STARTS = 300  # entities tried for a template before another one is taken
IN_VAIN = 300  # questions made in a row that were there already, or found nothing


@dataclass(frozen=True, slots=True)
class Hop:
    """A sub-question; #1 stands for the answer of the first hop. aliases: further right answers.

    paragraph: the number of the article that answers it; None where an unanswerable question lacks that.
    """

    question: str
    answer: str
    aliases: tuple[str, ...]
    paragraph: int | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answer and where that stands.

    id: begins with the number of hops, as MuSiQue's. answer: as its paragraph writes it; "" if unanswerable.
    aliases: further right answers. decomposition: the hops; of two entities compared the two findings, from which the
    answer follows. gold: numbers of the articles of the hops. paragraphs: what is shown with the question, gold ones
    among them, in no order. type: "bridge", "compositional", "comparison" or "yes/no". template: its name, which begins
    with the set that it is of.
    """

    id: str
    question: str
    answer: str
    aliases: tuple[str, ...]
    decomposition: tuple[Hop, ...]
    gold: tuple[int, ...]
    paragraphs: tuple[Paragraph, ...]
    type: str
    template: str
    answerable: bool = True


def questions(
    seed: int,
    count: int,
    templates: Split = "writing",
    style: Style = "musique",
    size: int = 10_000,
    unanswerable: float = 0.0,
) -> list[Question]:
    """Questions about the first `size` articles of a seed's encyclopedia; a longer list begins with the shorter one.

    templates: "writing" for questions that rules may be written on, "reporting" for those that none was. style:
    "hotpotqa" (two hops, comparisons, yes or no; 10 paragraphs) or "musique" (two to four hops; 20 paragraphs).
    unanswerable: share of questions that lack a hop's paragraph, for use with the paragraphs that are shown: the
    encyclopedia itself has it. Raises ValueError for too small an encyclopedia, for more questions
    than it has, and for unknown names.
    """
    if size < SMALLEST:
        raise ValueError(f"questions need an encyclopedia of {SMALLEST:,} articles or more, not {size:,}")
    if style not in MIXES:
        raise ValueError(f"there are questions as in {' and '.join(MIXES)}, none as in {style!r}{hint(style, MIXES)}")
    weights = list(MIXES[style].values())
    choices = [[one for one in of_split(templates) if share in (one.type, len(one.steps))] for share in MIXES[style]]
    blocks = size // SIZE  # whole ones, so that all that an article links to is there
    made: dict[str, Question] = {}
    turn = latest = 0
    while len(made) < count:
        rng = Random(f"encyclopedia {seed} {templates} {style} {size} {turn}")
        template = rng.choice(rng.choices(choices, weights)[0])
        lacks = rng.random() < unanswerable
        name = f"made_{style}_{templates}_{seed}_{turn:06}"
        one = question(seed, rng, template, blocks, PARAGRAPHS[style], lacks, name)
        if one is not None and one.question not in made:
            made[one.question], latest = one, turn
        turn += 1
        if turn > latest + IN_VAIN:
            raise ValueError(f"{size:,} articles have no {count:,} different questions: {len(made):,} were found")
    return list(made.values())


def question(
    seed: int, rng: Random, template: Template, blocks: int, shown: int, lacks: bool, name: str
) -> Question | None:
    """A question of a template with its paragraphs, or None if none is found. lacks: to be unanswerable."""
    drafts = (draft(seed, rng, template, blocks) for _ in range(STARTS))
    asked = next((one for one in drafts if one is not None and sound(seed, one)), None)
    if asked is None:
        return None
    articles = [found.article for found in asked.found]
    # Gold articles that no other one mentions: what they say stands nowhere else, then.
    lackable = [one for one in articles if not any(one in links(seed, other) for other in articles)]
    if lacks and not lackable:
        return None
    missing = rng.choice(lackable) if lacks else None
    gold = tuple(one for one in articles if one != missing)
    numbers = [*gold, *distractors(seed, rng, asked.found, missing, shown - len(gold), blocks)]
    rng.shuffle(numbers)
    return Question(
        id=f"{len(articles)}hop__{name}",
        question=asked.text,
        answer="" if lacks else asked.answer,
        aliases=() if lacks else asked.aliases,
        decomposition=tuple(
            Hop(text, found.answer, found.others, found.article if found.article != missing else None)
            for text, found in zip(asked.hops, asked.found, strict=True)
        ),
        gold=gold,
        paragraphs=tuple(paragraph(seed, one) for one in numbers),
        type=template.type,
        template=template.name,
        answerable=not lacks,
    )


def sound(seed: int, asked: Draft) -> bool:
    """Whether no gold article answers a hop of another one otherwise."""
    return not any(answers_otherwise(seed, hop, other.article) for hop in asked.found for other in asked.found)
