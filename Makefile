# `make` is the door. Needs Python >= 3.11 and a package index; everything else it brings itself.
# Bytecode makes every start faster; some machines switch it off in the environment.
unexport PYTHONDONTWRITEBYTECODE
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DEMO_DIR := $(CURDIR)/.demo
WEB := src/contrail/web/dist/index.html
WEB_SOURCES := $(shell find frontend -path frontend/node_modules -prune -o -type f -print 2>/dev/null)
PYTEST_WORKERS ?= 2

.PHONY: help setup demo stop test test-web test-browser check fix web browser bench bench-peers wheel docs clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: .venv/.installed ## Create .venv with the pinned dependencies

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Contrail needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing the pinned dependencies into .venv"
	@$(BIN)/python -m pip install -q --disable-pip-version-check "$$(grep -oE '^uv==[0-9.]+' requirements.lock)"
	@$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode -r requirements.lock
	@CONTRAIL_SKIP_WEB=1 $(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

web: $(WEB) ## Build the pages

$(WEB): .venv/.installed $(WEB_SOURCES)
	@$(BIN)/python tools/web.py build
	@touch $@

demo: setup web ## Start a server, submit a real training, watch it, print the links
	@CONTRAIL_DATA_DIR=$(DEMO_DIR) CONTRAIL_PORT=$${CONTRAIL_PORT:-0} $(BIN)/contrail run -f examples/digits/train.yaml --watch
	@echo "The server stays up until 'make stop'."

stop: ## Stop the demo's server
	@$(BIN)/python tools/stop.py $(DEMO_DIR)

browser: ## Install Chromium for the browser tests (Debian, as root)
	@$(BIN)/python tools/browser.py

test: setup web browser ## The whole test suite, browser tests included
	@$(BIN)/python tools/web.py test
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup $(PYTEST_ARGS)

check: setup ## Lint, types, layering, docs: seconds
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/python tools/generate_reference.py --check
	@$(BIN)/python tools/generate_openapi.py --check
	@$(BIN)/python tools/generate_types.py --check
	@$(BIN)/python -m pytest -q -n 0 tests/unit/test_layers.py tests/unit/test_docs.py
	@$(BIN)/python tools/web.py check

fix: setup ## Format and repair what can be repaired
	@$(BIN)/ruff check -q --fix . ; $(BIN)/ruff format -q .
	@$(BIN)/python tools/web.py fix

docs: setup ## Write the generated reference pages again
	@$(BIN)/python tools/generate_reference.py
	@$(BIN)/python tools/generate_openapi.py
	@$(BIN)/python tools/generate_types.py

bench: setup ## Requests/s, points/s, search and history latency, start-up, memory, bytes per point
	@$(BIN)/python benchmarks/bench.py

wheel: setup web ## Build the wheel and the source archive into dist/
	@$(BIN)/uv build -q --python $(BIN)/python --out-dir dist
	@ls -1 dist

clean: ## Remove build output (not the demo's data)
	rm -rf dist src/contrail/web/dist frontend/node_modules .mypy_cache .ruff_cache .pytest_cache
