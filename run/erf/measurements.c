#include "run/erf/measurements.h"

#include "run/attention/attention.h"
#include "run/erf/csv.h"
#include "run/erf/write.h"
#include "run/validate/validate.h"

static long attention_asked(const struct erf_options *o)
{
    return o->attention;
}

static long validation_asked(const struct erf_options *o)
{
    return o->validate;
}

const struct erf_measurement measurements[] = {
    {&attention_measurement, attention_asked},
    {&validation_measurement, validation_asked},
    {NULL, NULL},
};
_Static_assert(sizeof measurements / sizeof *measurements <= MEASUREMENTS_MAX + 1,
               "MEASUREMENTS_MAX is too small");

static int stage_h5(const void *result, const char *path, struct atomic_file *out, struct error *e)
{
    return result_stage(path, result, out, e);
}

const struct results_file *const erf_files[] = {&(const struct results_file){.name = "erf.h5",
                                                                             .write = stage_h5},
                                                &curve_file,
                                                &summary_file,
                                                &attention_measurement.file,
                                                &validation_measurement.file,
                                                NULL};

/* A model as seen by measurement number k. */
static struct measured see(const struct erf_run *r, const struct erf_model *m, int k)
{
    return (struct measured){.asked = measurements[k].asked(r->options),
                             .seed = r->options->seed,
                             .memory = r->options->machine.memory,
                             .positions = r->positions,
                             .model = (size_t)(m - r->models),
                             .argument = m->argument,
                             .decoder = m->decoder,
                             .segments = &m->segments,
                             .bounds = &m->text.bounds,
                             .result = &r->result,
                             .out = m->out,
                             .kernels = r->kernels,
                             .journal = r->journal,
                             .record_values = r->sizes.values,
                             .progress = r->progress,
                             .cost = m->cost_beside[k]};
}

int measurements_asked(const struct erf_options *o)
{
    for (int k = 0; measurements[k].how; k++)
        if (measurements[k].asked(o))
            return 1;
    return 0;
}

int measurements_room(struct erf_run *r, struct erf_model *m, struct error *e)
{
    for (int k = 0; measurements[k].how; k++) {
        struct measured seen = see(r, m, k);

        if (seen.asked && measurements[k].how->room(&seen, &r->sizes, e) != 0)
            return -1;
    }
    return 0;
}

int measurements_estimate(const struct erf_run *r, struct erf_model *m, struct error *e)
{
    for (int k = 0; measurements[k].how; k++) {
        struct measured seen = see(r, m, k);

        if (seen.asked && measurements[k].how->estimate(&seen, &m->cost_beside[k], e) != 0)
            return -1;
    }
    return 0;
}

int measurements_measure(const struct erf_run *r, struct error *e)
{
    for (int k = 0; measurements[k].how; k++) {
        const struct measurement *how = measurements[k].how;
        int (*const parts[])(const struct measured *, struct error *) = {how->measure, how->reduce};

        if (!measurements[k].asked(r->options))
            continue;
        for (int part = 0; part < 2; part++)
            for (size_t i = 0; i < r->count; i++) {
                struct measured seen = see(r, &r->models[i], k);

                if (parts[part](&seen, e) != 0)
                    return -1;
            }
    }
    return 0;
}

int measurements_resume(struct erf_model *m, const struct journal_record *record)
{
    for (int k = 0; measurements[k].how; k++)
        if (measurements[k].how->kind == record->kind)
            return measurements[k].how->resume(m->out, record);
    return -1;
}

void measurements_count(const struct erf_run *r, const struct erf_model *m, size_t *total,
                        size_t *done)
{
    for (int k = 0; measurements[k].how; k++) {
        size_t steps, ended;

        if (!measurements[k].asked(r->options))
            continue;
        measurements[k].how->count(m->out, &steps, &ended);
        *total += steps;
        *done += ended;
    }
}

void measurements_costs(const struct erf_run *r, const struct erf_model *m, double *total,
                        double *done)
{
    for (int k = 0; measurements[k].how; k++) {
        size_t steps, ended;

        if (!measurements[k].asked(r->options))
            continue;
        measurements[k].how->count(m->out, &steps, &ended);
        *total += (double)steps * m->cost_beside[k];
        *done += (double)ended * m->cost_beside[k];
    }
}

void measurements_close(struct erf_model *m)
{
    for (int k = 0; measurements[k].how; k++)
        if (measurements[k].how->close && m->out)
            measurements[k].how->close(m->out);
}
