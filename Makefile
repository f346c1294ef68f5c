# Everything a developer does. Each target sets up .venv by itself; a second run of that takes no time.
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

# One thread a process for the linear algebra, as the commands have it.
export OPENBLAS_NUM_THREADS ?= 1

PY := .venv/bin/python
PLUMBLINE := .venv/bin/plumbline
COLLECTED = $(dir $(PY))collected
CONTRACTS := .venv/bin/lint-imports
SOURCES := $(wildcard app clients migrations tests benchmarks screenshots .ci/*.py)
PLUMBLINE_DEMO_FLAGS ?=
T ?=
# Tests in one process more than there are cores, as they wait for a fifth of their time, each with a Postgres of its own;
# the files of one stay together. They are handed out as tests/conftest.py orders them, the longest first, and not by how
# many tests they have.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: setup ## load a campaign made up here, print its ranking and serve it (PLUMBLINE_DEMO_FLAGS=--exit: print only)
	@$(PLUMBLINE) demo $(PLUMBLINE_DEMO_FLAGS)

.PHONY: serve
serve: setup ## serve the database that the settings name, or an embedded Postgres
	@$(PLUMBLINE) serve

# What tests import, and their assertions, are compiled once for all processes, also where Python is told to keep nothing.
test soak: export PYTHONDONTWRITEBYTECODE :=

.PHONY: test
test: setup ## every check, then every test but the long ones (T="-k mqm" selects)
	@checks=0; $(MAKE) --jobs=2 --keep-going check collect || checks=$$?; \
		[ $$checks = 0 ] || echo 'The checks failed (above); the tests run all the same.' >&2; \
		tests=0; $(PY) -m pytest -q -n $(WORKERS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(T) || tests=$$?; exit $$((tests ? tests : checks))

.PHONY: collect
collect: setup ## compile the tests that changed, while the checks leave a processor idle; what is wrong, the tests tell
	@[ -z "$$(find tests -name '*.py' -newer $(COLLECTED) 2>&1)" ] || \
		{ $(PY) -m pytest -q --collect-only $(T) >/dev/null 2>&1; touch $(COLLECTED); }

.PHONY: soak
soak: setup ## the long tests: bounded, but minutes; properties with new examples (SEED=N has them again); pages in every look
	@seed=$${SEED:-$$(date +%s)}; echo "Examples are drawn by SEED=$$seed."; \
		$(PY) -m pytest -q -m 'soak or hypothesis' --hypothesis-profile=anew --hypothesis-seed=$$seed $(T) \
		$(if $(T),,&& EVERY_LOOK=1 $(PY) -m pytest -q tests/browser)

.PHONY: bench
bench: setup ## time importing, loading, ranking, starting, posting, raters who think and managers who look (45 minutes)
	@$(PY) -m benchmarks.run
	@$(PY) -m benchmarks.serve
	@$(PY) -m benchmarks.hot
	@$(PY) -m benchmarks.pace
	@$(PY) -m benchmarks.managers
	@$(PY) -m benchmarks.looks
	@$(PY) -m benchmarks.peers
	@$(PY) -m benchmarks.postedits
	@$(PY) -m benchmarks.mixed

.PHONY: check
check: lint types contracts ## the checks that run nothing: lint, types, import contracts

.PHONY: lint
lint: setup ## what ruff finds, and whether the code is formatted
	@$(PY) -m ruff check --quiet $(SOURCES)
	@$(PY) -m ruff format --quiet --check $(SOURCES)

.PHONY: format
format: setup ## format the code and mend what ruff can mend
	@$(PY) -m ruff check --quiet --fix $(SOURCES)
	@$(PY) -m ruff format --quiet $(SOURCES)

.PHONY: types
types: setup ## mypy, strict
	@$(PY) -m mypy --no-error-summary

.PHONY: contracts
contracts: setup ## who may import whom
	@$(CONTRACTS) --no-logo >.venv/contracts.log 2>&1 || { cat .venv/contracts.log; exit 1; }

.PHONY: migration
migration: setup ## write a migration for what changed in app/storage/tables (m="what changed")
	@$(PY) .ci/new_migration.py "$(m)"

.PHONY: openapi
openapi: setup ## write openapi.json anew
	@$(PLUMBLINE) openapi >openapi.json.new && mv openapi.json.new openapi.json

.PHONY: screenshots
screenshots: setup ## make every picture of README and documents anew, from a new demo (needs /usr/bin/chromium)
	@$(PY) -m screenshots.run

.PHONY: package
package: setup ## build wheel and bill of materials (CycloneDX) into dist, the same bytes for the same commit
	@export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) && $(PY) -m hatchling build -t wheel -d dist && \
		$(PY) .ci/sbom.py >dist/plumbline.cdx.json

.PHONY: constraints
constraints: ## pin the newest fitting versions of what requirements.in names (needs uv; see CONTRIBUTING.md)
	@command -v uv >/dev/null || { echo "uv is needed: python3 -m pip install uv" >&2; exit 1; }
	@uv pip compile --quiet --upgrade --generate-hashes --universal --no-header --no-annotate \
		--python-version 3.11 --output-file constraints.txt requirements.in

.PHONY: clean
clean: ## remove what these targets made, but no database
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	@find app clients tests benchmarks migrations screenshots -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: setup
setup: ## make .venv from constraints.txt (PYTHON=/path/to/python3 chooses the interpreter)
	@.ci/setup
