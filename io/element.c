#include "io/element.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored tensors are little-endian and are read in place");

size_t element_size(enum element type)
{
    static const size_t sizes[] = {[ELEMENT_F64] = 8, [ELEMENT_F32] = 4, [ELEMENT_F16] = 2, [ELEMENT_BF16] = 2};
    return sizes[type];
}

const char *element_name(enum element type)
{
    static const char *const names[] = {
        [ELEMENT_F64] = "f64", [ELEMENT_F32] = "f32", [ELEMENT_F16] = "f16", [ELEMENT_BF16] = "bf16"};
    return names[type];
}

/* Loads of any alignment; compilers turn the memcpy into one instruction. */
static inline uint16_t load16(const unsigned char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

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

/* IEEE half to float, exact. By masks rather than branches, so that loops vectorize; no intermediate is subnormal, so
 * flush-to-zero modes do not matter. */
static inline float f16_to_float(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13;
    uint32_t is_subnormal = -(uint32_t)(magnitude < 1u << 23), is_special = -(uint32_t)(magnitude >= 31u << 23);
    uint32_t normal = magnitude + (112u << 23) + (is_special & 112u << 23); /* bias 15 -> 127; inf and nan: exponent 31 -> 255 */
    uint32_t subnormal = bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23)); /* 2^-14 (1 + f) - 2^-14 */
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    return float_of(sign | (subnormal & is_subnormal) | (normal & ~is_subnormal));
}

double element_read(const void *data, enum element type, size_t index)
{
    const unsigned char *p = (const unsigned char *)data + index * element_size(type);
    switch (type) {
    case ELEMENT_F64: {
        double v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    case ELEMENT_F32: {
        float v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    case ELEMENT_F16: return f16_to_float(load16(p));
    default: return bf16_to_float(load16(p));
    }
}

void element_widen_f32(float *restrict dst, const void *restrict src, enum element type, size_t count)
{
    const unsigned char *restrict p = src;
    switch (type) {
    case ELEMENT_F64:
        for (size_t i = 0; i < count; i++) {
            double v;
            memcpy(&v, p + 8 * i, sizeof v);
            dst[i] = (float)v;
        }
        break;
    case ELEMENT_F32:
        if (count)
            memcpy(dst, p, count * sizeof *dst);
        break;
    case ELEMENT_F16:
        for (size_t i = 0; i < count; i++)
            dst[i] = f16_to_float(load16(p + 2 * i));
        break;
    case ELEMENT_BF16:
        for (size_t i = 0; i < count; i++)
            dst[i] = bf16_to_float(load16(p + 2 * i));
        break;
    }
}

void element_widen_f64(double *restrict dst, const void *restrict src, enum element type, size_t count)
{
    const unsigned char *restrict p = src;
    switch (type) {
    case ELEMENT_F64:
        if (count)
            memcpy(dst, p, count * sizeof *dst);
        break;
    case ELEMENT_F32:
        for (size_t i = 0; i < count; i++) {
            float v;
            memcpy(&v, p + 4 * i, sizeof v);
            dst[i] = v;
        }
        break;
    case ELEMENT_F16:
        for (size_t i = 0; i < count; i++)
            dst[i] = f16_to_float(load16(p + 2 * i));
        break;
    case ELEMENT_BF16:
        for (size_t i = 0; i < count; i++)
            dst[i] = bf16_to_float(load16(p + 2 * i));
        break;
    }
}

double element_round(double x, enum element type)
{
    /* significant bits, and the exponents (of 2^e <= |x| < 2^(e + 1)) of the smallest normal and the largest numbers */
    static const struct {
        int bits, least, most;
    } formats[] = {[ELEMENT_F64] = {53, -1022, 1023},
                   [ELEMENT_F32] = {24, -126, 127},
                   [ELEMENT_F16] = {11, -14, 15},
                   [ELEMENT_BF16] = {8, -126, 127}};
    int exponent, step;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &exponent);
    exponent = exponent - 1 > formats[type].least ? exponent - 1 : formats[type].least;
    step = exponent - formats[type].bits + 1; /* neighbours are 2^step apart */
    double rounded = ldexp(nearbyint(ldexp(x, -step)), step);
    return fabs(rounded) >= ldexp(1, formats[type].most) * 2 ? copysign(INFINITY, x) : rounded;
}
