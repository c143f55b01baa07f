"""ReAct (Yao et al. 2022): a thought, an action, an observation, and again, until the agent finishes or a cap is met.

Without examples: chat models need none to keep the form, and what they then get wrong is what is counted.
"""

from __future__ import annotations

from agents.environment import Environment
from agents.history import History
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.models.backbone import Backbone


def react(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """Play one task; see `agents.play.Play` for what is told, counted and raised."""
    play = Play(environment, backbone, settings, watch)
    while not play.over:
        play.act()
    return play.history
