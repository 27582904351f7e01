#include "io/blocks.h"

#include "io/half.h"

/* Each function widens one block. Operations are in the order of the Python package's: every
 * product and every difference is rounded to float32 separately. */

static void widen_q4_0(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b));
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((b[2 + i] & 15) - 8);
        out[16 + i] = d * (float)((b[2 + i] >> 4) - 8);
    }
}

static void widen_q4_1(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b)), m = f16_to_float(load16(b + 2));
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)(b[4 + i] & 15) + m;
        out[16 + i] = d * (float)(b[4 + i] >> 4) + m;
    }
}

/* Bit i of `high` is the fifth of element i. */
static void widen_q5_0(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b));
    uint32_t high = load32(b + 2);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((int)((b[6 + i] & 15u) | (high >> i & 1) << 4) - 16);
        out[16 + i] = d *
                      (float)((int)((uint32_t)b[6 + i] >> 4 | (high >> (16 + i) & 1) << 4) - 16);
    }
}

static void widen_q5_1(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b)), m = f16_to_float(load16(b + 2));
    uint32_t high = load32(b + 4);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)(int)((b[8 + i] & 15u) | (high >> i & 1) << 4) + m;
        out[16 + i] = d * (float)(int)((uint32_t)b[8 + i] >> 4 | (high >> (16 + i) & 1) << 4) + m;
    }
}

static void widen_q8_0(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b));
    for (int i = 0; i < 32; i++)
        out[i] = d * (float)(signed char)b[2 + i];
}

/* 16 groups of 16, each with 4 bits of scale and 4 of minimum; then d, dmin. */
static void widen_q2_k(float *restrict out, const unsigned char *restrict b)
{
    const unsigned char *packed = b + 16;
    float d = f16_to_float(load16(b + 80)), dmin = f16_to_float(load16(b + 82));
    for (int g = 0; g < 16; g++) {
        float scale = d * (float)(b[g] & 15), least = dmin * (float)(b[g] >> 4);
        const unsigned char *q = packed + g / 8 * 32 + g % 2 * 16;
        for (int i = 0; i < 16; i++)
            out[16 * g + i] = scale * (float)(q[i] >> (g % 8 / 2 * 2) & 3) - least;
    }
}

/* 16 groups of 16: a mask of third bits (0: minus 4), two bits each, 6 bits of scale (minus 32) in
 * 12 bytes, d. */
static void widen_q3_k(float *restrict out, const unsigned char *restrict b)
{
    const unsigned char *mask = b, *packed = b + 32, *scales = b + 96;
    float d = f16_to_float(load16(b + 108));
    for (int g = 0; g < 16; g++) {
        int low = scales[g % 8] >> (g / 8 * 4) & 15, high = scales[8 + g % 4] >> (g / 4 * 2) & 3;
        float scale = d * (float)((low | high << 4) - 32);
        const unsigned char *q = packed + g / 8 * 32 + g % 2 * 16, *third = mask + g % 2 * 16;
        for (int i = 0; i < 16; i++)
            out[16 * g + i] = scale * (float)((q[i] >> (g % 8 / 2 * 2) & 3) -
                                              (third[i] >> (g / 2) & 1 ? 0 : 4));
    }
}

/* Scale and minimum of group g of 8, 6 bits each in 12 bytes: those of the first four groups whole,
 * of the others the lower bits separate from the upper two. */
static void read_scales(int *scale, int *least, const unsigned char *packed, int g)
{
    if (g < 4) {
        *scale = packed[g] & 63;
        *least = packed[4 + g] & 63;
    } else {
        *scale = (packed[4 + g] & 15) | (packed[g - 4] >> 6) << 4;
        *least = packed[4 + g] >> 4 | (packed[g] >> 6) << 4;
    }
}

/* d, dmin, scales of 8 groups of 32, four bits each. */
static void widen_q4_k(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b)), dmin = f16_to_float(load16(b + 2));
    for (int g = 0; g < 8; g++) {
        int scale, least;
        read_scales(&scale, &least, b + 4, g);
        float ds = d * (float)scale, dm = dmin * (float)least;
        const unsigned char *q = b + 16 + g / 2 * 32;
        for (int i = 0; i < 32; i++)
            out[32 * g + i] = ds * (float)(q[i] >> (g % 2 * 4) & 15) - dm;
    }
}

/* The same, with a mask of fifth bits. */
static void widen_q5_k(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b)), dmin = f16_to_float(load16(b + 2));
    const unsigned char *mask = b + 16;
    for (int g = 0; g < 8; g++) {
        int scale, least;
        read_scales(&scale, &least, b + 4, g);
        float ds = d * (float)scale, dm = dmin * (float)least;
        const unsigned char *q = b + 48 + g / 2 * 32;
        for (int i = 0; i < 32; i++)
            out[32 * g + i] = ds * (float)((q[i] >> (g % 2 * 4) & 15) | (mask[i] >> g & 1) << 4) -
                              dm;
    }
}

