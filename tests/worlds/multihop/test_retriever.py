"""The index beside bm25s' own, titles that a query names, and the cache of indexed corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from worlds.multihop import Paragraph, Retriever, index, indexed
from worlds.multihop.index import Texts, code, title_words, words, write_texts
from worlds.stored import cache_folder

CORPUS = [
    Paragraph("Parasite", "A parasite is an organism that lives on or inside another organism, its host."),
    Paragraph("Parasite (film)", "Parasite is a black comedy thriller directed by Bong Joon-ho, released in 2019."),
    Paragraph("Parasite (1982 film)", "Parasite is a horror movie directed by Charles Band."),
    Paragraph("Bong Joon-ho", "Bong is a director and screenwriter from Daegu."),
    Paragraph("Daegu", "Daegu is a city of 2.4 million people in South Korea."),
    Paragraph("New York", "New York is a state."),
    Paragraph("New York City", "New York City is the most populous city of the United States."),
    Paragraph("Beyoncé", "She released the album Lemonade."),
    Paragraph("Lemonade (album)", "Lemonade is the sixth album of the singer."),
    Paragraph("The The", "The The are a band from London."),
    Paragraph("Band", "A band plays music."),
    Paragraph("", "An untitled note on music, music and music."),
]


def indexed_in(folder: Path, corpus: list[Paragraph]) -> Retriever:
    folder.mkdir(parents=True, exist_ok=True)
    index.build(write_texts(corpus, folder), folder)
    return Retriever(folder)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    return indexed_in(tmp_path_factory.mktemp("corpus"), CORPUS)


def titles(engine: Retriever, query: str, k: int = 4, by_title: bool = True) -> list[str]:
    return [found.paragraph.title for found in engine.search(query, k, by_title)]


def own_scores(corpus: list[Paragraph], query: str) -> np.ndarray:
    """BM25's scores as bm25s has them when it indexes the corpus itself."""
    import bm25s

    stem = index.stemmer()
    texts = [[*words(one.title) * index.TITLE_COUNTS, *words(one.text)] for one in corpus]
    stems = [[found for word in text if (found := stem(word))] for text in texts]
    if not any(stems):
        return np.zeros(len(corpus))  # bm25s fails
    model = bm25s.BM25(k1=index.K1, b=index.B, method="lucene")
    model.index(stems, show_progress=False)
    known = dict.fromkeys(found for word in words(query) if (found := stem(word)) in model.vocab_dict and found)
    return model.get_scores(list(known)) if known else np.zeros(len(corpus))


@pytest.mark.parametrize(
    "query", ["who directed Parasite", "a city of people", "music music", "the album", "xyzzy", ""]
)
def test_scores_are_those_of_bm25s(engine: Retriever, query: str) -> None:
    expected = own_scores(CORPUS, query)
    found = engine.by_content(engine.known(query), len(CORPUS))
    assert [number for number, _ in found] == [
        number for number in np.argsort(-expected, kind="stable") if expected[number] > 0
    ]
    for number, score in found:
        assert score == pytest.approx(expected[number], rel=1e-6)


SOME = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "the", "of")
WORDS = st.lists(st.sampled_from(SOME), max_size=6).map(" ".join)


