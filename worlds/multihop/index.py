"""Builds a BM25 index in the file format of bm25s, with little memory; also stores the paragraphs' texts.

bm25s itself builds from lists of words in memory, 15 GB for five million paragraphs. Here each posting takes 6 bytes
while paragraphs are read, and 16 while scipy transposes the postings from by-paragraph to by-word. The scores equal
those of bm25s (a test compares them).

A word is found by its 64-bit code in a sorted array, 8 bytes of a mapped file per word. The dictionary of bm25s would
take 200 bytes of memory per word.
"""

from __future__ import annotations

import json
import mmap
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.doctor import INSTALL
from worlds.multihop.questions import Paragraph

if TYPE_CHECKING:
    import numpy as np

WORD = re.compile(r"\w+")
SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")
LONGEST_TITLE = 8  # longest title, in words, that a query is searched for; 99 in 100 titles have no more
TEXTS, OFFSETS = "texts.bin", "offsets.npy"
K1, B = 0.9, 0.4  # usual for paragraphs of Wikipedia since Anserini
TITLE_COUNTS = 2  # how many times a title's words count in a paragraph
# File names that bm25s reads.
SCORES, NUMBERS, STARTS = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMETERS = "params.index.json"
VOCABULARY, TITLE_CODES, TITLE_NUMBERS = "vocabulary.npy", "title_codes.npy", "title_numbers.npy"
FILES = (SCORES, NUMBERS, STARTS, PARAMETERS, VOCABULARY, TITLE_CODES, TITLE_NUMBERS)
AT_ONCE = 3_000_000  # postings scored per batch, at 40 bytes each
REMEMBERED = 1_500_000  # cached stems, 150 bytes each; the cache is emptied when full, as many words occur only once


def folded(text: str) -> str:
    """A text without accents."""
    if text.isascii():  # most texts are, and normalising takes longer than finding the words
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return WORD.findall(folded(text).lower())


def title_words(title: str) -> list[str]:
    """The words of a title, without Wikipedia's suffix in brackets: "Parasite (film)" is "parasite"."""
    return words(SUFFIX.sub("", title)) or words(title)


def code(text: str) -> int:
    """A 64-bit hash of a text; among five million texts, one corpus in a million has a collision."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class Span(NamedTuple):
    """A run of words in a query; start, end: its word positions, `end` excluded."""

    words: tuple[str, ...]
    start: int
    end: int


def named_spans(query: str, stem: Callable[[str], str]) -> list[Span]:
    """The runs of words in a query that may be a title, longest first.

    A single word has to be capitalised and no stop word. A run of stop words alone has to be capitalised throughout
    ("The Who").
    """
    tokens = WORD.findall(folded(query))
    no_capitals = not any(word[0].isupper() for word in tokens)  # in such a query a missing capital says nothing
    spans = []
    for length in range(min(LONGEST_TITLE, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            run = tokens[start : start + length]
            has_content = any(stem(word.lower()) for word in run)
            capitals = all(word[0].isupper() or word[0].isdigit() for word in run)
            if has_content and (no_capitals or capitals) if length == 1 else has_content or capitals:
                spans.append(Span(tuple(word.lower() for word in run), start, start + length))
    return spans


def write_texts(paragraphs: Iterable[Paragraph], folder: Path) -> Iterator[Paragraph]:
    """Write the paragraphs to `folder` and yield each one; takes 16 bytes of memory per paragraph."""
    import numpy as np

    offsets, offset = array("q", [0]), 0
    with open(folder / TEXTS, "wb") as file:
        for paragraph in paragraphs:
            for part in paragraph:
                offset += file.write(part.encode("utf-8", "surrogatepass"))
                offsets.append(offset)
            yield paragraph
    np.save(folder / OFFSETS, np.frombuffer(offsets, dtype=np.int64))


class Texts:
    """The paragraphs that `write_texts` wrote, by number from 0; safe for any number of threads."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        # Loaded into memory: in a mapped array, each look-up of a number would cost microseconds.
        self._offsets = np.load(folder / OFFSETS)
        with open(folder / TEXTS, "rb") as file:
            # An empty file cannot be mapped.
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._offsets[-1] else b""

    def __len__(self) -> int:
        return len(self._offsets) // 2

    def __getitem__(self, number: int) -> Paragraph:
        start, middle, end = self._offsets[2 * number : 2 * number + 3].tolist()
        title, text = (
            self._bytes[part].decode("utf-8", "surrogatepass") for part in (slice(start, middle), slice(middle, end))
        )
        return Paragraph(title, text)


