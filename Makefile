# reach: how far back does a language model look?
#
#   make              build ./reach; ./reach-mpi where there is an MPI, reach-cuda.so where a GPU is
#   make demo         install what is missing, build, run on the examples
#   make check        the same, test; ONLY=t-verb-erf: one program, ONLY=model: those of a folder
#   make deps         install the libraries (apt)
#   make install      into PREFIX (/usr/local), DESTDIR honoured; uninstall
#   make cuda         the CUDA plug-in
#   make dist, deb    the sources and a Debian package, in build/
#   make format       sources as clang-format 14 writes them; format-check names what differs
#   make outputs      columns, families and presets in doc/ and python/, from the program's tables
#   make clean        remove what was built
#
#   make help-tests   more tests: Python, fuzzing, kills, sanitizers, machines (tests/tests.mk)
#   make help-cuda    the CUDA set, with a GPU and without (kernels/cuda/cuda.mk)
#   make help-lab     rates, memory plans, studies, real models (bench/bench.mk)
#
# Variables: CC, CFLAGS, LDFLAGS, OPTIMIZE (of the kernels), PREFIX, DESTDIR, PYTHON, werror=1,
# asan=1 (AddressSanitizer and UBSan; fuzz=1: with clang, what libFuzzer counts in too), tsan=1
# (ThreadSanitizer; with clang), V=1 (show commands),
# MPI_PKG (none: no reach-mpi)

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
fuzz     ?= 0
tsan     ?= 0
werror   ?= 0
V        ?= 0

VERSION := 0.3.0
MACHINE := $(shell uname -m)
X86     := $(filter x86_64 amd64,$(MACHINE))
ASAN    := $(filter 1,$(asan))
FUZZ    := $(filter 1,$(fuzz))
TSAN    := $(filter 1,$(tsan))
WERROR  := $(filter 1,$(werror))
CLANG   := $(findstring clang,$(CC))
comma   := ,
# for the makes that a target calls: all processors, unless make was told how many jobs to run
JOBS     = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- where things go: one folder a configuration, so that none spoils another's objects ----
CONFIG := $(notdir $(firstword $(CC)))$(ASAN:1=-asan)$(FUZZ:1=-fuzz)$(TSAN:1=-tsan)$(WERROR:1=-werror)
BUILD  := build/$(CONFIG)
Q      := $(if $(filter 1,$(V)),,@)

# ---- libraries: probed once a configuration and kept in $(FOUND) when all are there; a newer
# Makefile probes again ----
PKG_CONFIG ?= pkg-config
FOUND      := $(BUILD)/libraries.mk
# found or missing: headers (: between them), libraries and flags
probe       = $(shell \
  { printf '\043include <%s>\n' $(subst :, ,$(1)); echo 'int main(void){return 0;}'; } | \
  $(CC) $(CPPFLAGS) $(3) -x c - -o /dev/null $(2) 2>/dev/null && echo found || echo missing)
# the first of these packages that pkg-config knows, or none
package     = $(firstword $(foreach p,$(1),$(shell \
  $(PKG_CONFIG) --exists $(p) 2>/dev/null && echo $(p))) none)
command     = $(shell command -v $(1) >/dev/null 2>&1 && echo found || echo missing)
LIBRARIES  := HDF5 JANSSON ZLIB ZSTD LZMA BZIP2 XXHASH ONEDNN FLINT MPFI YAML PCRE2 UTF8PROC OPENMP
KEPT       := HDF5_PKG ARB_LIBS HDF5_CFLAGS HDF5_LIBS $(LIBRARIES:%=HAVE_%) \
  HAVE_CMOCKA HAVE_GNUPLOT HAVE_CXX

ifeq ($(filter clean deps help help-%,$(MAKECMDGOALS)),)
ifneq ($(shell [ $(FOUND) -nt Makefile ] && echo newer),)
include $(FOUND)
else
HDF5_PKG   := $(call package,hdf5-serial hdf5)
# Arb is part of FLINT from version 3 on, before a library of its own (libarb, on Debian
# libflint-arb)
ARB_LIBS   := $(firstword $(foreach l,flint-arb arb,$(if \
  $(shell $(CC) -x c /dev/null -shared -o /dev/null -l$(l) 2>/dev/null && echo 1),-l$(l)))) -lflint
# H5_USE_110_API: object addresses as numbers, also where HDF5 1.12 and later have tokens
HDF5_CFLAGS := -DH5_USE_110_API \
  $(if $(filter none,$(HDF5_PKG)),,$(shell $(PKG_CONFIG) --cflags $(HDF5_PKG) 2>/dev/null))
