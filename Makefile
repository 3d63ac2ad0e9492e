# make demo       set everything up and answer a question from examples/
# make test       set everything up, run the unit tests, and ask the embedded models one question
# make test-all   all tests
# make check      formatting, lint, types, all tests
# make docs       the tables and pictures of docs/ from the code
# make site       the documentation as a site, into .site/
# make lock       pylock.toml: all versions with their hashes, but torch's
# make notebooks  run the notebooks on the embedded models, and store what they show
# make bench      the benchmarks that take minutes, not hours
# make studio     LangGraph's local server with the graphs, for Studio: docs/studio.md

PYTHON ?= python3
PORT   ?= 2024
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := .citeproof/demo

.PHONY: demo test test-all check format lint types docs site lock notebooks bench studio clean

demo: $(READY)
	$(BIN)/citeproof models fetch
	$(BIN)/citeproof index examples/documents --store $(DEMO)
	$(BIN)/citeproof ask "$$($(BIN)/python -c 'import json; print(json.loads(next(open("examples/questions.jsonl")))["question"])')" --store $(DEMO)

# The embedded language model takes all cores for itself, so its tests run one by one.
test: $(READY)
	$(BIN)/python -m pytest -m "not slow and not models and not services" -n auto --dist loadfile
	$(BIN)/python -m pytest tests/integration/test_vtg.py -k demo_question

test-all: $(READY)
	$(BIN)/python -m pytest -m "not llm" -n auto --dist loadfile --durations=15
	$(BIN)/python -m pytest -m llm --durations=15

check: lint types test-all

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python docs/generate.py

site: .venv-docs/.ready
	.venv-docs/bin/mkdocs build --strict

.venv-docs/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install -q --upgrade "pip>=25.1"
	.venv-docs/bin/python -m pip install -q --group docs
	@touch $@

# Without torch: its CPU and GPU builds are different files, from different indexes.
lock: .venv-docs/.ready
	.venv-docs/bin/python -m pip install -q uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" .venv-docs/bin/uv pip compile -q pyproject.toml --extra dev -c constraints.txt --universal \
		--python-version 3.11 --torch-backend cpu --no-emit-package torch -o pylock.toml

notebooks: $(READY)
	$(BIN)/citeproof models fetch
	$(BIN)/python notebooks/run.py

bench: $(READY)
	$(BIN)/python benchmarks/overhead.py

# No traces, no count of runs, no statistics on the command, no look for a newer version: each of
# these would go to another machine.
studio: $(READY)
	LANGSMITH_TRACING=false LANGSMITH_TRACING_V2=false \
	LANGSMITH_CONTROL_PLANE_API_KEY= LANGGRAPH_CLOUD_LICENSE_KEY= \
	LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true \
	$(BIN)/langgraph dev --host 127.0.0.1 --port $(PORT) --no-browser

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("citeproof needs Python 3.11 or later; this is %d.%d. Name another: make PYTHON=python3.12 ..." % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-docs .site .citeproof .mypy_cache .pytest_cache .ruff_cache
