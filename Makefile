# The first screen of the README: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo demo-vlm test test-models test-all check format bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[hands]'
	touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## the main job on rendered hands; writes demo/report.html
	$(BIN)/handbench demo -o demo
	@echo "next: make demo-vlm shows a small vision-language model before and after tuning (installs torch)"

$(VENV)/.installed-hf: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[hands,hf]'
	touch $@

demo-vlm: $(VENV)/.installed-hf  ## a tiny vision-language model, base and tuned, on rendered hands
	$(BIN)/handbench demo-vlm -o demo-vlm

test: $(VENV)/.installed-dev  ## the test suite
	$(BIN)/python -m pytest -q

$(VENV)/.installed-models: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev-models]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/beside -c constraints.txt torchvision
	touch $@ $(VENV)/.installed $(VENV)/.installed-dev $(VENV)/.installed-hf

test-models: $(VENV)/.installed-models  ## the tests that need torch, which this installs
	HANDBENCH_TORCHVISION=$(VENV)/beside $(BIN)/python -m pytest -q -m "torch and not slow"

test-all: $(VENV)/.installed-models  ## all tests, with what needs torch and what is marked slow
	HANDBENCH_TORCHVISION=$(VENV)/beside $(BIN)/python -m pytest -q -m "slow or not slow"

check: $(VENV)/.installed-dev  ## style, types and the floors of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-models  ## rates, as JSON lines
	@for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) demo demo-vlm build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
