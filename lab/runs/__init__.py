"""Runs: the harness that plays experiments, their folders on disk, and functions that list, show and compare them.

    from lab.runs import compare, runs, show
    runs()                                # a table of the runs
    show("6e22f2")                        # the summary of a run; show("6e22f2", TASK) shows an episode step by step
    compare("6e22f2", "b4484f")           # the paired difference, its test, and the tasks that flipped

Name a run by its folder, or by any part of the folder's name that is unique, such as the hash at its end.
"""

from lab.lazy import front_door

PLACES = {
    "compare": "lab.runs.showing",
    "find": "lab.runs.catalogue",
    "runs": "lab.runs.catalogue",
    "show": "lab.runs.showing",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
