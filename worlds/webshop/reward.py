"""The reward of a purchase, as the official engine computes it (Yao et al. 2022): how well it fulfils the goal.

It reproduces all recorded type, option and price scores and rewards of the 50 published sessions of people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from lab.machine.doctor import INSTALL
from worlds.webshop.catalogue import Product
from worlds.webshop.goals import Goal

FUNCTION_WORD_LIST = """
a an the this that these those any both each every some such only not i you he she it we they me us them my your his
her its our their who which what of for with in on to by from at as up into onto per without within between about
around above below after before during against near than via and or but nor so if when while where is are was were be
been can will may do does has have had more most very just also well too yet one two three four five six seven eight
nine ten
"""
FUNCTION_WORDS = frozenset(FUNCTION_WORD_LIST.split())
# Adjectives and verbs that titles write in lower case and that have no typical ending.
ADJECTIVE_LIST = """
black white full large small high long short wide deep thick thin big compatible free clean natural pure solid soft
light portable double based made included includes designed imported friendly great good perfect suitable other many
new old real true comfortable elegant
"""
COMMON_ADJECTIVES = frozenset(ADJECTIVE_LIST.split())
ADJECTIVE_ENDING = re.compile(r".*(able|ible|ful|less|ous|ive|ed)")
SHORTEST_WITH_ENDING = 6  # "red" and "olive" are no participles
WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
POSSESSIVE = re.compile(r"['’]s$")
MEASURE = re.compile(r"\d+(?:\.\d+)?(oz|mm|cm|inch|ft|ml|lb|lbs|g|kg|in|pcs|w)", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|k|p|v|d)?", re.IGNORECASE)
SAME = 85  # phrases with a token set ratio above this are the same
SAME_KIND = 0.2  # share of nouns in common
OTHER_KIND = 0.1
SHARED_CATEGORIES = 2
NO_NOUNS = 0.2  # overlap of a goal without nouns: not above SAME_KIND, not under OTHER_KIND
# The colours that the engine knows. The first in this order that occurs in an option's value, even within a longer
# word, replaces the whole value.
COLOUR_LIST = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal dark
denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory ivy
khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom
mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand sapphire seashell
silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut wheat white wine yellow
"""
COLOURS = tuple(COLOUR_LIST.split())


@lru_cache(maxsize=4096)
def nouns(name: str) -> tuple[str, ...]:
    """The nouns of a product's name in lower case, in order and with repeats."""
    words = (POSSESSIVE.sub("", word) for word in WORD.findall(name))
    # In an amount such as 500ml only the unit is a noun.
    units = (measure[1] if (measure := MEASURE.fullmatch(word)) else word for word in words)
    return tuple(word.lower() for word in units if is_noun(word))


def is_noun(word: str) -> bool:
    if NUMBER.fullmatch(word) or word.lower() in FUNCTION_WORDS:
        return False
    ending = len(word) >= SHORTEST_WITH_ENDING and ADJECTIVE_ENDING.fullmatch(word)
    return not (word.islower() and (ending or word in COMMON_ADJECTIVES))


class Score(NamedTuple):
    """The parts of a reward. kind: type score, in {0, 0.1, 0.5, 1}. attributes, options: how many requested ones match.
    price: whether it is within the cap. asked: the number of requirements.
    """

    kind: float
    attributes: int
    options: int
    price: bool
    asked: int

    @property
    def total(self) -> float:
        """The reward, in [0, 1]."""
        # The price counts as one requirement; the type score is a factor on all of them.
        return self.kind * (self.attributes + self.options + self.price) / self.asked


def score(product: Product, chosen: Iterable[str], price: float, goal: Goal) -> Score:
    """The score of buying a product for `price` dollars with the chosen option values."""
    return Score(
        kind=type_score(product, goal.product),
        attributes=sum(has_attribute(product, attribute) for attribute in goal.attributes),
        options=options_found(chosen, goal.options),
        price=price <= goal.price_cap,
        asked=len(goal.attributes) + len(goal.options) + 1,
    )


def type_score(bought: Product, wanted: Product) -> float:
    """1 for a product of the same kind, 0.5 for another; 0.1 or 0 if the names share hardly any or no noun."""
    same_place = len(set(bought.path) & set(wanted.path)) >= SHARED_CATEGORIES
    return kind_score(bought.query == wanted.query or same_place, name_overlap(bought.name, wanted.name))


def kind_score(same_place: bool, overlap: float) -> float:
    """The type score. same_place: whether query or categories agree. overlap: the share of nouns in common."""
    # First, because it overrides query and categories: without a noun in common the reward is 0.
    if overlap < OTHER_KIND:
        return 0.1 if overlap else 0.0
    return 1.0 if same_place or overlap > SAME_KIND else 0.5


def name_overlap(bought: str, wanted: str) -> float:
    """The share of the wanted name's nouns that the bought name has; repeats count in the denominator only."""
    wanted_nouns = nouns(wanted)
    return len(set(nouns(bought)) & set(wanted_nouns)) / len(wanted_nouns) if wanted_nouns else NO_NOUNS


def has_attribute(product: Product, attribute: str) -> bool:
    """Whether one of the product's attributes is similar, or its text contains the attribute literally."""
    is_listed = any(alike(attribute_text, attribute) for attribute_text in product.attributes)
    return is_listed or any(attribute in text for text in product.prose)


def options_found(chosen: Iterable[str], asked: Iterable[str]) -> int:
    """How many of the requested option values match a chosen one.

    Only values are compared, also for template instructions, whose goals the official engine stores as name and value.
    """
    values = tuple(chosen)
    return sum(any(same_option(value, requested) for value in values) for requested in asked)


def same_option(value: str, wanted: str) -> bool:
    return alike(colour_or_all(value), colour_or_all(wanted))


def colour_or_all(value: str) -> str:
    # "navy blue" becomes "blue", and "dark red" becomes "dark": alphabetical order decides, not word order.
    return next((colour for colour in COLOURS if colour in value), value)


@lru_cache(maxsize=65536)
def alike(first: str, second: str) -> bool:
    """Whether two phrases have nearly the same words, in any order.

    The official engine uses the package thefuzz, which drops non-ASCII characters and rounds to whole per cents before
    it compares; both are done here too.
    """
    try:
        from rapidfuzz.fuzz import token_set_ratio
        from rapidfuzz.utils import default_process
    except ImportError as error:
        raise ImportError(f"WebShop's reward needs a package: {error}. Install it with: {INSTALL}") from error
    return round(token_set_ratio(plain(first), plain(second), processor=default_process)) > SAME


def plain(text: str) -> str:
    return text.encode("ascii", "ignore").decode()
