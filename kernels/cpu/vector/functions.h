/* Elementary functions on vectors. Coefficients: weighted minimax fits in double (Lawson's
 * iteration on a Chebyshev basis), rounded to float. */
#ifndef REACH_KERNELS_CPU_VECTOR_FUNCTIONS_H
#define REACH_KERNELS_CPU_VECTOR_FUNCTIONS_H

#include "kernels/cpu/vector/vector.h"

/* Below this v_exp is exactly 0: such results are below the smallest normal float, and block
 * skipping relies on the zero. */
#define EXP_ZERO_BELOW (-87.3f)

/* e^x for x <= 88; 0 below EXP_ZERO_BELOW, NaN for NaN. At most 2 ulp off. x = n ln 2 + r, |r| <=
 * ln(2)/2, e^r by a polynomial.
 */
INLINE v_float v_exp(v_float x)
{
    const v_float shift = v_all(12582912.0f); /* 1.5 * 2^23: rounds to an integer in the low bits */
    v_float shifted = v_fma(x, v_all(1.44269504f), shift), n = shifted - shift;
    v_float r = v_fma(n, v_all(-0.693359375f),
                      x); /* ln 2 in two parts, the first of 9 bits, so that n times it is exact */
    r = v_fma(n, v_all(2.12194440e-4f), r);
    v_float q = v_fma(v_all(0.0013814579f), r, v_all(0.00836872589f));
    q = v_fma(q, r, v_all(0.041668389f));
    q = v_fma(q, r, v_all(0.166665211f));
    q = v_fma(q, r, v_all(0.49999994f));
    v_float p = v_fma(q, r * r, r) + 1.0f;
    v_float power = (v_float)(((v_unsigned)shifted << 23) + 0x3f800000u); /* 2^n */
    return (v_float)((v_int)(p * power) & ~(v_int)(x < v_all(EXP_ZERO_BELOW)));
}

/* A factor e^x, x <= 0, in a form that v_keep multiplies with: near 1, where x > -ln(2) / 2, it is
 * e^x - 1 with its sign bit set, so that its rounding does not add up over many factors; else e^x,
 * at most 2 ulp off, 0 below EXP_ZERO_BELOW. As v_exp. */
INLINE v_float v_factor(v_float x)
{
    const v_float shift = v_all(12582912.0f);
    v_float shifted = v_fma(x, v_all(1.44269504f), shift), n = shifted - shift;
    v_float r = v_fma(n, v_all(2.12194440e-4f), v_fma(n, v_all(-0.693359375f), x));
    v_float q = v_fma(v_all(0.0013814579f), r, v_all(0.00836872589f));
    q = v_fma(q, r, v_all(0.041668389f));
    q = v_fma(q, r, v_all(0.166665211f));
    q = v_fma(q, r, v_all(0.49999994f));
    v_float less = v_fma(q, r * r, r),
            power = (v_float)(((v_unsigned)shifted << 23) + 0x3f800000u); /* 2^n */
    v_int far = (v_int)((less + 1.0f) * power) & ~(v_int)(x < v_all(EXP_ZERO_BELOW)),
          near = (v_int)less | INT32_MIN;
    return v_select(n == 0.0f, (v_float)near, (v_float)far);
}

/* x times the factor. */
INLINE v_float v_keep(v_float factor, v_float x)
{
    return v_fma(factor, x, v_select((v_int)factor < 0, x, v_all(0)));
}

/* e^(x - origin) for a difference of at most 88; with denormals off, exactly 0 for one below
 * EXP_DIFFERENCE_ZERO_BELOW; NaN for NaN. Relative error at most 1.1e-7. AVX-512 has both halves
 * of 2^t = 2^floor(t) 2^(t - floor(t)); the logarithm of e is in two parts. */
#define EXP_DIFFERENCE_ZERO_BELOW (-87.34f)
INLINE v_float v_exp_difference(v_float x, v_float origin)
{
#if VECTOR_WIDTH == 16
    v_float d = v_max(v_all(-200.0f), x - origin) /* NaN stays */, whole = v_floor(d * 1.44269504f),
            f = v_fma(d, v_all(1.92596303e-8f), v_fma(d, v_all(1.44269502f), -whole));
    v_float p = v_fma(v_all(0.000216129163f), f, v_all(0.00124678458f));
    p = v_fma(p, f, v_all(0.00967545155f));
    p = v_fma(p, f, v_all(0.0554852821f));
    p = v_fma(p, f, v_all(0.240229309f));
    p = v_fma(p, f, v_all(0.693147063f));
    return v_scale(v_fma(p, f, v_all(1.0f)), whole);
#else
    return v_exp(x - origin);
#endif
}

