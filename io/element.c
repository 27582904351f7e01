#include "io/element.h"

#include "io/blocks.h"
#include "io/half.h"
#include "io/scaled.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "stored tensors are little-endian and are read in place");

static const struct {
    const char *name;
    size_t bytes, block;
} types[ELEMENT_COUNT] = {
    [ELEMENT_F64] = {"f64", 8, 1},           [ELEMENT_F32] = {"f32", 4, 1},
    [ELEMENT_F16] = {"f16", 2, 1},           [ELEMENT_BF16] = {"bf16", 2, 1},
    [ELEMENT_Q4_0] = {"Q4_0", 18, 32},       [ELEMENT_Q4_1] = {"Q4_1", 20, 32},
    [ELEMENT_Q5_0] = {"Q5_0", 22, 32},       [ELEMENT_Q5_1] = {"Q5_1", 24, 32},
    [ELEMENT_Q8_0] = {"Q8_0", 34, 32},       [ELEMENT_Q2_K] = {"Q2_K", 84, 256},
    [ELEMENT_Q3_K] = {"Q3_K", 110, 256},     [ELEMENT_Q4_K] = {"Q4_K", 144, 256},
    [ELEMENT_Q5_K] = {"Q5_K", 176, 256},     [ELEMENT_Q6_K] = {"Q6_K", 210, 256},
    [ELEMENT_MXFP4] = {"MXFP4", 17, 32},     [ELEMENT_IQ4_NL] = {"IQ4_NL", 18, 32},
    [ELEMENT_IQ4_XS] = {"IQ4_XS", 136, 256}, [ELEMENT_TQ1_0] = {"TQ1_0", 54, 256},
    [ELEMENT_TQ2_0] = {"TQ2_0", 66, 256},    [ELEMENT_FP8] = {"FP8", 0, 1},
    [ELEMENT_INT8] = {"INT8", 0, 1},         [ELEMENT_NF4] = {"NF4", 0, 1},
    [ELEMENT_FP4] = {"FP4", 0, 1},           [ELEMENT_E2M1] = {"E2M1", 0, 1},
    [ELEMENT_INT] = {"INT", 0, 1},
};

size_t element_size(enum element type)
{
    return types[type].bytes;
}

size_t element_block(enum element type)
{
    return types[type].block;
}

size_t element_bytes(enum element type, size_t count)
{
    return count / types[type].block * types[type].bytes;
}

const char *element_name(enum element type)
{
    return types[type].name;
}

/* Gets the elements from `first` to the end of its block; returns how many. */
static size_t widen_rest(float *out, const void *data, enum element type, size_t first,
                         size_t count)
{
    float whole[BLOCK_ELEMENTS_MAX];
    size_t at = first % types[type].block, rest = types[type].block - at;
    rest = rest < count ? rest : count;
    block_widen(whole, (const char *)data + element_bytes(type, first), type);
    memcpy(out, whole + at, rest * sizeof *out);
    return rest;
}

double element_read(const void *data, enum element type, size_t index)
{
    const unsigned char *p = (const unsigned char *)data + index * types[type].bytes;
    float quantised;
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
    case ELEMENT_BF16: return bf16_to_float(load16(p));
    default: element_run_f32(&quantised, data, type, index, 1); return quantised;
    }
}

void element_widen_f32(float *restrict dst, const void *restrict src, enum element type,
                       size_t count)
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
    default: element_run_f32(dst, src, type, 0, count); break;
    }
}

void element_widen_f64(double *restrict dst, const void *restrict src, enum element type,
                       size_t count)
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
    default: element_run_f64(dst, src, type, 0, count); break;
    }
}

void element_run_f32(float *dst, const void *data, enum element type, size_t first, size_t count)
{
    size_t block = types[type].block;
    if (element_is_scaled(type)) {
        scaled_run(dst, data, type, first, count);
        return;
    }
    if (block == 1) {
        element_widen_f32(dst, (const char *)data + first * types[type].bytes, type, count);
        return;
    }
    for (size_t done = 0; done < count;) {
        if ((first + done) % block || count - done < block) {
            done += widen_rest(dst + done, data, type, first + done, count - done);
        } else {
            block_widen(dst + done, (const char *)data + element_bytes(type, first + done), type);
            done += block;
        }
    }
}

void element_run_f64(double *dst, const void *data, enum element type, size_t first, size_t count)
{
    float piece[BLOCK_ELEMENTS_MAX];
    if (!element_is_quantised(type)) {
        element_widen_f64(dst, (const char *)data + first * types[type].bytes, type, count);
        return;
    }
    for (size_t done = 0; done < count;) {
        size_t left = count - done, some = left < BLOCK_ELEMENTS_MAX ? left : BLOCK_ELEMENTS_MAX;
        element_run_f32(piece, data, type, first + done, some);
        for (size_t i = 0; i < some; i++)
            dst[done + i] = piece[i];
        done += some;
    }
}

double element_round(double x, enum element type)
{
    /* significant bits, and the exponents (of 2^e <= |x| < 2^(e + 1)) of the smallest normal and
     * the largest numbers */
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
