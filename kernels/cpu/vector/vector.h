/* The SIMD vocabulary of this folder: a vector of VECTOR_WIDTH floats and its halves in double.
 *
 * Every file of the folder is compiled once for each instruction set (VECTOR_ISA, VECTOR_WIDTH from
 * the Makefile). Arithmetic uses the compilers' vector extensions; operations these lack or get
 * wrong (fused multiply-add, maximum, conversion) are defined here once for each set. `generic`
 * rounds twice to multiply and add. */
#ifndef REACH_KERNELS_CPU_VECTOR_H
#define REACH_KERNELS_CPU_VECTOR_H

#include "kernels/cpu/vector/denormals.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if VECTOR_WIDTH > 4
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline, unused))

enum { WIDTH = VECTOR_WIDTH };

typedef float v_float __attribute__((vector_size(VECTOR_WIDTH * 4)));
typedef int32_t v_int __attribute__((vector_size(VECTOR_WIDTH * 4)));
typedef uint32_t v_unsigned __attribute__((vector_size(VECTOR_WIDTH * 4)));
typedef double v_double __attribute__((vector_size(VECTOR_WIDTH * 4))); /* half as many */
typedef float v_float_unaligned
    __attribute__((vector_size(VECTOR_WIDTH * 4), aligned(4), may_alias));
typedef double v_double_unaligned
    __attribute__((vector_size(VECTOR_WIDTH * 4), aligned(8), may_alias));

INLINE v_float v_load(const float *p)
{
    return *(const v_float_unaligned *)p;
}

INLINE void v_store(float *p, v_float x)
{
    *(v_float_unaligned *)p = x;
}

/* The first halves of a and b in turns, and the second halves. */
#ifdef __clang__
#define V_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define V_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (v_int){__VA_ARGS__})
#endif
INLINE v_float v_turns_low(v_float a, v_float b)
{
#if VECTOR_WIDTH == 16
    return V_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif VECTOR_WIDTH == 8
    return V_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
    return V_SHUFFLE(a, b, 0, 4, 1, 5);
#endif
}

INLINE v_float v_turns_high(v_float a, v_float b)
{
#if VECTOR_WIDTH == 16
    return V_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif VECTOR_WIDTH == 8
    return V_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    return V_SHUFFLE(a, b, 2, 6, 3, 7);
#endif
}

