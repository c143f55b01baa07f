"""A sweep, `python -m lab run NOTEBOOK --grid seed=0,1`: says what it will take, plays the cells, tabulates them.

Each cell is recorded as soon as it is finished: the same command goes on with the others, whenever it was stopped.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.files import write_atomically
from lab.machine.printing import visible
from lab.machine.progress import duration
from lab.machine.versions import code_hash
from lab.models.connect import connect
from lab.models.engines import MODELS, joined, split
from lab.models.routed import address_of
from lab.notebooks import expected
from lab.notebooks.documents import NotebookError
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.grid import Cell, cells_of, check, digest, text_of
from lab.notebooks.rehearsal import Rehearsal, rehearse
from lab.results import exports
from lab.runs.collecting import THREADS
from lab.runs.forecast import Accounts, Planned, Share, forecast

if TYPE_CHECKING:
    import pandas as pd

MOST_FIGURES = 12  # columns of figures that are printed; the files have all
WIDEST = 28  # characters of a cell of the printed table
OF_THE_MACHINE = ("workers", "cluster")  # parameters that say how episodes are played, and not which
# Errors that say that the machine kept a notebook from measuring; of what class they are, their name alone tells.
NOT_MEASURED = re.compile(r"\b(NothingMeasured|\w+Unavailable|CacheUnusable|NoCluster|Missing\w+): ")


def sweep(
    names: Sequence[str],
    given: Sequence[tuple[str, str]],
    grids: Sequence[str],
    out: Path | None = None,
    side_by_side: int = 2,
    timeout: float | None = None,
    yes: bool = False,
) -> int:
    """Play notebooks at every point of the grid and tabulate what they report; 0 if every cell succeeded, else 1.

    given: (parameter, text) pairs that all cells share. grids: "NAME=VALUE,VALUE", one for each swept parameter. out:
    by default a folder of `runs/sweeps`, the same for the same notebooks, fixed and swept parameters. yes: do not ask.
    Raises NotebookError, before anything runs, for a wrong name or value, an engine that cannot be reached, and where
    nobody is there to be asked.
    """
    cells, out = cells_of(names, given, grids, out)
    left = [cell for cell in cells if not cell.finished()]
    if left:
        print("\n".join(_plan(cells, left, out, side_by_side, timeout)), flush=True)
        if not (yes or _agreed()):
            print("nothing was played")
            return 1
        check(left, servers=True)
    ended = _play(left, side_by_side, timeout)
    _write(*_table(cells, ended), out)
    for cell in left:
        if failure := ended[cell.job.output][0]:
            kept = f"; kept up to there in {cell.job.failed}" if cell.job.failed.exists() else ""
            print(visible(f"{cell.job.title}: {failure}{kept}"))
    return int(any(failure for failure, _ in ended.values()))


def _plan(
    cells: Sequence[Cell], left: Sequence[Cell], out: Path, side_by_side: int, timeout: float | None
) -> Iterator[str]:
    """What is left to do and what it will take, line by line."""
    yield f"{len(cells)} cells in {out}; {len(cells) - len(left)} are finished, {len(left)} to play"
    asking = [cell for cell in left if cell.models]
    if asking:
        planned, failures = _planned(asking, out, side_by_side, timeout)
        shares = forecast(planned)
        yield from (f"  {share}" for share in shares)
        yield from (f"  at least: the rehearsal with rules stopped, and what follows is unknown: {f}" for f in failures)
        if not shares:
            yield "  calls, dollars and hours unknown: the notebook's models answer outside of runs"
        else:
            yield f"  {_total(shares, asking, side_by_side, not failures)}"
    embedders = sorted({v for cell in left for v in cell.values.values() if str(v).startswith("endpoint:")})
    yield from (f"  embeddings by {one} are not counted" for one in embedders)
    if free := [cell for cell in left if not cell.models]:
        took = [record["seconds"] for cell in cells if not cell.models and (record := cell.finished())]
        about = f"{len(free)} {'cells' if len(free) > 1 else 'cell'} on rules and recordings: 0 dollars, "
        if took:
            mean = sum(took) / len(took)
            wall = duration(mean * len(free) / min(side_by_side, len(free)))
            yield f"  {about}about {wall}, as {len(took)} finished cells took {mean:.1f} seconds each"
        else:
            yield f"  {about}time unknown until a cell is finished"


def _total(shares: Sequence[Share], cells: Sequence[Cell], side_by_side: int, whole: bool) -> str:
    """Calls, dollars and hours of all shares. whole: whether they are all that is asked."""
    # A sum without the unknown part would look like an estimate.
    calls, dollars, seconds = (
        sum(known) if whole and len(known := [one for one in column if one is not None]) == len(shares) else None
        for column in zip(*((share.calls, share.dollars, share.seconds) for share in shares), strict=True)
    )
    told = f"calls {'unknown' if calls is None else f'{calls:,.0f}'}"
    told += f"; dollars {'unknown' if dollars is None else f'{dollars:,.2f}'}"
    if seconds is None:
        return f"in all: {told}; hours unknown"
    # Where cells differ, the fewest at a time: what is over sooner disappoints nobody.
    local = any("local" in engine.kinds for cell in cells for engine in cell.models.values())
    crew = min(cell.values.get("workers") or (1 if local or cell.values.get("cluster") else THREADS) for cell in cells)
    at_once = crew * min(side_by_side, len(cells))
    return (
        f"in all: {told}; {duration(seconds / at_once)} of waiting for models with {at_once} at a time, "
        "if each is answered as fast as then; answers that are in the cache cost nothing"
    )


def _planned(
    cells: Sequence[Cell], out: Path, side_by_side: int, timeout: float | None
) -> tuple[list[Planned], list[str]]:
    """The runs that the cells will make, and why those of some cells are not all known.

    Cells that differ in their models alone are rehearsed once, with stand-ins for the models' names.
    """
    kept, settings, of_cell = out / "rehearsed", dict[str, Job](), list[str]()
    for cell in cells:
        values = {name: value for name, value in cell.job.parameters.items() if name not in OF_THE_MACHINE}
        asking = {name.partition("[")[0] for name in cell.models} | {"engines"} & cell.declared.keys()
        values |= {name: _renamed(cell.values[name], _stand_ins(cell)) for name in sorted(asking)}
        job = replace(cell.job, parameters=values)
        of_cell.append(digest([cell.identity["notebook"], job.parameters, code_hash()]))
        settings[of_cell[-1]] = job
    found = {key: Rehearsal.load(path) for key in settings if (path := kept / f"{key}.json").exists()}
    if new := [key for key in settings if key not in found]:
        print(f"rehearsing {len(new)} of {len(settings)} settings with rules, to count episodes", flush=True)
        found |= dict(zip(new, rehearse([settings[key] for key in new], side_by_side, timeout), strict=True))
        for key in new:
            found[key].save(kept / f"{key}.json")
    planned = []
    for cell, key in zip(cells, of_cell, strict=True):
        real = {stand_in: model for model, stand_in in _stand_ins(cell).items()}
        for run in found[key].runs:
            engine = _renamed(run.manifest.engine, real)
            if engine != run.manifest.engine:  # else rules or a recording answered, as they will
                address = address_of(connect(engine, cache=None))
                run = run._replace(manifest=replace(run.manifest, engine=engine, address=address))
            planned.append(run)
    return planned, list(dict.fromkeys(one.failure for one in found.values() if one.failure))


def _stand_ins(cell: Cell) -> dict[str, str]:
    """Model -> what it is called in the rehearsal; by its place, so that other models there are called the same."""
    parts = [part.text for engine in cell.models.values() for part in engine.parts if part.kind in MODELS]
    return {model: f"stand-in-{place}" for place, model in enumerate(dict.fromkeys(parts), start=1)}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """An engine string, or a list or mapping of some, with other names for models."""
    if isinstance(value, dict):
        return {operator: _renamed(text, names) for operator, text in value.items()}
    if isinstance(value, list):
        return [_renamed(text, names) for text in value]
    whole, others = split(value)
    others = {operator: names.get(text.strip(), text) for operator, text in others.items()}
    return joined(names.get(whole.strip(), whole), others)


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise NotebookError("nobody is there to be asked whether to go on; add --yes to play the cells")
    try:
        return input("go on? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _play(cells: Sequence[Cell], side_by_side: int, timeout: float | None) -> dict[Path, tuple[str, dict[str, Any]]]:
    """Execute cells, each recorded as soon as it is finished: output -> its failure and its record."""
    by_output, ended = {cell.job.output: cell for cell in cells}, {}
    for cell in cells:
        expected.forget([cell.job.name], cell.job.figures)
        cell.noted.unlink(missing_ok=True)
        for rest in cell.job.output.parent.glob(f".{cell.job.output.stem}.*.partial.ipynb"):
            rest.unlink(missing_ok=True)  # of a sweep that was killed

    def settled(outcome: Outcome) -> None:
        output = outcome.job.output
        ended[output] = outcome.failure, by_output[output].keep(outcome)

    if cells:
        execute([cell.job for cell in cells], side_by_side, timeout, settled=settled)
    return ended


def _table(cells: Sequence[Cell], ended: Mapping[Path, tuple[str, dict[str, Any]]]) -> tuple[pd.DataFrame, list[str]]:
    """A row a cell: its point, what it reported, how it ended and what it took. Also the names of the figures.

    Its columns hold objects: a count beside an empty cell would else become a float.
    """
    import pandas as pd

    several = len({cell.job.source for cell in cells}) > 1
    heads, tails, figures = [], [], []
    for cell in cells:
        failure, record = ended.get(cell.job.output) or ("", cell.finished() or {})
        accounts = Accounts(**record["accounts"])
        heads.append(({"notebook": cell.job.name} if several else {}) | {n: _shown(v) for n, v in cell.point.items()})
        reported = None if failure else expected.reported(cell.job.name, cell.job.figures)
        figures.append(reported.values if reported else {})
        told = {"data": reported.data if reported else "", "n": reported.n if reported else None}
        about = {"state": _state(failure, accounts), "evidence": record["evidence"], **told}
        took = {name: record["accounts"][name] for name in ("episodes", "calls", "dollars")}
        tails.append(about | took | {"seconds": record["seconds"]})
    taken = {*heads[0], *tails[0]}
    figures = [{f"{name} (figure)" if name in taken else name: came for name, came in of.items()} for of in figures]
    names = list(dict.fromkeys(name for of_cell in figures for name in of_cell))
    parts = [(heads, None), (figures, names), (tails, None)]
    frames = [pd.DataFrame(rows, columns=columns, dtype=object) for rows, columns in parts]
    return pd.concat(frames, axis=1), names


def _state(failure: str, accounts: Accounts) -> str:
    if failure:
        return f"{'not measured' if NOT_MEASURED.search(failure) else 'failed'}: {failure}"
    missing = accounts.not_measured
    return f"ok, but {missing} episodes were not measured; run again to play them" if missing else "ok"


def _write(table: pd.DataFrame, figures: Sequence[str], out: Path) -> None:
    """Print the table, in blocks where it is too wide, and write it whole."""
    texts = {".csv": exports.csv(table), ".md": exports.markdown(table.infer_objects())}
    for suffix, text in texts.items():
        write_atomically(out / f"sweep{suffix}", text.encode("utf-8"))
    shown = table.drop(columns=figures[MOST_FIGURES:]).map(exports.text)
    point = list(shown.columns[: shown.columns.get_loc("state") - min(len(figures), MOST_FIGURES)])
    print()
    for name in point:
        values = list(dict.fromkeys(shown[name]))
        if max(map(len, values)) > WIDEST:  # cut, two of them could read alike
            numbers = {value: f"#{number}" for number, value in enumerate(values, start=1)}
            print("\n".join(f"{name} {number}: {value}" for value, number in numbers.items()))
            shown[name] = shown[name].map(numbers)
    width = shutil.get_terminal_size((120, 40)).columns
    print(shown.map(_cut).set_index(point).to_string(line_width=width, sparsify=False))
    rest = f", with {len(figures) - MOST_FIGURES} further figures" if len(figures) > MOST_FIGURES else ""
    print(f"\nwhole table{rest}: {out / 'sweep.md'} and sweep.csv; executed notebooks beside them")


def _shown(value: Any) -> Any:
    return text_of(value) if isinstance(value, (list, dict)) else value


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
