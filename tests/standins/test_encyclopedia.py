"""The reader of the encyclopedia: it reads what a question means in other words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import LINKS, SIZE, kind_of
from scripts.encyclopedia.questions import questions, templates
from standins.encyclopedia.hops import asked, concluded, decomposed
from standins.encyclopedia.questions import names_in, read, relations
from worlds.encyclopedia import PEOPLE

WRITTEN = {one.name: one for one in templates("writing")}
# Invented for this test, by general knowledge of English: question, relations, comparison.
IN_OTHER_WORDS = (
    ("In what town did the film-maker behind Velmara first see the light of day?", "director birth_town", None),
    ("Of which town is the woman who directed the movie Velmara a native?", "director birth_town", None),
    ("Velmara's director was born in which year?", "director birth", None),
    ("Velmara was directed by a person who came into the world in which town?", "director birth_town", None),
    ("Who penned the novel that was adapted into Velmara?", "basis author", None),
    ("Whose pupil was the composer of the film Velmara?", "composer teacher", None),
    ("Who was the wife of the man who wrote the score of Velmara?", "composer spouse", None),
    ("Name the birthplace of the actor who plays the lead in The Road to Velmara.", "star birth_town", None),
    ("Who set up the firm that released the album Velmara?", "label founder", None),
    ("How many inhabitants has the town that hosts Velmara Festival?", "town population", None),
    ("Which festival does the home town of Arina Sela Boro host?", "birth_town festival<town", None),
    ("In which country was the director of the film Velmara born?", "director birth_town region country", None),
    ("Where does the company that owns Velmara Books have its head office?", "owner seat", None),
    ("Where did the person whom the Velmara Medal commemorates study?", "honours university", None),
    ("Which firm did the parent of Kalan Boro start?", "parent company<founder", None),
    ("Where did the woman whose novel was turned into the film Velmara reside?", "basis author home", None),
    ("Who directed the film that was based on the novel Velmara?", "film<basis director", None),
    ("Who awards the prize that the teacher of Have Gidar won?", "teacher award awarded_by", None),
    ("Was Kalan Boro older than Arina Sela?", "birth", "less"),
    ("Is Kalan Boro younger than Arina Sela?", "birth", "more"),
    ("Between Kalan Boro and Arina Sela, who passed away first?", "death", "least"),
    ("Of the albums Velmara and Boro, which was released later?", "year", "most"),
    ("Which is cheaper, Velmara Hotel or Boro Gym?", "price", "least"),
    ("Did the same person direct Velmara and The Road to Boro?", "director", "same"),
    ("Are Velmara Festival and Boro Days held in different months?", "month", "differ"),
)


@pytest.mark.parametrize(("question", "steps", "compare"), IN_OTHER_WORDS)
def test_a_question_in_other_words_has_the_same_chain(question: str, steps: str, compare: str | None) -> None:
    known = read(question)
    assert known is not None
    assert (" ".join(known.steps), known.compare) == (steps, compare)


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), style=st.sampled_from(("hotpotqa", "musique")), told=st.booleans())
def test_made_questions_are_broken_into_the_hops_that_they_are_made_of(seed: int, style: str, told: bool) -> None:
    for one in questions(seed, 12, "writing", style, 2_000):  # type: ignore[arg-type]
        template = WRITTEN[one.template]
        known = read(one.question, len(one.decomposition) if told else 0)
        assert known is not None, one.question
        assert (known.steps, known.compare) == (template.steps, template.compare), one.question


@pytest.mark.parametrize("named", [name for name, one in WRITTEN.items() if not one.compare])
def test_every_chain_is_one_that_the_kinds_of_things_allow(named: str) -> None:
    known = read(WRITTEN[named].question.format(x="Velmara"))
    if known is None:  # a person has more than one name
        known = read(WRITTEN[named].question.format(x="Kalan Boro"))
    assert known is not None
    kinds = set(known.kinds)
    for step in known.steps:
        assert kinds & set(relations()[step].starts)
        kinds = {relations()[step].end}


def test_relations_lead_where_they_lead_in_the_encyclopedia() -> None:
    for number in range(40 * SIZE):
        kind = "person" if kind_of(number) in PEOPLE else kind_of(number)
        for name, value in facts(0, number).items():
            if name == "priced":
                continue  # what a price is for
            assert kind in relations()[name].starts
            if name in LINKS:
                assert relations()[name].end == ("person" if kind_of(value) in PEOPLE else kind_of(value))


def test_each_sub_question_is_read_back_as_its_own_relation() -> None:
    for step, relation in relations().items():
        found = asked(relation.asked.format(x="the film Velmara"))
        assert found == (step, "Velmara", "film")


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote it?",
        "What colour was the hair of Kalan Boro?",
        "Colourless green ideas sleep furiously.",
        "Which of Velmara, Boro and Kalan is oldest?",
        "Was Kalan Boro kinder than Arina Sela or Tivan Boro?",
    ],
)
def test_what_cannot_be_read_is_not_broken_up(question: str) -> None:
    assert decomposed(question, 2) == []


def test_the_direction_of_a_comparison_decides_its_answer() -> None:
    told = ["3 May 1901", "2 June 1899"]
    assert concluded("Was Kalan Boro older than Arina Sela?", told) == "no"
    assert concluded("Was Kalan Boro younger than Arina Sela?", told) == "yes"
    assert concluded("Who is older, Kalan Boro or Arina Sela?", told) == "Arina Sela"
    assert concluded("Who is younger, Kalan Boro or Arina Sela?", told) == "Kalan Boro"
    assert concluded("Were Kalan Boro and Arina Sela born in different towns?", told) == "yes"


def test_names_are_found_with_their_small_words() -> None:
    question = "Did The Last Velmara come out before Farewell, Boro or the Kingdom of Kalan in Winter (1951 film)?"
    assert list(names_in(question)) == [
        "The Last Velmara",
        "Farewell, Boro",
        "the Kingdom of Kalan in Winter (1951 film)",
    ]
