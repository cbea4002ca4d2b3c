# Needs only make and Python 3.11 or later: every target sets up what it uses, in .venv.

VENV := .venv
PEERS := benchmarks/.peers
SERVERS := benchmarks/.servers
BIN := $(VENV)/bin
PYTHON ?=
ARGS ?=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.NOTPARALLEL:
.PHONY: help demo test check format bench wheel clean

help:
	@echo "make demo    the dashboard with the demo corpus (ARGS='--port 9000')"
	@echo "make test    every test (ARGS='tests/test_maps.py -x')"
	@echo "make check   format, lint, types, import contracts"
	@echo "make format  rewrite the code as 'make check' wants it"
	@echo "make bench   the benchmarks"
	@echo "make wheel   dist/forkmap-*.whl"
	@echo "make clean   remove what the other targets made"

demo: $(VENV)/use.stamp
	@exec $(BIN)/forkmap demo $(ARGS)

test: $(VENV)/develop.stamp $(VENV)/browser.stamp $(VENV)/javascript.stamp $(VENV)/redis.stamp
	@$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/develop.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/develop.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/develop.stamp $(VENV)/browser.stamp $(PEERS)/peers.stamp $(SERVERS)/servers.stamp
	$(BIN)/python -m benchmarks.map_build --peers $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.prediction --peers $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.evidence
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.http_ingest --peers $(SERVERS)/bin
	$(BIN)/python -m benchmarks.http_latency
	$(BIN)/python -m benchmarks.http_latency --workers 2
	$(BIN)/python -m benchmarks.cohort_read
	$(BIN)/python -m benchmarks.recovery
	$(BIN)/python -m benchmarks.erasure
	$(BIN)/python -m benchmarks.guard
	$(BIN)/python -m benchmarks.fuse_check
	$(BIN)/python -m benchmarks.backtest
	$(BIN)/python -m benchmarks.http_floor
	$(BIN)/python -m benchmarks.builds
	$(BIN)/python -m benchmarks.runs_page
	$(BIN)/python -m benchmarks.narrowing
	$(BIN)/python -m benchmarks.live_page
	$(BIN)/python -m benchmarks.audit
	$(BIN)/python -m benchmarks.diff
	$(BIN)/python -m benchmarks.redaction
	$(BIN)/python -m benchmarks.browser

wheel: $(VENV)/develop.stamp
	$(BIN)/python -m build --wheel .

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache benchmarks/.cache tests/js/node_modules $(PEERS) $(SERVERS)

$(BIN)/python:
	@.ci/venv $(VENV) $(PYTHON)

$(VENV)/use.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/develop.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up $(VENV) for development ..."
	@$(PIP) --editable '.[dev,exporters,grpc,sessions]'
	@touch $@ $(VENV)/use.stamp

$(PEERS)/peers.stamp: benchmarks/peers.txt
	@echo "Setting up $(PEERS) for the libraries measured against ..."
	@.ci/venv $(PEERS) $(PYTHON)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt
	@touch $@

$(VENV)/javascript.stamp: tests/js/package-lock.json | $(BIN)/python
	@.ci/javascript
	@touch $@

$(SERVERS)/servers.stamp: benchmarks/servers.txt
	@echo "Setting up $(SERVERS) for the servers measured against ..."
	@.ci/venv $(SERVERS) $(PYTHON)
	@$(SERVERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/servers.txt
	@touch $@

$(VENV)/redis.stamp: | $(BIN)/python
	@.ci/redis
	@touch $@

$(VENV)/browser.stamp: $(VENV)/develop.stamp
	@.ci/browser $(BIN)/python
	@touch $@
