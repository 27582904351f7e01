# reach: how far back does a language model look?
#
#   make            build ./reach                       make demo      install what is missing, build, run on the examples
#   make check      install what is missing, test       make bench     ratios against a peer and the machine's own rate
#   make deps       install the libraries (apt)         make install   into PREFIX (default /usr/local), DESTDIR honoured; uninstall
#   make cuda       the CUDA plug-in (`make` does where a GPU is found)
#   make check-cuda the CUDA set's tests on the stand-in for a GPU, with twenty orders of its threads (SEEDS) and its copies early
#   make check-ptx  the tests that want a GPU on the kernels as nvcc compiled them: their PTX on the stand-in
#   make cuda-without   the same tests with each barrier, wait and bound of the set taken out in turn (PART=1/8: an eighth): which one misses it
#   make check-cuda-races   accesses of the set's kernels that no barrier, event or order of a stream keeps apart
#   make gpu-check  all kernels on this machine's GPU   make gpu-bench its rates, beside PyTorch   make gpu-carry both packed for another machine
#   make check-environments kernels and verbs once more under OpenMP settings that grant fewer threads than are asked for
#   make real               two real language models, fetched by pip: gradients, log p, tokens and perplexity compared with transformers
#   make outputs            doc/outputs.md, the columns of all CSV files, and the list in doc/families.md, from the tables that are read
#   make format             every source file as clang-format 14 writes it by .clang-format; format-check: names those that differ
#   make check-python       tests of the package in python/, by PYTHON with numpy, h5py, torch and safetensors
#   make check-random       `reach trf` on random formulas, against sums in ball arithmetic by a script of its own
#   make check-certificates what `reach trf --certificate` writes, by a checker of its own: a sample; check-long: all goldens, 1,000 random formulas
#   make check-converted    `reach convert` of the tests' GGUF files, loaded by transformers
#   make compare-cas        doc/cas.md: SymPy, mpmath and PARI (cypari) asked the same as `reach trf`
#   make check-page         the pages of `reach explain` and `reach report` in Chromium: what is drawn against the CSV, contrast, keys, print, time to open
#   make bench-plan         memory plans beside what is taken       make torture   kills, signals, damage, failing calls: half an hour; torture-short: a minute
#   make bench-long         memory of long inputs, planned and taken, with --keep bf16 and --scratch
#   make bench-far          small models at up to half a million tokens, beside PyTorch as far as that goes
#   make tsan               ThreadSanitizer with Archer on eight commands, and on three ranks
#   make aarch64            the program for 64-bit ARM, and a part of the suite under qemu
#   make shards             a run in 256 parts, some of them killed, merged: the bytes of one run
#   make dist      the sources as build/reach-VERSION.tar.gz           make deb       a Debian package, build/reach_VERSION_ARCH.deb
#   make studies            both papers on the example models: pages, tables and figures in doc/studies/ from what was measured of them; a sample is measured again
#   make studies-measure    measures what those pages need beside examples/gates.py: hours
#   make tokenizer-study    ids of many tokenizers on 6 MB of text against the packages `tokenizers` and `sentencepiece`
#
# Variables: CC, OPTIMIZE (of the kernels), asan=1 (AddressSanitizer and UBSan), tsan=1 (ThreadSanitizer; with clang), werror=1, MPI_PKG (none: no reach-mpi), PREFIX, DESTDIR, PYTHON (bench, check-python, tokenizer-study).

CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
OPTIMIZE ?= -O3
PREFIX   ?= /usr/local
DESTDIR  ?=
PYTHON   ?= python3
CFLAGS   ?=
LDFLAGS  ?=
CPPFLAGS ?=
asan     ?= 0
tsan     ?= 0
werror   ?= 0
V        ?= 0

VERSION := 0.2.0
MACHINE := $(shell uname -m)
# for the makes that a target calls: all processors, unless make was told how many jobs to run
JOBS     = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- where things go: one folder a configuration, so that none spoils another's objects ----
CONFIG := $(notdir $(firstword $(CC)))$(if $(filter 1,$(asan)),-asan)$(if $(filter 1,$(tsan)),-tsan)$(if $(filter 1,$(werror)),-werror)
BUILD  := build/$(CONFIG)
Q      := $(if $(filter 1,$(V)),,@)

# ---- libraries: probed once a configuration and kept in $(FOUND) when all are there; a newer Makefile probes again ----
PKG_CONFIG ?= pkg-config
FOUND      := $(BUILD)/libraries.mk
probe       = $(shell printf '\043include <$(1)>\nint main(void){return 0;}\n' | $(CC) $(CPPFLAGS) $(4) -x c - -o /dev/null $(3) 2>/dev/null && echo found || echo missing)
LIBRARIES  := HDF5 JANSSON ZLIB XXHASH ONEDNN FLINT MPFI YAML PCRE2 UTF8PROC OPENMP
KEPT       := HDF5_PKG ARB_LIBS HDF5_CFLAGS HDF5_LIBS $(LIBRARIES:%=HAVE_%) HAVE_CMOCKA HAVE_GNUPLOT HAVE_CXX

