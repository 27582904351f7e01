#include "io/scaled.h"

#include "io/half.h"

#include <math.h>

static float load_float(const unsigned char *p, size_t index)
{
    return float_of(load32(p + 4 * index));
}

/* Quantiles of the normal distribution (Dettmers et al. 2023), and numbers with a sign, two bits of
 * exponent and one of fraction; the largest is 1 in both. */
static const float normal_float[CODES_OF_FOUR_BITS] = {-1.0f,
                                                       -0.6961928009986877f,
                                                       -0.5250730514526367f,
                                                       -0.39491748809814453f,
                                                       -0.28444138169288635f,
                                                       -0.18477343022823334f,
                                                       -0.09105003625154495f,
                                                       0.0f,
                                                       0.07958029955625534f,
                                                       0.16093020141124725f,
                                                       0.24611230194568634f,
                                                       0.33791524171829224f,
                                                       0.44070982933044434f,
                                                       0.5626170039176941f,
                                                       0.7229568362236023f,
                                                       1.0f};
static const float short_float[CODES_OF_FOUR_BITS] = {
    0, 0.0625f / 12,  8.0f / 12,  1,  4.0f / 12,  0.5f,  2.0f / 12,  0.25f,
    0, -0.0625f / 12, -8.0f / 12, -1, -4.0f / 12, -0.5f, -2.0f / 12, -0.25f};

/* A sign, two bits of exponent, where 0 is only for fractions of 1, and one of fraction. */
static const float e2m1[CODES_OF_FOUR_BITS] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,
                                               4.0f,  6.0f,  -0.0f, -0.5f, -1.0f, -1.5f,
                                               -2.0f, -3.0f, -4.0f, -6.0f};

const float *scaled_codes(enum element type)
{
    return type == ELEMENT_NF4 ? normal_float : type == ELEMENT_FP4 ? short_float : e2m1;
}

static size_t row_of_blocks(const struct scaled *s, size_t row)
{
    return s->block_of_row ? load32(s->block_of_row + 4 * row) : row / s->block_rows;
}

static size_t column_of_blocks(const struct scaled *s, size_t column)
{
    return s->block_of_column ? load32(s->block_of_column + 4 * column) : column / s->block_columns;
}

size_t scaled_block(const struct scaled *s, size_t index)
{
    return row_of_blocks(s, index / s->columns) * s->blocks_across +
           column_of_blocks(s, index % s->columns);
}

size_t scaled_scale_size(enum scale scale)
{
    return scale == SCALE_F32 ? 4 : scale == SCALE_F16 || scale == SCALE_BF16 ? 2 : 1;
}

size_t scaled_code_bits(const struct scaled *s, enum element type)
{
    return type == ELEMENT_INT                           ? s->whole.bits
           : type == ELEMENT_FP8 || type == ELEMENT_INT8 ? 8
                                                         : 4;
}

/* E4M3: a sign, four bits of exponent, where 0 is only for fractions of 2^-6, and three of
 * fraction. There is no infinity. */
#define E4M3_EXPONENT(c) ((c) >> 3 & 15)
#define E4M3(c) \
    (((c)&127) == 127 ? NAN \
                      : ((E4M3_EXPONENT(c) ? 8 : 0) + ((c)&7)) * \
                            (float)(1 << (E4M3_EXPONENT(c) ? E4M3_EXPONENT(c) - 1 : 0)) / \
                            ((c) < 128 ? 512.0f : -512.0f))
#define E4M3_4(c) E4M3(c), E4M3((c) + 1), E4M3((c) + 2), E4M3((c) + 3)
#define E4M3_16(c) E4M3_4(c), E4M3_4((c) + 4), E4M3_4((c) + 8), E4M3_4((c) + 12)
#define E4M3_64(c) E4M3_16(c), E4M3_16((c) + 16), E4M3_16((c) + 32), E4M3_16((c) + 48)
static const float e4m3[256] = {E4M3_64(0), E4M3_64(64), E4M3_64(128), E4M3_64(192)};

