# A front door to CMake: each target installs the packages that are missing (by apt, or by Homebrew on a Mac), configures,
# builds and runs.
# Everything behind it also works by hand: see CMakePresets.json and README.md.

BUILD := build/release
TEXT  ?=
STEPS ?=
ARGS  ?=
FLAGS ?=
N     ?=
PROJECT ?=
WATCH ?=
MINUTES ?= 60
SEED  ?=
FOLDER ?=
S     ?=
LIST  ?=
EACH  ?=
P     ?= 2
PART  ?=

PACKAGES := g++ cmake ninja-build libxtensor-dev libxsimd-dev libxtensor-blas-dev libopenblas-pthread-dev libtbb-dev \
            catch2 libcli11-dev nlohmann-json3-dev zlib1g-dev libpcre2-dev pkgconf
# The same by Homebrew's names (zlib comes with macOS, xtensor-blas from its authors), and by those of their projects.
BREW_PACKAGES := cmake ninja xtensor xsimd openblas tbb catch2 cli11 nlohmann-json pcre2 pkgconf
PROJECTS := GCC 12 or clang 14, CMake 3.25, Ninja, xtensor, xsimd, xtensor-blas, OpenBLAS, oneTBB, Catch2, CLI11, nlohmann/json, zlib, PCRE2 and pkgconf

BENCH_PACKAGES  := libbenchmark-dev
MPI_PACKAGES    := libopenmpi-dev openmpi-bin
FORMAT_PACKAGES := clang-format-14
DOCS_PACKAGES   := python3-sphinx python3-myst-parser furo doxygen nodejs libjs-katex fonts-katex
BROWSER_PACKAGES := chromium chromium-driver python3-selenium python3-numpy
PYTHON_PACKAGES := pybind11-dev libdlpack-dev python3-dev python3-numpy
FUZZ_PACKAGES   := clang-14 libclang-rt-14-dev
GROWTH_PACKAGES := valgrind
MPICH_PACKAGES  := mpich libmpich-dev
DEBS_PACKAGES   := dpkg-dev file lintian mmdebstrap
PROOF_PACKAGES  := python3-sympy python3-numpy
CI_PACKAGES     := git $(PROOF_PACKAGES) $(FUZZ_PACKAGES) $(FORMAT_PACKAGES) $(BENCH_PACKAGES) $(GROWTH_PACKAGES)

# Debian's own CMake where there are several. Looked up late: it may have been installed a moment ago.
CMAKE = $(shell test -x /usr/bin/cmake && echo /usr/bin/cmake || echo cmake)
CTEST = $(dir $(filter /%,$(CMAKE)))ctest

# Homebrew keeps OpenBLAS away from the system's libraries, and has no xtensor-blas.
XTENSOR_BLAS := build/xtensor-blas
MAC = $(if $(filter Darwin,$(shell uname)),-DCMAKE_PREFIX_PATH="$(shell brew --prefix openblas);$(CURDIR)/$(XTENSOR_BLAS)")

# Debian's Open MPI. It refuses root, which containers have; it would bind each of two processes to one core,
# and wait long for a host that is cut off.
MPIRUN = $(if $(filter 0,$(shell id -u)),OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1) \
    mpirun --oversubscribe --bind-to none --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help lines train train-mpi generate chapter follow exercise hint figures test gradcheck toy test-browser fuzz fuzz-files mutants check-all bench examples docs format \
        clean default-text packages docs-packages browser-packages bench-packages mpi-packages mpich-packages growth-packages format-packages fuzz-packages debs-packages ci-packages configure ready

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E "s/:.*## /$$(printf '\t')/" | expand -t 14

train: configure $(if $(TEXT),,default-text)  ## train a character-level GPT: make train TEXT=book.txt STEPS=500 ARGS="--num_layers 6 --prompt Once"
	$(CMAKE) --build $(BUILD) --target train_gpt
	$(BUILD)/examples/train_gpt $(if $(TEXT),--text "$(TEXT)") $(if $(STEPS),--steps $(STEPS)) $(ARGS)