ifeq ($(filter clean deps help,$(MAKECMDGOALS)),)
ifneq ($(shell [ $(FOUND) -nt Makefile ] && echo newer),)
include $(FOUND)
else
HDF5_PKG   := $(firstword $(foreach p,hdf5-serial hdf5,$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null && echo $(p))) none)
# Arb is part of FLINT from version 3 on, a library of its own (libarb, on Debian libflint-arb) before
ARB_LIBS    := $(firstword $(foreach l,flint-arb arb,$(if $(shell $(CC) -x c /dev/null -shared -o /dev/null -l$(l) 2>/dev/null && echo 1),-l$(l)))) -lflint
# H5_USE_110_API: object addresses as numbers, also where HDF5 1.12 and later have tokens
HDF5_CFLAGS := -DH5_USE_110_API $(if $(filter none,$(HDF5_PKG)),,$(shell $(PKG_CONFIG) --cflags $(HDF5_PKG) 2>/dev/null))
HDF5_LIBS   := $(if $(filter none,$(HDF5_PKG)),-lhdf5,$(shell $(PKG_CONFIG) --libs $(HDF5_PKG) 2>/dev/null))
HAVE_HDF5    := $(call probe,hdf5.h,,$(HDF5_LIBS),$(HDF5_CFLAGS))
HAVE_JANSSON := $(call probe,jansson.h,,-ljansson,)
HAVE_ZLIB    := $(call probe,zlib.h,,-lz,)
HAVE_XXHASH  := $(call probe,xxhash.h,,-lxxhash,)
HAVE_ONEDNN  := $(call probe,dnnl.h,,-ldnnl,)
HAVE_FLINT   := $(shell printf '\043if __has_include(<flint/arb.h>)\n\043include <flint/arb.h>\n\043else\n\043include <arb.h>\n\043endif\nint main(void){return 0;}\n' | $(CC) $(CPPFLAGS) -x c - -o /dev/null $(ARB_LIBS) 2>/dev/null && echo found || echo missing)
HAVE_MPFI    := $(call probe,mpfi.h,,-lmpfi -lmpfr -lgmp,)
HAVE_YAML    := $(call probe,yaml.h,,-lyaml,)
HAVE_PCRE2   := $(call probe,pcre2.h,,-lpcre2-8,-DPCRE2_CODE_UNIT_WIDTH=8)
HAVE_UTF8PROC := $(call probe,utf8proc.h,,-lutf8proc,)
HAVE_OPENMP  := $(call probe,omp.h,,-fopenmp,)
HAVE_CMOCKA  := $(shell printf '\043include <stdarg.h>\n\043include <stddef.h>\n\043include <setjmp.h>\n\043include <stdint.h>\n\043include <cmocka.h>\nint main(void){return 0;}\n' | $(CC) -x c - -o /dev/null -lcmocka 2>/dev/null && echo found || echo missing)
HAVE_GNUPLOT := $(shell command -v gnuplot >/dev/null 2>&1 && echo found || echo missing)
HAVE_CXX     := $(shell command -v g++ >/dev/null 2>&1 && echo found || echo missing)
# not by another user, as in `sudo make deps`: the owner could not write beside it
ifeq ($(filter missing,$(foreach v,$(KEPT),$($(v))))$(shell [ -O . ] || echo other),)
$(shell mkdir -p $(BUILD))
$(file >$(FOUND).new,# what was found here; made by the Makefile)
$(foreach v,$(KEPT),$(file >>$(FOUND).new,$(v) := $($(v))))
$(shell mv $(FOUND).new $(FOUND))
endif
endif
endif

# for reach-mpi alone; MPI_PKG=none leaves it out
MPI_PKG  ?= $(firstword $(foreach p,ompi-c mpi-c mpich,$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null && echo $(p))) none)
MPI      := $(MPI_PKG)
HAVE_MPI := $(if $(filter none,$(MPI)),none,found)

REQUIRED := $(foreach l,$(LIBRARIES),$(if $(filter missing,$(HAVE_$(l))),$(l)))
APT_PACKAGES := gcc make pkg-config libhdf5-dev libjansson-dev zlib1g-dev libxxhash-dev libdnnl-dev libflint-dev libflint-arb-dev libmpfi-dev libyaml-dev libpcre2-dev libutf8proc-dev \
  libcmocka-dev gnuplot-nox

# ---- flags ----
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla $(if $(filter 1,$(werror)),-Werror)
# under its sanitizers gcc takes &x->mid for x where both are one address, and warns of arrays of FLINT's types
WARNINGS += $(if $(filter 1,$(asan)),$(if $(findstring clang,$(CC)),,-Wno-stringop-overread))
comma    := ,
SANITIZE := $(if $(filter 1,$(asan)),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
SANITIZE += $(if $(filter 1,$(tsan)),-fsanitize=thread)
# The program is hardened the same way however it is built: `make`, `make install`, the Debian package, which sets some of this itself. Sanitizers replace the checked functions,
# and without optimisation there are none. FORTIFY: the highest level that compiler and C library have.
FORTIFY  := $(if $(strip $(SANITIZE))$(findstring -O0,$(CFLAGS) $(OPTIMIZE)),,$(shell printf '\043include <stdio.h>\nint main(void){return 0;}\n' | \
  $(CC) -O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -x c - -c -o /dev/null 2>/dev/null && echo 3 || echo 2))
HARDEN   := -fstack-protector-strong $(if $(filter x86_64 amd64,$(MACHINE)),-fcf-protection) $(if $(FORTIFY),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY))
override LDFLAGS := -Wl,-z,relro -Wl,-z,now $(LDFLAGS)
BASE_CFLAGS := -std=gnu11 $(if $(filter 1,$(asan)),-O1,-O2) -g1 $(WARNINGS) $(SANITIZE) -fopenmp -ffp-contract=off -fno-math-errno -I. -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(HARDEN)
# LEVEL: of the file being compiled, where it differs. Kernels gain by OPTIMIZE; tests wait for the compiler longer than for their own code.
# CFLAGS=-g brings back what -g1 (names of functions and lines) leaves out.
LEVEL     =
LEVEL_OF  = $(if $(filter 1,$(asan)),,$(1))
LIBS     := $(HDF5_LIBS) -ljansson -lz -lxxhash -ldnnl -lmpfi $(ARB_LIBS) -lmpfr -lgmp -lyaml -lpcre2-8 -lutf8proc -ldl -lm

