"""A sweep: notebooks played at every point of a grid of parameter values, `python -m lab run NOTEBOOK --grid seed=0,1`.

A cell is one notebook at one point. It has a folder of its own, named after the point, and is finished when its record
lies beside its output: the same command goes on with the others, whenever it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.files import write_atomically
from lab.machine.paths import runs_folder
from lab.machine.versions import code_hash
from lab.models import engines
from lab.models.cache import canonical
from lab.models.connect import connect
from lab.notebooks import expected
from lab.notebooks.documents import NotebookError, locate, name_of, read
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.parameters import Parameter, declared, offline, resolve
from lab.notebooks.rehearsal import Rehearsal, opened, rehearse
from lab.results import exports
from lab.runs.estimate import duration
from lab.runs.experiment import THREADS
from lab.runs.forecast import Accounts, Planned, Share, forecast
from lab.runs.run import OPENED

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 100  # characters of a cell's folder
MOST_FIGURES = 12  # columns of figures that are printed; the files have all
WIDEST = 28  # characters of a cell of the printed table
OF_THE_MACHINE = ("workers", "cluster")  # parameters that say how episodes are played, and not which
# Errors that say that the machine kept a notebook from measuring; a subclass cannot be told from its name.
NOT_MEASURED = re.compile(r"\b(NothingMeasured|\w+Unavailable|CacheUnusable|NoCluster|Missing\w+): ")


@dataclass(frozen=True)
class Cell:
    """A notebook at one point of the grid. point: the swept values. declared: the notebook's parameters."""

    job: Job
    point: Mapping[str, Any]
    declared: Mapping[str, Parameter]

    @property
    def _record(self) -> Path:
        return self.job.output.with_suffix(".cell.json")

    @property
    def noted(self) -> Path:
        """The file that names the runs that it opened."""
        return self.job.output.with_suffix(".runs")

    @property
    def values(self) -> dict[str, Any]:
        """All parameters: the given and the swept ones, and the defaults of the others."""
        return {name: one.default for name, one in self.declared.items()} | dict(self.job.parameters)

    @cached_property
    def engines(self) -> dict[str, str]:
        """Parameter -> engine string; an engine of a list of them has its place behind the name."""
        found = {}
        for name, one in self.declared.items():
            value = self.values[name]
            if one.chooses_engine and value:
                found[name] = value
            elif isinstance(value, list) and _engines_alone(one.default):
                found |= {f"{name}[{place}]": str(engine) for place, engine in enumerate(value)}
        return found

    @cached_property
    def models(self) -> dict[str, str]:
        """Those of its engines that are models."""
        return {name: text for name, text in self.engines.items() if engines.parse(text).kind in engines.MODELS}

    @property
    def evidence(self) -> str:
        """ "simulated" where one of its engines is noisy rules, else "measured"."""
        return "simulated" if any(engines.parse(text).noisy for text in self.engines.values()) else "measured"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What its output was made from."""
        sources = [[cell.cell_type, cell.source] for cell in read(self.job.source).cells]
        # The server's address, too: it may hold another model of that name.
        addresses = {text: getattr(connect(text, cache=None), "address", "") for text in self.models.values()}
        return {
            "notebook": _digest(sources),
            "parameters": dict(self.job.parameters),
            "code": code_hash(),
            "addresses": addresses,
        }

    def finished(self) -> dict[str, Any] | None:
        """Its record: seconds and accounts. None unless it was made from just this, and all episodes were measured."""
        try:
            record = json.loads(self._record.read_text(encoding="utf-8"))
            whole = record["identity"] == self.identity and not record["accounts"]["not_measured"]
        except (OSError, ValueError, KeyError):
            return None
        return record if whole and self.job.output.exists() else None

    def keep(self, outcome: Outcome) -> dict[str, Any]:
        """Write the record of an execution that succeeded; its content."""
        record = {
            "identity": self.identity,
            "seconds": round(outcome.seconds, 1),
            "accounts": asdict(Accounts.of(opened(self.noted))),
        }
        if not outcome.failure:
            write_atomically(self._record, json.dumps(record, indent=1, ensure_ascii=False).encode())
        return record


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
    ended = _play(left, side_by_side, timeout)
    _write(*_table(cells, ended), out)
    for cell in left:
        if failure := ended[cell.job.output][0]:
            kept = f"; kept up to there in {cell.job.failed}" if cell.job.failed.exists() else ""
            print(f"{cell.job.title}: {failure}{kept}")
    return int(any(failure for failure, _ in ended.values()))


def cells_of(
    names: Sequence[str], given: Sequence[tuple[str, str]], grids: Sequence[str], out: Path | None = None
) -> tuple[list[Cell], Path]:
    """The cells of a sweep in the order of its points, the last grid fastest, and its folder; see `sweep`."""
    notebooks = locate(names)
    fixed, points = resolve(notebooks, given), _points(notebooks, given, grids)
    out = (out or _default_folder(notebooks, fixed, list(points[0]))).resolve()
    cells = [_cell(path, point, fixed, out) for point in points for path in notebooks]
    _connectable(cells)
    return cells, out


def items(text: str, where: str) -> list[str]:
    """The values in a text, which commas separate; a comma in brackets or quotes belongs to its value.

    A value that is quoted as a whole loses its quotes. where: for the message.
    Raises NotebookError for no value, an empty one that is not quoted, and for brackets or quotes that do not close.
    """
    import yaml

    found, depth, quote, before = [""], 0, "", ","
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and before in ",[{:\"'":  # elsewhere it is an apostrophe
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += character
        before = before if character == " " else character
        if depth < 0:
            break
    if depth or quote:
        raise NotebookError(f"brackets or quotes in --grid {where}={text} do not close; quote a value that holds some")
    values = [value.strip() for value in found]
    if "" in values:
        raise NotebookError(f'--grid {where}={text} has an empty value; give values, or "" for an empty text')
    try:
        return [yaml.safe_load(value) if value[0] in "\"'" else value for value in values]
    except yaml.YAMLError as error:
        raise NotebookError(f"--grid {where}={text}: a quoted value cannot be read: {error}") from None


def _points(notebooks: Sequence[Path], given: Sequence[tuple[str, str]], grids: Sequence[str]) -> list[dict[str, Any]]:
    """The product of the grids; the last one changes fastest."""
    axes: dict[str, list[Any]] = {}
    for grid in grids:
        name, equals, text = grid.partition("=")
        if not equals:
            raise NotebookError(f"--grid {grid} has no values; write it as in: --grid seed=0,1,2")
        if name in axes:
            raise NotebookError(f"--grid {name} is given twice; put all its values into one, separated by commas")
        if name in dict(given):
            raise NotebookError(f"{name} is given by -p and by --grid; drop one of them")
        axes[name] = [resolve(notebooks, [(name, item)])[name] for item in items(text, name)]
        shown = [_text(value) for value in axes[name]]
        repeated = next((value for value in shown if shown.count(value) > 1), None)
        if repeated is not None:
            raise NotebookError(f"--grid {grid} has {repeated} twice; drop one of them")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _default_folder(notebooks: Sequence[Path], fixed: Mapping[str, Any], swept: Sequence[str]) -> Path:
    # Without the swept values: a sweep to which one is added keeps its finished cells.
    digest = _digest([[str(path) for path in notebooks], dict(fixed), sorted(swept)])
    stems = "+".join(path.stem for path in notebooks)
    return runs_folder() / "sweeps" / f"{_plain(stems)} {digest[:6]}"


def _cell(path: Path, point: Mapping[str, Any], fixed: Mapping[str, Any], out: Path) -> Cell:
    told = [f"{name}={_text(value)}" for name, value in point.items()]
    folder = " ".join(f"{name}={_plain(_text(value))}" for name, value in point.items())[:LONGEST].strip()
    if folder != " ".join(told):  # something was left out, and two points could have one name
        folder = f"{folder} {_digest(dict(point))[:6]}"
    output = out / folder / f"{name_of(path)}.ipynb"
    environment = {OPENED: str(output.with_suffix(".runs"))}
    label = f"{name_of(path)} {folder}"  # a notebook's name alone is that of all its cells
    job = Job(path, output, {**fixed, **point}, out / folder / "figures", environment, label)
    return Cell(job, point, declared(read(path), name_of(path)))


def _connectable(cells: Sequence[Cell]) -> None:
    """Raises NotebookError for the first engine that means nothing or lacks its key, recording or model."""
    for text in dict.fromkeys(text for cell in cells for text in cell.engines.values()):
        try:
            connect(text, cache=None)
        except (ValueError, RuntimeError, OSError) as error:
            raise NotebookError(f"engine {text!r} cannot answer, and no cell was played: {error}") from error


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
    local = any(engines.parse(text).kind == "local" for cell in cells for text in cell.models.values())
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
        stand_ins = {name: f"stand-in-{name}" for name in cell.models if name in cell.declared}
        values = {name: value for name, value in cell.job.parameters.items() if name not in OF_THE_MACHINE}
        job = replace(cell.job, parameters=values | stand_ins)
        of_cell.append(_digest([cell.identity["notebook"], job.parameters, code_hash()]))
        settings[of_cell[-1]] = job
    found = {key: Rehearsal.load(path) for key in settings if (path := kept / f"{key}.json").exists()}
    if new := [key for key in settings if key not in found]:
        print(f"rehearsing {len(new)} of {len(settings)} settings with rules, to count episodes", flush=True)
        found |= dict(zip(new, rehearse([settings[key] for key in new], side_by_side, timeout), strict=True))
        for key in new:
            found[key].save(kept / f"{key}.json")
    planned = []
    for cell, key in zip(cells, of_cell, strict=True):
        real = {f"stand-in-{name}": text for name, text in cell.models.items()}
        for run in found[key].runs:
            engine = real.get(run.manifest.engine, run.manifest.engine)
            address = cell.identity["addresses"].get(engine, run.manifest.address)
            planned.append(run._replace(manifest=replace(run.manifest, engine=engine, address=address)))
    return planned, list(dict.fromkeys(one.failure for one in found.values() if one.failure))


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
        reported = {} if failure else expected.reported(cell.job.name, cell.job.figures)
        figures.append({name: came.value for name, came in reported.items()})
        tails.append(
            {"state": _state(failure, accounts), "evidence": cell.evidence}
            | {"data": " and ".join(sorted({came.data for came in reported.values()} - {"any"}))}
            | {
                "episodes": accounts.episodes,
                "calls": accounts.calls,
                "dollars": accounts.dollars,
                "seconds": record["seconds"],
            }
        )
    taken = {*heads[0], *tails[0]}
    figures = [{f"{name} (figure)" if name in taken else name: came for name, came in of.items()} for of in figures]
    names = list(dict.fromkeys(name for of_cell in figures for name in of_cell))
    parts = [
        pd.DataFrame(part, columns=names if part is figures else None, dtype=object) for part in (heads, figures, tails)
    ]
    return pd.concat(parts, axis=1), names


def _state(failure: str, accounts: Accounts) -> str:
    if failure:
        return f"{'not measured' if NOT_MEASURED.search(failure) else 'failed'}: {failure}"
    missing = accounts.not_measured
    return f"ok, but {missing} episodes were not measured; run again to play them" if missing else "ok"


def _write(table: pd.DataFrame, figures: Sequence[str], out: Path) -> None:
    """Print the table, in blocks where it is too wide, and write it whole."""
    texts = {".csv": table.to_csv(index=False, lineterminator="\n"), ".md": exports.markdown(table.infer_objects())}
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


def _engines_alone(default: Any) -> bool:
    """Whether a default is a list of offline engines: any other word could be a model, and is mostly none."""
    texts = default if isinstance(default, list) else []
    return bool(texts) and all(isinstance(text, str) and offline(text) for text in texts)


def _shown(value: Any) -> Any:
    return _text(value) if isinstance(value, (list, dict)) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _plain(text: str) -> str:
    """Text for a folder's name."""
    return re.sub(r"[^\w @.,+=-]+", "-", text, flags=re.ASCII).strip("- ")


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]
