# `make demo` serves the sample, `make test` runs every check; both set up what they need first, and only once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
# Any of Python 3.11 to 3.14; choose one with `make demo PYTHON=python3.13`.
PYTHON :=
PYTHONS := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
# More arguments for the command behind a target: `make demo ARGS="--no-serve"`, `make test ARGS="-k funnel"`.
ARGS :=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# $(call step,WHAT,COMMAND): says what is done, does it, and says how long it took.
define step
@began=$$SECONDS; echo "==> $(1)"; $(2); echo "    took $$((SECONDS - began)) s"
endef

define make_venv
python=; \
for name in $(PYTHONS); do \
	if "$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then python=$$name; break; fi; \
done; \
if [ -z "$$python" ]; then echo "Python 3.11 to 3.14 not found; install one: apt-get install python3 python3-venv" >&2; exit 1; fi; \
if ! "$$python" -c 'import ensurepip' 2>/dev/null; then \
	package=python$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "$$python cannot make environments yet; run: sudo apt-get install $$package" >&2; exit 1; \
	fi; \
	$(call apt_install,$$package); \
fi; \
"$$python" -m venv $(VENV)
endef

define apt_install
echo "    apt-get install $(1)"; apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(1) >/dev/null
endef

define find_chromium
$(BIN)/python -c 'import sys; from tests.conftest import find_chromium; sys.exit(find_chromium() is None)'
endef

define install_chromium
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then $(call apt_install,chromium) || true; fi; \
if ! $(find_chromium); then \
	if [ "$${CI:-}" = true ]; then echo "Chromium is needed in CI, and could not be installed" >&2; exit 1; fi; \
	echo "    no Chromium: the browser tests will be skipped; to run them: sudo apt-get install chromium"; \
fi
endef

define find_servers
$(BIN)/python -c 'import sys; from tests.real.process import missing_packages; print(*missing_packages()); sys.exit(bool(missing_packages()))'
endef

define install_servers
missing=$$($(find_servers)) || true; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then $(call apt_install,$$missing) || true; fi; \
if ! missing=$$($(find_servers)); then \
	if [ "$${CI:-}" = true ]; then echo "$$missing: needed in CI, and could not be installed" >&2; exit 1; fi; \
	echo "    not found: $$missing; their tests will be skipped; to run them: sudo apt-get install $$missing"; \
fi
endef

.PHONY: help demo test check lint bench soak screenshots lock clean setup setup-dev chromium servers

help:
	@echo "make demo         set up, load the sample and serve the dashboard on it"
	@echo "make test         set up and run every check and test, browser tests included"
	@echo "make check        the fast part of that: lint, types, import contracts, quick tests"
	@echo "make bench        measure speed and memory"
	@echo "make soak         kill a thousand loads, read a million broken lines"
	@echo "make screenshots  every page in both themes and four widths, into artifacts/"
	@echo "make lock         resolve requirements*.txt anew from pyproject.toml"
	@echo "make clean        remove the environment, builds, caches and artifacts (never a warehouse)"

demo: setup
	@exec $(BIN)/retrylens demo $(ARGS)

test: setup-dev chromium servers lint
	$(PYTEST) $(ARGS)

check: setup-dev lint
	$(PYTEST) -m "not slow and not browser" $(ARGS)

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict ingest dashboard
	$(BIN)/lint-imports --no-logo

bench: setup-dev
	$(BIN)/python -m tests.benchmarks $(ARGS)

soak: setup-dev
	$(BIN)/python -m tests.crash "$$(mktemp -d)/soak" --kills 1000 $(ARGS)
	$(BIN)/python -m tests.fuzz 1000000

screenshots: setup-dev chromium
	$(BIN)/python -m pytest -m browser -k screenshot $(ARGS)

setup: $(VENV)/.project
setup-dev: $(VENV)/.project $(VENV)/.dev

# The stamps say what was installed from which version of the files; nothing is fetched while those stay the same.
$(VENV)/.venv:
	$(call step,Python environment in $(VENV),$(make_venv))
	@touch $@

$(VENV)/.runtime: requirements.txt $(VENV)/.venv
	$(call step,Libraries of requirements.txt,$(BIN)/python -m pip install -q --require-hashes -r requirements.txt)
	@touch $@

$(VENV)/.project: pyproject.toml ingest/__init__.py $(VENV)/.runtime
	$(call step,The command retrylens,$(BIN)/python -m pip install -q --no-deps --no-index --no-build-isolation -e .)
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	$(call step,Test tools of requirements-dev.txt,$(BIN)/python -m pip install -q --require-hashes -r requirements-dev.txt)
	@touch $@

chromium: setup-dev
	@if ! $(find_chromium); then began=$$SECONDS; echo "==> Chromium for the browser tests"; $(install_chromium); \
		echo "    took $$((SECONDS - began)) s"; fi

servers: setup-dev
	@if ! $(find_servers) >/dev/null; then began=$$SECONDS; echo "==> nginx and HAProxy for the tests on real logs"; \
		$(install_servers); echo "    took $$((SECONDS - began)) s"; fi

# $(call compile,WHAT,FILE): one lock for all the Pythons and platforms, without index addresses.
define compile
$(BIN)/uv pip compile $(1) --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
	--custom-compile-command "make lock" --output-file $(2)
endef

lock: $(VENV)/.venv
	$(BIN)/python -m pip install -q uv
	$(call compile,pyproject.toml --group build,requirements.txt)
	$(call compile,--group dev --constraints requirements.txt,requirements-dev.txt)

clean:
	rm -rf $(VENV) build dist *.egg-info artifacts .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
