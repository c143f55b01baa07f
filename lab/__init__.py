"""The library under every experiment: models, runs, statistics, notebooks; it knows no world and no paper.

    lab.models      who answers prompts: endpoints, a local model, rules, recordings; the cache, and what answers took
    lab.runs        the harness of experiments; runs that resume, are found, shown and compared; clusters, recordings
    lab.results     statistics, results tables, plots
    lab.explore     controls and panels, to change things by hand
    lab.notebooks   the runner of notebooks, and the figures that they are expected to show
    lab.sandbox     programs that a model wrote
    lab.machine     paths, files, downloads, data sets, progress, the doctor

`dir(lab)` is what a user needs first. Heavy libraries load where they are used.
"""

from lab.lazy import front_door

PLACES = {
    "Condition": "lab.runs.study",
    "Experiment": "lab.runs.experiment",
    "Ledger": "lab.models.backbone",
    "Metric": "lab.runs.study",
    "Prompt": "lab.models.prompts",
    "Results": "lab.runs.experiment",
    "Study": "lab.runs.study",
    "collect": "lab.runs.collecting",
    "connect": "lab.models.connect",
    "rule": "lab.models.rules",
    "run_untrusted": "lab.sandbox",
}
# Lazily, so that `import lab` stays under half a second (tests/test_imports.py).
__getattr__, __dir__ = front_door(__name__, PLACES)
