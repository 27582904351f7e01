# The CUDA set:
#
#   make cuda               the plug-in; `make` does where a GPU is found, or it was made before
#   make gpu-check          all kernels on this machine's GPU
#   make gpu-bench          its rates, beside PyTorch
#   make gpu-carry          both packed for another machine (doc/cuda.md)
#   make registers          registers and spills of each kernel against kernels/cuda/registers.txt;
#                           registers-table writes it
#   make check-cuda         the set's tests on the stand-in for a GPU, with twenty orders of its
#                           threads (SEEDS) and its copies early: some twenty minutes;
#                           check-cuda-short: one order, without what launches its kernels again
#   make check-ptx          the tests that want a GPU on the kernels as nvcc compiled them
#   make check-cuda-races   accesses that no barrier, event or order of a stream keeps apart
#   make cuda-without       the tests with each barrier, wait and bound taken out in turn: which
#                           one misses it (PART=1/8: an eighth; RACES=1: where races are looked for)
#
# CUDA: where the toolkit is; CUDA_ARCHITECTURES: machine code for these, PTX for the last.

# The plug-in is made once for all configurations, in build/cuda, and put beside each program. The
# same sources compile for the host against tests/cuda_host, as a plug-in that tests name by
# REACH_CUDA (tests/cuda_host/cuda_host.mk).
CUDA               ?= /usr/local/cuda
NVCC               ?= $(firstword $(wildcard $(CUDA)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
CUDA_ARCHITECTURES ?= 80 90
CUDA_NEWEST  := $(lastword $(CUDA_ARCHITECTURES))
CUDA_BUILD   := $(dir $(BUILD))cuda
CUDA_SRC     := $(wildcard kernels/cuda/*.cu)
# what the plug-in has of its own of the rest
CUDA_C_SRC   := kernels/shared.c io/error.c io/glyph.c io/element.c io/blocks.c io/scaled.c
CUDA_CODE    := \
  $(foreach a,$(CUDA_ARCHITECTURES),-gencode=arch=compute_$(a)$(comma)code=sm_$(a)) \
  -gencode=arch=compute_$(CUDA_NEWEST)$(comma)code=compute_$(CUDA_NEWEST)
NVCC_FLAGS   := -std=c++17 -O3 -I. -D_GNU_SOURCE $(CUDA_CODE) \
  -Xcompiler -fPIC,-fopenmp,-fvisibility=hidden,-Wall,-Wextra$(if \
  $(WERROR),$(comma)-Werror -Werror all-warnings)
CUDA_PLUGIN  := $(if $(NVCC),$(BUILD)/reach-cuda.so)
CUDA_THERE   := $(wildcard reach-cuda.so)$(shell nvidia-smi -L 2>/dev/null)
CUDA_WANTED  := $(if $(CUDA_PLUGIN),$(if $(CUDA_THERE),cuda))
# how a target ends that needs it
no_nvcc       = { echo '$@: there is no nvcc (expected it in PATH, or CUDA=FOLDER of the toolkit)' \
  >&2; exit 1; }

all: $(CUDA_WANTED)

cuda: $(if $(CUDA_PLUGIN),reach-cuda.so)
	@[ -n '$(CUDA_PLUGIN)' ] || $(no_nvcc)

$(CUDA_BUILD)/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  NVCC %s\n' $<
	$(Q)$(NVCC) $(NVCC_FLAGS) -Xptxas -v -MMD -MP -MF $(@:.o=.d) -c $< -o $@ 2>$(@:.o=.ptxas) || \
	  { cat $(@:.o=.ptxas) >&2; exit 1; }
	@grep -v '^ptxas info\|bytes stack frame' $(@:.o=.ptxas) >&2 || true

$(CUDA_BUILD)/%.c.o: %.c
	@mkdir -p $(@D); printf '  CC   %s (plug-in)\n' $<
	$(Q)gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden -fopenmp -ffp-contract=off -fno-math-errno -I. \
	  -D_GNU_SOURCE -MMD -MP -c $< -o $@

$(CUDA_BUILD)/reach-cuda.so: $(CUDA_SRC:%=$(CUDA_BUILD)/%.o) $(CUDA_C_SRC:%=$(CUDA_BUILD)/%.o)
	@printf '  LINK %s\n' $@
	@printf '%s\n' '-rpath=$$ORIGIN:$(CUDA)/lib64' >$@.options # nvcc would hand the sign to a shell
	$(Q)$(NVCC) -shared -Xcompiler -fopenmp -o $@ $^ -L$(CUDA)/lib64 -lcublasLt -lutf8proc \
	  -Xlinker @$@.options,--exclude-libs,ALL,--no-undefined

$(BUILD)/reach-cuda.so: $(CUDA_BUILD)/reach-cuda.so
	@mkdir -p $(@D); cp -f $< $@

# beside ./reach
reach-cuda.so: $(BUILD)/reach-cuda.so FORCE
	@cmp -s $< $@ || cp -f $< $@

# as nvcc told them while `make cuda` compiled
registers registers-table:
	$(Q)NVCC=$(NVCC) CUDA_BUILD=$(CUDA_BUILD) sh kernels/cuda/registers.sh \
	  $(if $(filter registers-table,$@),--write)

install-cuda: $(CUDA_PLUGIN)
	install -d $(DESTDIR)$(PREFIX)/lib/reach
	install -m 755 $(CUDA_PLUGIN) $(DESTDIR)$(PREFIX)/lib/reach/

install: $(if $(CUDA_WANTED),install-cuda)

.PHONY: cuda registers registers-table install-cuda
