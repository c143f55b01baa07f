"""Search over synthetic paragraphs: what building and serving cost, and a query beside `rank_bm25` and `tantivy`.

    python -m pytest benchmarks/test_multihop_retrieval.py --benchmark-only           # 20,000 paragraphs
    MULTIHOP_SIZE=5000000 TMPDIR=/with/8/GB python -m pytest benchmarks/test_multihop_retrieval.py --benchmark-only -s

Seconds and milliseconds are of the CPU. Build and service run in processes of their own, whose memory is the system's
count of resident pages, those of mapped files among them. The limits hold for five million paragraphs; on fewer they
are met all the more.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from lab.machine.paths import ROOT
from worlds.multihop.index import build, stemmer, words, write_texts
from worlds.multihop.questions import Paragraph
from worlds.multihop.retriever import Retriever

SIZE = int(os.environ.get("MULTIHOP_SIZE", "20000"))
PEERS = min(SIZE, 20_000)  # paragraphs that rank_bm25, which holds all words in memory, still takes
MOST_MEMORY = 2e9  # bytes to serve
MOST_TO_BUILD = 8e9
MOST_CONTENT, MOST_TITLES = 10.0, 5.0  # ms, medians
QUERIES, K = 100, 10

COMMON, NAMES = 300_000, 1_500_000  # different words of the texts, and of the titles
# Shifted, so that no word but stop words is in most paragraphs: the commonest is in one of eight, as "film" is in
# Wikipedia's.
SHIFT = 30
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]
FILLED = "the {} {} of {} and {} was {} by {} in the {} {}; it is {} {} to {}. "


def name(number: int) -> str:
    found = ""
    while number or not found:
        number, rest = divmod(number, len(SYLLABLES))
        found += SYLLABLES[rest]
    return found


def paragraphs(size: int) -> Iterator[Paragraph]:
    """Synthetic paragraphs of about 60 words, the same for the same number whatever the size."""
    common = [f"{name(number)}q" for number in range(COMMON)]  # no name ends so
    shares = np.cumsum(1 / np.arange(SHIFT, COMMON + SHIFT))
    template = "{}" + FILLED * 4
    gaps = template.count("{}") - 1
    for start in range(0, size, 10_000):
        rng = np.random.default_rng(start)
        count = min(10_000, size - start)
        drawn = np.searchsorted(shares, rng.random((10_000, gaps)) * shares[-1])
        named = rng.integers(0, NAMES, (10_000, 2))
        for row, (first, last) in zip(drawn[:count].tolist(), named[:count].tolist(), strict=True):
            title = f"{name(first).title()} {name(last).title()}"
            text = template.format(f"{title} is {last} years old: ", *[common[word] for word in row])
            yield Paragraph(f"{title} (film)" if first % 3 == 0 else title, text)


def queries(size: int) -> list[str]:
    """Each names a paragraph of the corpus and three words of it, as questions do."""
    rng, found = np.random.default_rng(1), []
    for paragraph in paragraphs(min(size, QUERIES)):
        said = paragraph.text.split()[8:]
        picked = [said[place].strip(";.") for place in rng.integers(0, len(said), 6)]
        found.append(f"Which {picked[0]} {picked[1]} was {' '.join(picked[2:])} of {paragraph.title.split(' (')[0]}?")
    return found


def milliseconds(search: Callable[[str], Any], asked: list[str]) -> float:
    """The median CPU time of a query; one goes before, for what is made at the first."""
    search(asked[0])
    taken = []
    for query in asked:
        start = time.process_time()
        search(query)
        taken.append(time.process_time() - start)
    return 1000 * median(taken)


def built(folder: Path, size: int) -> dict[str, float]:
    """Index synthetic paragraphs in a folder; called in a process of its own."""
    start, sample = time.process_time(), min(size, 50_000)
    for _ in paragraphs(sample):
        pass
    making = (time.process_time() - start) * size / sample
    start = time.process_time()
    build(write_texts(paragraphs(size), folder), folder)
    seconds = time.process_time() - start - making
    on_disk = sum(file.stat().st_size for file in folder.iterdir())
    return {"build_s": seconds, "making_the_texts_s": making, "build_peak_bytes": peak(), "disk_bytes": on_disk}


def served(folder: Path, size: int) -> dict[str, float]:
    """Ask an index; called in a process of its own."""
    asked = queries(size)
    start = time.process_time()
    retriever = Retriever(folder)
    found = [retriever.search(query, K)[0].paragraph for query in asked]
    opened = time.process_time() - start
    right = sum(one.title == target.title for one, target in zip(found, paragraphs(len(asked)), strict=True))
    content = milliseconds(lambda query: retriever.by_content(retriever.known(query), K), asked)
    titles = milliseconds(lambda query: retriever.by_title(query, retriever.known(query), K), asked)
    both = milliseconds(lambda query: retriever.search(query, K), asked)
    return {
        "open_and_first_pass_s": opened, "content_ms": content, "titles_ms": titles, "search_ms": both,
        "first_is_right": right / len(asked), "serve_peak_bytes": peak(),
    }  # fmt: skip


def peak() -> float:
    """The most memory that was resident in this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def in_a_process(task: str, folder: Path, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, task, str(folder), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path()})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def path() -> str:
    return os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index")


