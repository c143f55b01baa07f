"""Text of a known width: lines keep to their room, lose nothing unsaid, and flags do not cover one another."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lab.results.text import LONGEST, drawable, fitted, flags, most_width, width, wrapped, wrapped_names
from odd_texts import ODD


@given(st.text(max_size=80), st.floats(0.3, 4), st.integers(1, 3))
def test_texts_keep_to_their_room(text: str, room: float, lines: int) -> None:
    assert width(fitted(text, room, 9), 9) <= room
    broken = wrapped(text, room, 9, lines)
    assert len(broken) <= lines and all(width(line, 9) <= room for line in broken)


def test_a_text_that_fits_is_kept_whole() -> None:
    assert fitted("soapbar 2", 2, 9) == "soapbar 2"
    assert wrapped("one two three four", 20, 9, 2) == ["one two three four"]
    halves = wrapped("one two three four", width("one two three", 9), 9, 2)
    assert " ".join(halves) == "one two three four" and len(halves) == 2


@given(st.lists(st.tuples(st.floats(0, 8), st.lists(st.text("ab ", min_size=1, max_size=40), min_size=1, max_size=3)),
                max_size=9))  # fmt: skip
def test_no_flag_covers_another_or_its_pole(drawn: list[tuple[float, list[str]]]) -> None:
    placed = flags(sorted(drawn, key=lambda flag: flag[0]), 8)
    for number, flag in enumerate(placed):
        right = flag.x + max(width(line, 8) for line in flag.lines)
        for other in placed[number + 1 :]:
            top = other.bottom + len(other.lines) * 8 * 1.2 / 72
            assert other.x > right or flag.bottom >= top


@given(st.text() | st.sampled_from(ODD), st.floats(0.3, 2), st.integers(1, 4))
@settings(max_examples=150)
@example("m-choose-departing-flight", 0.7, 3)
def test_wrapped_names_have_room_and_lose_nothing_but_what_an_ellipsis_says(text: str, room: float, most: int) -> None:
    lines = wrapped_names(text, room, 9, most)
    assert len(lines) <= most
    assert all(most_width(line, 9) <= room for line in lines)
    whole, shown = ("".join(part.split()) for part in (drawable(text), "".join(lines)))
    assert shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1]))


def test_a_name_is_cut_only_where_it_must() -> None:
    assert wrapped_names("m-choose-departing-flight", 1.15, 8, 3) == ("m-choose-", "departing-flight")
    assert wrapped_names("take notes", 1.75, 9, 4) == ("take notes",)
    assert wrapped_names("", 1, 9, 4) == ()
    assert wrapped_names("i" * (LONGEST + 1), 100, 9, 4)[-1].endswith("…")