# ---- sources: found by wildcard, one room a folder ----
IO_SRC       := $(wildcard io/*.c io/*/*.c)
ANALYZE_SRC  := $(wildcard analyze/*.c analyze/series/*.c analyze/series/*/*.c)
MODEL_SRC    := $(wildcard model/*.c model/families/*.c)
PLOTS_SRC    := $(wildcard plots/*.c)
PAGE_SRC     := $(wildcard page/*.c)
KERNEL_SRC   := $(wildcard kernels/*.c kernels/cpu/*.c kernels/sets/*.c)
REF_SRC      := $(wildcard kernels/reference/*.c)
# compiled once for each instruction set, VECTOR_ISA naming it; see kernels/cpu/vector/README.md
VECTOR_SRC   := $(wildcard kernels/cpu/vector/*.c)
RUN_SRC      := $(wildcard run/*.c run/*/*.c)
COMMAND_SRC  := $(filter-out commands/main.c,$(wildcard commands/*.c))
TEST_SRC     := $(wildcard tests/t-*.c)
TEST_HELP    := $(filter-out $(TEST_SRC),$(wildcard tests/*.c))

ISAS := generic
ifneq ($(filter x86_64 amd64,$(MACHINE)),)
ISAS += avx2 avx512 avx512_bf16
endif
ISA_FLAGS_generic := -DVECTOR_ISA=generic -DVECTOR_WIDTH=4
ISA_FLAGS_avx2    := -DVECTOR_ISA=avx2 -DVECTOR_WIDTH=8 -mavx2 -mfma -mf16c
ISA_FLAGS_avx512  := -DVECTOR_ISA=avx512 -DVECTOR_WIDTH=16 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512
ISA_FLAGS_avx512_bf16 := $(subst =avx512,=avx512_bf16,$(ISA_FLAGS_avx512)) -mavx512bf16

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ := $(call object,$(IO_SRC) $(ANALYZE_SRC) $(MODEL_SRC) $(PLOTS_SRC) $(PAGE_SRC) $(KERNEL_SRC) $(RUN_SRC) $(COMMAND_SRC)) \
  $(foreach r,f32 f64,$(patsubst %.c,$(BUILD)/%.$(r).o,$(REF_SRC))) \
  $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/%.$(i).o,$(VECTOR_SRC)))
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))

.PHONY: all probe ready clean install uninstall deps demo check check-environments check-python check-random check-certificates check-converted compare-cas check-long check-page tests bench bench-plan bench-long bench-far torture torture-short shards tsan aarch64 studies studies-measure real tokenizer-study outputs help FORCE
.DELETE_ON_ERROR:
# kept; not `.SECONDARY:` for all, which takes a missing program of one configuration for made when ./reach of another is there
.SECONDARY: $(call object,$(TEST_SRC) $(TEST_HELP) $(wildcard bench/*.c))
.SUFFIXES:

all: probe reach $(if $(filter found,$(HAVE_MPI)),reach-mpi)

probe:
	@printf '  HDF5     %s\n  Jansson  %s\n  zlib     %s\n  xxHash   %s\n  oneDNN   %s\n  FLINT    %s\n  MPFI     %s\n  libyaml  %s\n  PCRE2    %s\n  utf8proc %s\n  OpenMP   %s\n  MPI      %s (reach-mpi)\n  cmocka   %s (tests)\n  gnuplot  %s (pictures)\n' \
	  '$(HAVE_HDF5)' '$(HAVE_JANSSON)' '$(HAVE_ZLIB)' '$(HAVE_XXHASH)' '$(HAVE_ONEDNN)' '$(HAVE_FLINT)' '$(HAVE_MPFI)' '$(HAVE_YAML)' '$(HAVE_PCRE2)' '$(HAVE_UTF8PROC)' '$(HAVE_OPENMP)' '$(HAVE_MPI)' '$(HAVE_CMOCKA)' '$(HAVE_GNUPLOT)'
	@if [ -n '$(strip $(REQUIRED))' ]; then echo 'missing: $(strip $(REQUIRED)). `make deps` installs them on Debian and Ubuntu.' >&2; exit 1; fi

# of this configuration, whichever was built last
reach reach-mpi: %: $(BUILD)/% FORCE
	@cmp -s $< $@ || cp -f $< $@

$(BUILD)/reach: $(BUILD)/commands/main.o $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# the same program with one more file; MPI's library is loaded by this one alone
$(BUILD)/reach-mpi: $(BUILD)/commands/mpi/main.o $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $$($(PKG_CONFIG) --libs $(MPI))

$(BUILD)/commands/mpi/main.o: commands/mpi/main.c
	@mkdir -p $(@D); printf '  CC   %s\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $$($(PKG_CONFIG) --cflags $(MPI) | sed 's/-I/-isystem /g') -I$(BUILD) -MMD -MP -c $< -o $@

$(BUILD)/libreach.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

# what `reach version` prints; rewritten only when it changes
$(BUILD)/version.h: FORCE
	@mkdir -p $(BUILD)
	@printf '#define REACH_VERSION "%s"\n#define REACH_COMPILER "%s"\n#define REACH_FLAGS "%s"\n#define REACH_MPI "%s"\n' '$(VERSION)' \
	  "$$($(CC) --version | head -n 1)" '$(strip $(BASE_CFLAGS)), kernels $(strip $(call LEVEL_OF,$(OPTIMIZE)))' \
	  '$(if $(filter found,$(HAVE_MPI)),$(MPI) $(shell $(PKG_CONFIG) --modversion $(MPI) 2>/dev/null) in reach-mpi,not found by pkg-config: there is no reach-mpi)' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(LIB_OBJ) $(BUILD)/commands/main.o $(BUILD)/commands/mpi/main.o: | $(BUILD)/version.h

# objects of before do not become a part of a hardened program
$(BUILD)/hardened: FORCE
	@mkdir -p $(BUILD); echo '$(strip $(HARDEN))' >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(LIB_OBJ) $(BUILD)/commands/main.o $(BUILD)/commands/mpi/main.o: $(BUILD)/hardened

# styles and scripts of pages as texts of C
$(BUILD)/page/%.inc: page/%
	@mkdir -p $(@D)
	$(Q)sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

$(BUILD)/page/explain.o: $(BUILD)/page/page.css.inc $(BUILD)/page/explain.css.inc $(BUILD)/page/explain.js.inc
$(BUILD)/page/report.o: $(BUILD)/page/page.css.inc $(BUILD)/page/report.css.inc

$(filter $(BUILD)/kernels/%,$(LIB_OBJ)): LEVEL = $(call LEVEL_OF,$(OPTIMIZE))
# gcc 12 for aarch64 ends with an internal error in its vectoriser there, at -O3
ifneq ($(filter aarch64 arm64,$(MACHINE)),)
$(BUILD)/kernels/reference/experts.f32.o $(BUILD)/kernels/reference/experts.f64.o: LEVEL = $(call LEVEL_OF,-O2)
endif
$(BUILD)/tests/%.o: LEVEL = $(call LEVEL_OF,-O1)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D); printf '  CC   %s\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $(LEVEL) $(HDF5_CFLAGS) -I$(BUILD) -MMD -MP -c $< -o $@

$(BUILD)/%.f32.o: %.c
	@mkdir -p $(@D); printf '  CC   %s (float)\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $(LEVEL) -DREFERENCE_F32 -MMD -MP -c $< -o $@

$(BUILD)/%.f64.o: %.c
	@mkdir -p $(@D); printf '  CC   %s (double)\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $(LEVEL) -DREFERENCE_F64 -MMD -MP -c $< -o $@

define isa_rule
$$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D); printf '  CC   %s (%s)\n' $$< $(1)
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(LEVEL) $$(ISA_FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

# ---- tests ----
# a hundred programs are linked; gold takes a third of the time that the usual linker takes
TEST_LDFLAGS := $(if $(shell command -v ld.gold),-fuse-ld=gold)

$(BUILD)/tests/t-%: $(BUILD)/tests/t-%.o $(call object,$(TEST_HELP)) $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(TEST_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(LIBS)

# stand before oneDNN, or before what it calls, in tests
WRONG_LIBRARIES := $(patsubst tests/wrong_library/%.c,$(BUILD)/tests/wrong-%.so,$(wildcard tests/wrong_library/*.c))
$(BUILD)/tests/wrong-%.so: tests/wrong_library/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -Wno-missing-prototypes -fPIC -shared -o $@ $<

tests: $(TESTS) $(BUILD)/reach $(if $(filter found,$(HAVE_MPI)),$(BUILD)/reach-mpi) $(WRONG_LIBRARIES)

check: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) probe tests
	$(Q)REACH=$(BUILD)/reach TIMES=$(BUILD)/tests/times sh tests/run.sh $(TESTS) $(foreach v,REACH_ISA=generic ONEDNN_MAX_CPU_ISA=AVX2,$(foreach t,kernels-sets kernels-cpu model-goldens,$(v):$(BUILD)/tests/t-$(t))) OMP_THREAD_LIMIT=1:$(BUILD)/tests/t-kernels-cpu

check-environments: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) tests
	$(Q)REACH=$(BUILD)/reach sh tests/run.sh $(foreach v,OMP_THREAD_LIMIT=1 OMP_DYNAMIC=true,$(foreach t,kernels-sets kernels-cpu model-goldens $(patsubst tests/t-%.c,%,$(wildcard tests/t-verb*.c)),$(v):$(BUILD)/tests/t-$(t)))

# Not a part of `check`, which needs no Python. Tests that want pandas are skipped, and say so, where it is missing.
PYTHON_NEEDS := numpy h5py torch safetensors
check-python:
	@$(PYTHON) -c 'import sys; from importlib.util import find_spec; lacks = [m for m in sys.argv[1:] if not find_spec(m)]; \
	  sys.exit(f"check-python: {sys.executable} has no {chr(32).join(lacks)} (PYTHON=PROGRAM names another Python)" if lacks else 0)' $(PYTHON_NEEDS)
	$(Q)$(MAKE) --no-print-directory deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(BUILD)/reach
	$(Q)REACH=$(BUILD)/reach PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest discover -v -s python/tests

# Certificates of `reach trf` by a checker of their own; check-long: those of all goldens and of COUNT random formulas (1000; ten minutes on two processors).
check-certificates check-long: $(BUILD)/reach
	$(Q)if $(PYTHON) -c 'import mpmath' 2>/dev/null; then PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/certificates.py $(BUILD)/reach $(if $(filter %-long,$@),$(or $(COUNT),1000),0); \
	  else echo '$@: skipped: $(PYTHON) has no mpmath (PYTHON=PROGRAM names another Python)'; fi

# `reach trf` on COUNT random formulas (1000) drawn from seed SEED on, against Euler-Maclaurin sums in balls by a script of its own; a minute; WAVES=1: with waves beside them
check-random: $(BUILD)/reach
	$(Q)if $(PYTHON) -c 'import flint' 2>/dev/null; then PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/random_series.py $(BUILD)/reach $(or $(COUNT),1000) $(SEED) $(if $(WAVES),waves); \
	  else echo '$@: skipped: $(PYTHON) has no python-flint (PYTHON=PROGRAM names another Python)'; fi

# doc/cas.md: `reach trf` beside SymPy, mpmath and PARI on COUNT biases (100): an hour or so. COMPARE_CAS_KEPT=FILE keeps answers to go on with
compare-cas: $(BUILD)/reach
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/compare_cas.py $(BUILD)/reach doc/cas.md $(COUNT)

# `reach convert` of the GGUF files of the tests, loaded by transformers: half a minute
check-converted: $(BUILD)/reach
	$(Q)if $(PYTHON) -c 'import transformers, torch, h5py' 2>/dev/null; then PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/converted.py $(BUILD)/reach; \
	  else echo '$@: skipped: $(PYTHON) has no transformers, torch and h5py (PYTHON=PROGRAM names another Python)'; fi

# Not a part of `check` either: skipped, in one line, where there is no Chromium.
check-page: all
	$(Q)REACH=./reach PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/page/check.py

# ---- fuzzing ----
# `make fuzz` runs every target of tests/fuzz/targets.h for SECONDS_EACH, FUZZ_JOBS of them at a time; `make fuzz TARGET=pickle SECONDS_EACH=60` one;
# `make fuzz-short` each for at most three seconds and the same inputs each time, for continuous integration: chance does not decide there. What is found fails the run and lies in build/fuzz/found/TARGET; it goes to
# tests/fuzz/cases/TARGET once it is put right. make check runs the targets on valid inputs and on these cases.
FUZZ_SRC     := $(filter-out tests/fuzz/entry.c,$(wildcard tests/fuzz/*.c))
FUZZ_BUILD   := $(dir $(BUILD))fuzz
SECONDS_EACH ?= 600
FUZZ_JOBS    ?= 1
TARGET       ?= $(shell sed -n 's/^TARGET.\([a-z_]*\),.*/\1/p' tests/fuzz/targets.h)

.SECONDARY: $(call object,$(FUZZ_SRC) tests/fuzz/entry.c)
$(BUILD)/tests/t-tests-fuzz-cases: $(call object,$(FUZZ_SRC))

$(BUILD)/fuzz: $(call object,tests/fuzz/entry.c $(FUZZ_SRC) $(TEST_HELP)) $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ -lcmocka $(LIBS)

fuzz:
	$(Q)$(MAKE) --no-print-directory $(JOBS) CC=clang asan=1 BUILD=$(FUZZ_BUILD) CFLAGS='$(CFLAGS) -fsanitize=fuzzer-no-link' $(FUZZ_BUILD)/fuzz $(FUZZ_BUILD)/tests/t-tests-fuzz-cases
	$(Q)rm -rf $(FUZZ_BUILD)/seeds && $(FUZZ_BUILD)/tests/t-tests-fuzz-cases --seeds $(FUZZ_BUILD)/seeds
	$(Q)printf '%s\n' $(TARGET) | SECONDS_EACH=$(SECONDS_EACH) xargs -P $(FUZZ_JOBS) -n 1 sh tests/fuzz/run.sh $(FUZZ_BUILD)

fuzz-short:
	$(Q)RUNS=20000 $(MAKE) --no-print-directory fuzz SECONDS_EACH=3 FUZZ_JOBS=2

.PHONY: fuzz fuzz-short

# ---- the main job on the shipped checkpoints and text ----
DEMO := reach-demo
DEMO_MODELS := window-24 window-40 window-64 alibi kerple-log sandwich sinusoidal rotary
demo: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	./reach erf $(DEMO_MODELS:%=examples/models/%) --text examples/text/sqlalchemy.py.gz --segments 16 --length 2048 -o $(DEMO) --force
	@echo "figure: $(DEMO)/erf.png   table: $(DEMO)/summary.csv   data: $(DEMO)/erf.h5"

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

bench: all $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c))
	$(Q)PYTHON=$(PYTHON) BUILD=$(BUILD) sh bench/run.sh

