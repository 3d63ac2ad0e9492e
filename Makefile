# make demo    set everything up and answer a question from examples/
# make test    set everything up and run the tests
# make check   formatting, lint, types, tests: what continuous integration runs
# make bench   the benchmarks that take minutes, not hours

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := .citeproof/demo

.PHONY: demo test check format lint types bench studio clean

demo: $(READY)
	$(BIN)/citeproof models fetch
	$(BIN)/citeproof index examples/documents --store $(DEMO)
	$(BIN)/citeproof ask "$$($(BIN)/python -c 'import json; print(json.loads(next(open("examples/questions.jsonl")))["question"])')" --store $(DEMO)

test: $(READY)
	$(BIN)/python -m pytest

check: lint types test

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/overhead.py

studio: $(READY)
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[studio]"
	$(BIN)/langgraph dev

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("citeproof needs Python 3.11 or later; this is %d.%d. Name another: make PYTHON=python3.12 ..." % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) .citeproof .mypy_cache .pytest_cache .ruff_cache
