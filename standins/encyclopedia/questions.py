"""Reader of questions on the synthetic encyclopedia: from any wording to the chain of relations that it follows.

It finds the names in a question and, by the words of lexicon.yaml, the phrases around them. Among all chains that the
kinds of things allow from the named thing on, it takes the one that leaves the least of the words unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.reading import read_yaml

MOST_STEPS, MOST_UNSAID = 4, 2
UNSAID = {"region", "country", "town", "seat"}  # relations that a question may leave unsaid
WORD = r"[^\W\d_a-z][\w-]*"
NAME = re.compile(
    rf"(?:the (?=Republic of|Kingdom of|Province of))?{WORD}(?:(?: of| to| at| in| the)* {WORD}|(?<=Farewell), {WORD})*"
    r"(?: \([^)]*\))?"
)
WITHIN = re.compile(r"\w,? $")  # before a word inside a sentence: a capital there begins a name, even in "Have Gidar"
YES_NO = re.compile(r"(?:is|are|was|were|did|do|does|has|have|had)\b")
LEAD = re.compile(
    r"(?:(?:in|on|at|of|from|by|to|for|under|during|after|with|near) )?(?P<word>which|what|who(?:m|se)?)\b(?:'s)?"
    r"|(?:please )?(?:name|tell|give|find|state|identify)(?: me| us)?\b"
)
BEFORE_HEAD = re.compile(r"(?: (?:is|was|are|were|the|a|an|name of|official|larger|big|one|other))* ")
# Words between a name and its property: "of" and "whom" before the name, "'s" and "was" after it.
ATTACHED = re.compile(r"[\s,]*(?:(?:of|by|to|in|for|at|on|the|that|which|whom|where|did|does|was|is|has)[\s,]+)*")
SUBJECT = re.compile(r"(?:^|\b(?:where|which|that|when|whom|whose \w+) )(?:the )?$")
OWN = re.compile(r"['’]s? ")


class Relation(NamedTuple):
    """starts: kinds of thing that have it. end: a kind, or the type of a value. asked: the sub-question about {x}."""

    starts: tuple[str, ...]
    end: str
    asked: str


class Mention(NamedTuple):
    """Words of a question, from `start` to `end`, that may mean these relations, or things of these kinds."""

    start: int
    end: int
    relations: frozenset[str]
    kinds: frozenset[str]


class Chain(NamedTuple):
    """A path from a kind of thing: relations, the mention of each (None if unsaid), and the kinds along the path."""

    steps: tuple[str, ...]
    by: tuple[Mention | None, ...]
    kinds: tuple[str, ...]


class Reading(NamedTuple):
    """names: one, or the two that are compared. kinds: the kinds that they may be. steps: the relations from there.

    compare: as in `scripts.encyclopedia.questions`, or "differ" for "not the same"; None for a single thing.
    """

    names: tuple[str, ...]
    kinds: frozenset[str]
    steps: tuple[str, ...]
    compare: str | None


@lru_cache(maxsize=4096)
def read(question: str, hops: int = 0) -> Reading | None:
    """The chain of a question; None if no chain explains its words. hops: how many; 0 for two to four."""
    names = tuple(dict.fromkeys(names_in(question)))
    if len(names) not in (1, 2):
        return None
    text, labels = _without(question, names)
    kinds = [labels & _kinds_of(name) or _kinds_of(name) for name in names]
    compare = _compared(text) if len(names) == 2 else None
    if len(names) == 2 and compare is None:
        return None
    mentions = _mentions(text)
    wanted, head = (list[str](), None) if compare else _wanted(text, mentions)
    if compare not in (None, "same", "differ"):
        wanted = ["date", "number"]
    lengths = (1,) if compare else (hops,) if hops else range(2, MOST_STEPS + 1)
    shared = frozenset.intersection(*kinds) or frozenset.union(*kinds)
    ways = [way for way in _chains(shared, mentions, max(lengths)) if len(way.steps) in lengths and any(way.by)]
    costs = {way: _cost(way, text, mentions, wanted, head) for way in ways}
    if not costs or min(costs.values()) >= _lexicon()["too_dear"]:
        return None
    best = min(costs, key=lambda way: costs[way])
    equal = frozenset(way.kinds[0] for way in costs if way.steps == best.steps and costs[way] == costs[best])
    return Reading(names, equal, best.steps, compare)


def names_in(question: str) -> Iterator[str]:
    """The names in a question, as written there."""
    for match in NAME.finditer(question):
        words, opens = match[0].split(" "), not WITHIN.search(question, 0, match.start())
        while words and opens and re.fullmatch(_lexicon()["openers"], words[0].lower()):
            words = words[1:]
        name = " ".join(words)
        alone = len(words) == 1 and match.start() == 0 and _mentions(name.lower())
        if name and name != "The" and not alone:
            yield name


@cache
def relations() -> dict[str, Relation]:
    """All relations, including inverse ones such as "festival<town"."""
    return {
        name: Relation(tuple(starts.split()), *columns)
        for name, (starts, *columns, _) in _lexicon()["relations"].items()
    }


def _without(question: str, names: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The question in lower case with X for its names, and the kinds named before one, as in "the film X"."""
    for name in sorted(names, key=len, reverse=True):
        question = question.replace(name, "\0")
    text = re.sub(r"[\"“”]|(?<!\w)['‘](?=\0)|(?<=\0)['’](?!s)", "", question.lower())
    kinds = set[str]()
    for kind, words in _lexicon()["labels"].items():
        text, count = re.subn(rf"\b(?:{words}),? (?:called |named |titled |entitled )?(?=\0)", "", text)
        kinds |= {kind} if count else set()
    return text.replace("\0", "X"), frozenset(kinds)


