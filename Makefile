# Everything happens in .venv; each target does its own set-up.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: install demo test lint bench clean programs

install: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[ctranslate2,test]'
	touch $@

demo: $(READY)
	$(BIN)/mirada demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Programs that the tests use: a browser for pages, and those that judge documents and catalogs.
PROGRAMS := chromium:chromium soffice:libreoffice-writer-nogui msgfmt:gettext
programs:
	@missing=; for pair in $(PROGRAMS); do command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair#*:}"; done; \
	test -z "$$missing" || { \
		command -v apt-get >/dev/null || { echo "The tests need these programs (Debian's names):$$missing"; exit 1; }; \
		root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$root apt-get update -q && $$root apt-get install -y -q --no-install-recommends $$missing; }

test: lint programs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

bench: $(READY)
	$(BIN)/python -m bench

clean:
	rm -rf .venv build dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