HDF5_LIBS   := $(if $(filter none,$(HDF5_PKG)),-lhdf5,\
  $(shell $(PKG_CONFIG) --libs $(HDF5_PKG) 2>/dev/null))
HAVE_HDF5     := $(call probe,hdf5.h,$(HDF5_LIBS),$(HDF5_CFLAGS))
HAVE_JANSSON  := $(call probe,jansson.h,-ljansson)
HAVE_ZLIB     := $(call probe,zlib.h,-lz)
HAVE_ZSTD     := $(call probe,zstd.h,-lzstd)
HAVE_LZMA     := $(call probe,lzma.h,-llzma)
HAVE_BZIP2    := $(call probe,bzlib.h,-lbz2)
HAVE_XXHASH   := $(call probe,xxhash.h,-lxxhash)
HAVE_ONEDNN   := $(call probe,dnnl.h,-ldnnl)
HAVE_FLINT    := $(firstword $(filter found,\
  $(foreach h,flint/arb.h arb.h,$(call probe,$(h),$(ARB_LIBS)))) missing)
HAVE_MPFI     := $(call probe,mpfi.h,-lmpfi -lmpfr -lgmp)
HAVE_YAML     := $(call probe,yaml.h,-lyaml)
HAVE_PCRE2    := $(call probe,pcre2.h,-lpcre2-8,-DPCRE2_CODE_UNIT_WIDTH=8)
HAVE_UTF8PROC := $(call probe,utf8proc.h,-lutf8proc)
HAVE_OPENMP   := $(call probe,omp.h,-fopenmp)
HAVE_CMOCKA   := $(call probe,stdarg.h:stddef.h:setjmp.h:stdint.h:cmocka.h,-lcmocka)
HAVE_GNUPLOT  := $(call command,gnuplot)
HAVE_CXX      := $(call command,g++)
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
MPI_PKG  ?= $(call package,ompi-c mpi-c mpich)
MPI      := $(MPI_PKG)
# tried, not only known to pkg-config: with PKG_CONFIG_SYSROOT_DIR the paths of a system's MPI lead
# nowhere
HAVE_MPI := $(if $(filter none,$(MPI)),none,$(call probe,mpi.h,$(shell \
  $(PKG_CONFIG) --libs $(MPI)),$(shell $(PKG_CONFIG) --cflags $(MPI))))
# what a target for all programs takes beside reach
REACH_MPI := $(if $(filter found,$(HAVE_MPI)),reach-mpi)

REQUIRED := $(foreach l,$(LIBRARIES),$(if $(filter missing,$(HAVE_$(l))),$(l)))
APT_PACKAGES := gcc make pkg-config libhdf5-dev libjansson-dev zlib1g-dev libzstd-dev liblzma-dev \
  libbz2-dev libxxhash-dev libdnnl-dev libflint-dev libflint-arb-dev libmpfi-dev libyaml-dev \
  libpcre2-dev libutf8proc-dev libcmocka-dev gnuplot-nox

# ---- flags ----
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
  -Wformat-security $(WERROR:1=-Werror)
# under its sanitizers gcc takes &x->mid for x where both are one address, and warns of arrays of
# FLINT's types; clang warns of loops that it leaves scalar. What gcc defines under
# AddressSanitizer is defined for clang
WARNINGS += $(if $(ASAN),$(if $(CLANG),-Wno-pass-failed,-Wno-stringop-overread))
SANITIZE := $(if $(ASAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined \
  -fno-omit-frame-pointer $(if $(CLANG),-D__SANITIZE_ADDRESS__=1))
SANITIZE += $(if $(TSAN),-fsanitize=thread)
# The program is hardened the same way however it is built: `make`, `make install`, the Debian
# package, which sets some of this itself. Sanitizers replace the checked functions, and without
# optimisation there are none. FORTIFY: the highest level that compiler and C library have.
FORTIFY  := $(if $(strip $(SANITIZE))$(findstring -O0,$(CFLAGS) $(OPTIMIZE)),,$(shell \
  printf '\043include <stdio.h>\nint main(void){return 0;}\n' | \
  $(CC) -O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -x c - -c -o /dev/null 2>/dev/null && \
  echo 3 || echo 2))
HARDEN   := -fstack-protector-strong $(if $(X86),-fcf-protection) \
  $(if $(FORTIFY),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY))