def _kinds_of(name: str) -> frozenset[str]:
    """The kinds of thing that a name may name, by its form."""
    known = (kind for kind, form in _lexicon()["names"].items() if re.fullmatch(form, name))
    first = next(known, None)
    return frozenset([first]) if first else frozenset(_lexicon()["kinds"]) - {"person"}


def _compared(text: str) -> str | None:
    yes_no = YES_NO.match(text) and not re.search(r"X,? or\b", text)
    comparison = next(
        (name for name, words in _lexicon()["compares"].items() if re.search(rf"\b(?:{words})\b", text)), None
    )
    if yes_no:
        return {"least": "less", "most": "more", None: "same"}.get(comparison, comparison)
    return comparison


def _mentions(text: str) -> list[Mention]:
    """The mentions in a text, in order; longer ones replace the shorter ones that they contain."""
    tags_at: dict[tuple[int, int], set[tuple[str, str]]] = {}
    for tag, pattern in _patterns():
        for match in pattern.finditer(text):
            tags_at.setdefault(match.span(), set()).add(tag)
    return [
        Mention(
            start, end, *(frozenset(name for part, name in tags if part == kind) for kind in ("relations", "kinds"))
        )
        for (start, end), tags in sorted(tags_at.items())
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in tags_at)
    ]


def _wanted(text: str, said: Sequence[Mention]) -> tuple[list[str], Mention | None]:
    """The kinds and types asked for, and the noun that says so: "spouse" in "Who is the spouse of X?"."""
    for words, types in _lexicon()["asks"].items():
        if re.match(rf"(?:(?:in|on|at|from|by|to|since|under|with|of|near) )?(?:{words})\b", text):
            wanted = types.split()
            break
    else:
        wanted = []
    lead = LEAD.match(text)
    if lead is None and not wanted:
        # "The director of X was born where?"
        ends = [(match.start(), types) for words, types in _lexicon()["asks"].items()
                if (match := re.search(rf"\b(?:{words})\W*$", text))]  # fmt: skip
        late = [match for match in re.finditer(r"\b(?:which|what)\b", text)]
        if ends:
            return ends[-1][1].split(), None
        lead = late[-1] if late else None
    if lead is None:
        return wanted, None
    start = BEFORE_HEAD.match(text, lead.end())
    head = next((mention for mention in said if start and mention.start == start.end()), None)
    if head and not wanted:
        wanted = sorted(head.kinds | {relations()[name].end for name in head.relations})
    return wanted, head