/* 2^(code - 127). */
static float e8m0_to_float(unsigned char code)
{
    return code == 255 ? NAN : float_of(code ? (uint32_t)code << 23 : 1u << 22);
}

float scaled_scale(const struct scaled *s, size_t block)
{
    switch (s->scale) {
    case SCALE_F32: return load_float(s->scales, block);
    case SCALE_F16: return f16_to_float(load16(s->scales + 2 * block));
    case SCALE_BF16: return bf16_to_float(load16(s->scales + 2 * block));
    case SCALE_E8M0: return e8m0_to_float(s->scales[block]);
    case SCALE_NESTED: break;
    }
    return load_float(s->table, s->scales[block]) *
               load_float(s->table_scales, block / s->table_block) +
           s->table_offset;
}

/* Elements first .. first + count of one block. */
static void widen(float *restrict out, const unsigned char *restrict codes, enum element type,
                  float scale, size_t first, size_t count)
{
    const float *numbers = scaled_codes(type);
    switch (type) {
    case ELEMENT_FP8:
        for (size_t i = 0; i < count; i++)
            out[i] = e4m3[codes[first + i]] * scale;
        break;
    case ELEMENT_INT8:
        for (size_t i = 0; i < count; i++)
            out[i] = (float)(signed char)codes[first + i] * scale *
                     7.874015718698502e-3f; /* 1 / 127 */
        break;
    case ELEMENT_E2M1:
        for (size_t i = 0; i < count; i++)
            out[i] = numbers[codes[(first + i) / 2] >> ((first + i) % 2 ? 4 : 0) & 15] * scale;
        break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = numbers[codes[(first + i) / 2] >> ((first + i) % 2 ? 0 : 4) & 15] * scale;
        break;
    }
}

unsigned packed_code(const struct packed *p, size_t row, size_t column)
{
    static const unsigned char place[] = {0, 4, 1, 5, 2, 6, 3, 7};
    unsigned value, mask = (1u << p->bits) - 1;
    if (!p->data)
        return 0;
    if (p->packing == PACKED_DOWN) {
        size_t bit = row * p->bits;
        unsigned shift = bit % 32;
        const unsigned char *word = p->data + 4 * (bit / 32 * p->across + column);
        value = load32(word) >> shift;
        if (shift + p->bits > 32)
            value |= load32(word + 4 * p->across) << (32 - shift);
        return (value & mask) ^ p->flipped;
    }
    if (p->packing == PACKED_EVEN_ODD)
        column += place[column % 8] - column % 8;
    size_t bit = column * p->bits;
    unsigned shift = bit % 8;
    const unsigned char *byte = p->data + row * p->across + bit / 8;
    value = (unsigned)byte[0] >> shift;
    if (shift + p->bits > 8)
        value |= (unsigned)byte[1] << (8 - shift);
    return (value & mask) ^ p->flipped;
}

/* Whole numbers, whose blocks may be as narrow as one element. */
static void run_whole(float *out, const struct scaled *s, size_t first, size_t count)
{
    size_t row = first / s->columns, column = first % s->columns;
    for (size_t i = 0; i < count; i++) {
        size_t down = row_of_blocks(s, row), across = column_of_blocks(s, column);
        int code = (int)packed_code(&s->whole, row, column) -
                   (int)packed_code(&s->zeros, down, across) - s->middle;
        out[i] = (float)code * scaled_scale(s, down * s->blocks_across + across);
        if (++column == s->columns)
            column = 0, row++;
    }
}

void scaled_run(float *out, const struct scaled *s, enum element type, size_t first, size_t count)
{
    if (type == ELEMENT_INT) {
        run_whole(out, s, first, count);
        return;
    }
    while (count) {
        size_t column = first % s->columns, run = s->block_columns - column % s->block_columns,
               rest = s->columns - column;
        run = run < rest ? run : rest;
        run = run < count ? run : count;
        widen(out, s->codes, type, scaled_scale(s, scaled_block(s, first)), first, run);
        out += run, first += run, count -= run;
    }
}
