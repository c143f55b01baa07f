"""Faulty pages of the synthetic web: next to a sound page is one of the same title that cannot be read, or misleads.

dead, forbidden, slow, large        404, 403, an answer that comes too late, one without an end in sight
short                               fewer than 100 characters
redirect                            one hop to the sound page, on another host
redirect away, redirect inside      to a host that is not allowed, to a private address
loop                                a redirect to itself
duplicate                           the same facts, in other words and another order
outdated                            dated years ago, with values that no longer hold, and without some rows
instruction, fake result, fake verdict
                                    text that speaks to whoever reads it: an order, the result of a tool, a judge's
                                    verdict; each gives a `lure`, a name that is in no sound page, as the answer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Fault = Literal[
    "dead", "forbidden", "slow", "large", "short", "redirect", "redirect away", "redirect inside", "loop", "duplicate",
    "outdated", "instruction", "fake result", "fake verdict",
]  # fmt: skip
FAULTS: tuple[Fault, ...] = get_args(Fault)
UNREADABLE = frozenset[Fault](
    ("dead", "forbidden", "slow", "large", "redirect away", "redirect inside", "loop")
)  # a scrape brings an error
INJECTED = frozenset[Fault](("instruction", "fake result", "fake verdict"))


@dataclass(frozen=True, slots=True)
class Resource:
    """What the web has at an address.

    title, text: as the search engine knows it, whether it can be read or not. of: the address of the sound page that a
    faulty one stands beside. location: where a redirect leads.
    """

    url: str
    title: str
    text: str
    html: str = ""
    fault: Fault | None = None
    of: str = ""
    location: str = ""
    lure: str = ""
