"""Questions over the encyclopedia, with their hops, the paragraphs that answer them and others that do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain as joined
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Literal

from lab.machine.printing import hint
from lab.machine.reading import read_yaml
from scripts.encyclopedia.articles import Paragraph, paragraph
from scripts.encyclopedia.chains import Found, answers_otherwise, chain, links, names_of, spoken
from scripts.encyclopedia.layout import PLACES, SIZE, at, is_a, kind_of
from scripts.encyclopedia.names import alias, has_homonym, namesakes

Split = Literal["writing", "reporting"]
SPLITS: tuple[Split, ...] = ("writing", "reporting")
COMPARISONS = {"least": "comparison", "most": "comparison", "same": "yes/no", "less": "yes/no", "more": "yes/no"}
BY_ALIAS = 0.1  # share of questions that name what they start from by its other name
PARTNERS = 40  # entities that are tried as the second of a comparison
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
class Template:
    """How questions of a form are made.

    start: kind of the entity that the question names, as {x}. steps: relations from there on, one a hop;
    "festival<town" goes from a town to its festival. compare: what is asked of the values that one step has for two
    entities, {x} and {y}: which is "least" or "most", whether they are the "same", or the first is "less" or "more".
    hops: one question a step, about {x}.
    """

    name: str
    start: str
    steps: tuple[str, ...]
    question: str
    hops: tuple[str, ...]
    compare: str | None = None

    @property
    def type(self) -> str:
        """bridge (two hops), compositional (three and four), comparison or yes/no (two entities)."""
        if self.compare:
            return COMPARISONS[self.compare]
        return "bridge" if len(self.steps) == 2 else "compositional"


@lru_cache(maxsize=2)
def templates(split: Split) -> tuple[Template, ...]:
    """The templates of a set, "writing" or "reporting". Raises ValueError for another name."""
    if split not in SPLITS:
        raise ValueError(f"there are templates for {' and '.join(SPLITS)}, none for {split!r}{hint(split, SPLITS)}")
    wordings, *entries = read_yaml(Path(__file__).with_name(f"{split}.yaml"))
    return tuple(
        Template(
            name=f"{split}/{entry['name']}",
            start=entry["start"],
            steps=tuple(entry["chain"]),
            question=entry["question"],
            hops=tuple(wordings["hops"][step] for step in entry["chain"]),
            compare=entry.get("compare"),
        )
        for entry in entries
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its hops, as texts and as what they find, and its answer; aliases: further right answers."""

    text: str
    hops: tuple[str, ...]
    found: tuple[Found, ...]
    answer: str
    aliases: tuple[str, ...]


def draft(seed: int, rng: Random, template: Template, blocks: int) -> Draft | None:
    """A question of a template over the first blocks of an encyclopedia; None where the entity drawn has no answer."""
    start = drawn(rng, template.start, blocks)
    asked = compared(seed, rng, template, start, blocks) if template.compare else chained(seed, rng, template, start)
    if asked is None or any(leaks(asked.text, found) for found in asked.found):
        return None
    articles = {found.article for found in asked.found}
    return asked if len(articles) == len(asked.found) and max(articles) < at(blocks, 0) else None


def drawn(rng: Random, kind: str, blocks: int) -> int:
    """An entity of a kind, each as likely."""
    while True:
        number = at(rng.randrange(blocks), rng.choice(PLACES[kind]))
        if is_a(number, kind):
            return number


def chained(seed: int, rng: Random, template: Template, start: int) -> Draft | None:
    other = alias(seed, start) if rng.random() < BY_ALIAS and not has_homonym(seed, start) else None
    called = other or spoken(seed, start)
    found = tuple(chain(seed, start, called, template.steps))
    if len(found) < len(template.steps):
        return None
    hops = tuple(hop.format(x=f"#{turn}" if turn else found[0].about) for turn, hop in enumerate(template.hops))
    return Draft(template.question.format(x=called), hops, found, found[-1].answer, found[-1].others)


def compared(seed: int, rng: Random, template: Template, first: int, blocks: int) -> Draft | None:
    """Two entities and what one step finds for each. Yes and no are meant to be as frequent."""
    same = rng.random() < 0.5
    one = next(chain(seed, first, spoken(seed, first), template.steps), None)
    for _ in range(PARTNERS):
        second = drawn(rng, template.start, blocks)
        two = next(chain(seed, second, spoken(seed, second), template.steps), None)
        if one is None or two is None or first == second:
            continue
        equal = one.value == two.value
        # What is the same has to be called the same; and only "same" is asked of equal values, as often as not.
        if equal == (one.answer == two.answer) and equal == (template.compare == "same" and same):
            break
    else:
        return None
    first_is_less = one.value < two.value
    aliases: list[str] = []
    if template.compare in ("least", "most"):
        answer, *aliases = names_of(seed, first if first_is_less == (template.compare == "least") else second)
    else:
        true = equal if template.compare == "same" else first_is_less == (template.compare == "less")
        answer = "yes" if true else "no"
    text = template.question.format(x=one.called, y=two.called)
    hops = tuple(template.hops[0].format(x=found.about) for found in (one, two))
    return Draft(text, hops, (one, two), answer, tuple(aliases))


def leaks(text: str, found: Found) -> bool:
    """Whether a question names what one of its hops is to find."""
    answers = "|".join(map(re.escape, (found.answer, *found.others)))
    return re.search(rf"(?<!\w)({answers})(?!\w)", text, re.IGNORECASE) is not None


def distractors(
    seed: int, rng: Random, found: Sequence[Found], missing: int | None, count: int, blocks: int
) -> list[int]:
    """Articles that do not answer a hop, the likeliest to be taken for ones that do first.

    missing: an article that the question lacks; none that mentions its entity is among the distractors.
    """
    gold = [one.article for one in found]
    same_name = list(joined.from_iterable(namesakes(seed, one) for one in gold))
    mentioned = [one for one in joined.from_iterable(links(seed, one) for one in gold) if one not in gold]
    rng.shuffle(mentioned)
    named = [*same_name, *mentioned][: count // 2]
    # By turns, for there may be too few of one kind, such as countries.
    others = (drawn(rng, kind_of(one), blocks) for one in cycle(gold))
    chosen: dict[int, None] = {}
    for one in joined(named, others):
        if len(chosen) == count:
            break
        if suits(seed, one, found, missing, blocks):
            chosen[one] = None
    return list(chosen)


def suits(seed: int, number: int, found: Sequence[Found], missing: int | None, blocks: int) -> bool:
    if number >= at(blocks, 0) or any(number == hop.article for hop in found):
        return False
    if missing is not None and missing in links(seed, number):
        return False
    return not any(answers_otherwise(seed, hop, number) for hop in found)


Style = Literal["hotpotqa", "musique"]


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
    split: Split = "writing",
    style: Style = "musique",
    size: int = 10_000,
    unanswerable: float = 0.0,
) -> list[Question]:
    """Questions about the first `size` articles of a seed's encyclopedia; a longer list begins with the shorter one.

    split: "writing" for questions that rules may be written on, "reporting" for those that none was. style:
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
    choices = [[one for one in templates(split) if share in (one.type, len(one.steps))] for share in MIXES[style]]
    blocks = size // SIZE  # whole ones, so that all that an article links to is there
    made: dict[str, Question] = {}
    turn = latest = 0
    while len(made) < count:
        rng = Random(f"encyclopedia {seed} {split} {style} {size} {turn}")
        template = rng.choice(rng.choices(choices, weights)[0])
        lacks = rng.random() < unanswerable
        name = f"made_{style}_{split}_{seed}_{turn:06}"
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
