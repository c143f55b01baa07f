"""Imports of every worker. `lab.notebooks.execute` forks workers from a server that has made them once.

Alone, papermill takes a second of CPU to import.
"""

from lab.notebooks.documents import load

load()

import papermill  # noqa: E402, F401  # after nbformat, which `load` imports quickly
import papermill.engines  # noqa: E402, F401

import lab.notebooks.normalise  # noqa: E402, F401
