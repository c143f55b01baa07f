"""The library that all experiments share: models, runs, statistics, notebooks. It knows no world and no paper.

    lab.models      who answers prompts: endpoints, a local model, rules, recordings; the answer cache, tokens and costs
    lab.runs        the experiment harness: resumable runs, finding, displaying and comparing them; clusters, recordings
    lab.results     statistics, results tables, plots
    lab.explore     interactive controls and panels
    lab.notebooks   the notebook runner, and the numbers that notebooks are expected to report
    lab.sandbox     isolation of programs that a model wrote
    lab.machine     paths, files, downloads, data sets, progress, the doctor

`dir(lab)` lists the names that a user needs first. Heavy libraries are imported where they are used.
"""

from lab.lazy import front_door

PLACES = {
    "Choice": "lab.models.answers",
    "Condition": "lab.runs.study",
    "Experiment": "lab.runs.experiment",
    "Ledger": "lab.models.backbone",
    "Metric": "lab.runs.study",
    "Prompt": "lab.models.prompts",
    "Results": "lab.runs.experiment",
    "Study": "lab.runs.study",
    "choice": "lab.models.prompts",
    "collect": "lab.runs.collecting",
    "connect": "lab.models.connect",
    "rule": "lab.models.rules",
    "run_untrusted": "lab.sandbox",
}
# Lazy, so that `import lab` stays under half a second (tests/test_imports.py).
__getattr__, __dir__ = front_door(__name__, PLACES)
