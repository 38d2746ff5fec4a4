# Every target sets up what it needs; the environment lives in .venv and is kept between runs.
PYTHON ?= python3
ADDRESS ?= localhost:8000
BIN := .venv/bin
READY := .venv/.ready

# MkDocs Material announces its own end at every start; ARCHITECTURE.md says what that means for us.
export NO_MKDOCS_2_WARNING := 1

.PHONY: serve build check test fuzz fuzz-guided bench lint generate release lock clean

serve: $(READY)  ## validate, build and serve the site with live reload
	-$(BIN)/rl-resources check
	@echo "The site is at http://$(ADDRESS)/ from the line 'Serving on' on; Ctrl-C ends it."
	$(BIN)/mkdocs serve --dev-addr $(ADDRESS)

build: $(READY)  ## write everything that is published to build/site
	$(BIN)/rl-resources build

check: $(READY)  ## hold dataset and scripts to all rules
	$(BIN)/rl-resources check

test: $(READY) lint  ## all checks and tests
	sh tools/setup/programs.sh
	sh tools/setup/web.sh
	$(BIN)/rl-resources check --strict
	$(BIN)/pytest --numprocesses auto --dist worksteal

fuzz: $(READY)  ## for a night: 200,000 mutated records, 6,000 tables and files of all kinds broken
	MUTATED_FILES=500 $(BIN)/pytest tests/test_differential.py tests/test_differential_files.py
	PYTHONPATH=tests $(BIN)/python -m fuzzing.campaign --minutes $(or $(MINUTES),20)

fuzz-guided: $(READY)  ## what the shell resolver and the page reader reach leads to further inputs; MINUTES each
	[ -x build/.guided/bin/python ] || $(PYTHON) -m venv build/.guided
	build/.guided/bin/python -m pip install --quiet --disable-pip-version-check 'atheris>=3,<4'
	for kind in shell page; do \
	  PYTHONPATH="tests:$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])'):tools" \
	  build/.guided/bin/python -m fuzzing.guided $$kind build/fuzz/$$kind -max_len=6000 \
	    -max_total_time=$$(( 60 * $(or $(MINUTES),10) )) || exit 1; done

bench: $(READY)  ## measure check and build beside others; ROWS="10000" RECORDS="10 1000" ROUNDS=1 QUICK=1 for less than hours
	$(BIN)/python benchmarks/bench.py $(if $(ROWS),--sizes $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/build/bench.py $(if $(RECORDS),--records $(RECORDS))

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

generate: $(READY)  ## rewrite the files that are derived from rules and schemas
	$(BIN)/python -m rl_resources.generate

release: $(READY)  ## commit the next version, write its artefacts to dist; DRY_RUN=1 only tells
	$(BIN)/python -m rl_resources.release $(if $(DRY_RUN),--dry-run)

lock: $(READY)  ## pin the newest allowed requirements
	$(BIN)/python -m pip install --quiet uv
	for to in "requirements.txt --all-extras pyproject.toml" \
	  "tools/audit/requirements.txt tools/audit/requirements.in"; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	    --custom-compile-command "make lock" --output-file $$to || exit 1; done

clean:
	rm -rf .venv build dist

$(READY): requirements.txt pyproject.toml tools/setup/environment.sh
	sh tools/setup/environment.sh $(PYTHON)
	@touch $@
