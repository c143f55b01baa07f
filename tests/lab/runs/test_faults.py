"""A run against a server that misbehaves in every way ends with every episode, and with accounts that add up."""

from __future__ import annotations

import pytest

from faults import BAD_REPLIES, GOOD, NO_REPLIES, NOTE, Booked, Outcome, campaign, disagreements, path_of


@pytest.fixture(scope="module", params=[40, pytest.param(200, marks=pytest.mark.campaign)])
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return campaign(tmp_path_factory.mktemp("faults"), request.param, seed=0, workers=8, patience=4)


@pytest.mark.slow
def test_every_episode_ends_and_nothing_disagrees_with_the_servers_books(outcome: Outcome) -> None:
    assert {booked.kind for booked in outcome.books} == {*GOOD, *BAD_REPLIES, *NO_REPLIES}
    assert (outcome.stops, outcome.faults) == (0, [])
    assert 0 < sum(episode.failed for episode in outcome.results) < outcome.episodes / 2
    assert 0 < len(outcome.not_measured) < outcome.episodes / 4


def test_the_progress_line_names_each_reason(outcome: Outcome) -> None:
    reasons = {why.strip() for why in NOTE.findall(outcome.said)}
    assert reasons == {"429", "500", "time-out", "no connection", "broken body"}


def test_what_the_server_did_is_no_failure_of_the_agent_and_is_named(outcome: Outcome) -> None:
    faults = list(outcome.not_measured.values())
    assert any("gave no answer: 500" in fault for fault in faults)  # the hopeless task
    assert all("EndpointError" in fault for fault in faults)


def test_an_episode_that_failed_names_what_the_model_did(outcome: Outcome) -> None:
    errors = [str(episode.error) for episode in outcome.results if episode.failed]
    assert all(any(kind in error for kind in ("Malformed", "Refused", "Truncated")) for error in errors)


def test_books_that_differ_are_found(outcome: Outcome) -> None:
    lost = Outcome(**vars(outcome) | {"books": [*outcome.books, Booked("none", "500", None, (0, 0))]})
    alien = Outcome(**vars(outcome) | {"cached": [*outcome.cached[1:], {"text": "{}"}]})
    short = Outcome(**vars(outcome) | {"results": outcome.results[1:]})
    assert [len(disagreements(case)) for case in (lost, alien, short)] == [1, 1, 1]


def test_the_path_of_an_answer_follows_from_the_replies() -> None:
    assert path_of(["refusal"]) == path_of(["empty", "no JSON"]) == path_of(["no JSON", "refusal"]) == "malformed"
    assert path_of(["empty", "in prose"]) == "reasked" and path_of([]) == path_of(["empty"]) == "failed"
