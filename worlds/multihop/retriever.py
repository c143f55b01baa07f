"""Search in a corpus of any size: paragraphs whose title the query names, then BM25 over title and text.

The titles come first, as SDP's Appendix A.5 has it: every run of words of the query is looked up among the titles, and
what stands in brackets behind a title does not count, so that "Parasite" finds "Parasite (film)" and "Parasite (1982
film)". What is left of the k places goes to BM25, by bm25s. The paper does not say how many places titles may take,
which titles count and in what order they come; what is done here is told at `by_title`.

Where bm25s has its compiled backend (package numba) it serves corpora of more than LARGE paragraphs, five million in
10 ms of CPU time, a third of what it takes without. Smaller ones do without, since numba compiles anew in each process,
which takes several seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lab.machine.doctor import INSTALL
from worlds.multihop.index import (
    FILES,
    K1,
    OFFSETS,
    TEXTS,
    TITLE_CODES,
    TITLE_COUNTS,
    TITLE_NUMBERS,
    VOCABULARY,
    B,
    Span,
    Texts,
    build,
    code,
    named_spans,
    stemmer,
    words,
    write_texts,
)
from worlds.multihop.questions import Paragraph
from worlds.stored import stored

if TYPE_CHECKING:
    import numpy as np

LARGE = 300_000  # paragraphs; from here on compiling pays within a thousand queries
NAMESAKES = 1000  # paragraphs with a title of the same words that are compared
PLACES = 0.5  # the share of the k places that titles may take
VERSION = 1  # raise it whenever the same corpus gives another index


class SearchResult(NamedTuple):
    """A search result. number: the paragraph's in the corpus, from 0. score: BM25's. titled: found by its title."""

    number: int
    paragraph: Paragraph
    score: float
    titled: bool


class Retriever:
    """A corpus that `indexed` wrote to a folder. Any number of threads and processes may search, also after `close`.

    Its files are mapped into memory when they are first needed, and closed by `close`.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ImportError, saying how to install it, if a package is missing."""
        self.folder = folder
        self._stem = stemmer()
        self._arrays: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def search(self, query: str, k: int = 10, titles: bool = True) -> list[SearchResult]:
        """At most k paragraphs, the best first: those with a title that the query names, then the best by BM25.

        titles: whether titles come first; False is BM25 alone. Equally good paragraphs come in the corpus's order.
        """
        known = self.known(query)
        first = self.by_title(query, known, k) if titles else []
        named = {number for number, _ in first}
        rest = [pair for pair in self.by_content(known, k) if pair[0] not in named]
        return [
            SearchResult(number, self.texts[number], score, number in named) for number, score in (first + rest)[:k]
        ]

    def by_content(self, known: list[int], k: int) -> list[tuple[int, float]]:
        """Numbers and scores of the k best paragraphs by BM25, those with a score of 0 left out."""
        import numpy as np

        if not known:
            return []
        if self._index.backend == "numba":
            numbers, scores = self._index.retrieve([known], k=min(k, len(self)), show_progress=False)
            pairs = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
        else:
            all_scores = self._index.get_scores_from_ids(known)
            fit = np.flatnonzero(all_scores)
            if len(fit) > k:  # bm25s would sort zeros too, which takes a hundred times as long
                fit = fit[all_scores[fit] >= np.partition(all_scores[fit], -k)[-k]]
            pairs = zip(fit.tolist(), all_scores[fit].tolist(), strict=True)
        return sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))[:k]

    def by_title(self, query: str, known: list[int], k: int) -> list[tuple[int, float]]:
        """Numbers and scores of paragraphs whose title is a run of words of the query, at most PLACES of k.

        Longer titles come first, and hide those within them ("New York City" that of "New York"). A single word counts
        where it is capitalised. Each title gives its best paragraph by BM25, then each its second, and so on.
        """
        import numpy as np

        spans = named_spans(query, self._stem)
        codes = np.array([code(" ".join(span.words)) for span in spans], np.uint64)
        titles = self._array(TITLE_CODES)
        left, right = np.searchsorted(titles, codes, side="left"), np.searchsorted(titles, codes, side="right")
        ranked: list[list[tuple[int, float]]] = []
        taken: list[Span] = []
        for span, start, end in zip(spans, left.tolist(), right.tolist(), strict=True):
            if start < end and not any(span.start >= other.start and span.end <= other.end for other in taken):
                taken.append(span)
                numbers = self._array(TITLE_NUMBERS)[start : min(end, start + NAMESAKES)]
                pairs = zip(numbers.tolist(), self._scores(known, numbers).tolist(), strict=True)
                ranked.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
        in_turn = [pair for turn in zip_longest(*ranked) for pair in turn if pair is not None]
        return in_turn[: max(1, int(k * PLACES))]

    def _scores(self, known: list[int], numbers: np.ndarray) -> np.ndarray:
        """BM25's scores of some paragraphs, looked up in the sorted postings of each word."""
        import numpy as np

        totals, scores = np.zeros(len(numbers)), self._index.scores
        for word in known:
            start, end = scores["indptr"][word : word + 2].tolist()
            there = scores["indices"][start:end]
            positions = np.minimum(np.searchsorted(there, numbers), end - start - 1)
            totals += np.where(there[positions] == numbers, scores["data"][start:end][positions], 0)
        return totals

    def close(self) -> None:
        """Close the files; the next search opens them again."""
        self._arrays = {}
        for name in ("texts", "_index"):
            self.__dict__.pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def known(self, query: str) -> list[int]:
        """The numbers in the index of the query's words, each once; those that the corpus lacks are left out."""
        import numpy as np

        stems = dict.fromkeys(stem for word in words(query) if (stem := self._stem(word)))
        codes = np.array([code(stem) for stem in stems], np.uint64)
        vocabulary = self._array(VOCABULARY)
        places = np.minimum(np.searchsorted(vocabulary, codes), len(vocabulary) - 1)
        return places[vocabulary[places] == codes].tolist() if len(vocabulary) else []

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.folder)

    def _array(self, name: str) -> np.ndarray:
        """VOCABULARY (codes of the stems, sorted: the place of one is its number in the index), TITLE_CODES (codes of
        the titles' words, sorted) or TITLE_NUMBERS (the paragraph of each of these titles), mapped into memory.
        """
        import numpy as np

        arrays = self._arrays  # another thread may close
        if name not in arrays:
            arrays[name] = np.load(self.folder / name, mmap_mode="r")
        return arrays[name]

    @cached_property
    def _index(self) -> Any:
        import bm25s

        compiled = len(self) > LARGE
        if compiled and not bm25s.NUMBA_AVAILABLE:
            warnings.warn(
                f"a corpus of {len(self):,} paragraphs is searched without the package numba, which takes about "
                f"three times as long. Install it with: {INSTALL}",
                stacklevel=2,
            )
            compiled = False
        backend = "numba" if compiled else "numpy"
        index = bm25s.BM25.load(self.folder, mmap=True, load_vocab=False, backend=backend)
        # Instead of the dictionary that was not loaded: bm25s asks whether a number is in here.
        index.unique_token_ids_set = range(len(self._array(VOCABULARY)))
        return index


def indexed(key: Any, paragraphs: Callable[[], Iterable[Paragraph]]) -> Retriever:
    """The retriever of a corpus: from the cache, else built there, about 5 s of CPU time for 10,000 paragraphs.

    key: what decides the content (a checksum; a generator's name, version, seed and size), anything that JSON can hold.
    paragraphs: called to build; read once, as a stream. Raises ValueError for a corpus without paragraphs.
    """
    whole = [VERSION, K1, B, TITLE_COUNTS, key]
    files = (TEXTS, OFFSETS, *FILES)
    return Retriever(stored("multihop", whole, files, lambda new: build(write_texts(paragraphs(), new), new)))