bench-far: all $(BUILD)/bench/erf
	$(Q)PYTHON=$(PYTHON) BUILD=$(BUILD) sh bench/far.sh

bench-plan bench-long: all $(BUILD)/bench/plan $(BUILD)/bench/random_checkpoint
	$(Q)BUILD=$(BUILD) sh bench/$(@:bench-%=%).sh

# Python alone; torture takes half an hour on a quiet machine, torture-short about a minute
torture torture-short: all
	$(Q)$(PYTHON) tests/torture.py $(BUILD)/reach $(if $(filter %-short,$@),--short)

# Debian's gcc-aarch64-linux-gnu and qemu-user-static; the libraries are fetched, once, into build/
aarch64:
	$(Q)sh tests/aarch64.sh

# clang, its OpenMP and Archer (Debian: clang, libomp-dev of the same version)
tsan:
	$(Q)$(MAKE) --no-print-directory $(JOBS) NVCC= CC=clang tsan=1 build/clang-tsan/reach $(if $(filter found,$(HAVE_MPI)),build/clang-tsan/reach-mpi)
	$(Q)sh tests/tsan.sh build/clang-tsan/reach

shards: all
	$(Q)$(PYTHON) tests/shards.py $(BUILD)/reach

# Python, NumPy and h5py; hours, and goes on where it stopped (PART=1/4: a fourth of it)
studies-measure: all
	$(Q)$(PYTHON) examples/studies/measure.py --part $(or $(PART),1/1)