def test_a_corpus_is_indexed_in_eight_gigabytes(benchmark: Any, folder: Path) -> None:
    cost = benchmark.pedantic(lambda: in_a_process("build", folder, SIZE), rounds=1)
    print(f"\n{SIZE:,} paragraphs:", {key: round(value, 1) for key, value in cost.items()})
    benchmark.extra_info.update(size=SIZE, **cost)
    assert cost["build_peak_bytes"] < MOST_TO_BUILD


def test_a_corpus_is_served_in_two_gigabytes_and_ten_milliseconds(benchmark: Any, folder: Path) -> None:
    if not (folder / "texts.bin").exists():
        built(folder, SIZE)
    cost = benchmark.pedantic(lambda: in_a_process("serve", folder, SIZE), rounds=1)
    print(f"\n{SIZE:,} paragraphs:", {key: round(value, 2) for key, value in cost.items()})
    benchmark.extra_info.update(size=SIZE, **cost)
    assert cost["serve_peak_bytes"] < MOST_MEMORY
    assert cost["content_ms"] <= MOST_CONTENT
    assert cost["titles_ms"] <= MOST_TITLES
    assert cost["first_is_right"] >= 0.99


def ours(tmp_path: Path) -> Callable[[str], Any]:
    build(write_texts(paragraphs(PEERS), tmp_path), tmp_path)
    retriever = Retriever(tmp_path)
    return lambda query: retriever.search(query, K, titles=False)


def rank_bm25(_: Path) -> Callable[[str], Any]:
    package = pytest.importorskip("rank_bm25", reason="python -m pip install rank-bm25")
    stem = stemmer()

    def stems(text: str) -> list[str]:
        return [found for word in words(text) if (found := stem(word))]

    index = package.BM25Okapi([stems(" ".join(paragraph)) for paragraph in paragraphs(PEERS)])
    return lambda query: np.argsort(-index.get_scores(stems(query)))[:K]


def tantivy(_: Path) -> Callable[[str], Any]:
    package = pytest.importorskip("tantivy", reason="python -m pip install tantivy")
    schema = package.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem").build()
    index = package.Index(schema)
    writer = index.writer(heap_size=100_000_000, num_threads=1)
    for paragraph in paragraphs(PEERS):
        writer.add_document(package.Document(text=" ".join(paragraph)))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> Any:
        return searcher.search(index.parse_query(" ".join(words(query)), ["text"]), K)

    return search


@pytest.mark.parametrize("engine", [ours, rank_bm25, tantivy])
def test_a_query_beside_other_engines(benchmark: Any, engine: Callable[[Path], Any], tmp_path: Path) -> None:
    start = time.process_time()
    search, asked = engine(tmp_path), queries(PEERS)
    seconds, cost = time.process_time() - start, milliseconds(search, asked)
    print(f"\n{engine.__name__}, {PEERS:,} paragraphs: build {seconds:.1f} s, query {cost:.2f} ms")
    benchmark.extra_info.update(size=PEERS, build_s=seconds, query_ms=cost)
    benchmark.pedantic(lambda: [search(query) for query in asked], rounds=1)


if __name__ == "__main__":
    task, where, many = sys.argv[1:]
    print(json.dumps({"build": built, "serve": served}[task](Path(where), int(many))))
