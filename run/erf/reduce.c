#include "run/erf/reduce.h"

static int reduce_field(const struct result *r, const struct result_model *m, struct result_field *f, struct error *e)
{
    const struct erf_settings settings = {.thresholds = r->thresholds,
                                          .threshold_count = r->threshold_count,
                                          .sink = r->sink,
                                          .bootstrap = r->bootstrap,
                                          .seed = r->seed};
    int rc;

    if (!m->wide) /* results follow from the norms as they are stored, in float */
        for (size_t i = 0; i < m->segments * f->positions; i++)
            f->norm[i] = (double)(float)f->norm[i];
    rc = erf_summarize(&f->summary, f->status, f->norm, f->logprob, m->segments, f->positions, &settings);
    if (rc == -2)
        return fail_memory(e, (double)r->bootstrap * (double)r->threshold_count * sizeof(size_t), "the bootstrap");
    return rc == 0 ? 0 : ERF_UNUSABLE;
}

int erf_reduce(const struct result *r, const struct result_model *m, struct result_field *fields, size_t count, struct error *e)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = reduce_field(r, m, &fields[i], e);
    return rc;
}
