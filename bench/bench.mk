# The laboratory: rates, memory, studies, real models.
#
#   make bench            kernels against the machine's own rate, whole segments of several kinds of
#                         models against PyTorch, in float32 and bf16; its variables are in
#                         bench/run.sh
#   make bench-far        small models at up to half a million tokens, beside PyTorch
#   make bench-plan       memory plans beside what is taken
#   make bench-long       memory of long inputs, planned and taken, with --keep bf16 and --scratch
#   make studies          both papers on the example models: pages, tables and figures in
#                         doc/studies/, from what was measured of them; a sample is measured again
#   make studies-measure  measures what those pages need beside examples/gates.py: hours
#   make real             two real language models, fetched by pip: gradients, log p, tokens and
#                         perplexity compared with transformers

.SECONDARY: $(call object,$(wildcard bench/*.c))
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libreach.a
	$(Q)$(CC) $(BASE_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

bench: all $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c))
	$(Q)PYTHON=$(PYTHON) BUILD=$(BUILD) sh bench/run.sh

bench-far: all $(BUILD)/bench/erf
	$(Q)PYTHON=$(PYTHON) BUILD=$(BUILD) sh bench/far.sh

bench-plan bench-long: all $(BUILD)/bench/plan $(BUILD)/bench/random_checkpoint
	$(Q)BUILD=$(BUILD) sh bench/$(@:bench-%=%).sh

# Python alone, and gnuplot
studies: all
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PYTHON) examples/studies/build.py

# Python, NumPy and h5py; goes on where it stopped (PART=1/4: a fourth of it).
studies-measure: all
	$(Q)$(PYTHON) examples/studies/measure.py --part $(or $(PART),1/1)

# pip, and the Python packages numpy and h5py; the model is fetched, once
real: all
	$(Q)PYTHON=$(PYTHON) sh examples/real/run.sh

.PHONY: bench bench-far bench-plan bench-long studies studies-measure real