override LDFLAGS := -Wl,-z,relro -Wl,-z,now $(LDFLAGS)
BASE_CFLAGS := -std=gnu11 $(if $(ASAN),-O1,-O2) -g1 $(WARNINGS) $(SANITIZE) -fopenmp \
  -ffp-contract=off -fno-math-errno -I. -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(HARDEN)
# LEVEL: of the file being compiled, where it differs. Kernels gain by OPTIMIZE; tests wait for the
# compiler longer than for their own code. CFLAGS=-g brings back what -g1 (names of functions and
# lines) leaves out.
LEVEL     =
LEVEL_OF  = $(if $(ASAN),,$(1))
# kernels read no input that is fuzzed, and run slowly when counted
COUNTED   =
LIBS     := $(HDF5_LIBS) -ljansson -lz -lzstd -llzma -lbz2 -lxxhash -ldnnl -lmpfi $(ARB_LIBS) \
  -lmpfr -lgmp -lyaml -lpcre2-8 -lutf8proc -ldl -lm

# ---- sources: found by wildcard ----
# the folders of the library; commands/main.c is the program
ROOMS        := io analyze model plots page kernels run commands
# compiled twice, for float and double, and once for each instruction set, which VECTOR_ISA names
# (kernels/cpu/vector/README.md)
REF_SRC      := $(wildcard kernels/reference/*.c)
VECTOR_SRC   := $(wildcard kernels/cpu/vector/*.c)
LIB_SRC      := $(filter-out commands/main.c commands/mpi/% $(REF_SRC) $(VECTOR_SRC),\
  $(foreach d,$(ROOMS),$(wildcard $(d)/*.c $(d)/*/*.c $(d)/*/*/*.c)))

ISAS := generic $(if $(X86),avx2 avx512 avx512_bf16 amx)
ISA_FLAGS_generic := -DVECTOR_ISA=generic -DVECTOR_WIDTH=4
ISA_FLAGS_avx2    := -DVECTOR_ISA=avx2 -DVECTOR_WIDTH=8 -mavx2 -mfma -mf16c
ISA_FLAGS_avx512  := -DVECTOR_ISA=avx512 -DVECTOR_WIDTH=16 -mavx512f -mavx512bw -mavx512dq \
  -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512
ISA_FLAGS_avx512_bf16 := $(subst =avx512,=avx512_bf16,$(ISA_FLAGS_avx512)) -mavx512bf16
ISA_FLAGS_amx         := $(subst =avx512_bf16,=amx,$(ISA_FLAGS_avx512_bf16)) -mamx-tile -mamx-bf16

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ := $(call object,$(LIB_SRC)) \
  $(foreach r,f32 f64,$(patsubst %.c,$(BUILD)/%.$(r).o,$(REF_SRC))) \
  $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/%.$(i).o,$(VECTOR_SRC)))
MAIN_OBJ := $(BUILD)/commands/main.o $(BUILD)/commands/mpi/main.o

.DELETE_ON_ERROR:
.SUFFIXES:

all: probe reach $(REACH_MPI)

probe:
	@$(foreach l,HDF5 Jansson:JANSSON zlib:ZLIB zstd:ZSTD xz:LZMA bzip2:BZIP2 xxHash:XXHASH \
	  oneDNN:ONEDNN FLINT MPFI libyaml:YAML PCRE2 utf8proc:UTF8PROC OpenMP:OPENMP,printf '  %-8s %s\n' \
	  $(firstword $(subst :, ,$(l))) '$(HAVE_$(lastword $(subst :, ,$(l))))';)
	@printf '  %-8s %s (%s)\n' MPI '$(HAVE_MPI)' reach-mpi cmocka '$(HAVE_CMOCKA)' tests \
	  gnuplot '$(HAVE_GNUPLOT)' pictures
	@[ -z '$(strip $(REQUIRED))' ] || \
	  { echo 'missing: $(strip $(REQUIRED)). `make deps` installs them on Debian and Ubuntu.' >&2; \
	  exit 1; }

# of this configuration, whichever was built last
reach reach-mpi: %: $(BUILD)/% FORCE
	@cmp -s $< $@ || cp -f $< $@

# reach-mpi is the same program with another main; MPI's library is loaded by this one alone
$(BUILD)/reach: $(BUILD)/commands/main.o $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/reach-mpi: $(BUILD)/commands/mpi/main.o $(BUILD)/libreach.a
	@printf '  LINK %s\n' $@
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $$($(PKG_CONFIG) --libs $(MPI))

