# Tests, beside `make check`:
#
#   make check ONLY='NAMES'   programs (t-verb-erf, verb-erf), and all programs of a folder (model);
#                             WITHOUT='NAMES': all but these
#   make check-environments   kernels on other instruction sets, and with verbs under OpenMP settings
#                             that grant fewer threads
#   make check-python         the package in python/; PYTHON with numpy, h5py, torch, safetensors
#   make check-pip            `pip install` of this tree into an environment of its own, by $(PYTHON)
#                             with the distribution's numpy and h5py; a measurement, the notebook,
#                             and the tests that need no torch
#   make check-random         `reach trf` on COUNT random formulas (1000) from SEED on, against sums
#                             in ball arithmetic by a script of its own; WAVES=1: with waves
#   make check-formulas       one question of each of 1,000 formulas: counted work within its cap,
#                             and the slowest ten; FORMULAS=LIST: those of a list
#   make check-certificates   `reach trf --certificate` by a checker of its own, a sample;
#                             check-long: all goldens and COUNT random formulas (1000)
#   make check-converted      `reach convert` of the tests' GGUF files, loaded by transformers
#   make check-page           the pages of `reach explain` and `reach report` in Chromium
#   make compare-cas          doc/cas.md: SymPy, mpmath and PARI asked as `reach trf` is; an hour
#   make fuzz                 every parser for SECONDS_EACH (600); TARGET=pickle: one; fuzz-short
#   make torture              kills, signals, damage, failing calls: half an hour; torture-short:
#                             a minute
#   make shards               a run in 256 parts, some of them killed, merged: the bytes of one run
#   make tsan                 ThreadSanitizer with Archer on eight commands, and on three ranks
#   make aarch64              the program for 64-bit ARM, and a part of the suite under qemu
#   make tokenizer-study      ids of many tokenizers on 6 MB of text, against their own packages

