"""A run against a server that misbehaves in every way ends with every episode, and with accounts that add up."""

from __future__ import annotations

import pytest

from faults import BAD_REPLIES, GOOD, NO_REPLIES, NOTE, Booked, Outcome, campaign, disagreements


@pytest.fixture(scope="module", params=[40, pytest.param(200, marks=pytest.mark.slow)])
def outcome(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Outcome:
    return campaign(tmp_path_factory.mktemp("faults"), request.param, seed=0, workers=8, patience=4)


def test_every_episode_ends_and_nothing_disagrees_with_the_servers_books(outcome: Outcome) -> None:
    assert {booked.kind for booked in outcome.books} == {*GOOD, *BAD_REPLIES, *NO_REPLIES}
    assert (outcome.stops, outcome.faults) == (0, [])
    played = len(outcome.results) + len(outcome.not_measured)
    assert 0 < sum(episode.failed for episode in outcome.results) < played / 2
    assert 0 < len(outcome.not_measured) < played / 4


def test_the_progress_line_names_each_reason(outcome: Outcome) -> None:
    reasons = {why.strip() for why in NOTE.findall(outcome.said)}
    assert reasons == {"429", "500", "time-out", "no connection", "broken body"}


def test_what_the_server_did_is_no_failure_of_the_agent_and_what_the_model_did_is_one(outcome: Outcome) -> None:
    faults = list(outcome.not_measured.values())
    assert any("gave no answer: 500" in fault for fault in faults)  # the hopeless task
    assert all("EndpointError" in fault for fault in faults)
    errors = [str(episode.error) for episode in outcome.results if episode.failed]
    assert all(any(kind in error for kind in ("Malformed", "Refused", "Truncated")) for error in errors)


def test_books_that_differ_are_found(outcome: Outcome) -> None:
    lost = Outcome(**vars(outcome) | {"books": [*outcome.books, Booked("none", "500", None, (0, 0))]})
    alien = Outcome(**vars(outcome) | {"cached": [*outcome.cached[1:], {"text": "{}"}]})
    short = Outcome(**vars(outcome) | {"results": outcome.results[1:]})
    assert [len(disagreements(case, len(outcome.usage))) for case in (lost, alien, short)] == [1, 1, 1]
