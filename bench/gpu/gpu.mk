# What runs on a machine with a GPU, in one folder: the plug-in, tests, reach, the benchmark
# programs (make help-cuda). GPU_PLUGIN: another plug-in, the stand-in say.
GPU_TESTS    := kernels-sets kernels-mixers kernels-weights kernels-attention-mass \
  kernels-cuda-plugin kernels-cuda-attention kernels-cuda-products model-cuda
GPU_FOLDER   := $(dir $(BUILD))gpu/programs
GPU_PLUGIN   ?= $(CUDA_PLUGIN)
GPU_BENCH    := $(addprefix $(BUILD)/bench/gpu/,erf kernels choices)
GPU_PROGRAMS := $(GPU_TESTS:%=$(BUILD)/tests/t-%) $(GPU_BENCH) $(BUILD)/reach
.SECONDARY: $(GPU_BENCH:%=%.o)

$(BUILD)/bench/gpu/erf: $(BUILD)/bench/gpu/erf.o $(BUILD)/tests/memory_decoder.o $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/bench/gpu/%.o: bench/gpu/%.cpp
	@mkdir -p $(@D); printf '  CXX  %s\n' $<
	$(Q)$(CUDA_CXX) -std=c++17 -O2 -g1 -Wall -Wextra $(WERROR:1=-Werror) -I. -isystem $(CUDA)/include \
	  -D_GNU_SOURCE -MMD -MP -c $< -o $@

$(BUILD)/bench/gpu/kernels $(BUILD)/bench/gpu/choices: %: %.o $(BUILD)/libreach.a
	$(Q)$(CUDA_CXX) -fopenmp $(LDFLAGS) -o $@ $^ $(LIBS) -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 \
	  -lcublasLt -lcudart_static -lrt -lpthread

gpu-programs: deps
	@[ -n '$(GPU_PLUGIN)' ] || $(no_nvcc)
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(GPU_PROGRAMS) $(GPU_PLUGIN)
	$(Q)rm -rf $(GPU_FOLDER) && mkdir -p $(GPU_FOLDER) && cp $(GPU_PROGRAMS) $(GPU_FOLDER)/ && \
	  cp $(GPU_PLUGIN) $(GPU_FOLDER)/reach-cuda.so

gpu-check gpu-bench: gpu-programs
	$(Q)CARRY= FOLDER=$(GPU_FOLDER) PYTHON=$(PYTHON) sh bench/gpu/run.sh $(@:gpu-%=%)

# for a machine that lacks the libraries: build/carry.tar.xz
gpu-carry: gpu-programs
	$(Q)FOLDER=$(GPU_FOLDER) sh bench/gpu/carry.sh

.PHONY: gpu-programs gpu-check gpu-bench gpu-carry
