/* Element types of stored tensors, and checked arithmetic on sizes that come from files. */
#ifndef REACH_IO_ELEMENT_H
#define REACH_IO_ELEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum element {
    ELEMENT_F64,
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    /* quantised: blocks of adjacent elements of a row (io/blocks.h); their values are floats */
    ELEMENT_Q4_0,
    ELEMENT_Q4_1,
    ELEMENT_Q5_0,
    ELEMENT_Q5_1,
    ELEMENT_Q8_0,
    ELEMENT_Q2_K,
    ELEMENT_Q3_K,
    ELEMENT_Q4_K,
    ELEMENT_Q5_K,
    ELEMENT_Q6_K,
    ELEMENT_MXFP4,
    ELEMENT_IQ4_NL,
    ELEMENT_IQ4_XS,
    ELEMENT_TQ1_0,
    ELEMENT_TQ2_0,
    /* quantised, with scales in other tensors: data points to a struct scaled (io/scaled.h), and
     * does not move with the first element */
    ELEMENT_FP8,
    ELEMENT_INT8,
    ELEMENT_NF4,
    ELEMENT_FP4,
    ELEMENT_E2M1,
    ELEMENT_INT,
    ELEMENT_COUNT
};

static inline int element_is_quantised(enum element type)
{
    return type >= ELEMENT_Q4_0;
}
static inline int element_is_scaled(enum element type)
{
    return type >= ELEMENT_FP8;
}

/* Bytes of one element: 8, 4, 2, 2; for quantised types bytes of a block; 0 for those with
 * scales. */
size_t element_size(enum element type);
/* Elements of a block: 1, or 32 or 256 for quantised types without scales. */
size_t element_block(enum element type);
/* Bytes of `count` elements, which must be whole blocks; so also the offset of element `count`. */
size_t element_bytes(enum element type, size_t count);
/* "f64", "f32", "f16", "bf16", "Q4_0". */
const char *element_name(enum element type);

/* The element at `index` from `data` (any alignment), exactly, as a double. */
double element_read(const void *data, enum element type, size_t index);

/* x rounded to the nearest number of the type, ties to even; infinite beyond its range. Not for
 * quantised types. */
double element_round(double x, enum element type);

/* dst[i] = (float)src[i], i < count; src may have any alignment, and is the start of a block, or of
 * a tensor with scales. f64 is rounded to nearest; the others are exact. */
void element_widen_f32(float *dst, const void *src, enum element type, size_t count);
/* The same in double, always exact. */
void element_widen_f64(double *dst, const void *src, enum element type, size_t count);
/* The same for elements first .. first + count of `data`, also from the middle of a block. */
void element_run_f32(float *dst, const void *data, enum element type, size_t first, size_t count);
void element_run_f64(double *dst, const void *data, enum element type, size_t first, size_t count);

/* x rounded to the nearest number of bf16, ties to even, infinite beyond its range; NaN stays NaN.
 * Inline so that loops vectorize. */
static inline float float_round_bf16(float x)
{
    uint32_t bits, nan;
    memcpy(&bits, &x, sizeof bits);
    nan = (bits | 1u << 22) & 0xffff0000u;
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    bits = x != x ? nan : bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x as a sum of two numbers of bf16, to 2^-17 of it while the second is not below 2^-126: the
 * nearest finite one, and the one nearest to the rest, which is exact. The high part of an infinity
 * is the largest number and its low part infinite; of NaN the low part is NaN. */
static inline float float_high_bf16(float x)
{
    const float most = 0x1.fep127f;
    return float_round_bf16(x > most ? most : x < -most ? -most : x);
}
static inline float float_low_bf16(float x)
{
    return float_round_bf16(x - float_high_bf16(x));
}

static inline int size_multiply(size_t *out, size_t a, size_t b)
{
    return __builtin_mul_overflow(a, b, out) ? -1 : 0;
}
static inline int size_add(size_t *out, size_t a, size_t b)
{
    return __builtin_add_overflow(a, b, out) ? -1 : 0;
}

#endif