/* Lower four bits, upper two, 16 scales of 8 bits, d. */
static void widen_q6_k(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b + 208));
    for (int g = 0; g < 16; g++) {
        int part = g / 2; /* of 32 elements: their lower bits in 64 bytes for four parts, their
                             upper ones in 32 */
        float scale = d * (float)(signed char)b[192 + g];
        const unsigned char *low = b + part / 4 * 64 + part % 2 * 32 + g % 2 * 16,
                            *high = b + 128 + part / 4 * 32 + g % 2 * 16;
        for (int i = 0; i < 16; i++)
            out[16 * g + i] = scale * (float)(((low[i] >> (part % 4 / 2 * 4) & 15) |
                                               (high[i] >> (part % 4 * 2) & 3) << 4) -
                                              32);
    }
}

/* A power of two as eight bits of exponent, halved, and numbers of four bits, doubled. */
static void widen_mxfp4(float *restrict out, const unsigned char *restrict b)
{
    static const float values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float d = float_of(b[0] < 2 ? 0x00200000u << b[0] : (uint32_t)(b[0] - 1) << 23);
    for (int i = 0; i < 16; i++) {
        out[i] = d * values[b[1 + i] & 15];
        out[16 + i] = d * values[b[1 + i] >> 4];
    }
}

/* Numbers of four bits as IQ4_NL and IQ4_XS mean them. */
static const float uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

static void widen_iq4_nl(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b));
    for (int i = 0; i < 16; i++) {
        out[i] = d * uneven[b[2 + i] & 15];
        out[16 + i] = d * uneven[b[2 + i] >> 4];
    }
}

/* d, the upper two bits of 8 scales (minus 32), their lower four, four bits each. */
static void widen_iq4_xs(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b));
    unsigned high = load16(b + 2);
    for (int g = 0; g < 8; g++) {
        int low = b[4 + g / 2] >> (g % 2 * 4) & 15;
        float scale = d * (float)((low | (int)(high >> 2 * g & 3) << 4) - 32);
        const unsigned char *q = b + 8 + 16 * g;
        for (int i = 0; i < 16; i++) {
            out[32 * g + i] = scale * uneven[q[i] & 15];
            out[32 * g + 16 + i] = scale * uneven[q[i] >> 4];
        }
    }
}

/* Digit `place` of each of `count` bytes, which are fractions of 256 to base 3; minus 1. */
static void widen_thirds(float *restrict out, const unsigned char *restrict q, int count, int place,
                         float d)
{
    static const int powers[] = {1, 3, 9, 27, 81};
    for (int i = 0; i < count; i++)
        out[i] = d * (float)(((q[i] * powers[place] & 255) * 3 >> 8) - 1);
}

/* Five digits in each of 32 and of 16 bytes, four in each of 4; d. */
static void widen_tq1_0(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b + 52));
    for (int place = 0; place < 5; place++) {
        widen_thirds(out + 32 * place, b, 32, place, d);
        widen_thirds(out + 160 + 16 * place, b + 32, 16, place, d);
        if (place < 4)
            widen_thirds(out + 240 + 4 * place, b + 48, 4, place, d);
    }
}

/* Two bits each (minus 1), d. */
static void widen_tq2_0(float *restrict out, const unsigned char *restrict b)
{
    float d = f16_to_float(load16(b + 64));
    for (int g = 0; g < 8; g++)
        for (int i = 0; i < 32; i++)
            out[32 * g + i] = d * (float)((b[g / 4 * 32 + i] >> (g % 4 * 2) & 3) - 1);
}

void block_widen(float *out, const void *block, enum element type)
{
    switch (type) {
    case ELEMENT_Q4_0: widen_q4_0(out, block); break;
    case ELEMENT_Q4_1: widen_q4_1(out, block); break;
    case ELEMENT_Q5_0: widen_q5_0(out, block); break;
    case ELEMENT_Q5_1: widen_q5_1(out, block); break;
    case ELEMENT_Q8_0: widen_q8_0(out, block); break;
    case ELEMENT_Q2_K: widen_q2_k(out, block); break;
    case ELEMENT_Q3_K: widen_q3_k(out, block); break;
    case ELEMENT_Q4_K: widen_q4_k(out, block); break;
    case ELEMENT_Q5_K: widen_q5_k(out, block); break;
    case ELEMENT_Q6_K: widen_q6_k(out, block); break;
    case ELEMENT_MXFP4: widen_mxfp4(out, block); break;
    case ELEMENT_IQ4_NL: widen_iq4_nl(out, block); break;
    case ELEMENT_IQ4_XS: widen_iq4_xs(out, block); break;
    case ELEMENT_TQ1_0: widen_tq1_0(out, block); break;
    case ELEMENT_TQ2_0: widen_tq2_0(out, block); break;
    default: break;
    }
}