# Python alone, and gnuplot
studies: all
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PYTHON) examples/studies/build.py

# pip, and the Python packages numpy and h5py; the model is fetched, once
real: all
	$(Q)PYTHON=$(PYTHON) sh examples/real/run.sh

# needs the Python packages tokenizers, sentencepiece, protobuf, gguf and numpy
tokenizer-study: all
	$(PYTHON) tests/goldens/tokenizer/study.py ./reach

# ---- CUDA ----
# The plug-in build/cuda/reach-cuda.so is made by `make cuda`, once for all configurations, and put beside each program; by `make` alone where a GPU is found, or it was
# made before. The same sources compile for the
# host against tests/cuda_host, as a plug-in that tests name by REACH_CUDA. CUDA: where the toolkit is; CUDA_ARCHITECTURES: machine code for these,
# PTX for the last.
CUDA               ?= /usr/local/cuda
NVCC               ?= $(firstword $(wildcard $(CUDA)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
CUDA_ARCHITECTURES ?= 80 90
CUDA_BUILD   := $(dir $(BUILD))cuda
CUDA_SRC     := $(wildcard kernels/cuda/*.cu)
# what the plug-in has of its own of the rest
CUDA_C_SRC   := kernels/shared.c io/error.c io/glyph.c io/element.c io/blocks.c io/scaled.c
CUDA_CODE    := $(foreach a,$(CUDA_ARCHITECTURES),-gencode=arch=compute_$(a)$(comma)code=sm_$(a)) \
  -gencode=arch=compute_$(lastword $(CUDA_ARCHITECTURES))$(comma)code=compute_$(lastword $(CUDA_ARCHITECTURES))
NVCC_FLAGS   := -std=c++17 -O3 -I. -D_GNU_SOURCE $(CUDA_CODE) -Xcompiler -fPIC,-fopenmp,-fvisibility=hidden,-Wall,-Wextra$(if $(filter 1,$(werror)),$(comma)-Werror -Werror all-warnings)
CUDA_PLUGIN  := $(if $(NVCC),$(BUILD)/reach-cuda.so)
CUDA_CXX     := $(subst gcc,g++,$(subst clang,clang++,$(firstword $(CC))))
CUDA_HOST    := $(if $(shell command -v $(CUDA_CXX) 2>/dev/null),$(BUILD)/tests/cuda-host.so)
CUDA_HOST_FLAGS := -std=c++17 -O2 -g1 -fPIC -fvisibility=hidden -fopenmp -ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-unknown-pragmas \
  $(if $(filter 1,$(werror)),-Werror) $(SANITIZE) $(if $(SANITIZE),-fno-sanitize=vptr $(if $(findstring clang,$(CC)),-fno-sanitize=function)) -I. -Itests/cuda_host -D_GNU_SOURCE
CUDA_RACES   := $(if $(CUDA_HOST),$(BUILD)/tests/cuda-races.so)
HOST_SRC     := $(filter-out tests/cuda_host/races.cpp tests/cuda_host/ptx.cpp,$(wildcard tests/cuda_host/*.cpp))
# what `make check-cuda` runs on the stand-in
CUDA_CHECKS  := kernels-cuda-attention kernels-sets model-goldens model-predict model-score model-range model-attribution io-quantised io-gguf $(filter-out kernels-cuda-attention,$(patsubst tests/t-%.c,%,$(wildcard tests/t-*-cuda*.c))) kernels-weights kernels-registry kernels-attention-mass model-experts verb-ranks
APT_PACKAGES += g++

CUDA_WANTED  := $(if $(CUDA_PLUGIN),$(if $(wildcard reach-cuda.so)$(shell nvidia-smi -L 2>/dev/null),cuda))

all: $(CUDA_WANTED)

cuda: $(if $(CUDA_PLUGIN),reach-cuda.so)
	@[ -n '$(CUDA_PLUGIN)' ] || { echo 'cuda: there is no nvcc (expected it in PATH, or CUDA=FOLDER of the toolkit)' >&2; exit 1; }

$(CUDA_BUILD)/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  NVCC %s\n' $<
	$(Q)$(NVCC) $(NVCC_FLAGS) -Xptxas -v -MMD -MP -MF $(@:.o=.d) -c $< -o $@ 2>$(@:.o=.ptxas) || { cat $(@:.o=.ptxas) >&2; exit 1; }
	@grep -v '^ptxas info\|bytes stack frame' $(@:.o=.ptxas) >&2 || true

$(CUDA_BUILD)/%.c.o: %.c
	@mkdir -p $(@D); printf '  CC   %s (plug-in)\n' $<
	$(Q)gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden -fopenmp -ffp-contract=off -fno-math-errno -I. -D_GNU_SOURCE -MMD -MP -c $< -o $@

$(CUDA_BUILD)/reach-cuda.so: $(patsubst %.cu,$(CUDA_BUILD)/%.cu.o,$(CUDA_SRC)) $(patsubst %.c,$(CUDA_BUILD)/%.c.o,$(CUDA_C_SRC))
	@printf '  LINK %s\n' $@
	@printf '%s\n' '-rpath=$$ORIGIN:$(CUDA)/lib64' >$@.options # nvcc would hand the sign to a shell
	$(Q)$(NVCC) -shared -Xcompiler -fopenmp -o $@ $^ -L$(CUDA)/lib64 -lcublasLt -lutf8proc -Xlinker @$@.options,--exclude-libs,ALL,--no-undefined

$(BUILD)/reach-cuda.so: $(CUDA_BUILD)/reach-cuda.so
	@mkdir -p $(@D); cp -f $< $@

# beside ./reach
reach-cuda.so: $(BUILD)/reach-cuda.so FORCE
	@cmp -s $< $@ || cp -f $< $@

$(BUILD)/cuda_host/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  CXX  %s (host)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -MMD -MP -x c++ -c $< -o $@

$(BUILD)/cuda_host/%.cpp.o: %.cpp
	@mkdir -p $(@D); printf '  CXX  %s\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(if $(SANITIZE),-fno-sanitize=undefined) -MMD -MP -c $< -o $@

$(BUILD)/cuda_host/%.c.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(BUILD)/tests/cuda-host.so: $(patsubst %,$(BUILD)/cuda_host/%.o,$(CUDA_SRC) $(HOST_SRC) $(CUDA_C_SRC))
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -shared -o $@ $^ -lutf8proc

# the same, with each access of a kernel looked at (tests/cuda_host/races.cpp stands for the sanitizer's library, which is not linked)
$(BUILD)/cuda_races/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  CXX  %s (races)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -fsanitize=thread -MMD -MP -x c++ -c $< -o $@

$(BUILD)/cuda_races/%.cpp.o: %.cpp
	@mkdir -p $(@D); printf '  CXX  %s (races)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -DHOST_RACES -MMD -MP -c $< -o $@

$(BUILD)/tests/cuda-races.so: $(patsubst %,$(BUILD)/cuda_races/%.o,$(CUDA_SRC) $(HOST_SRC) tests/cuda_host/races.cpp) $(CUDA_C_SRC:%=$(BUILD)/cuda_host/%.o)
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -shared -o $@ $^ -lutf8proc

# the same, with each kernel as nvcc compiled it: its PTX in C++ once more (tests/cuda_host/ptx.py), of which registers that nothing reads are no news
PTX_FLAGS    := $(filter-out -g1 -O2,$(CUDA_HOST_FLAGS)) -O1 -fno-strict-aliasing -fwrapv -Wno-unused -Wno-uninitialized $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized)
$(CUDA_BUILD)/%.ptx: %.cu
	@mkdir -p $(@D); printf '  NVCC %s (PTX)\n' $<
	$(Q)$(NVCC) -std=c++17 -O3 -I. -D_GNU_SOURCE -ptx -arch=compute_$(lastword $(CUDA_ARCHITECTURES)) -MMD -MP -MF $@.d $< -o $@

$(BUILD)/cuda_ptx/%.cpp: $(CUDA_BUILD)/kernels/cuda/%.ptx tests/cuda_host/ptx.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tests/cuda_host/ptx.py $< $@

$(BUILD)/cuda_ptx/%.o: $(BUILD)/cuda_ptx/%.cpp
	@printf '  CXX  %s (PTX)\n' $(<F)
	$(Q)$(CUDA_CXX) $(PTX_FLAGS) -MMD -MP -c $< -o $@

.SECONDARY: $(patsubst kernels/cuda/%.cu,$(BUILD)/cuda_ptx/%.cpp,$(CUDA_SRC)) $(CUDA_SRC:%.cu=$(CUDA_BUILD)/%.ptx)

PTX_OBJECTS  := $(patsubst %,$(BUILD)/cuda_host/%.o,$(CUDA_SRC) $(HOST_SRC) $(CUDA_C_SRC) tests/cuda_host/ptx.cpp) $(patsubst kernels/cuda/%.cu,$(BUILD)/cuda_ptx/%.o,$(CUDA_SRC))
$(BUILD)/tests/cuda-ptx.so: $(PTX_OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -Wl,--no-undefined -shared -o $@ $^ -lutf8proc

# of another version, to be refused
$(BUILD)/tests/cuda-other.so: $(BUILD)/cuda_host/tests/cuda_host/other.c.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -shared -o $@ $^

# registers and spills of each kernel, as nvcc told them while `make cuda` compiled, against kernels/cuda/registers.txt
registers registers-table:
	$(Q)NVCC=$(NVCC) CUDA_BUILD=$(CUDA_BUILD) sh kernels/cuda/registers.sh $(if $(filter registers-table,$@),--write)

# the stand-in's threads in many orders, some twenty minutes on two cores; 0 is their own order
SEEDS      ?= 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
LAUNCHED     := $(BUILD)/tests/launched
check-cuda: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_HOST) $(BUILD)/tests/cuda-other.so $(BUILD)/tests/cuda-needs.so $(BUILD)/reach $(if $(filter found,$(HAVE_MPI)),$(BUILD)/reach-mpi) $(CUDA_CHECKS:%=$(BUILD)/tests/t-%)
	$(Q)rm -rf $(LAUNCHED) && mkdir -p $(LAUNCHED)
	$(Q)for seed in $(SEEDS); do echo "order $$seed"; early=; [ $$((seed % 2)) -eq 0 ] || early=early; \
	  REACH=$(BUILD)/reach REACH_CUDA=$(CUDA_HOST) REACH_CUDA_HOST_SEED=$$seed REACH_CUDA_HOST_COPIES=$$early REACH_CUDA_HOST_LAUNCHED=$(LAUNCHED) \
	  sh tests/run.sh $(CUDA_CHECKS:%=$(BUILD)/tests/t-%) || exit 1; done
	$(Q)sh tests/cuda_host/launched.sh $(CUDA_HOST) $(LAUNCHED) $(GPU_TESTS:%=t-%)

# The same for the kernels as nvcc compiled them, where it is: their PTX, on the stand-in's threads, in the tests of `make gpu-check`; and then with a barrier out, which must fail
PTX_SEEDS    ?= 0 1
PTX_CHECKS   ?= $(GPU_TESTS)
check-ptx: deps
	@[ -n '$(NVCC)' ] || { echo 'check-ptx: there is no nvcc (expected it in PATH, or CUDA=FOLDER of the toolkit)' >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(BUILD)/tests/cuda-ptx.so $(BUILD)/tests/cuda-other.so $(BUILD)/tests/cuda-needs.so $(GPU_TESTS:%=$(BUILD)/tests/t-%)
	$(Q)for seed in $(PTX_SEEDS); do echo "order $$seed"; early=; [ $$((seed % 2)) -eq 0 ] || early=early; \
	  REACH_CUDA=$(BUILD)/tests/cuda-ptx.so REACH_CUDA_HOST_SEED=$$seed REACH_CUDA_HOST_COPIES=$$early sh tests/run.sh $(PTX_CHECKS:%=$(BUILD)/tests/t-%) || exit 1; done
	$(Q)CXX='$(CUDA_CXX)' FLAGS='$(PTX_FLAGS)' PYTHON='$(PYTHON)' BUILD=$(BUILD) PTX=$(CUDA_BUILD)/kernels/cuda OBJECTS='$(PTX_OBJECTS)' \
	  sh tests/cuda_host/ptx_without.sh product_tile 1 kernels-cuda-products

# accesses of kernels that nothing orders (tests/cuda_host/races.cpp), whatever order the stand-in's threads ran in
CUDA_RACE_CHECKS := kernels-cuda-attention kernels-cuda-products kernels-cuda-plugin kernels-sets kernels-weights kernels-attention-mass model-cuda
check-cuda-races: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_RACES) $(BUILD)/tests/cuda-other.so $(BUILD)/tests/cuda-needs.so $(CUDA_RACE_CHECKS:%=$(BUILD)/tests/t-%)
	$(Q)REACH_CUDA=$(CUDA_RACES) sh tests/run.sh $(CUDA_RACE_CHECKS:%=$(BUILD)/tests/t-%)

# every barrier, wait and bound of the set taken out in turn: which tests miss it; PART=1/8 does an eighth, RACES=1 on the stand-in that looks for races. An hour or two on two cores
CUDA_TESTS := kernels-cuda-attention kernels-cuda-products kernels-cuda-plugin kernels-sets model-cuda
cuda-without: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_HOST) $(if $(RACES),$(CUDA_RACES)) $(CUDA_TESTS:%=$(BUILD)/tests/t-%) $(BUILD)/tests/t-kernels-attention-mass
	$(Q)CXX='$(CUDA_CXX)' FLAGS='$(CUDA_HOST_FLAGS)' BUILD=$(BUILD) sh tests/cuda_host/without.sh

# one that needs a cuBLASLt which lies where pip would put it, in an environment below build
PIP := $(BUILD)/tests/pip/lib/python3.99/site-packages/nvidia/cu13/lib/libcublasLt.so.99
$(PIP): tests/cuda_host/needed.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

$(BUILD)/tests/cuda-needs.so: tests/cuda_host/other.c $(PIP)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fPIC -fvisibility=hidden -DNEEDS=cuda_host_needed -shared -o $@ $^

install-cuda: $(CUDA_PLUGIN)
	install -d $(DESTDIR)$(PREFIX)/lib/reach
	install -m 755 $(CUDA_PLUGIN) $(DESTDIR)$(PREFIX)/lib/reach/

install: $(if $(CUDA_WANTED),install-cuda)

# What runs on a machine with a GPU, in one folder: the plug-in, tests, reach, the benchmark programs. GPU_PLUGIN: another plug-in, the stand-in say.
GPU_TESTS    := kernels-sets kernels-weights kernels-attention-mass kernels-cuda-plugin kernels-cuda-attention kernels-cuda-products model-cuda
GPU_FOLDER   := $(dir $(BUILD))gpu/programs
GPU_PLUGIN   ?= $(CUDA_PLUGIN)
GPU_PROGRAMS := $(GPU_TESTS:%=$(BUILD)/tests/t-%) $(BUILD)/bench/gpu/erf $(BUILD)/bench/gpu/kernels $(BUILD)/bench/gpu/choices $(BUILD)/reach
.SECONDARY: $(BUILD)/bench/gpu/erf.o $(BUILD)/bench/gpu/kernels.o $(BUILD)/bench/gpu/choices.o

$(BUILD)/bench/gpu/erf: $(BUILD)/bench/gpu/erf.o $(BUILD)/tests/memory_decoder.o $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/bench/gpu/%.o: bench/gpu/%.cpp
	@mkdir -p $(@D); printf '  CXX  %s\n' $<
	$(Q)$(CUDA_CXX) -std=c++17 -O2 -g1 -Wall -Wextra $(if $(filter 1,$(werror)),-Werror) -I. -isystem $(CUDA)/include -D_GNU_SOURCE -MMD -MP -c $< -o $@

$(BUILD)/bench/gpu/kernels $(BUILD)/bench/gpu/choices: %: %.o $(BUILD)/libreach.a
	$(Q)$(CUDA_CXX) -fopenmp $(LDFLAGS) -o $@ $^ $(LIBS) -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublasLt -lcudart_static -lrt -lpthread

gpu-programs: deps
	@[ -n '$(GPU_PLUGIN)' ] || { echo 'gpu-programs: there is no nvcc (expected it in PATH, or CUDA=FOLDER of the toolkit)' >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(GPU_PROGRAMS) $(GPU_PLUGIN)
	$(Q)rm -rf $(GPU_FOLDER) && mkdir -p $(GPU_FOLDER) && cp $(GPU_PROGRAMS) $(GPU_FOLDER)/ && cp $(GPU_PLUGIN) $(GPU_FOLDER)/reach-cuda.so

gpu-check gpu-bench: gpu-programs
	$(Q)CARRY= FOLDER=$(GPU_FOLDER) PYTHON=$(PYTHON) sh bench/gpu/run.sh $(@:gpu-%=%)

# the same for a machine that lacks the libraries (doc/cuda.md): build/carry.tar.xz
gpu-carry: gpu-programs
	$(Q)FOLDER=$(GPU_FOLDER) sh bench/gpu/carry.sh

.PHONY: cuda registers registers-table check-cuda check-ptx check-cuda-races cuda-without install-cuda gpu-programs gpu-check gpu-bench gpu-carry

# ---- libraries from the distribution; nothing to do, and no privilege asked for, when all were found, whatever their packages are called ----
deps:
	@$(MAKE) --no-print-directory -s ready 2>/dev/null || sh .ci/deps $(APT_PACKAGES)

ready:
	@[ -z '$(filter missing,$(foreach v,$(KEPT),$($(v))))' ]

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man7
	install -m 755 reach $(if $(filter found,$(HAVE_MPI)),reach-mpi) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 doc/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 doc/*.7 $(DESTDIR)$(PREFIX)/share/man/man7/
	install -d $(DESTDIR)$(PREFIX)/share/doc/reach
	install -m 644 LICENSE README.md $(DESTDIR)$(PREFIX)/share/doc/reach/
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	./reach completion bash >$(BUILD)/completion
	install -m 644 $(BUILD)/completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reach

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/reach $(DESTDIR)$(PREFIX)/bin/reach-mpi $(patsubst doc/%,$(DESTDIR)$(PREFIX)/share/man/man1/%,$(wildcard doc/*.1)) $(patsubst doc/%,$(DESTDIR)$(PREFIX)/share/man/man7/%,$(wildcard doc/*.7))
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reach
	rm -rf $(DESTDIR)$(PREFIX)/lib/reach $(DESTDIR)$(PREFIX)/share/doc/reach

# ---- releases: what is committed, without the history ----
dist:
	$(Q)sh tests/versions.sh
	$(Q)mkdir -p build && git archive --format=tar --prefix=reach-$(VERSION)/ HEAD | gzip -n -9 >build/reach-$(VERSION).tar.gz
	@echo build/reach-$(VERSION).tar.gz

deb: dist
	$(Q)sh .ci/deps build-essential debhelper
	$(Q)rm -rf build/deb && mkdir build/deb && tar -xzf build/reach-$(VERSION).tar.gz -C build/deb
	$(Q)cd build/deb/reach-$(VERSION) && DEB_BUILD_OPTIONS="parallel=$(shell nproc) noautodbgsym" dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 30 ../log >&2; exit 1; }
	$(Q)mv build/deb/reach_$(VERSION)_*.deb build/ && rm -r build/deb/reach-$(VERSION)
	@ls build/reach_$(VERSION)_*.deb

.PHONY: dist deb

# ---- what documents and the package in python/ say of the program's tables, from these ----
WRITTEN := run-outputs commands-families analyze-preset-lists
outputs: $(WRITTEN:%=$(BUILD)/tests/t-%) $(BUILD)/reach
	$(Q)for t in $(WRITTEN); do REACH=$(BUILD)/reach $(BUILD)/tests/t-$$t --write || exit 1; done

# ---- one hand: the layout is that of clang-format 14; other versions lay out differently, so they are not asked ----
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 || command -v clang-format) clang-format)
SOURCE_FILES  = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp')

format format-check: FORCE
	@$(CLANG_FORMAT) --version 2>/dev/null | grep -q 'version 14\.' || { echo "$@: needs clang-format 14 (CLANG_FORMAT names it)" >&2; exit 1; }
	@$(CLANG_FORMAT) $(if $(filter format,$@),-i,--dry-run -Werror) $(SOURCE_FILES)

clean:
	rm -rf build reach reach-mpi reach-cuda.so

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

FORCE:

-include $(shell find $(BUILD) $(CUDA_BUILD) -name '*.d' 2>/dev/null)