$(BUILD)/commands/mpi/main.o: commands/mpi/main.c
	@mkdir -p $(@D); printf '  CC   %s\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $$($(PKG_CONFIG) --cflags $(MPI) | sed 's/-I/-isystem /g') -I$(BUILD) \
	  -MMD -MP -c $< -o $@

$(BUILD)/libreach.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

# what `reach version` prints; rewritten only when it changes
MPI_FOUND = $(MPI) $(shell $(PKG_CONFIG) --modversion $(MPI) 2>/dev/null) in reach-mpi
$(BUILD)/version.h: FORCE
	@mkdir -p $(BUILD)
	@printf '#define REACH_%s "%s"\n' VERSION '$(VERSION)' COMPILER "$$($(CC) --version | head -n 1)" \
	  FLAGS '$(strip $(BASE_CFLAGS)), kernels $(strip $(call LEVEL_OF,$(OPTIMIZE)))' \
	  MPI '$(if $(REACH_MPI),$(MPI_FOUND),not found: there is no reach-mpi)' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(LIB_OBJ) $(MAIN_OBJ): | $(BUILD)/version.h

# objects of before do not become a part of a hardened program
$(BUILD)/hardened: FORCE
	@mkdir -p $(BUILD); echo '$(strip $(HARDEN))' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(LIB_OBJ) $(MAIN_OBJ): $(BUILD)/hardened

# styles and scripts of pages as texts of C
$(BUILD)/page/%.inc: page/%
	@mkdir -p $(@D)
	$(Q)sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

$(BUILD)/page/explain.o: $(patsubst %,$(BUILD)/page/%.inc,page.css shades.css explain.css explain.js \
    explain_many.css explain_many.js)
$(BUILD)/page/report.o: $(patsubst %,$(BUILD)/page/%.inc,page.css shades.css report.css)

$(filter $(BUILD)/kernels/%,$(LIB_OBJ)): LEVEL = $(call LEVEL_OF,$(OPTIMIZE))
# gcc 12 for aarch64 ends with an internal error in its vectoriser there, at -O3
ifneq ($(filter aarch64 arm64,$(MACHINE)),)
$(foreach r,f32 f64,$(BUILD)/kernels/reference/experts.$(r).o): LEVEL = $(call LEVEL_OF,-O2)
endif
$(BUILD)/tests/%.o: LEVEL = $(call LEVEL_OF,-O1)
$(filter-out $(BUILD)/kernels/%,$(LIB_OBJ)): COUNTED = $(FUZZ:1=-fsanitize=fuzzer-no-link)
$(BUILD)/tests/fuzz/%.o: COUNTED = $(FUZZ:1=-fsanitize=fuzzer-no-link)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D); printf '  CC   %s\n' $<
	$(Q)$(CC) $(BASE_CFLAGS) $(LEVEL) $(COUNTED) $(HDF5_CFLAGS) -I$(BUILD) -MMD -MP -c $< -o $@

# one of several objects of a source: its end, its flags, and what is said
define variant
$$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D); printf '  CC   %s ($(3))\n' $$<
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(LEVEL) $(2) -MMD -MP -c $$< -o $$@
endef
$(eval $(call variant,f32,-DREFERENCE_F32,float))
$(eval $(call variant,f64,-DREFERENCE_F64,double))
$(foreach i,$(ISAS),$(eval $(call variant,$(i),$(ISA_FLAGS_$(i)),$(i))))

# ---- the main job on the shipped checkpoints and text ----
DEMO := reach-demo
DEMO_MODELS := window-24 window-40 window-64 alibi kerple-log sandwich sinusoidal rotary
demo: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	./reach erf $(DEMO_MODELS:%=examples/models/%) --text examples/text/sqlalchemy.py.gz \
	  --segments 16 --length 2048 -o $(DEMO) --force
	@echo "figure: $(DEMO)/erf.png   table: $(DEMO)/summary.csv   data: $(DEMO)/erf.h5"

# ---- libraries from the distribution; nothing to do, and no privilege asked for, when all were
# found, whatever their packages are called ----
deps:
	@$(MAKE) --no-print-directory -s ready 2>/dev/null || sh .ci/deps $(APT_PACKAGES)

ready:
	@[ -z '$(filter missing,$(foreach v,$(KEPT),$($(v))))' ]

