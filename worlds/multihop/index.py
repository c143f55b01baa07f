"""A BM25 index in the file format of bm25s, built in a stream: memory grows with the vocabulary, not with the corpus.

bm25s itself builds from lists of words in memory, 15 GB for five million paragraphs. Here postings go to a file as they
come, paragraph by paragraph, and are then sorted by word, as many words at a time as fit. The scores are those of bm25s
(a test compares them), and bm25s reads them.

A word is found by its 64-bit code in a sorted array, which takes 8 bytes of a mapped file; a dictionary, as bm25s keeps
it, takes 200 bytes of memory.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.doctor import INSTALL
from worlds.multihop.questions import Paragraph
from worlds.multihop.words import code, title_words, words

if TYPE_CHECKING:
    import numpy as np

K1, B = 0.9, 0.4  # the usual ones for paragraphs of Wikipedia, in Anserini and since
TITLE_COUNTS = 2  # how many times a title's words count in a paragraph
# By bm25s's names, which reads them.
SCORES, NUMBERS, STARTS = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMETERS = "params.index.json"
VOCABULARY, TITLE_CODES, TITLE_NUMBERS = "vocabulary.npy", "title_codes.npy", "title_numbers.npy"
FILES = (SCORES, NUMBERS, STARTS, PARAMETERS, VOCABULARY, TITLE_CODES, TITLE_NUMBERS)
WORDS_SEEN, COUNTS_SEEN = "words.tmp", "counts.tmp"

BATCH = 20_000  # paragraphs whose words are counted at once
BLOCK = 100_000  # paragraphs whose postings are sorted at once
AT_ONCE = 30_000_000  # postings in memory while sorting, 12 bytes each
REMEMBERED = 1_500_000  # words whose stem is known without asking, 150 bytes each; more may be met once and never again


def stemmer() -> Callable[[str], str]:
    """Snowball's stemmer for English, "" for a stop word. Raises ImportError with the line that installs it."""
    try:
        import Stemmer
        from bm25s.stopwords import STOPWORDS_EN_PLUS
    except ImportError as error:
        raise ImportError(f"The retriever needs a package: {error}. Install it with: {INSTALL}") from error
    stop, stem = (
        frozenset(STOPWORDS_EN_PLUS),
        Stemmer.Stemmer("english", 0).stemWord,
    )  # without its own cache: `Vocabulary` is one
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

    vocabulary, titles = Vocabulary(), array("Q")
    lengths, distinct = array("i"), array("i")
    with open(folder / WORDS_SEEN, "wb") as seen, open(folder / COUNTS_SEEN, "wb") as counts:
        for batch in batches(paragraphs):
            pairs, times, long = counted([numbered(paragraph, vocabulary) for paragraph in batch])
            (pairs & 0xFFFFFFFF).astype(np.int32).tofile(seen)
            np.minimum(times, 0xFFFF).astype(np.uint16).tofile(counts)
            lengths.extend(long.tolist())
            distinct.extend(np.bincount(pairs >> 32, minlength=len(batch)).tolist())
            titles.extend(code(" ".join(title_words(paragraph.title))) for paragraph in batch)
    if not lengths:
        raise ValueError("a corpus without paragraphs cannot be searched")
    save_sorted(folder, np.frombuffer(titles, np.uint64), TITLE_CODES, TITLE_NUMBERS)
    codes = np.fromiter(map(code, vocabulary.stems), np.uint64, len(vocabulary.stems))
    del vocabulary, titles
    sort_postings(folder, codes, np.frombuffer(lengths, np.int32), np.frombuffer(distinct, np.int32))
    (folder / WORDS_SEEN).unlink()
    (folder / COUNTS_SEEN).unlink()


def batches(paragraphs: Iterable[Paragraph]) -> Iterator[list[Paragraph]]:
    left = iter(paragraphs)
    return iter(lambda: list(islice(left, BATCH)), [])


def numbered(paragraph: Paragraph, vocabulary: Vocabulary) -> list[int]:
    title = [vocabulary[word] for word in words(paragraph.title)]
    return TITLE_COUNTS * title + [vocabulary[word] for word in words(paragraph.text)]


