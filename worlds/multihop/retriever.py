"""Search in a corpus of any size: paragraphs whose title the query names, then BM25 over title and text.

Title matches come first, as in SDP's Appendix A.5. Every run of words in the query is looked up among the titles; a
title's suffix in brackets is ignored, so that "Parasite" finds "Parasite (film)" and "Parasite (1982 film)". The
remaining results come from BM25, by bm25s. The paper does not say how many results titles may take, which titles match,
or their order; our choices are documented at `by_title`.

Five million paragraphs are searched in 30 ms of CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

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

NAMESAKES = 1000  # at most so many paragraphs with the same title words are compared
PLACES = 0.5  # the share of the k results that title matches may take
VERSION = 1  # raise it whenever the same corpus gives another index


class SearchResult(NamedTuple):
    """A search result. number: index of the paragraph in the corpus, from 0. score: BM25's. titled: found by title."""

    number: int
    paragraph: Paragraph
    score: float
    titled: bool


class Retriever:
    """Search in a corpus that `indexed` wrote to a folder. Safe for any number of threads and processes.

    The files are mapped into memory at the first search; `close` closes them, and a later search opens them again.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ImportError, saying how to install it, if a package is missing."""
        self.folder = folder
        self._stem = stemmer()
        self._arrays: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def search(self, query: str, k: int = 10, titles: bool = True) -> list[SearchResult]:
        """At most k paragraphs, best first: title matches, then the best by BM25.

        titles: whether to match titles; False is BM25 alone. Paragraphs with equal scores come in the corpus's order.
        """
        word_numbers = self.known(query)
        first = self.by_title(query, word_numbers, k) if titles else []
        titled = {number for number, _ in first}
        others = [pair for pair in self.by_content(word_numbers, k) if pair[0] not in titled]
        return [
            SearchResult(number, self.texts[number], score, number in titled) for number, score in (first + others)[:k]
        ]

    def by_content(self, known: list[int], k: int) -> list[tuple[int, float]]:
        """Numbers and scores of the k best paragraphs by BM25, without those that score 0. known: numbers of words."""
        import numpy as np

        if not known:
            return []
        all_scores = self._index.get_scores_from_ids(known)
        matching = np.flatnonzero(all_scores)
        if len(matching) > k:  # bm25s would sort zeros too, which takes a hundred times as long
            matching = matching[all_scores[matching] >= np.partition(all_scores[matching], -k)[-k]]
        pairs = zip(matching.tolist(), all_scores[matching].tolist(), strict=True)
        return sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))[:k]

    def by_title(self, query: str, known: list[int], k: int) -> list[tuple[int, float]]:
        """Numbers and scores of paragraphs whose title is a run of words in the query; at most a share PLACES of k.

        Longer titles come first and hide titles within them ("New York City" hides "New York"). A single word has to be
        capitalised. First comes each title's best paragraph by BM25, then each title's second, and so on.
        """
        import numpy as np

        spans = named_spans(query, self._stem)
        codes = np.array([code(" ".join(span.words)) for span in spans], np.uint64)
        titles = self._array(TITLE_CODES)
        starts, ends = np.searchsorted(titles, codes, side="left"), np.searchsorted(titles, codes, side="right")
        ranked: list[list[tuple[int, float]]] = []
        matched_spans: list[Span] = []
        for span, start, end in zip(spans, starts.tolist(), ends.tolist(), strict=True):
            if start < end and not any(span.start >= other.start and span.end <= other.end for other in matched_spans):
                matched_spans.append(span)
                numbers = self._array(TITLE_NUMBERS)[start : min(end, start + NAMESAKES)]
                pairs = zip(numbers.tolist(), self._scores(known, numbers).tolist(), strict=True)
                ranked.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
        interleaved = [pair for rank in zip_longest(*ranked) for pair in rank if pair is not None]
        return interleaved[: max(1, int(k * PLACES))]

    def _scores(self, known: list[int], numbers: np.ndarray) -> np.ndarray:
        """BM25's scores of the paragraphs with these numbers, looked up in the sorted postings of each word."""
        import numpy as np

        totals, scores = np.zeros(len(numbers)), self._index.scores
        for word in known:
            start, end = scores["indptr"][word : word + 2].tolist()
            paragraph_numbers = scores["indices"][start:end]
            positions = np.minimum(np.searchsorted(paragraph_numbers, numbers), end - start - 1)
            totals += np.where(paragraph_numbers[positions] == numbers, scores["data"][start:end][positions], 0)
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
        """The index numbers of the query's distinct words, without words that the corpus does not have."""
        import numpy as np

        stems = dict.fromkeys(stem for word in words(query) if (stem := self._stem(word)))
        codes = np.array([code(stem) for stem in stems], np.uint64)
        vocabulary = self._array(VOCABULARY)
        positions = np.minimum(np.searchsorted(vocabulary, codes), len(vocabulary) - 1)
        return positions[vocabulary[positions] == codes].tolist() if len(vocabulary) else []

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.folder)

    def _array(self, name: str) -> np.ndarray:
        """An array mapped into memory: VOCABULARY (sorted codes of the stems; a stem's position is its index number),
        TITLE_CODES (sorted codes of the titles' words) or TITLE_NUMBERS (the paragraph of each of these titles).
        """
        import numpy as np

        arrays = self._arrays  # another thread may call `close`
        if name not in arrays:
            arrays[name] = np.load(self.folder / name, mmap_mode="r")
        return arrays[name]

    @cached_property
    def _index(self) -> Any:
        import bm25s

        index = bm25s.BM25.load(self.folder, mmap=True, load_vocab=False, backend="numpy")
        # Replaces the dictionary that was not loaded: bm25s checks whether a number is in it.
        index.unique_token_ids_set = range(len(self._array(VOCABULARY)))
        return index


def indexed(key: Any, paragraphs: Callable[[], Iterable[Paragraph]]) -> Retriever:
    """The retriever of a corpus, from the cache; a cache miss costs about 5 s of CPU time for 10,000 paragraphs.

    key: what determines the content (a checksum; a generator's name, version, seed and size), any JSON value.
    paragraphs: called on a cache miss; read once, as a stream. Raises ValueError for a corpus without paragraphs.
    """
    full_key = [VERSION, K1, B, TITLE_COUNTS, key]
    files = (TEXTS, OFFSETS, *FILES)
    return Retriever(stored("multihop", full_key, files, lambda new: build(write_texts(paragraphs(), new), new)))
