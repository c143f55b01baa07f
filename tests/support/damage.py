"""Files damaged in all the ways that a disk, a power cut or a hand finds, and what becomes of each."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from asking import ASK, Asking, episodes, manifest
from lab.machine.files import key_of
from lab.machine.paths import ROOT
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.notebooks import documents, expected, parameters, register, scoreboard
from lab.results import stored, tables
from lab.runs import recordings, show
from lab.runs.catalogue import folder_for
from lab.runs.collecting import collect, costs
from lab.runs.execution import play_all
from lab.runs.run import Run
from small_notebooks import notebook

ENGINE, TASKS = "rules@0.6", 6
NOBODY = 65534
REMEDIES = (
    "delete", "restore", "mend", "free", "choose", "record", "set ", "give", "git checkout", "name ", "add ", "make ",
    "end ", "remove", "say ",
)  # fmt: skip

KEPT, NAMED = "kept", "named"  # what was whole is used and the rest made anew; refused, with the file and what to do
RAW, WRONG, LOST, SILENT = "RAW ERROR", "WRONG", "LOST", "SILENT"
FAULTS = (RAW, WRONG, LOST, SILENT)

Damage = Callable[[Path], None]


class Case(NamedTuple):
    """play: a folder of its own -> what became of it, and what was said."""

    group: str
    name: str
    play: Callable[[Path], tuple[str, str]]


# --- damages ----------------------------------------------------------------------------------------------------


def by_bytes(change: Callable[[bytes], bytes]) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return damage


def middle(data: bytes, line: Callable[[bytes], bytes]) -> bytes:
    """Another line in place of the middle one."""
    lines = data.splitlines(keepends=True)
    lines[len(lines) // 2] = line(lines[len(lines) // 2])
    return b"".join(lines)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def locked_away(path: Path) -> None:
    path.chmod(0)


JUNK = Random(0).randbytes(3000)
WHOLE: dict[str, Damage] = {
    "empty": by_bytes(lambda data: b""),
    "half of it": by_bytes(lambda data: data[: len(data) // 2]),
    "all NULs": by_bytes(lambda data: bytes(len(data))),
    "NULs from the middle": by_bytes(lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2)),
    "random bytes": by_bytes(lambda data: JUNK),
    "an HTML page": by_bytes(lambda data: b"<!doctype html>\n<html><body>404</body></html>\n"),
    "a number": by_bytes(lambda data: b"3\n"),
    "a list": by_bytes(lambda data: b"[]\n"),
    "null": by_bytes(lambda data: b"null\n"),
    "an object without fields": by_bytes(lambda data: b"{}\n"),
    "no UTF-8": by_bytes(lambda data: data.replace(b"a", b"\xe9", 3)),
    "UTF-16": by_bytes(lambda data: data.decode("utf-8", "replace").encode("utf-16")),
    "a folder in its place": folder,
    "a link to itself": loop,
    "no permission": locked_away,
}
LINES: dict[str, Damage] = {
    "a torn middle line": by_bytes(lambda data: middle(data, lambda line: line[: len(line) // 2] + b"\n")),
    "a torn middle line, glued": by_bytes(lambda data: middle(data, lambda line: line[: len(line) // 2])),
    "a line of NULs": by_bytes(lambda data: middle(data, lambda line: bytes(len(line) - 1) + b"\n")),
    "NULs in a line": by_bytes(lambda data: middle(data, lambda line: line[:9] + bytes(9) + line[18:])),
    "an empty line": by_bytes(lambda data: middle(data, lambda line: line + b"\n")),
    "an edited digit": by_bytes(lambda data: middle(data, edited)),
    "a line without its fields": by_bytes(lambda data: middle(data, lambda line: b"{}\n")),
    "a line of a wrong type": by_bytes(lambda data: middle(data, lambda line: b'["task", 3]\n')),
    "fields of wrong types": by_bytes(
        lambda data: middle(data, lambda line: json.dumps(dict.fromkeys(json.loads(line), [1])).encode() + b"\n")
    ),
    "a field too many": by_bytes(lambda data: middle(data, lambda line: line.replace(b"{", b'{"extra": 1, ', 1))),
    "every line twice": by_bytes(lambda data: data + data),
    "the last line torn": by_bytes(lambda data: data[:-5]),
    "carriage returns": by_bytes(lambda data: data.replace(b"\n", b"\r\n")),
    "a byte order mark": by_bytes(lambda data: b"\xef\xbb\xbf" + data),
}


def edited(line: bytes) -> bytes:
    """Another digit for the first one inside a list of results, else for the last of the line."""
    at = line.find(b"[") + 1 or max(line.rfind(digit) for digit in b"0123456789")
    return line[:at] + (b"1" if line[at : at + 1] != b"1" else b"2") + line[at + 1 :]


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Without root's right to read everything, where the tests run as root."""
    if os.geteuid():
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def tried(path: Path, act: Callable[[], tuple[str, str]], place: Path) -> tuple[str, str]:
    """What becomes of it. path: of the damaged file, which an error has to name. place: the case's folder."""
    heard = io.StringIO()
    # As somebody else only where that matters: whose home is not theirs may not import what is still to be imported.
    refused = os.path.lexists(path) and not path.lstat().st_mode & 0o200
    try:
        with ExitStack() as stack:
            if refused:
                stack.enter_context(as_nobody(place))
            stack.enter_context(redirect_stderr(heard))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            word, said = act()
    except BaseException as error:  # noqa: BLE001  # any error at all is what is looked at
        told = str(error)
        named = path.name in told and any(remedy in told.lower() for remedy in REMEDIES)
        return (NAMED if named else RAW), f"{type(error).__name__}: {told}"
    said = f"{said} {heard.getvalue()}".strip()
    return (SILENT if word == KEPT and said == "?" else word), said


