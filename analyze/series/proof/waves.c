/* Waves that are added up in double. */
#include "analyze/series/proof/evaluate_private.h"

#include <math.h>
#include <stdlib.h>

/* Of a wave, in a block of distances and once before the first. */
static const double WAVE_WORK = 37, TABLE_WORK = 2500;

double evaluator_cost(const struct evaluator *v, int block)
{
    return block ? v->beside_cost + v->waves * WAVE_WORK / EVALUATE_BLOCK : v->cost;
}

int evaluator_has_waves(const struct evaluator *v)
{
    return v->waves >= 8;
}

/* The nearest doubles of a sine and a cosine. The error bound of waves holds for those known to
 * 2^-70 before that; 0: they are not, as for a large irrational frequency. */
static int nearest(double *cosine, double *sine, const arb_t of_cosine, const arb_t of_sine)
{
    *cosine = arf_get_d(arb_midref(of_cosine), ARF_RND_NEAR);
    *sine = arf_get_d(arb_midref(of_sine), ARF_RND_NEAR);
    return mag_cmp_2exp_si(arb_radref(of_sine), -70) <= 0 &&
           mag_cmp_2exp_si(arb_radref(of_cosine), -70) <= 0;
}

int wave_at(double *cosine, double *sine, const arb_t angle)
{
    LOCAL(arb, s, c);
    arb_sin_cos(s, c, angle, 96);
    return nearest(cosine, sine, c, s);
}

/* Powers of exp(i frequency), each the product of two lower ones, so that balls stay narrow. */
int wave_table(double *cosine, double *sine, int count, const arb_t frequency)
{
    acb_ptr power = _acb_vec_init(count);
    int sharp = 1;
    for (int i = 0; i < count; i++) {
        int lowest = i & -i, half = i == lowest ? i / 2 : i - lowest;
        if (i == 0)
            acb_one(power);
        else if (i == 1)
            arb_sin_cos(acb_imagref(power + 1), acb_realref(power + 1), frequency, 128);
        else
            acb_mul(power + i, power + half, power + i - half, 128);
        sharp &= nearest(&cosine[i], &sine[i], acb_realref(power + i), acb_imagref(power + i));
    }
    _acb_vec_clear(power, count);
    return sharp;
}

/* [5.8] */
int evaluator_block(arb_ptr out, struct evaluator *v, ulong first, int count)
{
    double sum[EVALUATE_BLOCK] = {0};
    int status = 0;
    LOCAL(arb, angle, b, t);
    v->p->budget->done += v->waves * WAVE_WORK + count * v->beside_cost;
    for (int k = 0; k < v->waves; k++) {
        struct wave *w = &v->wave[k];
        if (w->cosine[0] == 0) {
            v->p->budget->done += TABLE_WORK;
            w->sharp = wave_table(w->cosine, w->sine, EVALUATE_BLOCK, w->frequency);
        }
        arb_mul_ui(angle, w->frequency, first, 160);
        arb_add(angle, angle, w->shift, 160);
        double s, c;
        if (!wave_at(&c, &s, angle) || !w->sharp)
            status = -1;
        if (w->is_sine)
            for (int i = 0; i < count; i++)
                sum[i] += w->weight * (s * w->cosine[i] + c * w->sine[i]);
        else
            for (int i = 0; i < count; i++)
                sum[i] += w->weight * (c * w->cosine[i] - s * w->sine[i]);
    }
    for (int i = 0; i < count && status == 0; i++) {
        arb_set_d(b, sum[i]);
        arb_set_ui(t, first + (ulong)i);
        LOCAL(mag, error);
        mag_set_d(error, v->wave_error);
        mag_add(arb_radref(b), arb_radref(b), error);
        arb_add(b, b, v->q, v->prec);
        evaluator_run(v, t, 1);
        for (int k = 0; k < v->terms; k++)
            if (!v->term[k].wave)
                arb_addmul(b, v->term[k].weight, v->step[v->term[k].step].real, v->prec);
        status = evaluator_finish(&out[i], v, b);
    }
    return status;
}
