#include "run/erf/precision.h"

#include "model/engine.h"
#include "run/erf/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct precision_bounds precision_bounds(const char *dtype, int keep_bf16)
{
    if (strcmp(dtype, "f64") == 0)
        return (struct precision_bounds){1e-9, 1e-9, 1e-9};
    if (strcmp(dtype, "tf32") == 0) /* these two have one figure, for c */
        return (struct precision_bounds){INFINITY, 5e-4, INFINITY};
    if (strcmp(dtype, "bf16") == 0)
        return (struct precision_bounds){INFINITY, 5e-3, INFINITY};
    double logprob = strcmp(dtype, "bf16x3") == 0 ? 1e-4 : 1e-5;
    if (keep_bf16) /* less is rounded than in bf16, and not in forward */
        return (struct precision_bounds){INFINITY, 5e-3, logprob};
    if (strcmp(dtype, "bf16x3") == 0)
        return (struct precision_bounds){INFINITY, 2e-5, logprob};
    return (struct precision_bounds){1e-4, 1e-5, 1e-5};
}

/* The float64 reference set, whatever set the run itself is forced to use. */
static struct kernels *open_oracle(struct error *e)
{
    for (int i = 0; i < kernel_set_count; i++)
        if (strcmp(kernel_sets[i].name, "reference") == 0 &&
            strcmp(kernel_sets[i].dtype, "f64") == 0)
            return kernel_sets[i].open(e);
    fail(e, "--check-precision: this build has no float64 reference set");
    return NULL;
}

/* What was measured of a segment of n positions. */
struct measured_segment {
    const double *norm;
    double logprob;
    size_t n;
};

/* Compares one segment, and its ERF(q); `work` [4, positions]. */
static void compare(struct deviation *out, struct measured_segment run,
                    struct measured_segment oracle, double q, double tolerance, double *work)
{
    size_t n = run.n;
    double *s = work, *c = work + n, *oracle_s = work + 2 * n, *oracle_c = work + 3 * n;
    size_t erf, oracle_erf, low, high;

    if (curve_share(s, run.norm, n) != 0 || curve_share(oracle_s, oracle.norm, n) != 0)
        return;
    curve_cumulative(c, s, n);
    curve_cumulative(oracle_c, oracle_s, n);
    for (size_t m = 0; m < n; m++) {
        if (oracle_s[m] > 1e-6)
            out->s = fmax(out->s, fabs(s[m] - oracle_s[m]) / oracle_s[m]);
        out->c = fmax(out->c, fabs(c[m] - oracle_c[m]));
    }
    out->logprob = fmax(out->logprob, fabs(run.logprob - oracle.logprob));
    erf = curve_erf(c, n, q);
    oracle_erf = curve_erf(oracle_c, n, q);
    low = curve_erf(oracle_c, n, fmax(q - tolerance, 0x1p-53));
    high = curve_erf(oracle_c, n, fmin(q + tolerance, 1 - 0x1p-53));
    out->erf = erf > oracle_erf ? (erf - oracle_erf > out->erf ? erf - oracle_erf : out->erf)
                                : (oracle_erf - erf > out->erf ? oracle_erf - erf : out->erf);
    out->outside += erf < low || erf > high;
    out->segments++;
}

static int check_model(struct deviation *out, const struct erf_run *r, const struct erf_model *m,
                       struct kernels *oracle, double tolerance, struct error *e)
{
    const struct result_field *f = result_main(m->out);
    struct completeness unused;
    size_t n = r->positions, count = (size_t)r->options->check_precision;
    double *norm = calloc(n, 5 * sizeof *norm), logprob;
    struct engine *g = NULL;
    int rc = -1;

    count = count < m->segments.count ? count : m->segments.count;
    *out = (struct deviation){0};
    if (!norm) {
        fail_memory(e, 5 * (double)n * sizeof *norm, "the check of precision");
        goto end;
    }
    g = erf_oracle_open(oracle, r, m, e);
    if (!g)
        goto end;
    for (size_t i = 0; i < count; i++) {
        const int32_t *ids = m->segments.ids + i * (n + 1);

        if (f->status[i] != SEGMENT_DONE)
            continue;
        if (r->options->attribution == ATTRIBUTION_GRAD
                ? engine_measure(g, norm, &logprob, ids, 1, e)
                : engine_attribute(g, norm, &logprob, &unused, ids, m->first + i, 1, e))
            goto end;
        compare(out, (struct measured_segment){f->norm + i * n, f->logprob[i], n},
                (struct measured_segment){norm, logprob, n}, r->options->main_threshold, tolerance,
                norm + n);
    }
    rc = 0;
end:
    engine_close(g);
    free(norm);
    return rc;
}

int precision_check(struct deviation *out, const struct erf_run *r, struct error *e)
{
    double allowed = precision_bounds(r->options->machine.dtype, r->options->machine.keep_bf16).c;
    struct kernels *oracle = open_oracle(e);
    int rc = oracle ? 0 : -1;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct deviation *d = &out[i];

        if (check_model(&out[i], r, &r->models[i], oracle, allowed, e) != 0 ||
            erf_unchanged(r, e) != 0)
            rc = -1;
        else
            progress_log(r->progress,
                         "%s: largest deviations from float64 over %zu segments: s %.3g, c %.3g, "
                         "log p %.3g, ERF %zu tokens, %zu outside",
                         r->models[i].argument->name, d->segments, d->s, d->c, d->logprob, d->erf,
                         d->outside);
    }
    if (oracle)
        oracle->close(oracle);
    return rc;
}
