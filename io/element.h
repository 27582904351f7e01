/* Element types of stored tensors, and checked arithmetic on sizes that come from files. */
#ifndef REACH_IO_ELEMENT_H
#define REACH_IO_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

enum element { ELEMENT_F64, ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16 };

/* Bytes of one element: 8, 4, 2, 2. */
size_t element_size(enum element type);
/* "f64", "f32", "f16", "bf16". */
const char *element_name(enum element type);

/* The `index`-th element behind `data` (any alignment), exactly, as a double. */
double element_read(const void *data, enum element type, size_t index);

/* x rounded to the nearest number of the type, ties to even; beyond its range infinite. */
double element_round(double x, enum element type);

/* dst[i] = (float)src[i], i < count; src may have any alignment. f64 is rounded to nearest; the others are exact. */
void element_widen_f32(float *dst, const void *src, enum element type, size_t count);
/* The same in double, always exact. */
void element_widen_f64(double *dst, const void *src, enum element type, size_t count);

static inline int size_multiply(size_t *out, size_t a, size_t b)
{
    return __builtin_mul_overflow(a, b, out) ? -1 : 0;
}
static inline int size_add(size_t *out, size_t a, size_t b)
{
    return __builtin_add_overflow(a, b, out) ? -1 : 0;
}

#endif