# --- runs -------------------------------------------------------------------------------------------------------


def filled(folder: Path, engine: str = ENGINE) -> Path:
    """A whole run with answers and a fault that was mended."""
    with Run(folder, manifest(TASKS, engine)) as run:
        run.append_fault("001", "the disk was full", {})
        play_all(run, episodes(engine), show_progress=False)
    return folder


@cache
def truth(engine: str = ENGINE) -> dict[str, Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        filled(Path(place), engine)
        lines = (Path(place) / "episodes.jsonl").read_bytes().splitlines(keepends=True)
        with Run(Path(place), manifest(TASKS, engine)) as run:
            by_task = {json.loads(line)["task"]: line for line in lines}  # in the order in which they were played
            return {episode.task: (episode.result, by_task[episode.task]) for episode in run.results()}


def resumed(folder: Path, damaged: Path) -> tuple[str, str]:
    """Open the run, play what is pending, and open it again."""
    path, known = folder / "episodes.jsonl", truth()
    there = path.read_bytes() if os.access(path, os.R_OK, effective_ids=True) and path.is_file() else b""
    intact = {task for task, (_, line) in known.items() if line in there.splitlines(keepends=True)}
    with Run(folder, manifest(TASKS, ENGINE)) as run:
        lost = intact & set(run.pending())
        play_all(run, episodes(ENGINE), show_progress=False)
        usage = run.usage()
    with Run(folder, manifest(TASKS, ENGINE)) as again:
        if {episode.task: episode.result for episode in again.results()} != {t: r for t, (r, _) in known.items()}:
            return WRONG, "other results"
        if again.usage() != usage or not all(isinstance(took, dict) for took in usage.values()):
            return WRONG, "other usage"
    return (LOST, f"{sorted(lost)}") if lost else (KEPT, "")


def of_a_run(name: str, damage: Damage, file: str, act: Callable[[Path, Path], tuple[str, str]] = resumed) -> Case:
    def play(place: Path) -> tuple[str, str]:
        run = filled(place / "run")
        whole = (run / file).read_bytes().splitlines()
        damage(run / file)
        # What follows the last line break was being written, and goes without a word.
        there = (run / file).read_bytes().split(b"\n")[:-1] if (run / file).is_file() else []
        word, said = tried(run / file, partial(act, run, run / file), place)
        odd = any(line.rstrip(b"\r") not in whole for line in there)
        return (SILENT, "a line was dropped") if word == KEPT and odd and not said else (word, said)

    return Case("run folders", f"{file}: {name}{'' if act is resumed else f', {act.__name__}'}", play)


def described(folder: Path, damaged: Path) -> tuple[str, str]:
    repr(show(folder))
    return KEPT, ""


def replayed(folder: Path, damaged: Path) -> tuple[str, str]:
    replay = connect(f"replay:{folder}")
    came = {}
    for task in truth():
        boxes = [replay.ask(ASK, box=int(task) * 3 + box, labels=[task]).value.shelf for box in range(3)]
        came[task] = {"shelves": boxes}
    return (KEPT, "") if came == {task: result for task, (result, _) in truth().items()} else (WRONG, "other answers")


def adopted(place: Path) -> tuple[str, str]:
    run = filled(place / "run", "rules@0.1")
    (run / "manifest.json").unlink()
    return tried(run / "manifest.json", partial(resumed, run, run / "manifest.json"), place)


def foreign(place: Path) -> tuple[str, str]:
    """Rows of another engine's run behind those of this one."""
    run, other = filled(place / "run"), filled(place / "other", "rules@0.1")
    path = run / "episodes.jsonl"
    half = b"".join(path.read_bytes().splitlines(keepends=True)[:3])
    path.write_bytes(half + (other / "episodes.jsonl").read_bytes())
    return tried(path, partial(resumed, run, path), place)


def other_tasks(place: Path) -> tuple[str, str]:
    run = filled(place / "run")
    with Run(place / "other", manifest(9, ENGINE)) as other:
        play_all(other, episodes(ENGINE), show_progress=False)
    path = run / "episodes.jsonl"
    path.write_bytes((place / "other" / "episodes.jsonl").read_bytes())
    return tried(path, partial(resumed, run, path), place)


def spoilt_index(name: str, spoil: Callable[[Path], None]) -> Case:
    def act(place: Path) -> tuple[str, str]:
        about = manifest(TASKS, ENGINE)
        wanted = folder_for(about, "")
        link = place / "runs" / ".by_hash" / about.digest
        assert link.is_symlink()
        spoil(link)
        found = folder_for(about, "")
        if not found.resolve().is_relative_to((place / "runs").resolve()) or found.resolve() == place / "runs":
            return WRONG, f"{found} is outside of the runs"
        with Run(found, about) as run:
            play_all(run, episodes(ENGINE), show_progress=False)
        return KEPT, "" if found == wanted else f"{found}"

    def play(place: Path) -> tuple[str, str]:
        with patch.dict(os.environ, {"LAB_RUNS": str(place / "runs")}):
            return tried(place / "runs" / ".by_hash", partial(act, place), place)

    return Case("run folders", f"index: {name}", play)


def relinked(target: str) -> Callable[[Path], None]:
    def spoil(link: Path) -> None:
        link.unlink()
        link.symlink_to(target)

    return spoil


def of_runs() -> Iterator[Case]:
    gone: dict[str, Damage] = {"gone": Path.unlink}
    for name, damage in {**WHOLE, **gone}.items():
        yield of_a_run(name, damage, "manifest.json")
    for name, damage in {**WHOLE, **LINES, **gone}.items():
        yield of_a_run(name, damage, "episodes.jsonl")
    for file in ("usage.jsonl", "answers.jsonl", "faults.jsonl"):
        for name in ("all NULs", "half of it", "random bytes", "a folder in its place", "no permission"):
            yield of_a_run(name, WHOLE[name], file)
    for file in ("usage.jsonl", "answers.jsonl"):
        for name in ("a torn middle line", "a line of NULs", "fields of wrong types", "a line without its fields"):
            yield of_a_run(name, LINES[name], file)
    for name in ("a folder in its place", "a link to itself", "no permission"):
        yield of_a_run(name, WHOLE[name], "run.lock")
    yield Case("run folders", "manifest.json: gone, of another engine", adopted)
    yield Case("run folders", "episodes.jsonl: another engine's rows", foreign)
    yield Case("run folders", "episodes.jsonl: a longer run's rows", other_tasks)
    for name in ("half of it", "all NULs", "a list", "an object without fields"):
        yield of_a_run(name, WHOLE[name], "manifest.json", described)
        yield of_a_run(name, WHOLE[name], "manifest.json", replayed)
    for name in ("a torn middle line", "a line of NULs", "fields of wrong types", "a line without its fields"):
        yield of_a_run(name, LINES[name], "usage.jsonl", described)
        yield of_a_run(name, LINES[name], "answers.jsonl", replayed)
    yield of_a_run("an edited digit", LINES["an edited digit"], "answers.jsonl", replayed)
    yield spoilt_index("a link out of the runs", relinked("../../elsewhere"))
    yield spoilt_index("a link to a whole path", relinked("/nowhere/at/all"))
    yield spoilt_index("a link to itself", lambda link: relinked(link.name)(link))
    yield spoilt_index("a file in its place", lambda link: (link.unlink(), link.write_bytes(b""))[0])
    yield spoilt_index("a folder in its place", lambda link: (link.unlink(), link.mkdir())[0])
    yield spoilt_index("a file in place of the index", lambda link: (shutil.rmtree(link.parent),
                       link.parent.write_bytes(b""))[0])  # fmt: skip


# --- caches -----------------------------------------------------------------------------------------------------

KEPT_ANSWERS = {
    key_of(number): {"text": json.dumps({"shelf": number, "why": "é" * 40}), "path": "schema", "tokens_in": number,
                     "tokens_out": 1}
    for number in range(60)
}  # fmt: skip


def with_answers(path: Path) -> Path:
    cache = AnswerCache(path)
    for key, value in KEPT_ANSWERS.items():
        cache.put(key, value)
    with cache._connection() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    cache.close()
    return path


def used(path: Path, fewest: int = 0) -> tuple[str, str]:
    """Ask for every answer, keep what is missing, and ask again. fewest: how many are whole, and have to be found."""
    cache = AnswerCache(path)
    came = {key: cache.get(key) for key in KEPT_ANSWERS}
    if any(value is not None and value != KEPT_ANSWERS[key] for key, value in came.items()):
        return WRONG, "another answer than was kept"
    hits = sum(value is not None for value in came.values())
    for key, value in KEPT_ANSWERS.items():
        if cache.put(key, value) != value:
            return WRONG, "an answer that was paid is not what is given"
    if any(AnswerCache(path).get(key) != value for key, value in KEPT_ANSWERS.items()):
        return LOST, "an answer that was kept anew is not there"
    return (LOST, f"{hits} of {fewest} found") if hits < fewest else (KEPT, "?" if 0 < hits < len(came) else "")


def of_a_cache(name: str, damage: Damage, fewest: int = 0) -> Case:
    def play(place: Path) -> tuple[str, str]:
        path = with_answers(place / "answers.sqlite")
        damage(path)
        with patch("lab.models.cache.BUSY_SECONDS", 0.3):
            return tried(path, lambda: told_in_summary(*used(path, fewest)), place)

    return Case("caches", name, play)


def told_in_summary(word: str, said: str) -> tuple[str, str]:
    """Together with what the run's summary says of the cache."""
    from lab.models import cache

    getattr(cache, "tell_damaged", lambda: None)()
    return word, said


def by_sql(*statements: str) -> Damage:
    def damage(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return damage


def at(place: float, data: bytes) -> Damage:
    """data: in place of what is there, at this part of the file."""

    def change(whole: bytes) -> bytes:
        start = int(len(whole) * place)
        return whole[:start] + data + whole[start + len(data) :]

    return by_bytes(change)


SOME = "WHERE key IN (SELECT key FROM answers ORDER BY key LIMIT 5)"
OLD = (  # as a cache was before its rows had checksums
    "CREATE TABLE old (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID",
    "INSERT INTO old SELECT key, value, at FROM answers",
    "DROP TABLE answers",
    "ALTER TABLE old RENAME TO answers",
)
ROWS = {
    "a letter edited": f"""UPDATE answers SET value = replace(value, '"path": "schema"', '"path": "schemb"') {SOME}""",
    "an answer edited": f"UPDATE answers SET value = replace(value, 'shelf', 'shelg') {SOME}",
    "a torn value": f"UPDATE answers SET value = substr(value, 1, 30) {SOME}",
    "an empty value": f"UPDATE answers SET value = '' {SOME}",
    "a list": f"UPDATE answers SET value = '[]' {SOME}",
    "an object without its text": f"UPDATE answers SET value = '{{}}' {SOME}",
    "null": f"UPDATE answers SET value = 'null' {SOME}",
    "a number": f"UPDATE answers SET value = 3 {SOME}",
    "a blob": f"UPDATE answers SET value = x'00ff00ff' {SOME}",
    "no UTF-8": f"UPDATE answers SET value = CAST(x'22e9e922' AS TEXT) {SOME}",
    "NULs": f"UPDATE answers SET value = CAST(zeroblob(40) AS TEXT) {SOME}",
    "another key's value": f"UPDATE answers SET value = (SELECT value FROM answers ORDER BY key DESC LIMIT 1) {SOME}",
}


def other_keys(path: Path) -> None:
    first, second = sorted(KEPT_ANSWERS)[:2]
    by_sql(*(f"UPDATE answers SET key = '{new}' WHERE key = '{old}'"
             for old, new in ((first, "x"), (second, first), ("x", second))))(path)  # fmt: skip


def held(kind: str) -> Callable[[Path], tuple[str, str]]:
    """Another process holds the file all the while."""

    def play(place: Path) -> tuple[str, str]:
        path = with_answers(place / "answers.sqlite")
        other = sqlite3.connect(path, isolation_level=None)
        if kind == "EXCLUSIVE":
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute(f"BEGIN {kind}")
        try:
            with patch("lab.models.cache.BUSY_SECONDS", 0.05):
                return tried(path, lambda: used(path), place)
        finally:
            other.close()

    return play


def of_caches() -> Iterator[Case]:
    for name, damage in WHOLE.items():
        yield of_a_cache(name, damage)
    for size in (1, 50, 99, 100, 512, 4095, 4096, 4097, 8192, 12288):
        yield of_a_cache(f"its first {size} bytes", by_bytes(lambda data, size=size: data[:size]))
    for number, place in enumerate((0.0, 0.001, 0.01, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98)):
        yield of_a_cache(f"junk at {place:.1%}", at(place, JUNK[number : number + 40]))
    for place in (0.2, 0.5, 0.8):
        yield of_a_cache(f"a page of NULs at {place:.0%}", at(place, bytes(4096)))
    for name, statement in ROWS.items():
        yield of_a_cache(name, by_sql(statement), 55)
    yield of_a_cache("keys exchanged", other_keys, 58)
    yield of_a_cache("of before checksums", by_sql(*OLD), 60)
    for name in ("a torn value", "an object without its text", "null", "a blob", "no UTF-8"):
        yield of_a_cache(f"of before checksums: {name}", by_sql(*OLD, ROWS[name]), 55)
    yield of_a_cache("no table", by_sql("DROP TABLE answers"))
    yield of_a_cache("another table of its name", by_sql("DROP TABLE answers", "CREATE TABLE answers (a, b)"))
    yield of_a_cache("a view of its name", by_sql("DROP TABLE answers", "CREATE VIEW answers AS SELECT 1 AS key"))
    yield of_a_cache("gzipped", by_bytes(gzip.compress))
    for what, suffix in (("a junk journal", "-wal"), ("a file for its locks", ".asking")):
        yield of_a_cache(what, lambda path, end=suffix: Path(f"{path}{end}").write_bytes(JUNK) and None, 60)
    yield of_a_cache("nothing may be written", lambda path: path.chmod(0o444))
    yield Case("caches", "held by another process", held("EXCLUSIVE"))
    yield Case("caches", "written by another process", held("IMMEDIATE"))


# --- recordings -------------------------------------------------------------------------------------------------


def with_recordings(place: Path) -> Path:
    """Three recordings of one method, and the run of each."""
    for number, name in enumerate(("first", "second", "third"), start=1):
        setup = Asking(engine=f"rules@0.{number}", count=3)
        with patch("lab.models.engines.MODELS", ("rules",)):  # whose answers a run keeps
            results = collect(setup, run=str(place / f"run-{name}"), show_progress=False)
        row = tables.row("asking", f"model-{name}", "success", 50.0, evidence="measured", source="this run", n=3)
        recordings.save(results.folder, tables.table([row]), costs(results), list(results.episodes), name)
    return place / "recordings"


def shown(place: Path) -> tuple[str, str]:
    """All tables of recordings, in which the other two must be."""
    rows, took, names = recordings.rows("asking"), recordings.usage("asking"), recordings.names("asking")
    values = dict(zip(rows["backbone"], rows["value"], strict=True))
    if {"model-first", "model-third"} - values.keys() or {"first", "third"} - set(took["recording"]):
        return LOST, "the rows of others are missing"
    if any(value != 50.0 for value in values.values()) or not took["calls"].isin([3, 9]).all():
        return WRONG, f"{values} {list(took['calls'])}"
    whole = "model-second" in values and "second" in set(took["recording"]) and "second" in names
    return KEPT, "" if whole else "?"


def served(place: Path) -> tuple[str, str]:
    """Replay it alone."""
    setup = Asking(engine=f"replay:{place / 'recordings' / 'second'}")
    came = collect(setup, run=str(place / "again"), show_progress=False)
    fresh = collect(Asking(engine="rules@0.2", count=3), run=str(place / "fresh"), show_progress=False)
    same = [e.result for e in came.episodes.values()] == [e.result for e in fresh.episodes.values()]
    return (KEPT, "") if same else (WRONG, "other results")


def of_a_recording(name: str, file: str, damage: Damage, act: Callable[[Path], tuple[str, str]]) -> Case:
    def play(place: Path) -> tuple[str, str]:
        from lab.models.connect import _connected

        with patch.dict(os.environ, {"LAB_RECORDINGS": str(place / "recordings"), "LAB_RUNS": str(place)}):
            path = with_recordings(place) / "second" / file
            damage(path)
            _connected.cache_clear()
            return tried(path, partial(act, place), place)

    return Case("recordings", f"{file}: {name}, {act.__name__}", play)


def inside(change: Callable[[bytes], bytes]) -> Damage:
    return by_bytes(lambda data: gzip.compress(change(gzip.decompress(data))))


def without(field: str) -> Damage:
    def change(data: bytes) -> bytes:
        held = json.loads(data)
        del held[field]
        return json.dumps(held).encode()

    return by_bytes(change)


def of_recordings() -> Iterator[Case]:
    for act in (shown, served):
        for name in ("empty", "half of it", "all NULs", "a list", "an object without fields", "no permission",
                     "a folder in its place", "a link to itself"):  # fmt: skip
            yield of_a_recording(name, "manifest.json", WHOLE[name], act)
        for field in ("method", "engine", "address", "tasks", "parameters", "date"):
            yield of_a_recording(f"without {field}", "manifest.json", without(field), act)
    for file in ("rows.csv", "usage.csv"):
        for name in ("empty", "half of it", "all NULs", "random bytes", "no permission", "a folder in its place"):
            yield of_a_recording(name, file, WHOLE[name], shown)
        yield of_a_recording("a column gone", file, by_bytes(lambda data: b"\n".join(
            line.partition(b",")[2] for line in data.splitlines())), shown)  # fmt: skip
        yield of_a_recording("a row twice", file, by_bytes(lambda data: data + data.splitlines()[1] + b"\n"), shown)
        yield of_a_recording("text for a number", file, by_bytes(
            lambda data: data.replace(b"50.0", b"many").replace(b",9,", b",many,")), shown)  # fmt: skip
        yield of_a_recording("an edited digit", file, by_bytes(
            lambda data: data.replace(b"50.0", b"51.0").replace(b",9,", b",8,")), shown)  # fmt: skip
        yield of_a_recording("gone", file, Path.unlink, shown)
    for name in ("empty", "half of it", "all NULs", "random bytes", "no permission", "a folder in its place"):
        yield of_a_recording(name, "answers.jsonl.gz", WHOLE[name], served)
    for name in ("a torn middle line", "a line of NULs", "a line without its fields", "an edited digit"):
        yield of_a_recording(name, "answers.jsonl.gz", inside(partial(_lined, name)), served)
    yield of_a_recording("gone", "answers.jsonl.gz", Path.unlink, served)


def _lined(name: str, data: bytes) -> bytes:
    changes: dict[str, Callable[[bytes], bytes]] = {
        "a torn middle line": lambda line: line[: len(line) // 2] + b"\n",
        "a line of NULs": lambda line: bytes(len(line) - 1) + b"\n",
        "a line without its fields": lambda line: b"{}\n",
        "an edited digit": lambda line: line.replace(b'shelf\\":', b'shelf\\":1'),
    }
    return middle(data, changes[name])


# --- lists and tables -------------------------------------------------------------------------------------------


@cache
def reported() -> dict[str, Any]:
    """What the committed notebooks reported."""
    names = sorted({entry.notebook for entry in expected.expectations()})
    return {name: stored.reported(name, ROOT / "figures") for name in names}


def judged(path: Path) -> tuple[str, str]:
    """Whether a damaged list of expected figures passes."""
    reported()
    entries = expected.expectations(path)
    verdicts = expected.judge(entries, reported())
    bad = [verdict for verdict in verdicts if verdict.bad]
    if bad:
        return NAMED, f"{len(bad)} bad, such as {bad[0]}"
    return (KEPT, "") if entries == expected.expectations() else (WRONG, "it passes")


def _replaced(old: str, new: str) -> Damage:
    """The first such text by another, in a file of expected numbers."""
    return by_bytes(lambda data: data.replace(old.encode(), new.encode(), 1))


FIRST = "EPIC distance of the pair: [0.138, 0.002]"
LISTED: dict[str, Damage] = {
    "gone": Path.unlink,
    "comments alone": by_bytes(lambda data: b"# nothing\n"),
    "cut in a line": by_bytes(lambda data: b"".join(data.splitlines(keepends=True)[:200]) + b"    - [0"),
    "a list": by_bytes(lambda data: b"- a\n- b\n"),
    "a text": by_bytes(lambda data: b"notebook: 0_tour\n"),
    "a notebook's numbers gone": by_bytes(lambda data: re.sub(rb"(?ms)^0_tour:\n( .*?\n)+", b"", data)),
    "a line gone": _replaced(f"    {FIRST}\n", ""),
    "a tab": by_bytes(lambda data: b"\t" + data),
}


def of_a_list(name: str, damage: Damage) -> Case:
    def play(place: Path) -> tuple[str, str]:
        path = place / "notebooks" / "expected.yaml"
        shutil.copytree(ROOT / "notebooks", path.parent)
        reported()
        damage(path)
        return tried(path, partial(judged, path), place)

    return Case("lists and tables", f"expected.yaml: {name}", play)


def boarded(place: Path) -> tuple[str, str]:
    """The register, evaluated on a copy of its files and of the committed results."""
    judged = register.judge(register.papers(place / "claims"), stored.Stored(str(place / "figures")))
    scoreboard.tiles(judged), scoreboard.details(judged)
    if faults := [fault for paper in judged for fault in paper.faults]:
        return NAMED, faults[0]
    known = register.judge(register.papers(), stored.Stored())
    return (KEPT, "") if judged == known else (WRONG, "other findings")


def of_the_board(name: str, file: str, damage: Damage) -> Case:
    def play(place: Path) -> tuple[str, str]:
        shutil.copytree(ROOT / "figures", place / "figures", ignore=shutil.ignore_patterns("*.png", "*.pdf", "*.tex"))
        shutil.copytree(ROOT / "data" / "claims", place / "claims")
        damage(place / file)
        return tried(place / file, partial(boarded, place), place)

    return Case("lists and tables", f"{Path(file).name}: {name}", play)


def published(place: Path) -> tuple[str, str]:
    known = tables.published("Table 2 TravelPlanner", "sdp")
    with patch("lab.results.tables.published_data", lambda: place):
        found = tables.published("Table 2 TravelPlanner", "sdp")
    return (KEPT, "") if found.equals(known) else (WRONG, "other numbers")


def of_the_published(name: str, damage: Damage) -> Case:
    def play(place: Path) -> tuple[str, str]:
        shutil.copytree(ROOT / "data" / "published", place, dirs_exist_ok=True)
        damage(place / "sdp_tables.csv")
        return tried(place / "sdp_tables.csv", partial(published, place), place)

    return Case("lists and tables", f"sdp_tables.csv: {name}", play)


def of_lists() -> Iterator[Case]:
    whole = ("empty", "half of it", "all NULs", "random bytes", "an HTML page", "a number", "null", "no UTF-8",
             "a folder in its place", "a link to itself", "no permission")  # fmt: skip
    for name, damage in {**{name: WHOLE[name] for name in whole}, **LISTED}.items():
        yield of_a_list(name, damage)
    for name in whole:
        yield of_the_board(name, "claims/sdp.yaml", WHOLE[name])
    for name, damage in WHOLE.items():
        yield of_a_notebook(name, damage)
    for file in ("figures/results/2_statefactory/table3_benchmark.json", "figures/2_statefactory/table1_monotonic.csv"):
        for name in (*whole, "an object without fields", "a list"):
            yield of_the_board(name, file, WHOLE[name])
    yield of_the_board("no column of metrics", "figures/2_statefactory/table1_monotonic.csv",
                       by_bytes(lambda data: data.replace(b"metric", b"metrik", 1)))  # fmt: skip
    for name in whole:
        if name != "no UTF-8":
            yield of_the_published(name, WHOLE[name])
    yield of_the_published("gone", Path.unlink)
    yield of_the_published("a column gone", by_bytes(lambda data: data.replace(b"metric", b"metrik", 1)))
    yield of_the_published("a field too few", by_bytes(lambda data: data.replace(b",97.4,", b",", 1)))
    yield of_the_published("a field too many", by_bytes(lambda data: data.replace(b",97.4,", b",97.4,3,", 1)))
    yield of_the_published("a row twice", by_bytes(lambda data: data + data.splitlines()[1] + b"\n"))


def declared(path: Path) -> tuple[str, str]:
    """What every command asks a notebook first."""
    return (KEPT, "") if parameters.declared(documents.read(path), "a") else (WRONG, "no parameters")


def of_a_notebook(name: str, damage: Damage) -> Case:
    def play(place: Path) -> tuple[str, str]:
        path = notebook(place / "a.ipynb", "1")
        damage(path)
        return tried(path, partial(declared, path), place)

    return Case("lists and tables", f"a.ipynb: {name}", play)


def cases() -> Iterator[Case]:
    """All of them."""
    yield from of_runs()
    yield from of_caches()
    yield from of_recordings()
    yield from of_lists()


def played(case: Case, place: Path) -> tuple[str, str]:
    """Play a case in an empty folder that anybody may enter."""
    place.mkdir(parents=True)
    place.chmod(0o777)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        return case.play(place)
