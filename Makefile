# Every target sets up what it needs; the environment lives in .venv and is kept between runs.
PYTHON ?= python3
ADDRESS ?= localhost:8000
BIN := .venv/bin
READY := .venv/.ready
TESTS_READY := .venv/.ready-for-tests
# One worker more than cores: a test that waits for a browser leaves its core idle.
WORKERS := $(shell expr $$(nproc) + 1)

# MkDocs Material announces its own end at every start; ARCHITECTURE.md says what that means for us.
export NO_MKDOCS_2_WARNING := 1

.PHONY: serve build check test nightly bench backtest oracle lint generate release lock clean

serve: $(READY)  ## validate, build and serve the site with live reload
	-$(BIN)/rl-resources check
	@echo "The site is at http://$(ADDRESS)/ from the line 'Serving on' on; Ctrl-C ends it."
	$(BIN)/mkdocs serve --dev-addr $(ADDRESS)

build: $(READY)  ## write everything that is published to build/site
	$(BIN)/rl-resources build

check: $(READY)  ## validate dataset and scripts as CI does
	$(BIN)/rl-resources check --strict

test: $(TESTS_READY) lint  ## what every change must pass
	$(BIN)/rl-resources check --strict
	$(BIN)/pytest --quiet --numprocesses $(WORKERS) --dist worksteal -m "not nightly"

nightly: $(TESTS_READY)  ## the slow tests: differential, fuzzing, all combinations, full axe, recipes
	sh tools/setup/web.sh
	$(BIN)/pytest --quiet --numprocesses auto --dist worksteal -m nightly

bench: $(TESTS_READY)  ## print the ratios of check, build and finder to their peers
	$(BIN)/python benchmarks/bench.py

backtest: $(TESTS_READY)  ## compare the estimate with measured runs, write benchmarks/backtest.csv
	$(BIN)/python benchmarks/backtest.py
	$(BIN)/python benchmarks/time_backtest.py
	$(BIN)/python benchmarks/fewest.py
	$(BIN)/python benchmarks/plan_backtest.py

oracle: .venv-oracle/.ready  ## let PyTorch account for the training steps that memory_oracle.csv lacks
	.venv-oracle/bin/python benchmarks/memory_oracle.py

lint: $(TESTS_READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

generate: $(READY)  ## rewrite the files that are derived from rules and schemas
	$(BIN)/python -m rl_resources.generate

release: $(READY)  ## commit the next version, write its artifacts to dist
	$(BIN)/python -m rl_resources.release

# Without what `make serve` never imports: pandas and numpy (the Python API).
SERVE := $(addprefix --extra ,check site build) \
  $(addprefix --no-emit-package ,pandas numpy) --constraint requirements/test.txt

# The lowest versions that pyproject.toml allows, which CI tries.
LOWEST := --resolution lowest-direct $(addprefix --extra ,check site build)

lock: $(TESTS_READY)  ## pin the newest allowed requirements, and the lowest
	$(BIN)/python -m pip install --quiet uv
	for to in "test.txt --upgrade --all-extras pyproject.toml" "serve.txt $(SERVE) pyproject.toml" \
	  "minimum.txt $(LOWEST) pyproject.toml" "audit.txt --upgrade requirements/audit.in"; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --custom-compile-command "make lock" --output-file requirements/$$to || exit 1; done

clean:
	rm -rf .venv .venv-oracle build dist

$(READY): requirements/serve.txt pyproject.toml tools/setup/environment.sh
	bash tools/setup/environment.sh $(PYTHON) serve
	@touch $@

$(TESTS_READY): requirements/test.txt pyproject.toml tools/setup/environment.sh
	bash tools/setup/environment.sh $(PYTHON) test
	sh tools/setup/programs.sh
	@touch $(READY) $@

.venv-oracle/.ready: benchmarks/requirements-oracle.txt
	$(PYTHON) -m venv .venv-oracle
	.venv-oracle/bin/python -m pip install --quiet --requirement $<
	@touch $@
