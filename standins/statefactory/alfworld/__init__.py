"""ALFWorld's language: the sentences of its text grammar and the words of its six kinds of tasks.

What is read of a thing: `location` ("on desk 1", "in fridge 1", "in hand at desk 1"), `temperature` ("hot", "cool"),
`cleanliness` ("clean"), `shape` ("sliced"), `power` ("on", "off"); of furniture: `location` and, where it opens,
`door` ("open", "closed"); of "agent": `location` and `holding`. A held thing is where the agent is, and under a lamp
that stands there (Shen et al. 2026, Table 17). What is out of sight stays as it was last seen.

Written on games outside the benchmark: the official training split, and synthetic scenes of seeds 7 to 9. Only the
wordings of goals were counted over all released games.
"""

from __future__ import annotations

from standins.statefactory.alfworld.goals import anchored, blueprint, is_goal, relevant
from standins.statefactory.alfworld.sentences import read

__all__ = ["anchored", "blueprint", "is_goal", "read", "relevant"]
