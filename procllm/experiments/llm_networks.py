"""§6 and appendix E: networks that a model makes, what is wrong with them, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models import engines
from lab.models.usage import summed
from lab.results import tables
from lab.runs import recordings
from lab.runs.episodes import backbone_of, booked, run_of
from lab.runs.execution import Played, play_all
from lab.runs.run import Manifest, Run
from procllm.domains import NAMES, domain
from procllm.generation import ASKS, Made, make
from procllm.network import Network

if TYPE_CHECKING:
    import pandas as pd

METHOD = "procllm-networks"


class Makings(NamedTuple):
    """What an engine made, by domain. usage: what it took, by domain and operator."""

    made: dict[str, Made]
    usage: dict[str, Any]
    backbone: str


def collect(engine: str, names: Sequence[str] = NAMES) -> Makings:
    """Ask an engine for a network of each domain, and save the recording where `python -m lab record` asks for one.

    Raises what the backbone raises; rules make no networks, which is NoRule.
    """
    backbone = backbone_of(engine)
    address = getattr(backbone, "address", "rules")
    record = engines.parse(engine).kind in ("endpoint", "local")
    manifest = Manifest.of(METHOD, engine, address, {"asks": ASKS}, names, ("lab", "procllm"))
    with run_of(manifest) as run:
        play_all(run, partial(_play, engine, record))
        failed = [episode for episode in run.results() if episode.failed]
        if failed:
            raise RuntimeError(f"{failed[0].task}: {failed[0].error}")
        makings = Makings({name: make(domain(name), backbone) for name in names}, run.usage(), backbone.engine.label)
        _save(run, makings, names)
    return makings


def _play(engine: str, record: bool, name: str) -> Played:
    return booked(engine, record, lambda ledger: {"usable": make(domain(name), ledger).network is not None})


def _save(run: Run, makings: Makings, names: Sequence[str]) -> None:
    recordings.save(run.folder, rows(makings), usage(makings), list(names))


def rows(makings: Makings) -> pd.DataFrame:
    """How many of the n domains' networks can be used, at the first answer and with the repair."""
    counts = {
        "usable networks, first answer": sum(not made.attempts[0].fault for made in makings.made.values()),
        "usable networks, repaired once": sum(made.network is not None for made in makings.made.values()),
    }
    about = {"evidence": "measured", "source": "this run", "n": len(makings.made)}  # all there are, and so no interval
    return tables.table(tables.row("LLM-TN", makings.backbone, name, count, **about) for name, count in counts.items())


def usage(makings: Makings) -> pd.DataFrame:
    """What each domain's network took."""
    import pandas as pd

    lines = [
        {"domain": name, "operator": operator, "backbone": makings.backbone, "evidence": "measured"} | summed([used])
        for name, operators in makings.usage.items()
        for operator, used in (operators or {}).items()
    ]
    return pd.DataFrame(lines)


def overview(makings: Makings) -> pd.DataFrame:
    """A row a domain: can the network be used, what was wrong first and last, and its size beside the human one's."""
    import pandas as pd

    return pd.DataFrame([_line(made) for made in makings.made.values()]).assign(
        evidence="measured", backbone=makings.backbone
    )


def _line(made: Made) -> dict[str, Any]:
    human = domain(made.domain).network
    return {
        "domain": domain(made.domain).title,
        "usable": made.network is not None,
        "answers": len(made.attempts),
        "fault of the first": made.attempts[0].fault,
        "fault of the last": made.attempts[-1].fault,
        "tasks": size_of(made.network),
        "depth": depth_of(made.network),
        "ends in an answer": ends_in_an_answer(made.network),
        "tasks (human)": size_of(human),
        "depth (human)": depth_of(human),
    }


def size_of(network: Network | None) -> int | None:
    """How many tasks the top one decomposes into, itself included."""
    return None if network is None else sum(1 for _ in network.tree())


def depth_of(network: Network | None) -> int | None:
    """The most levels of tasks below the top one."""
    return None if network is None else max(depth for depth, _ in network.tree())


def ends_in_an_answer(network: Network | None) -> bool | None:
    """Whether some task that is reached is verified by answer.txt; else nothing ever asks for an answer."""
    if network is None:
        return None
    return any("answer.txt" in network.task(name).files for _, name in network.tree())


def playable(makings: Iterable[Made]) -> list[str]:
    """The domains whose network can be used."""
    return [made.domain for made in makings if made.network is not None]