def stemmer() -> Callable[[str], str]:
    """Snowball's stemmer for English; gives "" for a stop word. Raises ImportError with the line that installs it."""
    try:
        import Stemmer
        from bm25s.stopwords import STOPWORDS_EN_PLUS
    except ImportError as error:
        raise ImportError(f"The retriever needs a package: {error}. Install it with: {INSTALL}") from error
    # 0: without its own cache, since `Vocabulary` is one.
    stop, stem = frozenset(STOPWORDS_EN_PLUS), Stemmer.Stemmer("english", 0).stemWord
    return lambda word: "" if word in stop else stem(word)


class Vocabulary(dict[str, int]):
    """Word -> number of its stem, -1 for a stop word. Stems are numbered in the order in which they occur."""

    def __init__(self) -> None:
        self.stems: dict[str, int] = {}
        self._stem = stemmer()

    def __missing__(self, word: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        stem = self._stem(word)
        number = self.stems.setdefault(stem, len(self.stems)) if stem else -1
        self[word] = number
        return number


def build(paragraphs: Iterable[Paragraph], folder: Path) -> None:
    """Write the index of the paragraphs into an empty folder. Raises ValueError for no paragraphs."""
    import numpy as np
    from scipy.sparse import csr_array

    vocabulary, titles = Vocabulary(), array("Q")
    stem_numbers, counts, lengths, distinct = array("i"), array("H"), array("i"), array("q", [0])
    for paragraph in paragraphs:
        counter = Counter(vocabulary[word] for word in TITLE_COUNTS * words(paragraph.title) + words(paragraph.text))
        counter.pop(-1, None)
        stem_numbers.extend(counter)
        counts.extend(min(count, 0xFFFF) for count in counter.values())
        lengths.append(counter.total())
        distinct.append(len(counter))
        titles.append(code(" ".join(title_words(paragraph.title))))
    if not lengths:
        raise ValueError("a corpus without paragraphs cannot be searched")
    order = np.argsort(np.asarray(titles), kind="stable")
    np.save(folder / TITLE_CODES, np.asarray(titles)[order])
    np.save(folder / TITLE_NUMBERS, order.astype(np.int32))
    codes = np.fromiter(map(code, vocabulary.stems), np.uint64, len(vocabulary.stems))
    order = np.argsort(codes)
    np.save(folder / VOCABULARY, codes[order])
    rank = np.empty(len(codes), np.int32)
    rank[order] = np.arange(len(codes), dtype=np.int32)
    shape = len(lengths), len(codes)
    postings = csr_array((np.asarray(counts), rank[np.asarray(stem_numbers)], np.cumsum(distinct)), shape=shape)
    del stem_numbers  # its memory is needed for the transposed postings
    postings = postings.tocsc()
    np.save(folder / STARTS, postings.indptr.astype(np.int64))
    np.save(folder / NUMBERS, postings.indices.astype(np.int32))
    np.save(folder / SCORES, scored(postings, np.asarray(lengths)))
    parameters = {"k1": K1, "b": B, "method": "lucene", "dtype": "float32", "int_dtype": "int32"}
    (folder / PARAMETERS).write_text(json.dumps(parameters | {"num_docs": len(lengths)}))


def scored(postings: Any, lengths: np.ndarray) -> np.ndarray:
    """BM25's score of each posting, in Lucene's variant.

    postings: counts, shape (paragraphs, words), sparse by column. lengths: words per paragraph.
    """
    import numpy as np

    frequency = np.diff(postings.indptr)
    rarity = np.log(1 + (len(lengths) - frequency + 0.5) / (frequency + 0.5))
    # or: in a corpus of stop words alone the mean length is 0.
    weight = K1 * (1 - B + B * lengths / (lengths.mean() or 1))
    scores = np.empty(postings.nnz, np.float32)
    for low in range(0, postings.nnz, AT_ONCE):
        part = slice(low, low + AT_ONCE)
        counts = postings.data[part]
        of_word = np.repeat(rarity, np.diff(np.clip(postings.indptr, low, low + AT_ONCE)))
        scores[part] = of_word * counts / (weight[postings.indices[part]] + counts)
    return scores