/* tanh x, at most 3 ulp off: x + x^3 P(x^2) near 0, (1 - e^-2|x|) / (1 + e^-2|x|) elsewhere. */
INLINE v_float v_tanh(v_float x)
{
    v_float size = v_absolute(x), square = x * x;
    v_float p = v_fma(v_all(0.00212274259f), square, v_all(-0.00815627631f));
    p = v_fma(p, square, v_all(0.0216926057f));
    p = v_fma(p, square, v_all(-0.0539453775f));
    p = v_fma(p, square, v_all(0.133331954f));
    p = v_fma(p, square, v_all(-0.333333313f));
    v_float near = v_fma(p * square, x, x), e = v_exp(-2.0f * size);
    return v_select(size < 0.625f, near, v_sign((1.0f - e) / (1.0f + e), x));
}

/* 1 / (1 + e^-x), with full relative accuracy on both sides; *complement is 1 minus it. */
INLINE v_float v_sigmoid(v_float *complement, v_float x)
{
    v_float e = v_exp(-v_absolute(x)), larger = 1.0f / (1.0f + e), smaller = e * larger;
    v_int negative = x < 0.0f;
    *complement = v_select(negative, larger, smaller);
    return v_select(negative, smaller, larger);
}

/* ln(1 + e^x), with full relative accuracy where it is small; 0 below EXP_ZERO_BELOW. With e =
 * e^-|x| and z = e / (2 + e) <= 1/3, ln(1 + e) = 2 artanh z = 2 (z + z^3 / 3 + ...). */
INLINE v_float v_softplus(v_float x)
{
    v_float e = v_exp(-v_absolute(x)), z = e / (2.0f + e), y = z * z;
    v_float p = v_fma(v_all(1.0f / 15), y, v_all(1.0f / 13));
    p = v_fma(p, y, v_all(1.0f / 11));
    p = v_fma(p, y, v_all(1.0f / 9));
    p = v_fma(p, y, v_all(1.0f / 7));
    p = v_fma(p, y, v_all(1.0f / 5));
    p = v_fma(p, y, v_all(1.0f / 3));
    return v_fma(2.0f * z, v_fma(p, y, v_all(1.0f)), v_max(v_all(0), x));
}

/* ln x of a normal x > 0, at most 1e-7 off, relative to itself or to 1 if that is more. x = 2^n f
 * with f from sqrt(1/2) on; z = (f - 1) / (f + 1), |z| < 0.172, ln f = 2 (z + z^3 / 3 + ...). */
INLINE v_float v_log(v_float x)
{
    const v_int half_root = (v_int)v_all(0.707106781f);
    v_int bits = (v_int)x - half_root;
    v_float f = (v_float)((bits & 0x7fffff) + half_root), z = (f - 1.0f) / (f + 1.0f), y = z * z,
            n = __builtin_convertvector(bits >> 23, v_float);
    v_float p = v_fma(v_all(1.0f / 9), y, v_all(1.0f / 7));
    p = v_fma(p, y, v_all(1.0f / 5));
    p = v_fma(p, y, v_all(1.0f / 3));
    v_float less = v_fma(2.0f * z, p * y, v_fma(n, v_all(-2.12194440e-4f), 2.0f * z));
    return v_fma(n, v_all(0.693359375f), less);
}

/* Phi(x) = erfc(-x / sqrt 2) / 2; *density is phi(x) = e^(-x^2/2) / sqrt(2 pi). erfc(w) = e^(-w^2)
 * t C(2t - 1), t = 3 / (3 + w), w = |x| / sqrt 2: relative accuracy 1e-6 in the lower tail, 1e-7
 * where x Phi(x) is not small. */
INLINE v_float v_normal(v_float *density, v_float x)
{
    v_float e = v_exp(-0.5f * x * x),
            t = 3.0f / v_fma(v_absolute(x), v_all(0.707106781f), v_all(3.0f)), u = 2.0f * t - 1.0f;
    v_float c = v_fma(v_all(0.000109943969f), u, v_all(-0.000163958044f));
    c = v_fma(c, u, v_all(-0.00102608104f));
    c = v_fma(c, u, v_all(-0.000407407264f));
    c = v_fma(c, u, v_all(0.00894603599f));
    c = v_fma(c, u, v_all(0.039842803f));
    c = v_fma(c, u, v_all(0.103488758f));
    c = v_fma(c, u, v_all(0.196742773f));
    c = v_fma(c, u, v_all(0.294464827f));
    c = v_fma(c, u, v_all(0.358002305f));
    v_float tail = 0.5f * e * t * c;
    *density = e * 0.398942280f;
    return v_select(x > 0.0f, 1.0f - tail, tail);
}

#endif
