#include "run/validate/validate.h"

#include "io/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const validation_names[VALIDATION_KINDS] = {"truncated", "replaced", "single"};

const double validation_within = 0.05;

int validate_room(const struct measured *m, struct journal_sizes *most, struct error *e)
{
    const struct segments *s = m->segments;
    size_t asked = (size_t)m->asked, own = m->positions - (size_t)m->bounds->begins, record, each,
           drawn[VALIDATION_SINGLE_MAX];
    struct validation *v;

    if (s->count < 2)
        return fail(e,
                    "--validate: %s has %zu segment (expected at least two: inputs of one replace "
                    "those of another)",
                    m->argument->name, s->count);
    v = m->out->validation = calloc(1, sizeof *v);
    if (!v)
        return fail_memory(e, sizeof *v, "the validation");
    v->positions = m->positions;
    v->tests = asked < s->count ? asked : s->count;
    v->kept_count = validation_kept(v->kept, v->positions);
    v->single_count = validation_single(drawn, own, m->seed, 0);
    record = 1 + v->kept_count + v->single_count; /* losses of a test with all inputs */
    most->values = record > most->values ? record : most->values;
    each = record + v->kept_count;
    v->segment = calloc(v->tests, sizeof *v->segment);
    v->where = reallocarray(NULL, v->tests, (v->single_count + 1) * sizeof *v->where);
    if (!v->segment || !v->where || size_multiply(&v->values, v->tests, each) != 0 ||
        !(v->nll = reallocarray(NULL, v->values, sizeof *v->nll)))
        return fail_memory(e, (double)v->tests * (double)each * sizeof *v->nll,
                           "the losses of the validation");
    for (size_t i = 0; i < v->tests; i++) {
        v->segment[i] = (size_t)((unsigned __int128)s->count * i /
                                 v->tests); /* spread over the whole text */
        validation_single(drawn, own, m->seed, i * VALIDATION_SINGLE_MAX);
        memcpy(v->where + i * v->single_count, drawn, v->single_count * sizeof *v->where);
    }
    for (size_t i = 0; i < v->values; i++)
        v->nll[i] = NAN;
    return 0;
}

void validate_close(struct result_model *m)
{
    struct validation *v = m->validation;

    if (!v)
        return;
    free(v->segment);
    free(v->where);
    free(v->nll);
    free(v->rows);
    free(v);
    m->validation = NULL;
}

int validate_resume(struct result_model *m, const struct journal_record *record)
{
    struct validation *v = m->validation;
    const struct journal_losses *kept = &record->losses;

    if (!v || kept->first > v->values || kept->count > v->values - kept->first)
        return -1;
    memcpy(v->nll + kept->first, kept->values, kept->count * sizeof *kept->values);
    return 0;
}

void validate_count(const struct result_model *m, size_t *steps, size_t *done)
{
    const struct validation *v = m->validation;

    *steps = v->values;
    *done = 0;
    for (size_t i = 0; i < v->values; i++)
        *done += !isnan(v->nll[i]);
}
