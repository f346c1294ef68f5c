# The tasks of a developer. Each target sets up .venv if necessary; once that is done, it takes no time.
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

# One thread per process for linear algebra, as in the commands.
export OPENBLAS_NUM_THREADS ?= 1

PY := .venv/bin/python
PLUMBLINE := .venv/bin/plumbline
COLLECTED = $(dir $(PY))collected
CONTRACTS := .venv/bin/lint-imports
SOURCES := $(wildcard app clients migrations tests benchmarks screenshots .ci/*.py)
PLUMBLINE_DEMO_FLAGS ?=
T ?=
# Tests run in one process more than there are cores, because they spend a fifth of their time waiting. Each process has its
# own Postgres, and the tests of a file stay in one process. Files are handed out in the order of tests/conftest.py, the
# longest first, and not by their number of tests.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: setup ## load a made-up campaign, print its ranking and serve it (PLUMBLINE_DEMO_FLAGS=--exit: print only)
	@$(PLUMBLINE) demo $(PLUMBLINE_DEMO_FLAGS)

.PHONY: serve
serve: setup ## serve the database named in the settings, or an embedded Postgres
	@$(PLUMBLINE) serve

# What tests import, including assertions, is compiled once for all processes, even if Python is told to keep no bytecode.
test soak: export PYTHONDONTWRITEBYTECODE :=

.PHONY: test
test: setup ## run all checks, then all tests except the long ones (T="-k mqm" selects tests)
	@checks=0; $(MAKE) --jobs=2 --keep-going check collect || checks=$$?; \
		[ $$checks = 0 ] || echo 'The checks failed (see above); the tests run anyway.' >&2; \
		tests=0; $(PY) -m pytest -q -n $(WORKERS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(T) || tests=$$?; exit $$((tests ? tests : checks))

.PHONY: collect
collect: setup ## compile changed tests while the checks leave a processor idle; the tests report any errors
	@[ -z "$$(find tests -name '*.py' -newer $(COLLECTED) 2>&1)" ] || \
		{ $(PY) -m pytest -q --collect-only $(T) >/dev/null 2>&1; touch $(COLLECTED); }

.PHONY: soak
soak: setup ## run the long tests (several minutes): properties with new examples (SEED=N repeats them), pages in every look
	@seed=$${SEED:-$$(date +%s)}; echo "Examples are drawn by SEED=$$seed."; \
		$(PY) -m pytest -q -m 'soak or hypothesis' --hypothesis-profile=anew --hypothesis-seed=$$seed $(T) \
		$(if $(T),,&& EVERY_LOOK=1 $(PY) -m pytest -q tests/browser)

.PHONY: bench
bench: setup ## measure imports, loading, ranking, starting, posting, thinking raters and managers' pages (45 minutes)
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
check: lint types contracts ## run the checks that execute no code: lint, types, import contracts

.PHONY: lint
lint: setup ## check the code and its formatting with ruff
	@$(PY) -m ruff check --quiet $(SOURCES)
	@$(PY) -m ruff format --quiet --check $(SOURCES)

.PHONY: format
format: setup ## format the code and fix what ruff can fix
	@$(PY) -m ruff check --quiet --fix $(SOURCES)
	@$(PY) -m ruff format --quiet $(SOURCES)

.PHONY: types
types: setup ## check types with mypy (strict)
	@$(PY) -m mypy --no-error-summary

.PHONY: contracts
contracts: setup ## check which modules may import which
	@$(CONTRACTS) --no-logo >.venv/contracts.log 2>&1 || { cat .venv/contracts.log; exit 1; }

.PHONY: migration
migration: setup ## write a migration for the changes in app/storage/tables (m="what changed")
	@$(PY) .ci/new_migration.py "$(m)"

.PHONY: openapi
openapi: setup ## regenerate openapi.json
	@$(PLUMBLINE) openapi >openapi.json.new && mv openapi.json.new openapi.json

.PHONY: screenshots
screenshots: setup ## regenerate all pictures in the README and the documents from a new demo (needs /usr/bin/chromium)
	@$(PY) -m screenshots.run

.PHONY: package
package: setup ## build the wheel and the bill of materials (CycloneDX) in dist, with the same bytes for the same commit
	@export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) && $(PY) -m hatchling build -t wheel -d dist && \
		$(PY) .ci/sbom.py >dist/plumbline.cdx.json

.PHONY: constraints
constraints: ## pin the newest compatible versions of the packages in requirements.in (needs uv; see CONTRIBUTING.md)
	@command -v uv >/dev/null || { echo "uv is needed: python3 -m pip install uv" >&2; exit 1; }
	@uv pip compile --quiet --upgrade --generate-hashes --universal --no-header --no-annotate \
		--python-version 3.11 --output-file constraints.txt requirements.in

.PHONY: clean
clean: ## remove everything that these targets made, except databases
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	@find app clients tests benchmarks migrations screenshots -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: setup
setup: ## create .venv from constraints.txt (PYTHON=/path/to/python3 chooses the interpreter)
	@.ci/setup
