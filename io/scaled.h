/* Matrices stored as codes, of a byte or of four bits, with the scales of their blocks in other
 * tensors.
 *
 * The arithmetic is that of the packages that write them, in float32, one operation after the
 * other, with bitwise equal results: FP8 of transformers' Fp8Dequantize, E2M1 of its
 * convert_moe_packed_tensors, whole numbers of compressed-tensors' dequantize, the others of
 * bitsandbytes' dequantize_4bit and int8_vectorwise_dequant. */
#ifndef REACH_IO_SCALED_H
#define REACH_IO_SCALED_H

#include "io/element.h"

/* The kinds of scales: floats, halves, bf16, powers of two as a byte of exponent, or (double
 * quantisation) a byte that is an index into a table, times the scale of its own block, plus an
 * offset. */
enum scale { SCALE_F32, SCALE_F16, SCALE_BF16, SCALE_E8M0, SCALE_NESTED };

enum { SCALE_TABLE = 256, CODES_OF_FOUR_BITS = 16 };

/* A matrix of whole numbers of 1 to 8 bits, the first in the lowest bits: adjacent along each row,
 * which begins at a new byte; along each column, in words of 32 bits that stand in rows as wide as
 * the matrix; or along rows of four bits, eight of them in the order 0, 2, 4, 6, 1, 3, 5, 7. */
struct packed {
    const unsigned char *data; /* NULL: zeros */
    enum packing { PACKED_ALONG, PACKED_DOWN, PACKED_EVEN_ODD } packing;
    unsigned bits;
    unsigned flipped; /* these bits are inverted: 128 for bytes with a sign, plus 128 */
    size_t across; /* bytes of a row; down columns: the matrix' columns */
};
unsigned packed_code(const struct packed *p, size_t row, size_t column);

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
    /* for whole numbers: (code - zero - middle) scale, where the zeros are of blocks as the scales
     * are. The row, or column, of blocks of each row, or column, as int32, where blocks are not
     * adjacent; else NULL */
    struct packed whole, zeros;
    int middle;
    const unsigned char *block_of_row, *block_of_column;
};

/* The block of an element, and the scale of a block. */
size_t scaled_block(const struct scaled *s, size_t index);
float scaled_scale(const struct scaled *s, size_t block);
/* Bytes of one scale, or of its code byte. */
size_t scaled_scale_size(enum scale scale);
/* Bits of a code. */
size_t scaled_code_bits(const struct scaled *s, enum element type);

/* out[i] = element first + i, i < count. */
void scaled_run(float *out, const struct scaled *s, enum element type, size_t first, size_t count);

/* The 16 numbers of the codes of NF4, FP4 or E2M1. */
const float *scaled_codes(enum element type);

#endif
