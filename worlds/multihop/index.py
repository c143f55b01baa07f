"""A BM25 index in the file format of bm25s, which reads it: its words, its texts, and how both are built.

bm25s itself builds from lists of words in memory, 15 GB for five million paragraphs. Here each posting takes 6 bytes
while they are read and 16 while scipy turns them from words by paragraph to paragraphs by word. The scores are those of
bm25s (a test compares them).

A word is found by its 64-bit code in a sorted array, which takes 8 bytes of a mapped file; a dictionary, as bm25s keeps
it, takes 200 bytes of memory.
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
LONGEST_TITLE = 8  # words of a title that is looked for; 99 in 100 titles have no more
TEXTS, OFFSETS = "texts.bin", "offsets.npy"
K1, B = 0.9, 0.4  # the usual ones for paragraphs of Wikipedia, in Anserini and since
TITLE_COUNTS = 2  # how many times a title's words count in a paragraph
# By bm25s's names, which reads them.
SCORES, NUMBERS, STARTS = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMETERS = "params.index.json"
VOCABULARY, TITLE_CODES, TITLE_NUMBERS = "vocabulary.npy", "title_codes.npy", "title_numbers.npy"
FILES = (SCORES, NUMBERS, STARTS, PARAMETERS, VOCABULARY, TITLE_CODES, TITLE_NUMBERS)
AT_ONCE = 3_000_000  # postings that are scored at once, which takes 40 bytes of each
REMEMBERED = 1_500_000  # words whose stem is known without asking, 150 bytes each; more may be met once and never again


def folded(text: str) -> str:
    """A text without accents."""
    if text.isascii():  # most are, and this takes longer than finding the words
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return WORD.findall(folded(text).lower())


def title_words(title: str) -> list[str]:
    """The words of a title, without what Wikipedia puts behind it in brackets: "Parasite (film)" is "parasite"."""
    return words(SUFFIX.sub("", title)) or words(title)


def code(text: str) -> int:
    """64 bits that stand for a text in an index; of five million, two are the same once in a million corpora."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class Span(NamedTuple):
    """A run of words of a query, from `start` to before `end`."""

    words: tuple[str, ...]
    start: int
    end: int


def named_spans(query: str, stem: Callable[[str], str]) -> list[Span]:
    """The runs of words that a title may be, longest first.

    A single word has to be capitalised, and is no stop word; stop words alone all are capitalised ("The Who").
    """
    tokens = WORD.findall(folded(query))
    plain = not any(word[0].isupper() for word in tokens)  # who writes no capitals tells nothing by their absence
    spans = []
    for length in range(min(LONGEST_TITLE, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            run = tokens[start : start + length]
            tells = any(stem(word.lower()) for word in run)
            capitals = all(word[0].isupper() or word[0].isdigit() for word in run)
            if tells and (plain or capitals) if length == 1 else tells or capitals:
                spans.append(Span(tuple(word.lower() for word in run), start, start + length))
    return spans


def write_texts(paragraphs: Iterable[Paragraph], folder: Path) -> Iterator[Paragraph]:
    """Write the paragraphs while handing them on; 16 bytes of memory each."""
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
    """The paragraphs of a folder that `write_texts` wrote, by number from 0; any number of threads may read."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        # An array in memory of its own: mapped, each look-up of one number would cost microseconds.
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
    """Snowball's stemmer for English, "" for a stop word. Raises ImportError with the line that installs it."""
    try:
        import Stemmer
        from bm25s.stopwords import STOPWORDS_EN_PLUS
    except ImportError as error:
        raise ImportError(f"The retriever needs a package: {error}. Install it with: {INSTALL}") from error
    # Without its own cache: `Vocabulary` is one.
    stop, stem = frozenset(STOPWORDS_EN_PLUS), Stemmer.Stemmer("english", 0).stemWord
    return lambda word: "" if word in stop else stem(word)


class Vocabulary(dict[str, int]):
    """Word -> number of its stem, -1 for a stop word; stems are numbered as they are met."""

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
    seen, counts, lengths, distinct = array("i"), array("H"), array("i"), array("q", [0])
    for paragraph in paragraphs:
        times = Counter(vocabulary[word] for word in TITLE_COUNTS * words(paragraph.title) + words(paragraph.text))
        times.pop(-1, None)
        seen.extend(times)
        counts.extend(min(count, 0xFFFF) for count in times.values())
        lengths.append(times.total())
        distinct.append(len(times))
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
    postings = csr_array((np.asarray(counts), rank[np.asarray(seen)], np.cumsum(distinct)), shape=shape)
    del seen  # its place is needed for the postings turned round
    postings = postings.tocsc()
    np.save(folder / STARTS, postings.indptr.astype(np.int64))
    np.save(folder / NUMBERS, postings.indices.astype(np.int32))
    np.save(folder / SCORES, scored(postings, np.asarray(lengths)))
    parameters = {"k1": K1, "b": B, "method": "lucene", "dtype": "float32", "int_dtype": "int32"}
    (folder / PARAMETERS).write_text(json.dumps(parameters | {"num_docs": len(lengths)}))


def scored(postings: Any, lengths: np.ndarray) -> np.ndarray:
    """BM25's score of each posting, as Lucene has it. postings: times by paragraph and word, a sparse array by word."""
    import numpy as np

    frequency = np.diff(postings.indptr)
    rarity = np.log(1 + (len(lengths) - frequency + 0.5) / (frequency + 0.5))
    # max: a corpus of stop words alone has no length to divide by.
    weight = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
    scores = np.empty(postings.nnz, np.float32)
    for low in range(0, postings.nnz, AT_ONCE):
        part = slice(low, low + AT_ONCE)
        times = postings.data[part]
        of_word = np.repeat(rarity, np.diff(np.clip(postings.indptr, low, low + AT_ONCE)))
        scores[part] = of_word * times / (weight[postings.indices[part]] + times)
    return scores
