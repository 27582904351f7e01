/* Conversions between the bits of short floating types and floats, exact, inline so that loops
 * vectorize. Private to io/. */
#ifndef REACH_IO_HALF_H
#define REACH_IO_HALF_H

#include "io/bytes.h"

static inline float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float bf16_to_float(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

/* IEEE half to float, exact. By masks rather than branches, so that loops vectorize; no
 * intermediate is subnormal, so flush-to-zero modes do not matter. */
static inline float f16_to_float(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13;
    uint32_t is_subnormal = -(uint32_t)(magnitude < 1u << 23),
             is_special = -(uint32_t)(magnitude >= 31u << 23);
    uint32_t normal = magnitude + (112u << 23) +
                      (is_special &
                       112u << 23); /* bias 15 -> 127; inf and nan: exponent 31 -> 255 */
    uint32_t subnormal = bits_of(float_of(magnitude + (113u << 23)) -
                                 float_of(113u << 23)); /* 2^-14 (1 + f) - 2^-14 */
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    return float_of(sign | (subnormal & is_subnormal) | (normal & ~is_subnormal));
}

#endif
