/* Rotary positions: where their sum of cosines is first below 0, how far the slowest has turned. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/field.h"

#include "analyze/series.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 1024 };

/* Cosines of frequency * i, i < BLOCK, as the nearest doubles. */
struct turn {
    double cosine[BLOCK], sine[BLOCK];
};

/* sum[i] = sum of cos((first + i) frequency[k]) over k. 0, or -1: a cosine is not known well. */
static int add_turns(double sum[BLOCK], const struct turn *turn, const double *frequency, int count,
                     ulong first)
{
    int sharp = 1;
    LOCAL(arb, angle);
    for (int i = 0; i < BLOCK; i++)
        sum[i] = 0;
    for (int k = 0; k < count; k++) {
        double c, s;
        arb_set_d(angle, frequency[k]);
        arb_mul_ui(angle, angle, first, ARF_PREC_EXACT);
        sharp &= wave_at(&c, &s, angle);
        for (int i = 0; i < BLOCK; i++)
            sum[i] += c * turn[k].cosine[i] - s * turn[k].sine[i];
    }
    return sharp ? 0 : -1;
}

/* [11.1] */
int series_rotary(struct series_rotary *out, const double *frequency, int count, double factor,
                  double still, uint64_t first, uint64_t end)
{
    double sum[BLOCK], fastest = 0, rounding = count * (count + 16.0) * 0x1p-51;
    struct turn *turn;
    int sharp = 1;

    *out = (struct series_rotary){ROTARY_NEVER_BELOW, end};
    if (still >= factor * count * (factor == 1 ? 1 : 1 + 0x1p-48)) /* cosines are at least -1 */
        return 0;
    out->verdict = ROTARY_NOT_BELOW;
    if (!(turn = calloc((size_t)count, sizeof *turn)))
        return -1;
    for (int k = 0; k < count; k++) {
        LOCAL(arb, angle);
        arb_set_d(angle, frequency[k]);
        sharp &= wave_table(turn[k].cosine, turn[k].sine, BLOCK, angle);
        fastest += fabs(frequency[k]);
    }
    for (uint64_t at = first; at < end && out->verdict == ROTARY_NOT_BELOW; at += BLOCK) {
        if (add_turns(sum, turn, frequency, count, at) || !sharp) {
            *out = (struct series_rotary){ROTARY_TIE, at};
            break;
        }
        for (int i = 0; i < BLOCK && at + (uint64_t)i < end; i++) {
            double m = (double)(at + (uint64_t)i), value = still + factor * sum[i],
                   error = factor * (rounding + m * fastest * SERIES_ROTARY_WIDTH) +
                           (still + factor * count) * 0x1p-50;
            error *= 1 + 0x1p-40; /* its own rounding */
            if (value - error >= 0)
                continue;
            *out = (struct series_rotary){value + error < 0 ? ROTARY_BELOW : ROTARY_TIE,
                                          at + (uint64_t)i};
            break;
        }
    }
    free(turn);
    return 0;
}

/* [11.2] arccos(epsilon^(1/layers)), or `turns` turns if epsilon is NULL. */
static void angle_of(arb_t out, double turns, const fmpq *epsilon, int layers, slong prec)
{
    LOCAL(arb, x);
    if (epsilon) {
        arb_set_fmpq(x, epsilon, prec);
        arb_root_ui(x, x, (ulong)layers, prec);
        arb_acos(out, x, prec);
    } else {
        arb_set_d(x, 2 * turns);
        arb_const_pi(out, prec);
        arb_mul(out, out, x, prec);
    }
}

/* [11.2] The least m with m frequency above the angle: the two are never equal, for pi and the
 * angles of algebraic cosines are transcendental. */
static uint64_t first_turned(double frequency, double turns, const fmpq *epsilon, int layers)
{
    LOCAL(arb, angle, f);
    LOCAL(fmpz, whole);
    arb_set_d(f, frequency);
    for (slong prec = 128; prec <= 1 << 16; prec *= 2) {
        angle_of(angle, turns, epsilon, layers, prec);
        arb_div(angle, angle, f, prec);
        if (arf_cmpabs_2exp_si(arb_midref(angle), 62) > 0)
            break;
        arb_floor(angle, angle, prec);
        if (arb_get_unique_fmpz(whole, angle))
            return fmpz_get_ui(whole) + 1;
    }
    return 0;
}

int series_slowest(struct series_slowest *out, double frequency, const char *epsilon, int layers,
                   struct formula_error *e)
{
    LOCAL(fmpq, q);
    *out = (struct series_slowest){first_turned(frequency, 0.25, NULL, 1),
                                   first_turned(frequency, 1, NULL, 1), 0};
    if (!epsilon)
        return 0;
    if (field_epsilon(q, epsilon, e))
        return -1;
    out->incoherent = first_turned(frequency, 0, q, layers);
    return 0;
}
