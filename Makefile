# Everything a developer or a visitor does, by name. Needs Python 3.11 with pip and venv; `make help` lists it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
PORT   ?= 8000
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
JOBS   ?= 3
# Some tests wait for what they start, so one worker more than there are cores; each takes from who has most left.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# Each worker of each run would compile all tests again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install install-dev up demo dev test test-quick test-vllm test-litellm check sbom lock format docs docs-pictures bench clean

help:  ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Touchstone needs Python 3.11 or later; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable '.[app,pictures,pdf]'
	@touch $@

$(VENV)/.dev: $(VENV)/.app
	$(PIP) --editable '.[app,pictures,pdf,docs,dev,test]'
	@touch $@

install: $(VENV)/.app  ## Create .venv with all that the site needs

install-dev: $(VENV)/.dev  ## The same, with the tools for development and tests

up:  ## A deployment in containers, with TLS: make up DOMAIN=touchstone.example
	@DOMAIN='$(DOMAIN)' deploy/up.sh

demo: install  ## A running site with a demo study, a finished sweep and a report (PORT=8000)
	@exec $(BIN)/python manage.py demo --port $(PORT)

dev: install-dev  ## A development server that reloads
	$(BIN)/python manage.py migrate
	DJANGO_DEBUG=true $(BIN)/python manage.py runserver $(PORT)

test-quick: install-dev  ## Tests without a database, a service, a browser or a process of their own
	# These wait for nothing: a worker a core.
	$(PYTEST) -n logical -m quick

test: install-dev  ## All tests: SQLite, PostgreSQL, Redis, a real browser
	$(PYTEST)
	TOUCHSTONE_TEST_DATABASE=postgres $(PYTEST) -m both_databases

test-vllm:  ## Tests with real engines on tiny models: vLLM on processors, transformers; makes .venv-vllm (3.4 GB)
	@$(PYTHON) tests/local_models/environment.py .venv-vllm
	# In the order of the files: engines and servers are kept from one test to the next.
	.venv-vllm/bin/python -m pytest -p no:randomly tests/local_models

test-litellm: .venv-litellm/.installed  ## Tests of the LiteLLM backend; makes .venv-litellm (0.5 GB)
	.venv-litellm/bin/python -m pytest tests/judges/backends/test_litellm.py

.venv-litellm/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-litellm
	.venv-litellm/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[app,test,litellm]'
	@touch $@

check: install-dev  ## Format, lint, types, import contracts, migrations, deployment, licenses, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m tools.migrations
	SITE_URL=https://touchstone.example DJANGO_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))') \
		DJANGO_ALLOWED_HOSTS=touchstone.example CACHE_URL=redis://127.0.0.1:6379/1 \
		$(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python -m tools.licenses
	$(BIN)/python -m tools.audit

sbom: install-dev  ## A software bill of materials (CycloneDX) of this environment, in var/sbom.cdx.json
	@mkdir -p var
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible --validate -o var/sbom.cdx.json

lock: install-dev  ## Resolve requirements.lock again: what a site needs, as constraints.txt pins it, with hashes
	$(BIN)/uv pip compile --quiet pyproject.toml --extra app --extra pictures --extra pdf --constraints constraints.txt \
		--universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
		--custom-compile-command "make lock" --output-file requirements.lock

format:  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install-dev  ## The documentation as a site, in var/docs; works offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-pictures: install-dev  ## Take the pictures in docs/images again, of the demonstration
	$(BIN)/python -m docs.pictures

bench: install-dev  ## Run every benchmark; peers go into environments of their own
	@for name in loo stats engine judges claims pages reports coverage simulations; do $(BIN)/python -m bench $$name --json || exit 1; done

clean:  ## Remove environments and local data
	rm -rf $(VENV) .venv-peers .venv-vllm .venv-litellm var
