"""English for the reader of questions over the made web: what rows are called, how limits are said, and superlatives.

Written on the writing templates and on common English. The reporting templates have not been looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from worlds.encyclopedia.relations import SERVICES

NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\d,]*\d|s\b|\w)")
# What rows are called -> their table; the first that the question has outside of names.
NOUNS = {
    "museums": r"museums?|galler(?:y|ies)|collections?|exhibitions?",
    "festivals": r"festivals?|feasts?|celebrations?|fairs?|festivities|events?",
    "businesses": "|".join(f"{one}s?" for one in SERVICES),
    "universities": r"universit(?:y|ies)|colleges?|seats? of learning|alma maters?|institutions?",
    "towns": r"towns?|cit(?:y|ies)|municipalit(?:y|ies)|settlements?|communit(?:y|ies)",
    "films": r"films?|movies?|pictures?|features?|motion pictures?",
    "albums": r"albums?|records?|lps?|long-players?|discs?",
    "novels": r"novels?|books?",
}
MAKERS = {  # what names of those who make things end with, where it goes without saying what they make
    "films": r"(?:Studios?|Films?|Pictures)$",
    "albums": r"(?:Records|Music|Sound)$",
    "novels": r"(?:Press|Publishing|Books)$",
}
UNITS_OF = {  # what only one kind of rows has
    "universities": "students?", "towns": "inhabitants?", "albums": "tracks?", "novels": "pages?", "films": "minutes?",
    "festivals": "visitors?",
}  # fmt: skip
STEMS = {  # what the title of a list has, besides the place
    "museums": "museum", "festivals": "festival", "businesses": "", "universities": "universit", "towns": "town",
    "films": "film", "albums": "album", "novels": "novel",
}  # fmt: skip
# A relation -> the words that speak of it. Units come with them, and stand behind numbers.
WORDS = {
    "ticket": r"tickets?|admission|entry|entrance|dollars?|costs?|pay(?:s|ing)?|fees?|price[sd]?|charges?|spend|bill"
    r"|enter|\$",
    "price": r"price[sd]?|costs?|dollars?|charges?|rates?|pay(?:s|ing)?|spend|fees?|\$",
    "walk": r"station|walk(?:s|ing)?|on foot|metres?|meters?|distances?|far",
    "closed": r"clos(?:ed|es|ing)|open|shut|day off|days? of rest",
    "visitors": r"visitors?|attend(?:ed|ance|ees?|s)?|crowds?|draws?|guests?|people|visited|turnouts?|audiences?",
    "students": r"students?|enrol\w*|enroll\w*|student bod(?:y|ies)|size|big|large",
    "population": r"inhabitants?|populations?|people|residents?|populous|populated|live|size|big|large",
    "elevation": r"elevations?|altitudes?|metres?|meters?|heights?|sea level|above the sea|lies?|highest|lowest|high",
    "founded": r"founded|foundation|founding|opened|established|since|built|started|began|begun|dates?|held"
    r"|existed|years?",
    "year": r"years?|released?|came out|made|appeared|published|from|recorded|issued|dates?",
    "runtime": r"minutes?|run(?:s|ning)?|runtimes?|last(?:s|ing)?|long|lengths?|playing time|duration",
    "tracks": r"tracks?|songs?|pieces?",
    "pages": r"pages?|lengths?|long|thick",
    "genre": r"genres?|kinds? of (?:film|novel)",
    "style": r"styles?|kinds? of music",
    "town": r"towns?|where",
    "performer": r"performers?|musicians?|artists?|by whom|singers?",
    "author": r"authors?|writers?|wrote|by whom",
}
BELOW = (
    r"(?:less|fewer|lower|cheaper|shorter|smaller|nearer|closer|thinner|earlier|older|no more|not more|sooner)"
    r"(?: (?!less|more|fewer)\w+){0,2}? than|below|under|beneath|before|at most|up to|within|until"
    r"|short of|prior to|not yet|predat\w+|maximum of|max|limit(?:ed)? (?:of|to)"
    r"|budget (?:of|is)|(?:does|do|did)(?:n['’]t| not) (?:reach|exceed)|not reach\w*|falls? short of|no higher than|<"
)
ABOVE = (
    r"(?:more|greater|higher|larger|bigger|longer|dearer|pricier|later|newer|younger|farther|further"
    r"|thicker|over|costlier"
    r"|more expensive|more recent\w*)(?: (?!less|more|fewer)\w+){0,2}? than|above|over|beyond|after"
    r"|exceed(?:s|ing|ed)?|past|since the end of"
    r"|upwards? of|>|top(?:s|ping)?|in excess of|surpass(?:es|ing|ed)?|postdat\w+|north of"
)
FROM = (
    r"(?:in|on) or (?:after|later than)|at least|from|since|no (?:earlier|fewer|less|later) than"
    r"|not (?:before|earlier than|less than)|(?:starting|beginning) (?:in|with|from)|as of|minimum of"
)
FROM_BEHIND = (
    r"\W*(?:\w+ ){0,2}?(?:or (?:later|more|above|newer|over|after|longer|higher|larger|greater|bigger"
    r"|thereafter|since)"
    r"|and (?:later|up|above|after|newer|onwards?)|onwards?|on\b(?! \w+days?)|upwards?"
    r"|at (?:the )?least|at the earliest)"
)
CLAUSE = re.compile(
    r"[,;?:]| and (?!later|up|above|after|newer|onward)| but | that | which (?!is|are|was|were)"
    r"| with | whose | where | who "
)
# What may stand between a noun and the limit on it.
LEADING = r"with|whose|that|which|is|are|was|were|be|been|has|have|had|an?|the|of|and|but|for|as|only|it|they"
# Words with a capital letter that are no names.
PRONOUNS = (
    "I",
    "I'm",
    "I'd",
    "I’m",
    "I’d",
    "JSON",
    "List",
    "Give",
    "Name",
    "Tell",
    "Find",
    "Show",
    "Count",
    "Add",
    "Of",
    "Among",
    "Take",
    "Taking",
    "Looking",
    "Out",
    "Across",
    "Counting",
    "Considering",
    "Please",
    "By",
    "With",
    "Suppose",
    "Say",
    "Are",
    "There",
    "These",
    "All",
    "Each",
    "Every",
    "Only",
    "Adding",
    "Between",
    "Within",
    "My",
    "Can",
    "Could",
    "Does",
    "Do",
    "Did",
    "Has",
    "Have",
    "From",
    "Which",
    "What",
    "Who",
    "Where",
    "Whose",
    "Is",
    "Was",
    "Were",
    "Our",
    "Answer",
    "Reply",
    "If",
    "For",
    "When",
    "Write",
    "Return",
    "Use",
    "State",
    "We",
    "You",
    "Round",
    "How",
)
QUOTED = r"(?<!\w)[\"“'‘`](\w[^\"”'’`]{0,30})[\"”'’`](?!\w)"
NOT = re.compile(
    r"\bnot\b|n['’]t\b|\bexcept\b|other than|apart from|\bnever\b|\bno\b|\bbut\b|without|exclud"
    r"|rather than|leaving out|\bnor\b|\bnon-?"
)
# An adjective in the superlative -> the way, and the relations that it may be about, first those that the list has.
EXTREMES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    r"cheapest|least expensive|most affordable|best value": ("least", ("ticket", "price")),
    r"dearest|most expensive|priciest|costliest": ("most", ("ticket", "price")),
    r"closest|nearest|shortest walk|least far|fewest metres|least walking": ("least", ("walk",)),
    r"farthest|furthest|most distant|longest walk|most remote": ("most", ("walk",)),
    r"oldest|earliest|first|longest[- ](?:established|running|standing)": ("least", ("founded", "year")),
    r"newest|youngest|latest|most recent(?:ly)?|last": ("most", ("founded", "year")),
    r"longest|lengthiest|thickest|most voluminous": ("most", ("runtime", "pages", "tracks")),
    r"shortest|briefest|thinnest|slimmest|slightest": ("least", ("runtime", "pages", "tracks", "walk")),
    r"most visited|most popular|busiest|best[- ]attended|most crowded|best[- ]visited": ("most", ("visitors",)),
    r"least visited|quietest|least popular|worst[- ]attended": ("least", ("visitors",)),
    r"most populous|most populated": ("most", ("population",)),
    r"least populous|least populated": ("least", ("population",)),
    r"highest|tallest|topmost": (
        "most", ("elevation", "ticket", "price", "students", "population", "visitors", "pages", "tracks", "runtime")
    ),
    r"lowest": (
        "least", ("elevation", "ticket", "price", "students", "population", "visitors", "pages", "tracks", "runtime")
    ),
    r"largest|biggest|greatest|maximum|top|most": (
        "most", ("students", "population", "elevation", "visitors", "pages", "tracks", "runtime", "ticket", "price")
    ),
    r"longest ago|around (?:the )?longest": ("least", ("founded", "year")),
    r"longest\b": ("least", ("founded",)),
    r"smallest|fewest|least|minimum|minimal|tiniest": (
        "least", ("students", "population", "elevation", "visitors", "pages", "tracks", "runtime", "ticket", "price",
                  "walk")
    ),
}  # fmt: skip
GAP = (
    r"difference|how far|by how much|gap|range|spread|apart|span(?:s|ned)?|how (?:much"
    r"|many \w+) (?:\w+ )?(?:higher|more|older|larger|longer|lower|less|separates?)|separates?|differ"
)
MEAN = r"on average|average|mean|averages|typical(?:ly)?|per (?:novel|film|album|book)"
SUM = (
    r"in total|total|altogether|in all|all together|together|sum|combined|overall|add(?:s|ed|ing)? up"
    r"|taken together|as a whole"
)
SHARE = r"percentages?|per ?cent|share|fraction|proportion|%"
MEASURES = ("students", "population", "ticket", "price", "runtime", "tracks", "pages")  # where none is named
AMOUNTS = (  # what "how many" asks for where it does not ask for rows
    r"dollars?|minutes?|hours?|tracks?|songs?|pages?|inhabitants?|people|residents?|visitors?|guests?|students?|met(?:re|er)s?"
    r"|years?"
)
COUNT = r"how many|number of|count|how often"
BILL = (
    r"(?:what|how much)\b.*\b(?:pay|cost|spend|set me back).*\b(?:each|every|all|both)\b|\b(?:each"
    r"|every|all|both)\b.*\b(?:pay|cost|spend)\b"
)
SAME_NAME = r"name|title|which|who|what|called"
