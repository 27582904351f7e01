#include "run/erf/reduce.h"

#include <string.h>

static int reduce_field(struct erf_run *r, struct erf_model *m, struct erf_target *t, struct erf_field *f, struct error *e)
{
    const struct erf_options *o = r->options;
    struct erf_settings settings = {.thresholds = o->thresholds,
                                    .threshold_count = o->threshold_count,
                                    .sink = (size_t)o->sink,
                                    .bootstrap = (size_t)o->bootstrap,
                                    .seed = o->seed};
    int rc;

    if (strcmp(o->machine.dtype, "f64") != 0) /* results follow from the norms as they are stored, in float */
        for (size_t i = 0; i < m->segments.count * (t->length - 1); i++)
            f->norm[i] = (double)(float)f->norm[i];
    rc = erf_summarize(&f->summary, f->status, f->norm, t->logprob, m->segments.count, t->length - 1, &settings);
    if (rc == -2)
        return fail_memory(e, (double)o->bootstrap * (double)o->threshold_count * sizeof(size_t), "the bootstrap");
    return rc == 0 ? 0 : ERF_UNUSABLE;
}

int erf_reduce(struct erf_run *r, struct erf_model *m, size_t target, struct error *e)
{
    struct erf_target *t = &m->targets[target];
    int rc = 0;

    for (int i = 0; i < m->field_count && rc == 0; i++)
        rc = reduce_field(r, m, t, &t->fields[i], e);
    return rc;
}
