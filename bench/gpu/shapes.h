/* The models of the GPU benchmarks, by name. */
#ifndef REACH_BENCH_GPU_SHAPES_H
#define REACH_BENCH_GPU_SHAPES_H

#include "tests/memory_decoder.h"

static const struct named_shape {
    const char *name;
    struct memory_shape shape;
} named_shapes[] = {
    /* kind, layers, heads, kv_heads, hidden, mlp, vocabulary, positions, window */
    {"gpt2-small", {MEMORY_GPT2, 12, 12, 0, 768, 3072, 50257, 32768, 0}},
    {"gpt2-small-alibi", {MEMORY_ALIBI, 12, 12, 0, 768, 3072, 50257, 1, 0}},
    {"gpt2-xl", {MEMORY_GPT2, 48, 25, 0, 1600, 6400, 50257, 2048, 0}},
    {"pythia-1.4b", {MEMORY_NEOX, 24, 16, 0, 2048, 8192, 50304, 0, 0}},
    {"llama-7b", {MEMORY_LLAMA, 32, 32, 32, 4096, 11008, 32000, 0, 0}},
    /* small ones, to try the programs with */
    {"tiny-gpt2", {MEMORY_GPT2, 2, 4, 0, 64, 256, 211, 2048, 0}},
    {"tiny-alibi", {MEMORY_ALIBI, 2, 4, 0, 64, 256, 211, 1, 0}},
    {"tiny-neox", {MEMORY_NEOX, 2, 4, 0, 128, 512, 211, 0, 0}},
    {"tiny-llama", {MEMORY_LLAMA, 2, 4, 4, 64, 176, 211, 0, 0}},
};

#endif