train-mpi: mpi-packages configure $(if $(TEXT),,default-text)  ## the same on several processes, in parts of a larger batch: make train-mpi P=4
	$(CMAKE) -S . -B $(BUILD) -DWEFT_MPI=ON
	$(CMAKE) --build $(BUILD) --target train_gpt
	$(MPIRUN) -n $(P) $(BUILD)/examples/train_gpt $(if $(TEXT),--text "$(TEXT)") $(if $(STEPS),--steps $(STEPS)) \
	    $(or $(ARGS),--batch_size 96 --micro_batch 12)

generate: configure  ## go on with a prompt, by the model in out or a GPT-2: make generate ARGS="--model gpt2 --prompt Once"
	$(CMAKE) --build $(BUILD) --target generate
	$(BUILD)/examples/generate $(ARGS)

chapter: ready  ## build and run a chapter's program, 0 to 18: make chapter N=9
	@ls examples/chapters/$(NN)_*.cpp >/dev/null 2>&1 || { echo "make chapter N=… wants the number of a chapter: 0 to 18"; exit 2; }
	$(CMAKE) --build $(BUILD) --target chapter_$(NN)
	$(BUILD)/examples/chapter_$(NN)

follow: ready  ## go through a source beside its text, 0 to 4 (docs/sources.md): make follow S=2
	@ls examples/sources/$(S)_*.cpp >/dev/null 2>&1 || { echo "make follow S=… wants the number of a source: 0 to 4"; exit 2; }
	$(CMAKE) --build $(BUILD) --target follow_$(S)
	$(BUILD)/examples/follow_$(S)

exercise: ready  ## try what you wrote in exercises/: make exercise N=9 or PROJECT=1, with WATCH=1 at every save; without a number, your progress
	@exercises/try.sh $(CMAKE) $(BUILD) "$(N)" "$(PROJECT)" $(if $(WATCH),--watch)

hint: ready  ## the next hint for the first part of an exercise that does not pass: make hint N=9 or PROJECT=1
	@exercises/try.sh $(CMAKE) $(BUILD) "$(N)" "$(PROJECT)" --hint

figures: ready  ## draw the figures of the book and of docs/architecture.md anew, in docs/figures
	$(CMAKE) --build $(BUILD) --target chapters
	@for program in $(BUILD)/examples/chapter_[0-9][0-9]; do \
	    echo $$program --figures docs/figures; $$program --figures docs/figures >/dev/null || exit 1; done
	$(BUILD)/examples/layers_picture docs/figures/layers.svg

test: configure default-text  ## build everything and run every test
	$(CMAKE) --build $(BUILD)
	$(CTEST) --test-dir $(BUILD) --no-tests=error --output-on-failure --parallel $(shell getconf _NPROCESSORS_ONLN)
	@grep -hE '^(All tests passed|test cases:|assertions:|Skipped:)' $(BUILD)/Testing/Temporary/LastTest.log

gradcheck: ready  ## compare the gradients of every operation and module with finite differences, a line each
	$(CMAKE) --build $(BUILD) --target gradcheck
	$(BUILD)/tests/gradcheck

.PHONY: proofs
proofs: ready  ## prove every gradient rule by computer algebra (SymPy), from the graphs that the library records: docs/rules.md
	@$(call install,$(PROOF_PACKAGES))
	$(CMAKE) --build $(BUILD) --target export_graphs
	/usr/bin/python3 tests/proofs/test_zero.py
	set -o pipefail; $(BUILD)/tests/export_graphs | /usr/bin/python3 tests/proofs/prove.py --page docs/rules.md

toy: ready  ## a training loop that checks that gradients flow through its whole graph
	$(CMAKE) --build $(BUILD) --target toy_attention
	$(BUILD)/examples/toy_attention

.PHONY: step compare-from-scratch
step:  ## a step of docs/from_scratch with your files: make step N=3; with the solution: SOLUTION=1; enter there: FROM=solution
	@command -v g++ >/dev/null || { $(call install,g++); }
	@N="$(N)" SOLUTION="$(SOLUTION)" FROM="$(FROM)" bash from_scratch/step.sh

compare-from-scratch: ready  ## the GPT of docs/from_scratch beside Weft's: the same loss, and how much slower
	$(CMAKE) --build $(BUILD) --target compare_with_weft
	$(BUILD)/from_scratch/compare_with_weft

