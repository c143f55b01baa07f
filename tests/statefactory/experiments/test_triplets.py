"""Triplets: facts of an episode, said in other words by a model, and set against another fact of the same episode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chat_server as chat
from chat_server import ChatServer, Request, Response
from lab.models.connect import connected
from lab.runs import collecting
from lab.runs.study_results import Results
from plain_routing import HashedEmbedder
from statefactory.experiments import triplets
from statefactory.experiments.triplets import (
    CONTRADICTION,
    OTHER_OBJECT,
    ParaphraseResults,
    Probe,
    Triplet,
    hits,
    paraphrased,
    probes,
    similarities,
)
from statefactory.extraction import Trace
from statefactory.state import entity
from statefactory.studies.table1 import STATEFACTORY, STUDY

HASHED = HashedEmbedder()


def trace(*states: Sequence[object]) -> Trace:
    return Trace("object_attribute", tuple(map(tuple, states)), ((),) * len(states))


TABLE = entity("cup", {"place": "on the table"})
SINK = entity("cup", {"place": "in the sink"})
DOOR = entity("door", {"status": "shut"})


# --- probes -------------------------------------------------------------------------------------------------------


def drawn(of: Trace, seeds: int = 40) -> set[Probe]:
    return {probe for seed in range(seeds) for probe in probes(of, Random(seed), values="fragments")}


def test_a_distractor_says_something_else_of_the_same_object_or_speaks_of_another() -> None:
    cup = {"The place of cup is on the table.", "The place of cup is in the sink."}
    door = "The status of door is shut."
    found = drawn(trace([TABLE, DOOR], [SINK, DOOR]))
    for anchor, negative, kind in found:
        assert {anchor, negative} == cup if kind == CONTRADICTION else door in (anchor, negative) and anchor != negative
    assert {kind for _, _, kind in found} == {CONTRADICTION, OTHER_OBJECT}
    assert {anchor for anchor, _, _ in found} == {*cup, door}


def test_a_fact_of_any_step_of_the_episode_is_a_distractor() -> None:
    (found,) = {(probe.anchor, probe.negative) for probe in drawn(trace([TABLE], [], [DOOR])) if "cup" in probe.anchor}
    assert found == ("The place of cup is on the table.", "The status of door is shut.")


def test_an_object_that_never_changes_has_no_contradiction() -> None:
    assert {probe.kind for probe in drawn(trace([TABLE, DOOR], [TABLE, DOOR]))} == {OTHER_OBJECT}


@pytest.mark.parametrize("states", [[], [[]], [[TABLE]], [[entity("cup", {})]]])
def test_an_episode_without_two_facts_to_tell_apart_has_no_probe(states: list) -> None:
    assert probes(trace(*states), Random(0)) == []


def test_a_value_that_is_a_sentence_is_said_as_it_is_and_never_against_itself() -> None:
    both = {"state": "The cup and the lid are wet."}
    of = trace([entity("cup", both), entity("lid", both), entity("door", {"status": "The door is shut."})])
    found = {(probe.anchor, probe.negative) for seed in range(20) for probe in probes(of, Random(seed))}
    cup, door = "The cup and the lid are wet.", "The door is shut."
    assert found == {(cup, door), (door, cup)}


NAMES = st.sampled_from(["cup", "door", "lamp"])
ENTITIES = st.builds(entity, NAMES, st.dictionaries(NAMES, NAMES, max_size=2))


@given(states=st.lists(st.lists(ENTITIES, max_size=3), max_size=4), seed=st.integers(0, 99), most=st.integers(0, 4))
def test_probes_are_facts_of_the_episode_and_the_same_for_a_seed(states: list, seed: int, most: int) -> None:
    of = trace(*states)
    found = probes(of, Random(seed), most, "fragments")
    assert found == probes(of, Random(seed), most, "fragments")
    assert len(found) <= most and len({probe.anchor for probe in found}) == len(found)
    facts = {f"The {a.name} of {e.identity} is {a.value}." for state in states for e in state for a in e.attributes}
    for anchor, negative, _ in found:
        assert {anchor, negative} <= facts and anchor != negative


# --- paraphrases --------------------------------------------------------------------------------------------------


def sentence_of(request: Request) -> str:
    return request.body["messages"][1]["content"].partition("Sentence: ")[2]


def in_other_words(request: Request) -> Response:
    return chat.answer({"paraphrase": f"It is so: {sentence_of(request)}"})


def repeats(request: Request) -> Response:
    return chat.answer({"paraphrase": sentence_of(request).upper().replace(".", " !")})


PROBE = Probe("The place of cup is on the table.", "The status of door is shut.", OTHER_OBJECT)


def test_a_paraphrase_is_the_models(server: ChatServer) -> None:
    server.behave(in_other_words)
    triplet = paraphrased(connected("para-a"), PROBE)
    assert triplet == Triplet(PROBE.anchor, f"It is so: {PROBE.anchor}", PROBE.negative)
    assert PROBE.negative not in server.requests[0].text


@pytest.mark.parametrize("said", ["the place of CUP is on the table", "", " . "])
def test_a_sentence_that_is_only_repeated_is_asked_for_again(server: ChatServer, said: str) -> None:
    server.script(chat.answer({"paraphrase": said}), chat.answer({"paraphrase": "A cup stands there."}))
    assert paraphrased(connected(f"para-b{len(said)}"), PROBE).positive == "A cup stands there."
    assert "use other words" in server.requests[1].text


# --- accuracy -----------------------------------------------------------------------------------------------------


class Corners:
    """Texts as directions in the plane, by the angle in degrees that they name."""

    name = "corners"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        angles = np.deg2rad([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_a_triplet_is_right_where_the_paraphrase_is_nearer_and_wrong_at_a_tie() -> None:
    found = [Triplet("0", "10", "90"), Triplet("0", "90", "10"), Triplet("0", "40", "40"), Triplet("0", "-20", "30")]
    assert hits(found, Corners()).tolist() == [True, False, False, True]
    assert similarities(found, Corners())[0].tolist() == pytest.approx([np.cos(np.pi / 18), 0.0])


# --- a run --------------------------------------------------------------------------------------------------------


@pytest.fixture
def extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    for module in ("triplets", "scoring"):
        monkeypatch.setattr(f"statefactory.experiments.{module}.embedder_of", lambda name: HASHED)
    chosen = {"benchmarks": ("webshop", "blocksworld"), "conditions": (STATEFACTORY.name,)}
    setup = STUDY.trial(data="synthetic", limit=3, **chosen)
    return collecting.collect(setup, workers=1, run=str(tmp_path / "extracted"), show_progress=False)


def collect(extracted: Results, engine: str, each: int = 3, seed: int = 0, name: str = "triplets") -> ParaphraseResults:
    folder = str(extracted.folder.parent / name)
    return triplets.collect(extracted, engine, each, seed, workers=1, run=folder)


def test_each_domain_has_probes_of_positives_and_negatives_in_turn(extracted: Results) -> None:
    found = triplets.probes_of(extracted, 3, 0)
    kinds = [name.rpartition("/")[0].split("_")[-1].isdigit() for name in found if name.startswith("blocksworld/")]
    assert kinds == [False, True, False], "negatives end in their number"
    assert {name.split("/")[0] for name in found} == {"blocksworld", "webshop"}
    assert triplets.probes_of(extracted, 3, 0) == found
    assert triplets.probes_of(extracted, 3, 1) != found


def test_a_model_says_each_probe_in_other_words_once(extracted: Results, server: ChatServer) -> None:
    server.behave(in_other_words)
    made = collect(extracted, "para-d")
    asked = server.count
    wanted = triplets.probes_of(extracted, 3, 0)
    found = {triplet for of in made.triplets.values() for triplet in of}
    assert found == {Triplet(p.anchor, f"It is so: {p.anchor}", p.negative) for p in wanted.values()}
    assert (made.backbone, made.outcomes().failed, list(made.triplets)) == ("para-d", 0, ["webshop", "blocksworld"])
    assert collect(extracted, "para-d").triplets == made.triplets
    assert server.count == asked > 0


def test_the_accuracy_is_the_share_of_right_triplets_with_its_interval(extracted: Results, server: ChatServer) -> None:
    server.behave(in_other_words)
    made = collect(extracted, "para-e")
    (row,) = triplets.accuracy_rows(made, "hashed")
    every = [triplet for of in made.triplets.values() for triplet in of]
    assert (row["n"], row["value"]) == (len(every), hits(every, HASHED).mean())
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert (row["metric"], row["evidence"]) == (triplets.ACCURACY, "measured")
    assert row["source"] == "paraphrases by para-e"
    table = triplets.accuracy_by_domain(made, ["hashed"])
    assert table["triplets"].tolist() == [len(of) for of in made.triplets.values()]
    assert (table["hashed"] * table["triplets"]).sum() == pytest.approx(row["value"] * row["n"])
    assert triplets.sample(made, "hashed", most=1)["right"].tolist() == [
        bool(hits(of[:1], HASHED)[0]) for of in made.triplets.values()
    ]


def test_probes_that_are_only_repeated_are_left_out_and_counted(extracted: Results, server: ChatServer) -> None:
    server.behave(repeats)
    made = collect(extracted, "para-g", name="nothing")
    assert made.triplets == {} and made.outcomes().failed > 0
    assert triplets.accuracy_rows(made, "hashed") == []
    assert triplets.accuracy_by_domain(made, ["hashed"]).empty and triplets.sample(made, "hashed").empty
    server.behave(lambda request: repeats(request) if "block" in sentence_of(request) else in_other_words(request))
    made = collect(extracted, "para-f")
    assert list(made.triplets) == ["webshop"]
    assert made.outcomes().failed == 3
    assert triplets.accuracy_rows(made, "hashed")[0]["n"] == len(made.triplets["webshop"])


@pytest.mark.parametrize("engine", ["rules", "rules@0.7"])
def test_templates_are_no_paraphrases(extracted: Results, engine: str) -> None:
    with pytest.raises(ValueError, match="want a model's paraphrases; give engine=local"):
        collect(extracted, engine)


# --- the printed cases --------------------------------------------------------------------------------------------


def test_the_printed_cases_are_shown_as_they_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triplets, "embedder_of", lambda name: HASHED)
    table = triplets.printed_cases(["all-MiniLM-L6-v2", "another"])
    assert list(table.columns) == [
        "case", "embedding", "to positive", "to negative", "passes here", "passes in the paper", "evidence",
    ]  # fmt: skip
    assert table["case"].tolist() == [case for case in triplets.PRINTED for _ in range(2)]
    for line, triplet in zip(table.itertuples(), [t for t in triplets.PRINTED.values() for _ in range(2)], strict=True):
        near, far = (float(HASHED.vector(triplet.anchor) @ HASHED.vector(text)) for text in triplet[1:])
        assert (line[3], line[4]) == pytest.approx((near, far), abs=1e-6)
        assert line[5] == (near > far)
    assert table["passes in the paper"].tolist() == [True, None, True, None]


@pytest.mark.campaign
def test_minilm_fails_the_second_case_as_it_is_printed() -> None:
    table = triplets.printed_cases(["all-MiniLM-L6-v2"])
    assert table["passes here"].tolist() == [True, False]
    assert table["passes in the paper"].tolist() == [True, True]
