/* Quantised weights: blocks of small integers with scales, as in GGUF files.
 *
 * Source of the layouts: ggml-org/ggml, ggml-common.h; of the arithmetic: the dequantisation of the
 * gguf Python package, in float32, one operation after the other. The results are bitwise equal. */
#ifndef REACH_IO_BLOCKS_H
#define REACH_IO_BLOCKS_H

#include "io/element.h"

enum { BLOCK_ELEMENTS_MAX = 256 };

/* The elements of one block of a quantised type, element_block(type) of them. */
void block_widen(float *out, const void *block, enum element type);

#endif