fuzz: ready  ## random programs of new seeds, compared by every route: make fuzz MINUTES=60
	$(CMAKE) --build $(BUILD) --target random_programs
	$(BUILD)/tests/random_programs --minutes $(MINUTES)

mutants: packages  ## change one thing of the library at a time: do the tests notice? make mutants N=100 FOLDER=src/core/ops SEED=7
	/usr/bin/python3 tests/mutants.py $(or $(N),100) $(if $(SEED),--seed $(SEED)) $(if $(FOLDER),--folder $(FOLDER)) \
	    $(if $(LIST),--list $(LIST)) $(ARGS)

fuzz-files: fuzz-packages  ## libFuzzer at every reader of files, so many seconds each: make fuzz-files EACH=600
	$(CMAKE) --preset sanitize
	$(CMAKE) --build build/sanitize --target fuzz_harnesses
	bash tests/fuzz/run.sh build/sanitize $(or $(EACH),15)

check-all:  ## make test, and what takes hours: random programs, in PyTorch too, hostile files, no BLAS, MPICH, processes killed, mutants; or some: PART="fuzz mutants"
	.ci/check-all $(PART)

.PHONY: growth
growth: growth-packages configure  ## does four times the input cost at most six times the instructions? make growth ARGS="multinomial"
	$(CMAKE) --build $(BUILD) --target growth
	$(BUILD)/tests/growth $(ARGS)

.PHONY: matrix
matrix: packages  ## other compilers, versions, generators, processors, in two hours; or some: make matrix ARGS="shared arm64"
	.ci/matrix $(ARGS)

.PHONY: debs
debs:  ## the Debian packages, tried in a fresh system (packaging/README.md)
	.ci/debs

docs: docs-packages  ## the book and the reference as a site, in build/site
	/usr/bin/python3 docs/site/build.py

test-browser: browser-packages configure  ## every page of the site, and a training's report, in a real browser
	$(CMAKE) --build $(BUILD) --target train_gpt page_model
	$(MAKE) docs
	/usr/bin/python3 tests/browser/run.py $(BUILD) $(ARGS)

.PHONY: errors
errors: configure  ## the messages on docs/errors.md written anew from the sources
	$(CMAKE) --build $(BUILD) --target weft_tests
	WEFT_WRITE_ERRORS=1 $(BUILD)/tests/weft_tests "[errors]"

.PHONY: test-python
PYTHON ?= /usr/bin/python3
test-python:  ## the Python module (docs/python.md), built and compared with the golden values and, where it is installed, PyTorch: make test-python PYTHON=python3
	@$(call install,$(PACKAGES) $(PYTHON_PACKAGES))
	$(CMAKE) -S . -B build/python -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_PYTHON=ON -DWEFT_TESTS=OFF -DWEFT_EXAMPLES=OFF -DPython_EXECUTABLE=$(shell command -v $(PYTHON))
	$(CMAKE) --build build/python --target _weft
	PYTHONPATH=build/python/python $(PYTHON) -m unittest discover -s python/tests

bench: bench-packages configure  ## Weft beside the floor and, where torch is installed, PyTorch: make bench ARGS="char gpt2"
	$(CMAKE) -S . -B $(BUILD) -DWEFT_BENCH=ON
	$(CMAKE) --build $(BUILD) --target compare kernels_bench
	@set -o pipefail; bash bench/record.sh $(BUILD) compare $(ARGS) | tee build/bench.txt
	@echo "build/bench.txt has this, to be kept in docs/measured, whose tables docs/performance.md shows"