SHARE := $(DESTDIR)$(PREFIX)/share
# the documents, what they link to, and the figures that they show, in the same folders as here
DOCUMENTS = LICENSE README.md CHANGELOG.md CITATION.cff \
  $(wildcard doc/*.md doc/figures/*.png doc/studies/*.md doc/studies/*.png) examples/README.md \
  examples/position_encodings.py examples/recurrences.py examples/real/oracle.py \
  examples/studies/predictors.py python/examples/tiny_gpt.py python/examples/tour.ipynb
# a shell's name and where it looks; ZSH: Debian's zsh leaves packages another folder
ZSH = zsh/site-functions
COMPLETIONS = bash:bash-completion/completions/reach zsh:$(ZSH)/_reach \
  fish:fish/vendor_completions.d/reach.fish
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/man/man7
	install -m 755 reach $(REACH_MPI) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 doc/*.1 $(SHARE)/man/man1/
	install -m 644 doc/*.7 $(SHARE)/man/man7/
	for f in $(DOCUMENTS); do install -D -m 644 $$f $(SHARE)/doc/reach/$$f || exit 1; done
	for f in $(COMPLETIONS); do ./reach completion $${f%%:*} >$(BUILD)/completion && \
	  install -D -m 644 $(BUILD)/completion $(SHARE)/$${f#*:} || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/reach $(DESTDIR)$(PREFIX)/bin/reach-mpi \
	  $(patsubst doc/%,$(SHARE)/man/man1/%,$(wildcard doc/*.1)) \
	  $(patsubst doc/%,$(SHARE)/man/man7/%,$(wildcard doc/*.7))
	rm -f $(foreach f,$(COMPLETIONS),$(SHARE)/$(lastword $(subst :, ,$(f))))
	rm -rf $(DESTDIR)$(PREFIX)/lib/reach $(SHARE)/doc/reach

# ---- releases: what is committed, without the history ----
RELEASE := reach-$(VERSION)
dist:
	$(Q)sh tests/versions.sh
	$(Q)mkdir -p build
	$(Q)git archive --format=tar --prefix=$(RELEASE)/ HEAD | gzip -n -9 >build/$(RELEASE).tar.gz
	@echo build/$(RELEASE).tar.gz

deb: dist
	$(Q)sh .ci/deps build-essential debhelper
	$(Q)rm -rf build/deb && mkdir build/deb && tar -xzf build/$(RELEASE).tar.gz -C build/deb
	$(Q)cd build/deb/$(RELEASE) && DEB_BUILD_OPTIONS="parallel=$(shell nproc) noautodbgsym" \
	  dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 30 ../log >&2; exit 1; }
	$(Q)mv build/deb/reach_$(VERSION)_*.deb build/ && rm -r build/deb/$(RELEASE)
	@ls build/reach_$(VERSION)_*.deb

# ---- what documents and the package in python/ say of the program's tables, from these ----
WRITTEN := run-outputs commands-families analyze-preset-lists
outputs: $(WRITTEN:%=$(BUILD)/tests/t-%) $(BUILD)/reach
	$(Q)for t in $(WRITTEN); do REACH=$(BUILD)/reach $(BUILD)/tests/t-$$t --write || exit 1; done

# ---- one hand: the layout is that of clang-format 14; other versions lay out differently, so they
# are not asked ----
CLANG_FORMAT ?= $(firstword \
  $(shell command -v clang-format-14 || command -v clang-format) clang-format)
SOURCE_FILES  = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp')

format format-check: FORCE
	@$(CLANG_FORMAT) --version 2>/dev/null | grep -q 'version 14\.' || \
	  { echo "$@: needs clang-format 14 (CLANG_FORMAT names it)" >&2; exit 1; }
	@$(CLANG_FORMAT) $(if $(filter format,$@),-i,--dry-run -Werror) $(SOURCE_FILES)

clean:
	rm -rf build reach reach-mpi reach-cuda.so

# the text at the top of each part
help: ABOUT = Makefile
help-tests: ABOUT = tests/tests.mk
help-cuda: ABOUT = kernels/cuda/cuda.mk
help-lab: ABOUT = bench/bench.mk
help help-tests help-cuda help-lab:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(ABOUT)

FORCE:

.PHONY: all probe demo deps ready install uninstall dist deb outputs clean FORCE \
  help help-tests help-cuda help-lab

include tests/tests.mk bench/bench.mk
include kernels/cuda/cuda.mk tests/cuda_host/cuda_host.mk bench/gpu/gpu.mk

-include $(shell find $(BUILD) $(CUDA_BUILD) -name '*.d' 2>/dev/null)
