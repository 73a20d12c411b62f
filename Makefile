# Two commands: `make run` sets up and does the main job on this repository; `make test` sets up and passes all tests.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Modules are compiled once, not by every command of the tests.
unexport PYTHONDONTWRITEBYTECODE
# Data of the demo and weights for the tests stay in the clone; your own are elsewhere.
export CONTEXTD_HOME ?= $(CURDIR)/.contextd-run
# A command with your own data directory: the default one, unless CONTEXTD_HOME was set before.
OWN    := $(if $(filter file,$(origin CONTEXTD_HOME)),env -u CONTEXTD_HOME)

.PHONY: models language-model run test check lint types layers tests campaign bench lock docs clean
.DEFAULT_GOAL := run

$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

models: $(READY)
	@$(BIN)/contextd models fetch

# A small language model, for tests of what asks one.
language-model: $(READY)
	@$(BIN)/contextd models fetch smollm2-135m

run: models
	@$(BIN)/contextd index
	@echo
	@echo '$$ contextd context "how are chunks chosen to fit the token budget" --budget 600'
	@$(BIN)/contextd context "how are chunks chosen to fit the token budget" --budget 600
	@echo
	@$(OWN) $(BIN)/contextd models fetch --from $(CONTEXTD_HOME) > /dev/null || true
	@echo 'Next, in your own project:'
	@echo '  $(CURDIR)/$(BIN)/contextd up /path/to/your/project'
	@echo "Its data goes to $$($(OWN) $(BIN)/python -c 'from contextd.settings.config import home; print(home())')."
	@echo 'This demonstration has its data in $(CONTEXTD_HOME); to ask it more:'
	@echo '  CONTEXTD_HOME=$(CONTEXTD_HOME) $(CURDIR)/$(BIN)/contextd search "where are secrets scrubbed"'

test: models check tests

check: lint types layers

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

tests: models language-model
	$(BIN)/pytest -n 2 -m "not campaign"

campaign: models language-model
	$(BIN)/pytest -n 0 -m campaign --timeout 3600

bench: models
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python docs/generate.py

lock:
	uv pip compile pyproject.toml --group dev --extra deep --extra documents --extra llm --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --output-file requirements.lock

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
