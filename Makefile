# make demo | quick | test | check | format, each in one virtual environment; VENV=... puts it elsewhere.
VENV ?= .venv
PYTHON ?= python3
ARGS ?=
BIN := $(VENV)/bin
DEV := $(VENV)/.installed-dev
QUICK := $(VENV)/.installed-quick
DEMO := $(VENV)/.installed-demo

.PHONY: install demo quick test check format

install: $(DEV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

$(QUICK): pyproject.toml | $(BIN)/python
	test -e $(DEV) || $(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[langchain,llamaindex,static]"
	touch $@

demo: $(DEMO)
	$(BIN)/python examples/quickstart.py

quick: $(QUICK)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not slow and not postgres and not models and not docs" $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
