# Every target sets up its environment first, so that one command in a fresh clone is enough: .venv, or the conda
# environment that is active (its base excepted).
#   PYTHON=…     the interpreter to make .venv with, 3.11.2 to 3.13
#   TORCH=cpu    another build of PyTorch than the registry's: cpu, auto, cu130, … (uv's --torch-backend)
#   HASHES=1     check each package against requirements-hashes.txt, PyTorch excepted, whose builds differ
#   INSTALL=pip  without uv
CONDA := $(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX))
VENV := $(or $(CONDA),.venv)
SUPPORTED := import ensurepip, sys; sys.exit(not (3, 11, 2) <= sys.version_info < (3, 14))
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,\
  $(if $(shell $(name) -c "$(SUPPORTED)" 2>/dev/null && echo yes),$(name))) python3)
JOBS ?= 2
DATA ?= auto
RUN := $(VENV)/bin/python -m
INSTALL ?= uv
WITH := $(RUN) $(if $(filter uv,$(INSTALL)),lab.machine.install,pip install --quiet)
READY := $(VENV)/.explicit-state
# With the extra dev, which the tests, the linters and the timings need, and with the extra book.
DEV := $(VENV)/.explicit-state-dev
BOOK := $(VENV)/.explicit-state-book

# Container images forbid Python to keep byte code. Then every kernel and every test process compiles its imports anew,
# which doubles the time of a short notebook.
unexport PYTHONDONTWRITEBYTECODE

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: reproduce test test-slow test-browser mutants lint lab bench benchmark check-notebooks notebooks vectors readme book pins clean
.DEFAULT_GOAL := reproduce

# Execute every notebook offline into runs/notebooks/, and hold the numbers against notebooks/expected.yaml.
reproduce: $(READY)
	$(RUN) lab run --jobs $(JOBS)

# The quick tests, at most four minutes of one core. SLOW=1: all tests, with those that play whole official splits, send
# every kind of junk or kill a run two hundred times.
test: $(DEV)
	$(RUN) pytest -q -n $(JOBS) -p no:benchmark -m "not browser$(if $(SLOW),, and not slow and not campaign)"

# The tests that take long: real models and kernels, killed processes, hostile programs, official data.
test-slow: $(DEV)
	$(RUN) pytest -q -n $(JOBS) -p no:benchmark -m "slow and not browser and not campaign"

# Open pages in a headless Chromium and look at them; pictures land in build/browser/. Skipped where there is none.
test-browser: $(DEV)
	$(RUN) pytest -q -n 0 -p no:benchmark -m browser tests/browser

# Change the functions that carry numbers, one thing at a time, and list the changes that no test notices.
#   MODULE=lab/results/verdicts.py  one module      COUNT=50  mutants of a module, 0 for all      MATRIX=1  who kills what
mutants: $(DEV)
	$(VENV)/bin/python benchmarks/mutants.py $(MODULE) --count $(or $(COUNT),20) $(if $(MATRIX),--matrix)

# Style, imports and types; settings are in pyproject.toml.
lint: $(DEV)
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy

# Open the tour in JupyterLab, on copies of the notebooks in runs/copies/.
lab: $(READY)
	$(RUN) lab explore

bench: $(DEV)
	$(RUN) pytest benchmarks -q --benchmark-only

# Build RewardPrediction's trajectories once and keep them: make benchmark DATA=official
benchmark: $(READY)
	$(RUN) statefactory.benchmark build --data $(DATA) --workers $(JOBS)

# Embed the texts that notebooks embed with their defaults, and store the vectors in data/vectors.npz.
vectors: $(READY)
	rm -rf build/vectors data/vectors.npz
	LAB_CACHE=build/vectors/answers.sqlite LAB_RUNS=build/vectors/runs $(RUN) lab run --jobs $(JOBS) --out build/vectors \
	  0_tour 4_explore/your_own $(patsubst notebooks/%.ipynb,%,$(wildcard notebooks/2_statefactory/*.ipynb))
	$(RUN) statefactory.embeddings build/vectors/embeddings.sqlite

# Fail when a committed notebook is out of form or its outputs are not what a re-run gives.
check-notebooks: $(READY)
	$(RUN) lab check --jobs $(JOBS)

# Execute the committed notebooks in place.
notebooks: $(READY)
	$(RUN) lab run --in-place --jobs $(JOBS)

# Write the computed parts of the README and of docs/ anew.
readme: $(READY)
	$(RUN) lab.notebooks.front_page

# A web site of the pages and of the notebooks as they are committed, in build/book/; executes nothing.
book: $(BOOK)
	$(RUN) sphinx -q -W --keep-going -c docs -d build/book-cache . build/book
	@echo "build/book/index.html"

# Resolve pyproject.toml into requirements*.txt, for all its Pythons and systems in one list. A version stays as it is
# where pyproject.toml allows it; UPGRADE=1 takes the newest of all.
EXTRAS := dev cluster local book
# They come with PyTorch's build for CUDA; without them the pins hold for every build.
CUDA := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton
PIN := $(RUN) uv pip compile pyproject.toml --universal --excludes build/cuda.txt --no-annotate --quiet \
  --custom-compile-command "make pins" $(if $(UPGRADE),--upgrade)
pins: $(READY)
	mkdir -p build
	printf '%s\n' $(CUDA) >build/cuda.txt
	$(PIN) -o requirements.txt
	cp requirements.txt build/pins.txt
	for extra in $(EXTRAS); do \
	  $(PIN) --extra $$extra -c build/pins.txt -o requirements-$$extra.txt; \
	  added=$$(grep -vxFf requirements.txt requirements-$$extra.txt); \
	  echo "$$added" >>build/pins.txt; \
	  printf '# What the extra %s adds to requirements.txt: make pins\n%s\n' $$extra "$$added" >requirements-$$extra.txt; \
	done
	$(PIN) --generate-hashes --no-emit-package torch -c requirements.txt -o requirements-hashes.txt

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

# Besides the pins comes only what PyTorch's build needs (on Linux, CUDA). Two packages are compiled here, minutes of work
# whose result pip keeps for the next environment, and uv only where the index lets it.
$(READY): requirements.txt requirements-hashes.txt pyproject.toml
ifeq ($(CONDA),)
	@"$(PYTHON)" -c "$(SUPPORTED)" 2>/dev/null && command -v cc >/dev/null && command -v c++ >/dev/null || { \
	  echo "This needs Python 3.11.2 to 3.13 with its venv module, and a C and C++ compiler. Debian and Ubuntu have them by:" \
	    "apt install python3-venv build-essential. Another Python is named by: make PYTHON=/path/to/python3" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
endif
	$(if $(HASHES),$(WITH) --no-deps --require-hashes -r requirements-hashes.txt)
	@# Its build calls `python`, which Debian and Ubuntu have not: the environment's own comes first.
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) pip install --quiet --no-deps -c requirements.txt jericho \
	  fast-downward-textworld
	$(WITH) $(if $(TORCH),--torch-backend $(TORCH)) -c requirements.txt torch
	$(WITH) --no-deps -r requirements.txt -e .
	touch $@

$(DEV): requirements-dev.txt $(READY)
	$(WITH) --no-deps -r requirements-dev.txt
	touch $@

$(BOOK): requirements-book.txt $(READY)
	$(WITH) --no-deps -r requirements-book.txt
	touch $@
