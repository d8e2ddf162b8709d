# `make demo` and `make test` work on a fresh machine with Python 3.11 or newer and make: they build .venv themselves.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := .venv/bin
STAMP := .venv/.installed
JOBS ?= 2
# tests start hundreds of commands: without saved bytecode each of them compiles every module again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check warm-up bench mutants attack wheel docs clean

help:  ## show what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(STAMP)  ## build the environment in .venv

$(STAMP): pyproject.toml src/markovlogic_papers/pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; set PYTHON=/path/to/python3" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e src/markovlogic_papers
	@touch $(STAMP)

demo: setup  ## generate a problem, infer, print the table, write a chart
	$(BIN)/mln generate smokers --size 14 --evidence 0.3 --seed 3 -o demo
	$(BIN)/mln infer demo/smokers.mln -e demo/smokers.db -q Smokes,Cancer -o demo/marginals.html --why 8
	$(BIN)/mln infer demo/smokers.mln -e demo/smokers.db -q Smokes,Cancer --quiet
	@echo
	@echo "To look: open demo/marginals.html in a browser, and select an atom marked ◆ to see why it is as likely as it is."
	@echo "On a terminal: $(BIN)/mln why demo/smokers.mln -e demo/smokers.db 'Smokes(P3)'"
	@echo "To change rules and facts: $(BIN)/mln studio demo/smokers.mln -e demo/smokers.db -q Smokes,Cancer"

check: setup  ## lint, types, layers
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	$(BIN)/lint-imports

warm-up: setup
	$(BIN)/mln warm-up --quiet  # once for all: test processes would each compile the same kernels

test: setup  ## all checks and all tests
	$(MAKE) --no-print-directory -j 2 check warm-up
	$(BIN)/pytest -n $(JOBS) --dist worksteal

bench: setup  ## measure speed and memory (minutes); writes benchmarks/results.json
	$(BIN)/pytest benchmarks -p benchmark -n 0 --benchmark-json=benchmarks/results.json

mutants: setup  ## plant faults in a copy and list those that no test sees (minutes); MUTANTS='--count 100 --seed 7 --only estimate'
	$(BIN)/python -m tools.mutants $(MUTANTS)

attack: setup  ## random models against enumeration; ATTACK='--count 20000 --family map --seed 3'; failing ones go to .attack/
	$(BIN)/python -m tools.attack $(ATTACK)

wheel: setup  ## build a wheel in dist/, install it into a fresh environment and use it there
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	$(BIN)/python -m tools.wheel

docs: setup  ## build the documentation site in site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python -m tools.reference  # the Python reference, from docstrings
	$(BIN)/mkdocs build --strict

clean:  ## remove what was built
	rm -rf .venv .mutants demo site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
