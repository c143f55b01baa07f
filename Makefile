# Every target sets up .venv first, so that one command in a fresh clone is enough.
PYTHON ?= $(firstword $(shell command -v python3.11) $(shell command -v python3) python3.11)
JOBS ?= 2
DATA ?= auto
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.installed

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: reproduce test lint lab bench benchmark check-notebooks notebooks clean
.DEFAULT_GOAL := reproduce

# Execute every notebook offline into runs/notebooks/, and hold the numbers against notebooks/expected.yaml.
reproduce: $(READY)
	$(RUN) lab reproduce --jobs $(JOBS)

test: $(READY)
	$(RUN) pytest -q -n $(JOBS) -p no:benchmark

# Style, imports and types; settings are in pyproject.toml.
lint: $(READY)
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy

# Open JupyterLab on copies of the notebooks, in runs/copies/.
lab: $(READY)
	$(RUN) lab explore

bench: $(READY)
	$(RUN) pytest benchmarks -q --benchmark-only

# Build RewardPrediction's trajectories once and keep them: make benchmark DATA=official
benchmark: $(READY)
	$(RUN) statefactory.benchmark build --data $(DATA) --workers $(JOBS)

# Fail when a committed notebook is out of form or its outputs are not what a re-run gives.
check-notebooks: $(READY)
	$(RUN) lab check --jobs $(JOBS)

# Execute the committed notebooks in place.
notebooks: $(READY)
	$(RUN) lab run --in-place --jobs $(JOBS)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

$(READY): requirements.txt pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is not Python 3.11, which the pinned packages need. Install it, then: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@
