/* What a result says of each model, in words. */
#include "commands/erf.h"
#include "commands/screen.h"
#include "page/show.h"

#include <stdlib.h>
#include <string.h>

/* The first tokens are named where they have this share of the gradient, and twice that of an even spread. */
static const double sink_least = 0.01;

static const struct erf_row *row_of(const struct erf_summary *u, double q)
{
    for (size_t i = 0; i < u->threshold_count; i++)
        if (u->rows[i].threshold == q)
            return &u->rows[i];
    return NULL;
}

void erf_tell(FILE *f, const struct result *r, const struct result_model *m)
{
    const struct erf_summary *u = &result_main(m)->summary;
    const struct erf_row *half = row_of(u, 0.5), *lead = &u->rows[r->main_row];
    size_t inputs = r->length - 1;
    const char *what = strcmp(r->attribution, "grad") == 0 ? "gradient" : "attribution";
    char q[32];

    fprintf(f, "%s: ", m->name);
    if (half && half != lead && !half->saturated) {
        fprintf(f, "half of the %s lies ", what);
        show_last(f, half->erf, inputs);
        fputs(". ", f);
    }
    fprintf(f, "ERF(%s) ", threshold_text(q, r->main_threshold));
    if (lead->saturated && inputs == 1)
        fputs("takes the only input", f);
    else if (lead->saturated)
        fprintf(f, "takes all %zu inputs", inputs);
    else
        fprintf(f, "is %zu", lead->erf);
    if (m->train_length && lead->erf > m->train_length)
        fprintf(f, ", beyond the training length of %zu", m->train_length);
    else if (m->train_length && !lead->saturated)
        fprintf(f, ", within the training length of %zu", m->train_length);
    fputs(lead->saturated ? "; the field may be longer." : ".", f);
    if (u->sink_share >= sink_least && u->sink_share >= 2 * (double)r->sink / (double)inputs) {
        if (r->sink == 1)
            fputs(" The first token has", f);
        else
            fprintf(f, " The first %zu tokens have", r->sink);
        fprintf(f, " %.3g\u00a0%% of the %s.", 100 * u->sink_share, what);
    }
}

char *erf_sentence(const struct result *r, const struct result_model *m)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    erf_tell(f, r, m);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

int erf_print_sentences(const struct result *r)
{
    int told = 0;

    for (size_t i = 0; i < r->model_count; i++) {
        const struct erf_summary *u = &result_main(&r->models[i])->summary;
        char *text;

        if (u->segments == u->excluded)
            continue;
        if (!(text = erf_sentence(r, &r->models[i])))
            return -1;
        if (!told++)
            putchar('\n');
        screen_print(text, screen_width());
        free(text);
    }
    return 0;
}
