#include "run/erf/reduce.h"

#include <math.h>
#include <string.h>

/* 1 if the norms [n] of a segment, and much smaller numbers, fit into float. */
static int fits_float(const double *norm, size_t n)
{
    double most = 0;

    for (size_t m = 0; m < n; m++)
        if (norm[m] > most)
            most = norm[m];
    return most == 0 || isinf(most) || (most >= 0x1p-62 && most <= 0x1p100);
}

/* Results are computed from the norms as stored: in float, unless a segment's norms do not fit;
 * then all norms of the model are stored in double. */
static void round_norms(const struct result *r, struct result_model *m, struct result_field *f)
{
    size_t n = f->positions;

    if (strcmp(r->dtype, "f64") == 0)
        return;
    for (size_t i = 0; i < m->segments; i++) {
        double *norm = f->norm + i * n;

        if (!fits_float(norm, n))
            m->wide = 1;
        else
            for (size_t k = 0; k < n; k++)
                norm[k] = (double)(float)norm[k];
    }
}

static int reduce_field(const struct result *r, struct result_model *m, struct result_field *f,
                        struct error *e)
{
    const struct erf_settings settings = {.thresholds = r->thresholds,
                                          .threshold_count = r->threshold_count,
                                          .sink = r->sink,
                                          .bootstrap = r->bootstrap,
                                          .seed = r->seed};
    int rc;

    round_norms(r, m, f);
    rc = erf_summarize(&f->summary, f->status, f->norm, f->logprob, m->segments, f->positions,
                       &settings);
    if (rc == -2)
        return fail_memory(e, (double)r->bootstrap * (double)r->threshold_count * sizeof(size_t),
                           "the bootstrap");
    return rc == 0 ? 0 : ERF_UNUSABLE;
}

int erf_reduce(const struct result *r, struct result_model *m, struct result_field *fields,
               size_t count, struct error *e)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = reduce_field(r, m, &fields[i], e);
    return rc;
}
