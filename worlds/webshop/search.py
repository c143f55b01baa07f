"""The shop's search: BM25 over stemmed words, by bm25s."""

from __future__ import annotations

from collections.abc import Sequence

from lab.machine.doctor import INSTALL

RESULTS = 50
# What Lucene's searcher uses in the official shop. bm25s has its scoring, stop words and (with PyStemmer) its stemmer,
# is kept up, and is numpy alone; tantivy, the other candidate, has fixed k1 and b and breaks ties by segment.
K1, B = 0.9, 0.4
STEMMER = "porter"
WORD = r"(?u)\b\w+\b"  # with words of one letter, as sizes are


class SearchEngine:
    """An index of texts by their position."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Raises ImportError, saying how to install it, if a package is missing."""
        try:
            import bm25s
            import Stemmer  # noqa: F401
        except ImportError as error:
            raise ImportError(f"WebShop's search needs a package: {error}. Install it with: {INSTALL}") from error
        self.index = bm25s.BM25(k1=K1, b=B, method="lucene")
        self.index.index(stemmed(texts), show_progress=False)

    def search(self, query: str) -> tuple[int, ...]:
        """Positions of at most 50 texts with a word of the query, best first; equally good ones in the given order."""
        import numpy as np

        known = [word for word in stemmed([query])[0] if word and word in self.index.vocab_dict]
        if not known:
            return ()
        scores = self.index.get_scores(known)
        best = np.argsort(-scores, kind="stable")[:RESULTS]
        return tuple(int(position) for position in best if scores[position] > 0)


def stemmed(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, stemmed, without stop words."""
    import bm25s
    import Stemmer

    return bm25s.tokenize(
        list(texts),
        token_pattern=WORD,
        stopwords="en",
        stemmer=Stemmer.Stemmer(STEMMER),
        return_ids=False,
        show_progress=False,
    )
