# Thin: CMake presets do the work, scripts/setup installs packages.
.PHONY: build demo test test-all bench asan tsan format lint lint-all install clean setup setup-lint

PREFIX ?= /usr/local
# The library of the tests: openmpi or mpich.
MPI ?= openmpi
export MPI
RELEASE := $(if $(filter mpich,$(MPI)),release-mpich,release)
TROIKA := build/release/troika
CXX_FILES = $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp')

# The tests that `make test` also runs under ASan and UBSan; those that exist are built. `make asan` runs all of them.
SANITIZED := base_test tensor_test ops_test graph_test taskgraph_test lower_test runtime_test data_test \
             checkpoint_test config_test collective_test comm_test sim_test search_test plan_replay costs_replay cluster_replay

build: setup
	cmake --preset release
	cmake --build --preset release --target product

demo: build
	$(TROIKA) demo

test: setup
	scripts/run_tests $(RELEASE) "asan-reference $(SANITIZED)"

# TROIKA_FULL=1 turns the small grids of the tests into the full ones.
test-all: setup
	TROIKA_FULL=1 scripts/run_tests $(RELEASE) asan tsan

asan tsan: setup
	scripts/run_tests $@

bench: build
	cmake --build --preset release --target benchmarks
	@for program in $(wildcard bench/*_bench.cpp); do build/release/$${program%.cpp} || exit 1; done
	$(TROIKA) bench step --model mlp --batch 256 --threads $$(nproc)

format: setup-lint
	clang-format -i $(CXX_FILES)

# The files of a change (BASE=REVISION says since when), or all of them.
lint: setup-lint
	scripts/lint

lint-all: setup-lint
	scripts/lint --all

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

setup:
	@scripts/setup

setup-lint:
	@scripts/setup --lint
