# make picture: install into .venv-picture and render the shipped scene. No GPU and no compiler is needed.
# make test:    install into .venv-test with all tools and run every check, but for the tests that tests/thorough.txt
#               names. GPU tests skip where there is no GPU, and those by independent judges where these cannot be
#               installed.
# make thorough: the same with all tests: before a release, and after a change of shading, of loops or of kernels.
# make versions: make a picture with the oldest packages that are allowed, and the same with the newest ones on the newest
#               Python.
# make coverage: run all tests once more and tell which lines of Python no test runs, in build/coverage.
# Another Python: make test PYTHON=python3.15

PYTHON ?= python3
SOURCES := pyproject.toml README.md $(shell find renderer tracecore shaders scenes -type f ! -path '*/__pycache__/*')

# What clang-format keeps in shape.
CPP := $(shell find tracecore tests docs -name '*.cu' -o -name '*.cuh' -o -name '*.hpp' -o -name '*.cpp')

# Two other renderers and a denoiser, by which pictures are judged.
JUDGES := mitsuba pyoidn pyluxcore

# What most tests call is compiled once, beside the checks: otherwise each worker of pytest would compile it.
LOOPS := photon-loops eye-loops

# Tests start many processes. Each would compile all Python anew where the environment has Python keep none of it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: picture test thorough versions coverage checked judges collected $(LOOPS) clean

picture: .venv-picture/installed
	.venv-picture/bin/tracecore render cornell -o output/cornell-photon.png

.venv-picture/installed: $(SOURCES)
	rm -rf build
	$(PYTHON) -m venv .venv-picture
	.venv-picture/bin/python -m pip install --quiet .
	touch $@

thorough: TESTS := --thorough

test thorough: .venv-test/installed
	$(MAKE) --jobs checked judges collected $(LOOPS)
	.venv-test/bin/python -m pytest $(TESTS) -n auto --dist loadfile --no-loadscope-reorder

checked judges $(LOOPS): .venv-test/installed

checked:
	.venv-test/bin/ruff check
	.venv-test/bin/ruff format --check
	.venv-test/bin/clang-format --dry-run --Werror $(CPP)
	.venv-test/bin/mypy renderer tracecore shaders scenes
	.venv-test/bin/lint-imports
	NO_MKDOCS_2_WARNING=1 .venv-test/bin/mkdocs build --strict

# Python keeps tests as pytest rewrites them: otherwise each of its workers would rewrite them all.
collected: judges
	.venv-test/bin/python -m pytest --collect-only -qq > /dev/null

coverage: export COVERAGE_FILE := $(CURDIR)/build/coverage/data
coverage: .venv-test/installed
	rm -rf build/coverage
	mkdir -p build/coverage
	.venv-test/bin/coverage run -m pytest --thorough -n auto --dist loadfile --no-loadscope-reorder
	.venv-test/bin/coverage combine --quiet build/coverage
	.venv-test/bin/coverage report
	.venv-test/bin/coverage html --quiet --directory build/coverage

photon-loops:
	.venv-test/bin/tracecore photons cornell --device cpu --store 1 --quiet

eye-loops:
	mkdir -p build
	.venv-test/bin/tracecore render cornell --driver path --device cpu --size 8x6 --passes 1 --quiet -o build/path.npy

.venv-test/installed: pyproject.toml
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/python -m pip install --quiet --no-compile --editable '.[dev,docs,gpu,exr]'
	touch $@

judges:
	for judge in $(JUDGES); do \
	    .venv-test/bin/python -m pip install --quiet --no-compile --only-binary :all: $$judge \
	        || echo "$$judge cannot be installed here: its tests skip"; \
	done

versions:
	tests/versions.sh

clean:
	rm -rf .venv-picture .venv-test build *.egg-info
