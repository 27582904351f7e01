/* Matrices stored as codes, of a byte or of four bits, with the scales of their blocks in other
 * tensors.
 *
 * The arithmetic is that of the packages that write them, in float32, one operation after the
 * other, with bitwise equal results: FP8 of transformers' Fp8Dequantize, E2M1 of its
 * convert_moe_packed_tensors, the others of bitsandbytes' dequantize_4bit and
 * int8_vectorwise_dequant. */
#ifndef REACH_IO_SCALED_H
#define REACH_IO_SCALED_H

#include "io/element.h"

/* The kinds of scales: floats, bf16, powers of two as a byte of exponent, or (double quantisation)
 * a byte that is an index into a table, times the scale of its own block, plus an offset. */
enum scale { SCALE_F32, SCALE_BF16, SCALE_E8M0, SCALE_NESTED };

enum { SCALE_TABLE = 256, CODES_OF_FOUR_BITS = 16 };

/* What `data` of a tensor or view of a type with scales points to; its pointers may have any
 * alignment. */
struct scaled {
    const unsigned char
        *codes; /* in row-major order; first of two in a byte: the upper half, for E2M1 the lower */
    const unsigned char *scales; /* row after row of blocks */
    size_t columns; /* of the matrix; if blocks continue across rows, all its elements */
    size_t block_rows, block_columns, blocks_across;
    enum scale scale;
    const unsigned char *table, *table_scales; /* for nested scales: [SCALE_TABLE] floats; a float
                                                  for table_block of them */
    size_t table_block;
    float table_offset;
};

/* The block of an element, and the scale of a block. */
size_t scaled_block(const struct scaled *s, size_t index);
float scaled_scale(const struct scaled *s, size_t block);
/* Bytes of one scale, or of its code byte. */
size_t scaled_scale_size(enum scale scale);
/* 1 or 2. */
size_t scaled_codes_in_byte(enum element type);

/* out[i] = element first + i, i < count. */
void scaled_run(float *out, const struct scaled *s, enum element type, size_t first, size_t count);

/* The 16 numbers of the codes of NF4, FP4 or E2M1. */
const float *scaled_codes(enum element type);

#endif
