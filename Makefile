# Everything a fresh machine needs is Python >= 3.11, make and PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
USER_STAMP := $(VENV)/.installed
STAMP := $(VENV)/.installed-dev
GUIDES := .venv-guides
GUIDES_STAMP := $(GUIDES)/.installed
LOWEST := .venv-lowest
LOWEST_STAMP := $(LOWEST)/.installed
CASES_DATA := .cases-data
DIST := .venv-dist
WHEEL := .venv-wheel
# Numba compiles a kernel again when its own file changes, not when one that it calls does: a folder for each state.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.kernels/$(shell cat src/epluribus/_kernels/*.py | cksum | cut -d' ' -f1)
# Of `make fuzz`: how many cases, and where they begin.
CASES ?= 50000
SEED ?= 0

.PHONY: setup demo cases docs pages test test-guides test-lowest test-slow fuzz kernels lint mutants bench calibrate dist clean

setup: $(STAMP)

# What a user has. Installed again whenever pyproject.toml changes. Bytecode is made of what is imported, when it is:
# for all files it would take as long as all else here.
$(USER_STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "epluribus needs Python >= 3.11; got $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(RUN) -m pip install --quiet --no-compile --editable ".[all]"
	@touch $(USER_STAMP)

# And what tests, docs and linters need.
$(STAMP): $(USER_STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --group dev
	@touch $(STAMP)

demo: $(USER_STAMP)
	$(RUN) -m epluribus demo

# The examples that are made by scripts, or one of them: make cases NAME=records. The data ship with packages of which
# nothing else is needed.
$(CASES_DATA)/.installed: $(STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --target $(CASES_DATA) \
	  --upgrade scanpy==1.11.5 mismo==0.4.1
	@touch $@

cases: $(STAMP) $(CASES_DATA)/.installed
	PYTHONPATH=$(CASES_DATA) $(RUN) -m cases $(NAME)

# The documentation, in site/; it opens from disk.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The documentation is in site/index.html"

# Runs the code of the documentation, or of one page (make pages NAME=plots), and writes its output into the pages.
pages: $(STAMP)
	$(RUN) docs/pages.py $(NAME)

# Bytecode is kept even where the environment says otherwise: the tests start many processes. The usual kernels are
# compiled once, beside the linters; each process that runs tests begins with a copy.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP)
	$(MAKE) --no-print-directory --jobs=2 lint kernels
	$(RUN) -m pytest -m "not slow" --numprocesses auto --dist worksteal

# The examples for PyMC and NumPyro. PyMC holds numba back, so they have their own environment.
$(GUIDES_STAMP): pyproject.toml
	$(PYTHON) -m venv $(GUIDES)
	$(GUIDES)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(GUIDES)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group guides
	@touch $(GUIDES_STAMP)

test-guides: $(GUIDES_STAMP)
	$(GUIDES)/bin/python -m pytest tests/test_docs.py -k draws

# The tests with the oldest packages that pyproject.toml allows. Newer neighbors of old packages may warn of
# what will change one day. The kernels are compiled for another Numba, and kept apart.
$(LOWEST_STAMP): pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable ".[all]" --group test
	@touch $(LOWEST_STAMP)

test-lowest: $(LOWEST_STAMP)
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/kernels $(LOWEST)/bin/python -m pytest -m "not slow" \
	  -W ignore::DeprecationWarning --ignore tests/test_site.py --numprocesses auto --dist worksteal

# Damaged files and odd arguments: only a right answer or a clear error may come out. Minutes.
fuzz: $(STAMP)
	$(RUN) tests/fuzz/run_fuzz.py --cases $(CASES) --seed $(SEED)

test-slow: $(STAMP) test-guides
	$(RUN) -m pytest -m "slow" --numprocesses auto --dist worksteal

kernels: $(STAMP)
	@NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)/main $(RUN) -m epluribus warmup > $(VENV)/warmup.txt

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

# Changes the code at random and counts how often the tests notice: half an hour.
mutants: $(STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --group mutants
	$(RUN) tests/mutants.py

bench: $(STAMP)
	$(RUN) benchmarks/run.py
	$(RUN) benchmarks/samplers.py

# Coverage of standard errors and balls, false alarms on chains and modes, in benchmarks/CALIBRATION.md: minutes.
calibrate: $(STAMP)
	$(RUN) benchmarks/calibrate.py

# What goes to PyPI, in dist/: checked, then the wheel is installed where nothing else is, and does a small job outside
# the checkout. The wheel is built from the sdist, so that one is whole, too.
dist:
	rm -rf dist $(DIST) $(WHEEL)
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "twine>=6"
	$(DIST)/bin/python -m build --outdir dist .
	$(DIST)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd "$$(mktemp -d)" && "$(CURDIR)/$(WHEEL)/bin/python" -I "$(CURDIR)/tests/installed.py"

clean:
	rm -rf $(VENV) $(GUIDES) $(LOWEST) $(DIST) $(WHEEL) $(CASES_DATA) build dist site
	rm -rf .kernels .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