TEST_SRC  := $(wildcard tests/t-*.c)
TEST_HELP := $(filter-out $(TEST_SRC),$(wildcard tests/*.c))
TESTS     := $(patsubst %.c,$(BUILD)/%,$(TEST_SRC))
# a hundred programs are linked; gold takes a third of the time that the usual linker takes
TEST_LDFLAGS := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# kept; not `.SECONDARY:` for all, which takes a missing program of one configuration for made when
# ./reach of another is there
.SECONDARY: $(call object,$(TEST_SRC) $(TEST_HELP))

$(BUILD)/tests/t-%: $(BUILD)/tests/t-%.o $(call object,$(TEST_HELP)) $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(TEST_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	  -lcmocka $(LIBS)

# stand before oneDNN, or before what it calls, in tests
WRONG_LIBRARIES := $(patsubst tests/wrong_library/%.c,$(BUILD)/tests/wrong-%.so,\
  $(wildcard tests/wrong_library/*.c))
$(BUILD)/tests/wrong-%.so: tests/wrong_library/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -Wno-missing-prototypes -fPIC -shared -o $@ $<

# the programs that names in ONLY stand for: t-verb-erf, verb-erf, or the folder model or model/
named    = $(or $(wildcard tests/$(1).c tests/t-$(1).c),\
  $(wildcard tests/t-$(subst /,-,$(1:/=))-*.c),\
  $(error ONLY, WITHOUT: there is no test $(1) (expected a program of tests/t-*.c, or a folder)))
ONLY    ?=
WITHOUT ?=
CHOSEN  := $(filter-out $(foreach o,$(WITHOUT),$(patsubst %.c,$(BUILD)/%,$(call named,$(o)))),\
  $(if $(ONLY),\
  $(patsubst %.c,$(BUILD)/%,$(sort $(foreach o,$(ONLY),$(call named,$(o))))),$(TESTS)))

# t-NAME-amx is t-NAME where AMX's instructions are trapped and done by a plain model (tests/amx):
# any processor with AVX512_BF16 runs the kernels for AMX, and there they are the best. On another
# it is t-NAME once more.
TRAPPED      := $(if $(X86),$(filter $(CHOSEN),$(patsubst %,$(BUILD)/tests/t-kernels-%,\
  attention-mass bf16 bf16x3 cpu sets)))
.SECONDARY: $(BUILD)/tests/amx/trap.o
$(BUILD)/tests/amx/trap.o: LEVEL = $(call LEVEL_OF,-O3)
$(BUILD)/tests/t-%-amx: $(BUILD)/tests/t-%.o $(BUILD)/tests/amx/trap.o $(call object,$(TEST_HELP)) \
    $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(TEST_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	  -lcmocka $(LIBS)

tests: $(CHOSEN) $(TRAPPED:%=%-amx) $(BUILD)/reach $(REACH_MPI:%=$(BUILD)/%) $(WRONG_LIBRARIES)

check: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) probe tests
	$(Q)REACH=$(BUILD)/reach TIMES=$(BUILD)/tests/times sh tests/run.sh $(CHOSEN) $(TRAPPED:%=%-amx)

# SETTINGS: of the environment, under each of which these run once more: kernels and goldens on other
# instruction sets, and with the verbs where OpenMP grants fewer threads
VERB_TESTS := $(patsubst tests/t-%.c,%,$(filter tests/t-verb%,$(TEST_SRC)))
SETTINGS   ?= REACH_ISA=generic ONEDNN_MAX_CPU_ISA=AVX2 OMP_THREAD_LIMIT=1 OMP_DYNAMIC=true
check-environments: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) tests
	$(Q)REACH=$(BUILD)/reach sh tests/run.sh $(foreach v,$(SETTINGS),\
	  $(foreach t,kernels-sets kernels-mixers kernels-cpu model-goldens \
	  $(if $(filter OMP_%,$(v)),$(VERB_TESTS)),$(v):$(BUILD)/tests/t-$(t)))

# ---- Python ----
# None is a part of `check`, which needs no Python. Tests that want pandas are skipped, and say so,
# where it is missing.
PYTHON_NEEDS := numpy h5py torch safetensors
check-python:
	@$(PYTHON) -c 'import sys; from importlib.util import find_spec; \
	  lacks = [m for m in sys.argv[1:] if not find_spec(m)]; \
	  sys.exit(f"check-python: {sys.executable} has no {chr(32).join(lacks)} " \
	  "(PYTHON=PROGRAM names another Python)" if lacks else 0)' $(PYTHON_NEEDS)
	$(Q)$(MAKE) --no-print-directory deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(BUILD)/reach
	$(Q)REACH=$(BUILD)/reach PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 \
	  $(PYTHON) -m unittest discover -v -s python/tests

# packages of the distribution, where that is Debian
PIP_PACKAGES := python3-venv python3-setuptools python3-wheel python3-numpy python3-h5py
check-pip: deps
	$(Q)! command -v dpkg-query >/dev/null || sh .ci/deps $(PIP_PACKAGES)
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)PYTHON=$(PYTHON) sh tests/pip.sh

# a script with its arguments where Python has these modules, else a line that it is skipped
with_modules = if $(PYTHON) -c 'import $(1)' 2>/dev/null; \
  then PYTHONDONTWRITEBYTECODE=1 $(PYTHON) $(3); \
  else echo '$@: skipped: $(PYTHON) has no $(2) (PYTHON=PROGRAM names another Python)'; fi

check-certificates check-long: $(BUILD)/reach
	$(Q)$(call with_modules,mpmath,mpmath,tests/certificates.py $(BUILD)/reach \
	  $(if $(filter %-long,$@),$(or $(COUNT),1000),0))

check-random: $(BUILD)/reach
	$(Q)$(call with_modules,flint,python-flint,tests/random_series.py $(BUILD)/reach \
	  $(or $(COUNT),1000) $(SEED) $(if $(WAVES),waves))

check-formulas: $(BUILD)/bench/formulas
	$(Q)$< $(or $(FORMULAS),tests/goldens/series/formulas.txt)

check-converted: $(BUILD)/reach
	$(Q)$(call with_modules,transformers$(comma) torch$(comma) h5py,\
	  transformers$(comma) torch and h5py,tests/converted.py $(BUILD)/reach)

# COMPARE_CAS_KEPT=FILE keeps answers to go on with; COUNT biases (100)
compare-cas: $(BUILD)/reach
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/compare_cas.py $(BUILD)/reach doc/cas.md $(COUNT)

# skipped, in one line, where there is no Chromium
check-page: all
	$(Q)REACH=./reach PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/page/check.py

torture torture-short: all
	$(Q)$(PYTHON) tests/torture.py $(BUILD)/reach $(if $(filter %-short,$@),--short)

shards: all
	$(Q)$(PYTHON) tests/shards.py $(BUILD)/reach

# needs the Python packages tokenizers, sentencepiece, protobuf, gguf and numpy
tokenizer-study: all
	$(PYTHON) tests/goldens/tokenizer/study.py ./reach

# ---- other machines and sanitizers ----
# Debian's gcc-aarch64-linux-gnu and qemu-user-static; the libraries are fetched, once, into build/
aarch64:
	$(Q)sh tests/aarch64.sh

# clang, its OpenMP and Archer (Debian: clang, libomp-dev of the same version)
tsan:
	$(Q)$(MAKE) --no-print-directory $(JOBS) NVCC= CC=clang tsan=1 build/clang-tsan/reach \
	  $(REACH_MPI:%=build/clang-tsan/%)
	$(Q)sh tests/tsan.sh build/clang-tsan/reach

# ---- fuzzing ----
# FUZZ_JOBS targets of tests/fuzz/targets.h at a time. fuzz-short gives each for at most three
# seconds the same inputs each time, for continuous integration: chance does not decide there. What
# is found fails the run and lies in found/TARGET of the build; it goes to tests/fuzz/cases/TARGET
# once it is put right. make check runs the targets on valid inputs and on these cases.
FUZZ_SRC     := $(filter-out tests/fuzz/entry.c,$(wildcard tests/fuzz/*.c))
FUZZ_BUILD   := $(dir $(BUILD))clang-asan-fuzz$(WERROR:1=-werror)
SECONDS_EACH ?= 600
FUZZ_JOBS    ?= 1
TARGET       ?= $(shell sed -n 's/^TARGET.\([a-z_]*\),.*/\1/p' tests/fuzz/targets.h)

.SECONDARY: $(call object,$(FUZZ_SRC) tests/fuzz/entry.c)
$(BUILD)/tests/t-tests-fuzz-cases: $(call object,$(FUZZ_SRC))

$(BUILD)/fuzz: $(call object,tests/fuzz/entry.c $(FUZZ_SRC) $(TEST_HELP)) $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ -lcmocka $(LIBS)

fuzz:
	$(Q)$(MAKE) --no-print-directory $(JOBS) CC=clang asan=1 fuzz=1 \
	  $(FUZZ_BUILD)/fuzz $(FUZZ_BUILD)/tests/t-tests-fuzz-cases
	$(Q)rm -rf $(FUZZ_BUILD)/seeds
	$(Q)$(FUZZ_BUILD)/tests/t-tests-fuzz-cases --seeds $(FUZZ_BUILD)/seeds
	$(Q)printf '%s\n' $(TARGET) | SECONDS_EACH=$(SECONDS_EACH) \
	  xargs -P $(FUZZ_JOBS) -n 1 sh tests/fuzz/run.sh $(FUZZ_BUILD)

fuzz-short:
	$(Q)RUNS=20000 $(MAKE) --no-print-directory fuzz SECONDS_EACH=3 FUZZ_JOBS=2

.PHONY: tests check check-environments check-python check-pip check-certificates check-long check-formulas \
  check-random check-converted compare-cas check-page torture torture-short shards tokenizer-study aarch64 tsan \
  fuzz fuzz-short