@settings(max_examples=40)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12), WORDS, st.integers(1, 5))
@example([("", ""), ("", "ant")], "ant", 1)  # fewer words than paragraphs
def test_an_index_scored_piece_by_piece_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], query: str, k: int
) -> None:
    corpus = [Paragraph(*text) for text in texts]
    with pytest.MonkeyPatch.context() as changed:
        for name, few in (("AT_ONCE", 2), ("REMEMBERED", 2)):
            changed.setattr(index, name, few)
        engine = indexed_in(tmp_path_factory.mktemp("pieces"), corpus)
    expected = own_scores(corpus, query)
    found = engine.by_content(engine.known(query), k)
    assert [score for _, score in found] == pytest.approx(sorted(expected[expected > 0], reverse=True)[:k], rel=1e-5)
    some = engine._scores(engine.known(query), np.arange(len(corpus), dtype=np.int32))
    assert some.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.mark.parametrize(("query", "first"), [
    ("Who directed Parasite?", ["Parasite (1982 film)", "Parasite (film)", "Parasite"]),
    ("who directed parasite?", ["Parasite (1982 film)", "Parasite (film)", "Parasite"]),
    ("Was Beyonce born in New York City?", ["New York City", "Beyoncé"]),
    ("Where is The The from?", ["The The"]),
])  # fmt: skip
def test_titles_that_the_query_names_come_first(engine: Retriever, query: str, first: list[str]) -> None:
    found = engine.search(query, 8)
    assert [one.paragraph.title for one in found if one.titled] == first[: 8 // 2]
    assert [one.paragraph.title for one in found][: len(first)] == first


def test_a_longer_title_hides_those_within_it_and_a_common_word_is_no_title(engine: Retriever) -> None:
    named = [one.paragraph.title for one in engine.search("Which band is from New York City?", 8) if one.titled]
    assert named == ["New York City"]


def test_what_titles_leave_goes_to_bm25_and_nothing_comes_twice(engine: Retriever) -> None:
    found = engine.search("Who directed Parasite and is from Daegu?", 5)
    assert len({one.number for one in found}) == len(found) == 5
    assert [one.titled for one in found] == [True, True, False, False, False]
    assert [one.paragraph.title for one in found if one.titled] == ["Parasite (1982 film)", "Daegu"]  # each in its turn
    rest = [one.score for one in found if not one.titled]
    assert rest == sorted(rest, reverse=True)


def test_without_titles_it_is_bm25_alone(engine: Retriever) -> None:
    expected = own_scores(CORPUS, "Who directed Parasite?")
    assert [one.number for one in engine.search("Who directed Parasite?", 3, titles=False)] == np.argsort(
        -expected, kind="stable"
    )[:3].tolist()
    assert not any(one.titled for one in engine.search("Daegu", 3, titles=False))


def test_a_query_of_no_known_word_finds_nothing(engine: Retriever) -> None:
    assert engine.search("xyzzy plugh", 5) == [] == engine.search("?!", 5) == engine.search("", 5)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
@settings(max_examples=30)
def test_texts_come_back_as_they_went(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    paragraphs = [Paragraph(*text) for text in texts]
    assert list(write_texts(paragraphs, folder)) == paragraphs
    stored = Texts(folder)
    assert [stored[number] for number in range(len(stored))] == paragraphs


def test_brackets_behind_a_title_do_not_count_unless_they_are_all_of_it() -> None:
    assert title_words("Parasite (1982 film)") == ["parasite"]
    assert title_words("(What's the Story) Morning Glory?") == words("what's the story morning glory")
    assert title_words("(Disambiguation)") == ["disambiguation"]


def test_a_code_is_the_same_everywhere() -> None:
    assert code("parasite") == 11642566847767585528


def test_a_corpus_is_indexed_once_and_again_when_it_is_damaged() -> None:
    reads = []

    def corpus() -> list[Paragraph]:
        reads.append(1)
        return CORPUS

    first = indexed("a corpus", corpus).search("Daegu", 3)
    assert indexed("a corpus", corpus).search("Daegu", 3) == first
    assert len(reads) == 1
    file = next(cache_folder("multihop").glob("*/texts.bin"))
    file.write_bytes(file.read_bytes().replace(b"Daegu", b"Seoul"))
    assert indexed("a corpus", corpus).search("Daegu", 3) == first
    file.unlink()
    assert indexed("a corpus", corpus).search("Daegu", 3) == first
    assert len(reads) == 3
    assert len(list(cache_folder("multihop").iterdir())) == 1  # nothing half built is left


def test_a_corpus_without_paragraphs_is_refused() -> None:
    with pytest.raises(ValueError, match="without paragraphs"):
        indexed("nothing", list)
    assert list(cache_folder("multihop").iterdir()) == []