def _chains(kinds: frozenset[str], said: Sequence[Mention], most: int) -> Iterator[Chain]:
    """All chains from things of these kinds along the mentions, each mention used once."""
    ways = [Chain((), (), (kind,)) for kind in sorted(kinds)]
    for _ in range(most):
        ways = [longer for way in ways for longer in _longer(way, said)]
        yield from ways


def _longer(way: Chain, said: Sequence[Mention]) -> Iterator[Chain]:
    for name, relation in relations().items():
        if way.kinds[-1] not in relation.starts:
            continue
        by: list[Mention | None] = [mention for mention in said if name in mention.relations and mention not in way.by]
        if (
            not by
            and (name in UNSAID or any(relation.end in mention.kinds for mention in said))
            and way.by.count(None) < MOST_UNSAID
        ):
            by = [None]
        for mention in by:
            yield Chain((*way.steps, name), (*way.by, mention), (*way.kinds, relation.end))


def _cost(way: Chain, text: str, said: Sequence[Mention], wanted: Sequence[str], head: Mention | None) -> float:
    """What a chain leaves unexplained: words, steps, the answer's kind, and the order of the mentions."""
    price, name = _lexicon()["costs"], text.find("X")
    cost = price["step"] * len(way.steps) + price["unsaid"] * way.by.count(None)
    for mention in said:
        if mention in way.by or mention.relations & set(way.steps) or mention.kinds & set(way.kinds[1:]):
            continue
        cost += price["start" if way.kinds[0] in mention.kinds else "kind" if mention.kinds else "word"]
    if wanted:
        is_wanted = way.kinds[-1] in wanted
        cost += price["step"] * wanted.index(way.kinds[-1]) if is_wanted else price["wanted"]
    if head and not head.kinds and way.steps[-1] not in head.relations:
        cost += price["head"]
    for earlier, later in combinations([mention for mention in way.by if mention], 2):
        # On the same side of the name, the nearer mention applies first.
        before, behind = later.end <= name, later.start > name
        if before and earlier.start < later.start and earlier.end <= name:
            cost += price["order"]
        if behind and earlier.start > later.start:
            cost += price["order"]
        cost += price["order"] * (_attached(later, text, name) and not _attached(earlier, text, name))
    return cost


def _attached(one: Mention, text: str, name: int) -> bool:
    """Whether a mention is about the name itself, not about something else that is said of it."""
    if one.end <= name:
        return bool(ATTACHED.fullmatch(text, one.end, name))
    between = text[name + 1 : one.start]
    return bool(OWN.fullmatch(between) or (ATTACHED.fullmatch(between) and SUBJECT.search(text[:name])))


@cache
def _lexicon() -> dict[str, Any]:
    """The sections of lexicon.yaml by name; its expressions may be wrapped after any "|"."""

    def joined(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: joined(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [joined(inner) for inner in value]
        return value.replace("| ", "|") if isinstance(value, str) else value

    sections = read_yaml(Path(__file__).with_name("lexicon.yaml"))
    return {key: joined(value) for section in sections for key, value in section.items()}


@cache
def _patterns() -> list[tuple[tuple[str, str], re.Pattern[str]]]:
    """(section, name) and the pattern of the words for that relation or kind of thing."""
    words = [(("relations", name), entry[-1]) for name, entry in _lexicon()["relations"].items()]
    words += [(("kinds", kind), expression) for kind, expression in _lexicon()["kinds"].items()]
    return [(tag, re.compile(rf"(?<!\w)(?:{expression})(?!\w)")) for tag, expression in words]
