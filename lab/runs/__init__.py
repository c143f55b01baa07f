"""Runs: the harness that plays them, their folders, and what finds, shows and compares those that are there.

    from lab.runs import compare, runs, show
    runs()                                # a table of the runs
    show("6e22f2")                        # one of them in words; show("6e22f2", TASK) is an episode, step by step
    compare("6e22f2", "b4484f")           # the paired difference, its test, and the tasks that flipped

A run is named by its folder, or by any part of its name that no other run has, such as the hash at its end.
"""

from lab.lazy import front_door

PLACES = {
    "compare": "lab.runs.showing",
    "find": "lab.runs.catalogue",
    "runs": "lab.runs.catalogue",
    "show": "lab.runs.showing",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
