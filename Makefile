# Everything happens in .venv; each target does its own set-up.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: install demo test lint bench clean chromium

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

# The page of `mirada explore` is tested in a browser.
chromium:
	@command -v chromium >/dev/null || { \
		command -v apt-get >/dev/null || { echo "The tests need a program called chromium: install it, then make again"; exit 1; }; \
		root=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$root apt-get update -q && $$root apt-get install -y -q --no-install-recommends chromium; }

test: lint chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

bench: $(READY)
	$(BIN)/python -m bench

clean:
	rm -rf .venv build dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
