# Everything a fresh machine needs is Python >= 3.11, make and PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
USER_STAMP := $(VENV)/.installed
STAMP := $(VENV)/.installed-dev
GUIDES := .venv-guides
GUIDES_STAMP := $(GUIDES)/.installed
CASES := .cases-data

.PHONY: setup demo studies cases docs test test-guides test-slow lint mutants bench calibrate clean

setup: $(STAMP)

# What a user has. Installed again whenever pyproject.toml changes.
$(USER_STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "epluribus needs Python >= 3.11; got $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(RUN) -m pip install --quiet --editable ".[all]"
	@touch $(USER_STAMP)

# And what tests, docs and linters need.
$(STAMP): $(USER_STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --group dev
	@touch $(STAMP)

demo: $(USER_STAMP)
	$(RUN) -m epluribus demo

# The pages of docs/studies: minutes. Set EPLURIBUS_DATA to a folder with the blogs if offline.
studies: $(STAMP)
	for study in galaxies congress blogs; do \
	  $(RUN) -m epluribus reproduce $$study --out epluribus-$$study \
	  && cp epluribus-$$study/summary.md docs/studies/$$study.md \
	  && cp epluribus-$$study/*.png docs/studies/ || exit 1; \
	done

# The pages of docs/cases, or one of them: make cases NAME=galaxies. The data ship with packages of which nothing
# else is needed.
$(CASES)/.installed: $(STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --target $(CASES) \
	  --upgrade scanpy==1.11.5 graspologic==3.4.4 mismo==0.4.1
	@touch $@

cases: $(STAMP) $(CASES)/.installed
	PYTHONPATH=$(CASES) $(RUN) -m cases $(NAME)

# The documentation, in site/; it opens from disk, and with `python -m http.server -d site` it can be searched.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The documentation is in site/index.html"

test: lint
	$(RUN) -m pytest -m "not slow" --numprocesses auto --dist worksteal

# The guides for PyMC and NumPyro run what they describe. PyMC holds numba back, so they have their own environment.
$(GUIDES_STAMP): pyproject.toml
	$(PYTHON) -m venv $(GUIDES)
	$(GUIDES)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(GUIDES)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group guides
	@touch $(GUIDES_STAMP)

test-guides: $(GUIDES_STAMP)
	$(GUIDES)/bin/python -m pytest tests/test_docs.py -k "pymc or numpyro" --numprocesses auto

test-slow: $(STAMP) test-guides
	$(RUN) -m pytest -m "slow" --numprocesses auto --dist worksteal

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

# Coverage of standard errors and balls, false alarms on chains and modes, in docs/calibration.md: minutes.
calibrate: $(STAMP)
	$(RUN) benchmarks/calibrate.py

clean:
	rm -rf $(VENV) $(GUIDES) $(CASES) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