/* x := x^T. Each round turns the bits of (row, column) by one. */
INLINE void v_transpose(v_float x[WIDTH])
{
#pragma GCC unroll 4
    for (int round = 1; round < WIDTH; round *= 2) {
        v_float y[WIDTH];
#pragma GCC unroll 8
        for (int i = 0; i < WIDTH / 2; i++) {
            y[2 * i] = v_turns_low(x[i], x[i + WIDTH / 2]);
            y[2 * i + 1] = v_turns_high(x[i], x[i + WIDTH / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++)
            x[i] = y[i];
    }
}

INLINE v_double v_load_double(const double *p)
{
    return *(const v_double_unaligned *)p;
}

INLINE void v_store_double(double *p, v_double x)
{
    *(v_double_unaligned *)p = x;
}

/* The first `count` < WIDTH elements, then zeros. */
INLINE v_float v_load_part(const float *p, size_t count)
{
    float whole[WIDTH] = {0};
    memcpy(whole, p, count * sizeof(float));
    return v_load(whole);
}

INLINE void v_store_part(float *p, v_float x, size_t count)
{
    float whole[WIDTH];
    v_store(whole, x);
    memcpy(p, whole, count * sizeof(float));
}

INLINE v_float v_all(float x)
{
    return x - (v_float){0};
}

INLINE v_double v_all_double(double x)
{
    return x - (v_double){0};
}

#if VECTOR_WIDTH == 8

/* a b + c */
INLINE v_float v_fma(v_float a, v_float b, v_float c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE v_double v_fma_double(v_double a, v_double b, v_double c)
{
    return _mm256_fmadd_pd(a, b, c);
}

/* The larger; y if either is NaN. */
INLINE v_float v_max(v_float x, v_float y)
{
    return _mm256_max_ps(x, y);
}

INLINE v_double v_low(v_float x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

INLINE v_double v_high(v_float x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

INLINE v_float v_narrow(v_double low, v_double high)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

#elif VECTOR_WIDTH == 16

INLINE v_float v_fma(v_float a, v_float b, v_float c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE v_double v_fma_double(v_double a, v_double b, v_double c)
{
    return _mm512_fmadd_pd(a, b, c);
}

INLINE v_float v_max(v_float x, v_float y)
{
    return _mm512_max_ps(x, y);
}

INLINE v_float v_floor(v_float x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* x 2^floor(power) */
INLINE v_float v_scale(v_float x, v_float power)
{
    return _mm512_scalef_ps(x, power);
}

INLINE v_double v_low(v_float x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}

INLINE v_double v_high(v_float x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}

INLINE v_float v_narrow(v_double low, v_double high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

#else

INLINE v_float v_fma(v_float a, v_float b, v_float c)
{
    return a * b + c;
}

INLINE v_double v_fma_double(v_double a, v_double b, v_double c)
{
    return a * b + c;
}

INLINE v_float v_max(v_float x, v_float y)
{
    v_int larger = x > y;
    return (v_float)(((v_int)x & larger) | ((v_int)y & ~larger));
}

INLINE v_double v_low(v_float x)
{
    return (v_double){x[0], x[1]};
}

INLINE v_double v_high(v_float x)
{
    return (v_double){x[2], x[3]};
}

INLINE v_float v_narrow(v_double low, v_double high)
{
    return (v_float){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}

#endif

#ifdef __AVX512BF16__

/* WIDTH pairs of bf16, the first of a pair in the lower half. */
typedef v_unsigned v_pairs;

INLINE v_pairs v_load_pairs(const uint32_t *p)
{
    return (v_pairs)_mm512_loadu_si512(p);
}

INLINE void v_store_pairs(uint32_t *p, v_pairs x)
{
    _mm512_storeu_si512(p, (__m512i)x);
}

INLINE v_pairs v_all_pairs(uint32_t pair)
{
    return pair - (v_pairs){0};
}

/* Rounded to nearest, ties to even, denormals to 0: (x0, x1), (x2, x3), ..., (y0, y1), ... */
INLINE v_pairs v_round_neighbours(v_float x, v_float y)
{
    return (v_pairs)_mm512_cvtne2ps_pbh(y, x);
}

/* Rounded alike: (x0, y0), (x1, y1), ... */
INLINE v_pairs v_round_pairs(v_float x, v_float y)
{
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
                                           24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                           16, 0);
    return (v_pairs)_mm512_permutexvar_epi16(order, (__m512i)v_round_neighbours(x, y));
}

/* Both floats limited to those that round to finite numbers of bf16; NaN to any of them. */
INLINE v_float v_limit_bf16(v_float x)
{
    const v_float most = v_all(0x1.fep127f);
    return _mm512_max_ps(_mm512_min_ps(x, most), -most);
}

/* x and y as sums of two numbers of bf16 (float_high_bf16, float_low_bf16; denormal ones are 0),
 * ordered as by v_round_neighbours. */
INLINE void v_split_neighbours(v_pairs *high, v_pairs *low, v_float x, v_float y)
{
    __m512i h = (__m512i)v_round_neighbours(v_limit_bf16(x), v_limit_bf16(y));
    v_pairs first = (v_pairs)_mm512_cvtepu16_epi32(_mm512_castsi512_si256(h)) << 16,
            second = (v_pairs)_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(h, 1)) << 16;
    *high = (v_pairs)h;
    *low = v_round_neighbours(x - (v_float)first, y - (v_float)second);
}

/* The same, ordered as by v_round_pairs. */
INLINE void v_split_pairs(v_pairs *high, v_pairs *low, v_float x, v_float y)
{
    v_pairs h = v_round_pairs(v_limit_bf16(x), v_limit_bf16(y));
    *high = h;
    *low = v_round_pairs(x - (v_float)(h << 16), y - (v_float)(h & 0xffff0000u));
}

/* c + a0 b0 + a1 b1 of every pair in float, by two fused additions that treat denormal factors and
 * results as 0. */
INLINE v_float v_fma_pairs(v_pairs a, v_pairs b, v_float c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

/* Lane i is lane index[i] of x, or lane index[i] - WIDTH of y. */
INLINE v_pairs v_choose_pairs(v_pairs x, v_unsigned index, v_pairs y)
{
    return (v_pairs)_mm512_permutex2var_epi32((__m512i)x, (__m512i)index, (__m512i)y);
}

/* Transposes a square: swaps quarters, then quarters of these. */
INLINE void v_transpose_pairs(v_pairs square[WIDTH])
{
    v_unsigned lane;
    for (unsigned i = 0; i < WIDTH; i++)
        lane[i] = i;
#pragma GCC unroll 4
    for (unsigned step = 1; step < WIDTH; step *= 2) {
        v_unsigned second = (v_unsigned)((lane & step) != 0);
        v_unsigned even = (lane & ~second) | ((lane - step + WIDTH) & second),
                   odd = ((lane + step) & ~second) | ((lane + WIDTH) & second);
#pragma GCC unroll 16
        for (unsigned i = 0; i < WIDTH; i++)
            if (!(i & step)) {
                v_pairs x = square[i], y = square[i + step];
                square[i] = v_choose_pairs(x, even, y);
                square[i + step] = v_choose_pairs(x, odd, y);
            }
    }
}

#endif

/* x where the mask is set (all bits), else y. */
INLINE v_float v_select(v_int mask, v_float x, v_float y)
{
    return (v_float)(((v_int)x & mask) | ((v_int)y & ~mask));
}

INLINE v_float v_absolute(v_float x)
{
    return (v_float)((v_int)x & 0x7fffffff);
}

/* |x| with the sign of y. */
INLINE v_float v_sign(v_float x, v_float y)
{
    return (v_float)(((v_int)x & 0x7fffffff) | ((v_int)y & INT32_MIN));
}

/* Swaps neighbours: 1 0 3 2 ... */
INLINE v_float v_swap(v_float x)
{
#if VECTOR_WIDTH == 8
    return _mm256_permute_ps(x, 0xb1);
#elif VECTOR_WIDTH == 16
    return _mm512_permute_ps(x, 0xb1);
#else
    return (v_float){x[1], x[0], x[3], x[2]};
#endif
}

typedef float v_four __attribute__((vector_size(16)));

/* The four lanes left after a wider vector was folded in halves. */
#if VECTOR_WIDTH == 8
#define V_FOLD(x, operation) \
    operation##_four(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))
#elif VECTOR_WIDTH == 16
#define V_FOLD(x, operation) \
    operation##_four(operation##_four(_mm512_extractf32x4_ps(x, 0), _mm512_extractf32x4_ps(x, 2)), \
                     operation##_four(_mm512_extractf32x4_ps(x, 1), _mm512_extractf32x4_ps(x, 3)))
#else
#define V_FOLD(x, operation) (x)
#endif

INLINE v_four sum_four(v_four a, v_four b)
{
    return a + b;
}

INLINE v_four largest_four(v_four a, v_four b)
{
#if VECTOR_WIDTH > 4
    return _mm_max_ps(a, b);
#else
    return v_max(a, b);
#endif
}

/* Sum of the lanes, always in the same order. */
INLINE float v_sum(v_float x)
{
    v_four four = V_FOLD(x, sum);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

INLINE float v_largest(v_float x)
{
    v_four four = V_FOLD(x, largest);
    float a = four[0] > four[2] ? four[0] : four[2], b = four[1] > four[3] ? four[1] : four[3];
    return a > b ? a : b;
}

INLINE double v_sum_double(v_double x)
{
    double sum = 0;
    for (int i = 0; i < WIDTH / 2; i++)
        sum += x[i];
    return sum;
}

#endif
