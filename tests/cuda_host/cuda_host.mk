# The CUDA set compiled for the host, against this folder, as plug-ins that tests name by REACH_CUDA
# (make help-cuda).
CUDA_CXX     := $(subst gcc,g++,$(subst clang,clang++,$(firstword $(CC))))
CUDA_HOST    := $(if $(shell command -v $(CUDA_CXX) 2>/dev/null),$(BUILD)/tests/cuda-host.so)
CUDA_RACES   := $(if $(CUDA_HOST),$(BUILD)/tests/cuda-races.so)
CUDA_HOST_FLAGS := -std=c++17 -O2 -g1 -fPIC -fvisibility=hidden -fopenmp -ffp-contract=off \
  -fno-math-errno -Wall -Wextra -Wno-unknown-pragmas $(WERROR:1=-Werror) \
  $(SANITIZE) $(if $(SANITIZE),-fno-sanitize=vptr $(if $(CLANG),-fno-sanitize=function)) \
  -I. -Itests/cuda_host -D_GNU_SOURCE
HOST_SRC     := $(filter-out tests/cuda_host/races.cpp tests/cuda_host/ptx.cpp,\
  $(wildcard tests/cuda_host/*.cpp))
# what `make check-cuda` runs on the stand-in; CUDA_AGAIN: what launches the same kernels once more
CUDA_AGAIN   := model-score model-range model-attribution model-predict io-gguf verb-ranks \
  verb-changes-cuda
CUDA_CHECKS  := kernels-sets model-goldens kernels-mixers io-quantised \
  $(filter-out verb-changes-cuda,$(patsubst tests/t-%.c,%,$(wildcard tests/t-*-cuda*.c))) \
  kernels-weights kernels-registry kernels-attention-mass model-experts
APT_PACKAGES += g++
# beside the programs: one of another version, and one that needs a library
CUDA_OTHERS  := $(BUILD)/tests/cuda-other.so $(BUILD)/tests/cuda-needs.so

$(BUILD)/cuda_host/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  CXX  %s (host)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -MMD -MP -x c++ -c $< -o $@

$(BUILD)/cuda_host/%.cpp.o: %.cpp
	@mkdir -p $(@D); printf '  CXX  %s\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(if $(SANITIZE),-fno-sanitize=undefined) \
	  -MMD -MP -c $< -o $@

$(BUILD)/cuda_host/%.c.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(BUILD)/tests/cuda-host.so: $(patsubst %,$(BUILD)/cuda_host/%.o,\
  $(CUDA_SRC) $(HOST_SRC) $(CUDA_C_SRC))
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -shared -o $@ $^ -lutf8proc

# the same, with each access of a kernel looked at (races.cpp stands for the sanitizer's library,
# which is not linked)
$(BUILD)/cuda_races/%.cu.o: %.cu
	@mkdir -p $(@D); printf '  CXX  %s (races)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -fsanitize=thread -MMD -MP -x c++ -c $< -o $@

$(BUILD)/cuda_races/%.cpp.o: %.cpp
	@mkdir -p $(@D); printf '  CXX  %s (races)\n' $<
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) -DHOST_RACES -MMD -MP -c $< -o $@

$(BUILD)/tests/cuda-races.so: $(CUDA_C_SRC:%=$(BUILD)/cuda_host/%.o) \
  $(patsubst %,$(BUILD)/cuda_races/%.o,$(CUDA_SRC) $(HOST_SRC) tests/cuda_host/races.cpp)
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -shared -o $@ $^ -lutf8proc

# the same, with each kernel as nvcc compiled it: its PTX in C++ once more (ptx.py), of which
# registers that nothing reads are no news. PTX_OF: the files for which; kernels of the others run
# are left out
PTX_OF       ?= $(CUDA_SRC:kernels/cuda/%.cu=%)
empty        :=
PTX_LIBRARY  := $(BUILD)/tests/cuda-ptx$(if \
  $(filter file,$(origin PTX_OF)),,-$(subst $(empty) ,-,$(strip $(PTX_OF)))).so
PTX_FLAGS    := $(filter-out -g1 -O2,$(CUDA_HOST_FLAGS)) -O1 -fno-strict-aliasing -fwrapv \
  -Wno-unused -Wno-uninitialized $(if $(CLANG),,-Wno-maybe-uninitialized)
$(CUDA_BUILD)/%.ptx: %.cu
	@mkdir -p $(@D); printf '  NVCC %s (PTX)\n' $<
	$(Q)$(NVCC) -std=c++17 -O3 -I. -D_GNU_SOURCE -ptx -arch=compute_$(CUDA_NEWEST) \
	  -MMD -MP -MF $@.d $< -o $@

$(BUILD)/cuda_ptx/%.cpp: $(CUDA_BUILD)/kernels/cuda/%.ptx tests/cuda_host/ptx.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tests/cuda_host/ptx.py $< $@

$(BUILD)/cuda_ptx/%.o: $(BUILD)/cuda_ptx/%.cpp
	@printf '  CXX  %s (PTX)\n' $(<F)
	$(Q)$(CUDA_CXX) $(PTX_FLAGS) -MMD -MP -c $< -o $@

.SECONDARY: $(PTX_OF:%=$(BUILD)/cuda_ptx/%.cpp) $(PTX_OF:%=$(CUDA_BUILD)/kernels/cuda/%.ptx)

PTX_OBJECTS  := $(patsubst %,$(BUILD)/cuda_host/%.o,\
  $(CUDA_SRC) $(HOST_SRC) $(CUDA_C_SRC) tests/cuda_host/ptx.cpp) \
  $(PTX_OF:%=$(BUILD)/cuda_ptx/%.o)
$(PTX_LIBRARY): $(PTX_OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(CUDA_CXX) $(CUDA_HOST_FLAGS) $(LDFLAGS) -Wl,--no-undefined -shared -o $@ $^ -lutf8proc

# of another version, to be refused
$(BUILD)/tests/cuda-other.so: $(BUILD)/cuda_host/tests/cuda_host/other.c.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -shared -o $@ $^

# one that needs a cuBLASLt which lies where pip would put it, in an environment below build
PIP := $(BUILD)/tests/pip/lib/python3.99/site-packages/nvidia/cu13/lib/libcublasLt.so.99
$(PIP): tests/cuda_host/needed.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

$(BUILD)/tests/cuda-needs.so: tests/cuda_host/other.c $(PIP)
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -fPIC -fvisibility=hidden -DNEEDS=cuda_host_needed \
	  -shared -o $@ $^

# ---- its tests ----
# $(1): orders of the stand-in's threads, 0 their own; every other one with its copies early. $(2):
# what runs them
in_orders = for seed in $(1); do \
  echo "order $$seed"; early=; [ $$((seed % 2)) -eq 0 ] || early=early; \
  REACH_CUDA_HOST_SEED=$$seed REACH_CUDA_HOST_COPIES=$$early $(2) || exit 1; done

check-cuda-short: SEEDS = 0
SEEDS      ?= 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
LAUNCHED   := $(BUILD)/tests/launched
check-cuda: CUDA_CHECKS += $(CUDA_AGAIN)
check-cuda check-cuda-short: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_HOST) $(CUDA_OTHERS) $(BUILD)/reach \
	  $(REACH_MPI:%=$(BUILD)/%) $(CUDA_CHECKS:%=$(BUILD)/tests/t-%)
	$(Q)rm -rf $(LAUNCHED) && mkdir -p $(LAUNCHED)
	$(Q)$(call in_orders,$(SEEDS),REACH=$(BUILD)/reach REACH_CUDA=$(CUDA_HOST) \
	  REACH_CUDA_HOST_LAUNCHED=$(LAUNCHED) sh tests/run.sh $(CUDA_CHECKS:%=$(BUILD)/tests/t-%))
	$(Q)sh tests/cuda_host/launched.sh $(CUDA_HOST) $(LAUNCHED) $(GPU_TESTS:%=t-%)

# the tests of `make gpu-check`; and then with a barrier out, which must fail
PTX_SEEDS    ?= 0 1
PTX_CHECKS   ?= $(GPU_TESTS)
check-ptx: deps
	@[ -n '$(NVCC)' ] || $(no_nvcc)
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(PTX_LIBRARY) $(CUDA_OTHERS) \
	  $(GPU_TESTS:%=$(BUILD)/tests/t-%)
	$(Q)$(call in_orders,$(PTX_SEEDS),REACH_CUDA=$(PTX_LIBRARY) \
	  sh tests/run.sh $(PTX_CHECKS:%=$(BUILD)/tests/t-%))
	$(Q)CXX='$(CUDA_CXX)' FLAGS='$(PTX_FLAGS)' PYTHON='$(PYTHON)' BUILD=$(BUILD) \
	  PTX=$(CUDA_BUILD)/kernels/cuda OBJECTS='$(PTX_OBJECTS)' \
	  sh tests/cuda_host/ptx_without.sh product_tile 1 kernels-cuda-products

# whatever order the stand-in's threads ran in
CUDA_RACE_CHECKS := kernels-cuda-attention kernels-cuda-products kernels-cuda-plugin kernels-sets \
  kernels-mixers kernels-weights kernels-attention-mass model-cuda
check-cuda-races: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_RACES) $(CUDA_OTHERS) \
	  $(CUDA_RACE_CHECKS:%=$(BUILD)/tests/t-%)
	$(Q)REACH_CUDA=$(CUDA_RACES) sh tests/run.sh $(CUDA_RACE_CHECKS:%=$(BUILD)/tests/t-%)

# an hour or two on two cores
CUDA_TESTS := kernels-cuda-attention kernels-cuda-products kernels-cuda-plugin kernels-sets \
  kernels-mixers \
  model-cuda
cuda-without: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(CUDA_HOST) $(if $(RACES),$(CUDA_RACES)) \
	  $(CUDA_TESTS:%=$(BUILD)/tests/t-%) $(BUILD)/tests/t-kernels-attention-mass
	$(Q)CXX='$(CUDA_CXX)' FLAGS='$(CUDA_HOST_FLAGS)' BUILD=$(BUILD) sh tests/cuda_host/without.sh

.PHONY: check-cuda check-cuda-short check-ptx check-cuda-races cuda-without
