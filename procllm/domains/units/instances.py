"""Random networks and units, from a seed (paper §5).

A target has four neighbours, and each of these three outer places of its own: 17 places, 16 edges. To them come "12
more random edges between neighboring nodes (excluding the target)". We read: 12 different edges, each between two of
the 12 outer places, of one section or of two, all such pairs being equally likely.

So it is in the example that the paper prints (C.4.2), as far as it goes: of its 25 edges 9 are beyond the 16. All of
them join outer places: 2 within a section, 7 between sections, those opposite each other included. No neighbour of the
target has an edge more; were neighbours among the ends of random edges, 9 would miss them all in one network of 100.
That there are 9 and not 12 fits 12 draws with repetition, of which an edge that is there already adds nothing; we keep
to the number in the text. `instances(..., edges=9)` makes networks as dense as the example.

The units of a section stand at its outer places, as all of the example do; which sections have units is random.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from procllm.domains.base import Instance
from procllm.domains.units.request import MovementProblem, worded

SECTIONS, OUTER = 4, 3  # neighbours of the target, and outer places of each
OCCUPIED = 3  # sections with units
EDGES = 12
PLACES = (
    "Alderley", "Amberhill", "Ashcombe", "Barrowdale", "Beechwood", "Birchmere", "Blackrock", "Bramblegate",
    "Brightwater", "Cedarholm", "Chalkdown", "Clearbrook", "Coldharbour", "Cranefield", "Deepwell", "Driftwood",
    "Elmstead", "Fairhaven", "Fernleigh", "Foxborough", "Glenrock", "Goldcrest", "Greycliff", "Hawthorn", "Hazelmoor",
    "Highgate", "Hollybank", "Ironbridge", "Juniper", "Kingsford", "Larkspur", "Longmeadow", "Maplecroft", "Millpond",
    "Northgate", "Oakhurst", "Otterburn", "Pebblebay", "Quarry", "Ravenscar", "Redstone", "Rushmere", "Saltmarsh",
    "Silverlake", "Stonebridge", "Thornbury", "Underhill", "Westmoor", "Whitecliff", "Willowdale",
)  # fmt: skip
CALL_SIGNS = (
    "Badger", "Condor", "Dingo", "Falcon", "Gecko", "Heron", "Jackal", "Kestrel", "Lynx", "Marten", "Osprey", "Viper",
)  # fmt: skip
MOST = 999  # instances of a seed: ids have three digits

Network = dict[str, tuple[str, ...]]


def instances(count: int, seed: int = 0, n: int = 5, k: int = 3, edges: int = EDGES) -> list[Instance]:
    """The first `count` problems of a seed: n units in each of three sections, k of them needed at each neighbour.

    edges: beyond the tree. Raises ValueError for sizes that have no solution or do not exist.
    """
    if not 1 <= k <= n or n > MOST:
        raise ValueError(f"n={n}, k={k}; it takes 1 to {MOST} units a section, and k is 1 to n")
    most = len(list(combinations(range(SECTIONS * OUTER), 2)))
    if not 0 <= edges <= most:
        raise ValueError(f"edges={edges}; between the outer places there can be up to {most}")
    if not 0 <= count <= MOST:
        raise ValueError(f"count={count}; a seed has up to {MOST} instances")
    return [_instance(seed, n, k, edges, number) for number in range(1, count + 1)]


def _instance(seed: int, n: int, k: int, edges: int, number: int) -> Instance:
    density = "" if edges == EDGES else f"-e{edges:02}"
    name = f"units-n{n:03}-k{k:03}{density}-s{seed:03}-{number:03}"
    random = Random(f"procllm {name}")
    network = made_network(random, edges)
    target = next(iter(network))
    problem = MovementProblem(target, k, _placed(target, network, n, random), network)
    return Instance(name, worded(problem), problem)


def made_network(random: Random, edges: int = EDGES) -> Network:
    """Place -> the places next to it: first the target, then its neighbours, then the outer places by section."""
    target, *others = random.sample(PLACES, 1 + SECTIONS * (1 + OUTER))
    neighbours, outer = others[:SECTIONS], others[SECTIONS:]
    pairs = [(target, neighbour) for neighbour in neighbours]
    pairs += [(neighbours[index // OUTER], place) for index, place in enumerate(outer)]
    pairs += random.sample(list(combinations(outer, 2)), edges)
    beside: dict[str, list[str]] = {place: [] for place in (target, *others)}
    for one, other in pairs:
        beside[one].append(other)
        beside[other].append(one)
    return {place: tuple(places) for place, places in beside.items()}


def _placed(target: str, network: Network, n: int, random: Random) -> dict[str, str]:
    """Unit -> place: in three random sections n units each, every unit at any of the section's outer places."""
    signs = sorted(random.sample(CALL_SIGNS, OCCUPIED))
    units: dict[str, str] = {}
    for sign, neighbour in zip(signs, random.sample(network[target], OCCUPIED), strict=True):
        outer = [place for place in network[neighbour] if place != target]
        units |= {f"{sign}_{number}": random.choice(outer) for number in range(n)}
    return units
