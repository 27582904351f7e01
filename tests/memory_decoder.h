/* Random decoders in memory, without a checkpoint's files: for benchmarks and tests on machines
 * that have none of the libraries which read those.
 *
 * Values come from a counter: element i of tensor t (in the order of memory_decoder.c) is mean +
 * spread * v, v in [-1, 1) from the upper 24 bits of a mixing of i and t. bench/gpu/peer.py makes
 * the same. */
#ifndef REACH_TESTS_MEMORY_DECODER_H
#define REACH_TESTS_MEMORY_DECODER_H

#include "model/decoder.h"

enum memory_kind {
    MEMORY_GPT2, /* LayerNorm, learned positions, Conv1D layout, tied head; f32 */
    MEMORY_NEOX, /* LayerNorm, parallel residual, a quarter of each head rotated, head-major fused
                    projections; f32 */
    MEMORY_LLAMA, /* RMSNorm, gated SiLU, rotary, no biases; bf16 */
    MEMORY_ALIBI /* MEMORY_GPT2 without positions, with ALiBi's slopes */
};

struct memory_shape {
    enum memory_kind kind;
    int layers, heads, kv_heads, hidden, mlp, vocabulary,
        positions; /* kv_heads: of llama; positions: rows of learned ones */
    int window; /* of every layer; 0: none; -c: chunks of c instead */
};

/* NULL with *e on failure. Freed by memory_decoder_free (NULL is allowed), not by decoder_close. */
struct decoder *memory_decoder(const struct memory_shape *s, struct error *e) MUST_USE;
void memory_decoder_free(struct decoder *d);

#endif