examples: configure  ## build the examples and run all but train_gpt and generate
	$(CMAKE) --build $(BUILD)
	@for file in examples/*.cpp; do \
	    name=$$(basename $$file .cpp) path=; \
	    case $$name in train_gpt|generate|standard_output) continue ;; layers_picture) path=$(BUILD)/layers.svg ;; esac; \
	    echo $(BUILD)/examples/$$name $$path; $(BUILD)/examples/$$name $$path || exit 1; done

lines:  ## the lines of each layer, and of the core in the order in which to read it (docs/architecture.md)
	@for layer in core nn models viz train dist; do \
	    git ls-files src/$$layer include/weft/$$layer include/weft/$$layer.h | grep -vE '\.py$$|core/more' | xargs cat | wc -l | xargs printf '%-10s%6d\n' $$layer; done
	@git ls-files src/core/more include/weft/core/more.h | xargs cat | wc -l | xargs printf 'core/more %6d\n'
	@sed -n '/^## The core in an evening/,/^## Values/p' docs/architecture.md | grep -oE '`(src|include)/[^`]*`' | tr -d '`' | xargs wc -l

format: format-packages  ## write every source file in the project's format
	git ls-files '*.h' '*.cpp' | xargs clang-format-14 -i

clean:  ## remove what was built
	rm -rf build

configure: packages
	$(CMAKE) -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(MAC) $(FLAGS)

# As configure, but where the build is configured already this is left to it: readers come by often.
ready: packages
	@test -e $(BUILD)/build.ninja || $(MAKE) --no-print-directory configure

# The chapter's number with two digits.
NN = $(shell printf %02.0f $(N) 2>/dev/null)

# The text of make train without TEXT: Debian's package jargon-text, unpacked rather than installed, because systems may leave
# documentation out of what they install. Without it train_gpt takes the pages of the book.
JARGON := usr/share/doc/jargon-text/jargon.txt.gz
default-text:
	@test -e /$(JARGON) -o -e build/jargon-text/$(JARGON) || { command -v apt-get >/dev/null && mkdir -p build/jargon-text && cd build/jargon-text && rm -f *.deb && \
	    { apt-get download -q jargon-text || { $(subst sudo,sudo -n,$(root)) apt-get update -q && apt-get download -q jargon-text; }; } && \
	    dpkg -x *.deb . && rm *.deb; } || echo "Debian's package jargon-text is out of reach"

# Who may install.
root = $$([ $$(id -u) = 0 ] || echo sudo)

# $(call install,Debian's names,Homebrew's names,the projects): nothing is touched when all of them are there.
packages: ; @$(call install,$(PACKAGES),$(BREW_PACKAGES),$(PROJECTS))
docs-packages: ; @$(call install,$(DOCS_PACKAGES))
browser-packages: ; @$(call install,$(BROWSER_PACKAGES))
bench-packages: ; @$(call install,$(BENCH_PACKAGES),google-benchmark)
mpi-packages: ; @$(call install,$(PACKAGES) $(MPI_PACKAGES),$(BREW_PACKAGES) open-mpi)
fuzz-packages: ; @$(call install,$(PACKAGES) $(FUZZ_PACKAGES))
mpich-packages: ; @$(call install,$(PACKAGES) $(MPICH_PACKAGES))
growth-packages: ; @$(call install,$(PACKAGES) $(GROWTH_PACKAGES),$(BREW_PACKAGES))
format-packages: ; @$(call install,$(FORMAT_PACKAGES))
debs-packages: ; @$(call install,$(DEBS_PACKAGES))
ci-packages: ; @$(call install,$(PACKAGES) $(CI_PACKAGES))

define install
missing=""; \
if command -v apt-get >/dev/null; then \
    for package in $(1); do \
        dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
    done; \
    if [ -n "$$missing" ]; then \
        echo "installing:$$missing"; \
        $(root) apt-get update -q && \
        $(root) env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing; \
    fi; \
elif [ -n "$(2)" ] && [ "$$(uname)" = Darwin ] && command -v brew >/dev/null; then \
    for package in $(2); do [ -e "$$(brew --prefix)/opt/$$package" ] || missing="$$missing $$package"; done; \
    [ -z "$$missing" ] || { echo "installing:$$missing"; brew install $$missing; } && \
    { [ -e $(XTENSOR_BLAS) ] || git clone -q --depth 1 --branch 0.23.0 https://github.com/xtensor-stack/xtensor-blas $(XTENSOR_BLAS); }; \
elif [ -n "$(strip $(1))" ]; then \
    echo "Weft needs $(if $(3),$(3). Install them and go on with: make … PACKAGES=,what Debian calls $(1))"; exit 1; \
fi
endef
