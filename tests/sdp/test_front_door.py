"""`import sdp`, `import lab` and `import agents` show what a user needs."""

from __future__ import annotations

import pytest

import agents
import lab
import sdp


@pytest.mark.parametrize("package", [agents, lab, sdp], ids=["agents", "lab", "sdp"])
def test_each_name_of_the_front_door_resolves(package: object) -> None:
    assert dir(package) and all(getattr(package, name) is not None for name in dir(package))


def test_a_name_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(
        AttributeError, match=r"'sdp' has no attribute 'Agent'; it has ABLATIONS, Adapter, .*run_episode"
    ):
        _ = sdp.Agent