def counted(texts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different words of each text as text << 32 | word, sorted; how often each is there; the texts' lengths."""
    import numpy as np

    sizes = [len(text) for text in texts]
    flat = np.fromiter(chain.from_iterable(texts), np.int64, sum(sizes))
    owner = np.repeat(np.arange(len(texts)), sizes)[flat >= 0]
    pairs, times = np.unique(owner << 32 | flat[flat >= 0], return_counts=True)
    return pairs, times, np.bincount(owner, minlength=len(texts))


def save_sorted(folder: Path, codes: np.ndarray, codes_file: str, numbers_file: str) -> None:
    """Codes in their order, and the number that each had; equal ones in the order of their numbers."""
    import numpy as np

    order = np.argsort(codes, kind="stable")
    np.save(folder / codes_file, codes[order])
    np.save(folder / numbers_file, order.astype(np.int32))


def sort_postings(folder: Path, codes: np.ndarray, lengths: np.ndarray, distinct: np.ndarray) -> None:
    """From words by paragraph to paragraphs by word, with BM25's score of each, as Lucene has it."""
    import numpy as np

    paragraphs = len(lengths)
    first = np.concatenate([[0], np.cumsum(distinct, dtype=np.int64)])  # posting of each paragraph
    blocks = list(pairwise([*range(0, paragraphs, BLOCK), paragraphs]))
    order = np.argsort(codes)
    rank = np.empty(len(codes), np.int32)
    rank[order] = np.arange(len(codes), dtype=np.int32)
    with ExitStack() as stack:
        seen, counts = (stack.enter_context(open(folder / name, "rb")) for name in (WORDS_SEEN, COUNTS_SEEN))

        def part(file: Any, kind: type, block: tuple[int, int]) -> np.ndarray:
            start, end = first[block[0]], first[block[1]]
            file.seek(start * np.dtype(kind).itemsize)
            return np.fromfile(file, kind, end - start)

        frequency = np.zeros(len(codes), np.int64)
        for block in blocks:
            frequency += np.bincount(rank[part(seen, np.int32, block)], minlength=len(codes))
        starts = np.concatenate([[0], np.cumsum(frequency)])
        rarity = np.log(1 + (paragraphs - frequency + 0.5) / (frequency + 0.5))
        # max: a corpus of stop words alone has no length to divide by.
        weight = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
        np.save(folder / VOCABULARY, codes[order])
        np.save(folder / STARTS, starts)
        scores_file, numbers_file = (stack.enter_context(open(folder / name, "wb")) for name in (SCORES, NUMBERS))
        write_header(scores_file, np.float32, int(starts[-1]))
        write_header(numbers_file, np.int32, int(starts[-1]))
        for low, high in pairwise(cuts(starts)):
            size = starts[high] - starts[low]
            scores, numbers = np.empty(size, np.float32), np.empty(size, np.int32)
            next_free = starts[low:high] - starts[low]  # where the next posting of each word goes
            for block in blocks:
                word = rank[part(seen, np.int32, block)]
                mine = (word >= low) & (word < high)
                word, times = word[mine] - low, part(counts, np.uint16, block)[mine]
                number = np.repeat(np.arange(*block, dtype=np.int32), distinct[slice(*block)])[mine]
                here = np.bincount(word, minlength=high - low)
                by_word = np.argsort(word, kind="stable")
                word, times, number = word[by_word], times[by_word], number[by_word]
                to = (next_free - np.cumsum(here) + here)[word] + np.arange(len(word))
                scores[to] = rarity[low + word] * times / (weight[number] + times)
                numbers[to] = number
                next_free += here
            scores.tofile(scores_file)
            numbers.tofile(numbers_file)
    (folder / PARAMETERS).write_text(json.dumps(parameters(paragraphs)))


def cuts(starts: np.ndarray) -> list[int]:
    """Where to cut the words into runs of at most AT_ONCE postings, or of one word."""
    ends = [0]
    while ends[-1] < len(starts) - 1:
        fit = int(starts.searchsorted(starts[ends[-1]] + AT_ONCE, side="right")) - 1
        ends.append(max(fit, ends[-1] + 1))
    return ends


def write_header(file: Any, kind: type, length: int) -> None:
    """The header of an .npy file whose array follows piece by piece."""
    import numpy as np

    form = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_2_0(file, form)


def parameters(paragraphs: int) -> dict[str, Any]:
    """What bm25s reads beside the arrays."""
    return {"k1": K1, "b": B, "method": "lucene", "dtype": "float32", "int_dtype": "int32", "num_docs": paragraphs}
