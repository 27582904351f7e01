/* Sentences about each model of a result. */
#include "commands/erf.h"
#include "commands/notes.h"
#include "commands/screen.h"
#include "page/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *threshold_text(char out[32], double q)
{
    snprintf(out, 32, "%.10g", q);
    return out;
}

/* The first tokens are mentioned from this share of the gradient, and twice that of an even
 * spread. */
static const double sink_least = 0.01;

static const struct erf_row *row_of(const struct erf_summary *u, double q)
{
    for (size_t i = 0; i < u->threshold_count; i++)
        if (u->rows[i].threshold == q)
            return &u->rows[i];
    return NULL;
}

/* ERF(0.5) by the training length. It depends on the inputs, so their number is said, too. */
static void tell_share(FILE *f, const struct result_model *m, const struct erf_row *half,
                       const struct erf_row *lead, size_t inputs)
{
    char times[32];

    if (!m->train_length || !half || half->saturated)
        return;
    snprintf(times, sizeof times, half->erf < 100 * m->train_length ? "%.3g" : "%.0f",
             (double)half->erf / (double)m->train_length);
    fprintf(f, " %s is %s times the training length, measured at %zu inputs.",
            half == lead ? "It" : "ERF(0.5)", times, inputs);
}

/* The growth of the field with the length, if measured. */
static int tell_growth(FILE *f, const struct result *r, const struct result_model *m)
{
    const struct erf_summary *lengths[GROWTH_LENGTHS];
    struct erf_growth g;
    size_t last = GROWTH_LENGTHS - 1, of;

    if (!result_growth(lengths, m))
        return 0;
    if (erf_growth(&g, lengths, GROWTH_LENGTHS, r->main_row) != 0)
        return -1;
    of = lengths[0]->positions + 1;
    if (g.saturated == GROWTH_LENGTHS) {
        fprintf(f,
                " It needs all inputs at lengths of %zu, %zu and %zu tokens: over these lengths it "
                "grows with the length.",
                of, lengths[1]->positions + 1, lengths[last]->positions + 1);
        return 0;
    }
    fprintf(f, " From %zu to %zu tokens it ", of, lengths[last]->positions + 1);
    if (g.lo <= 0 && g.hi >= 0)
        fprintf(f, "shows no growth with the length L: L^%.2f", g.exponent);
    else
        fprintf(f, g.exponent < 0 ? "shrinks like L^%.2f" : "grows like L^%.2f", g.exponent);
    if (!isnan(g.lo))
        fprintf(f, ", with the exponent between %.2f and %.2f", g.lo, g.hi);
    if (g.saturated)
        fputs(lengths[last]->rows[r->main_row].saturated
                  ? ", at least: the longest length needs all inputs"
                  : ", at most: the shorter lengths need all inputs",
              f);
    fputc('.', f);
    return 0;
}

int erf_tell(FILE *f, const struct result *r, const struct result_model *m)
{
    const struct erf_summary *u = &result_main(m)->summary;
    const struct erf_row *half = row_of(u, 0.5), *lead = &u->rows[r->main_row];
    size_t inputs = r->length - 1;
    const char *what = strcmp(r->attribution, "grad") == 0 ? "gradient" : "attribution";
    char q[32];

    fprintf(f, "%s: ", screen_text(m->name));
    if (half && half != lead && !half->saturated) {
        fprintf(f, "half of the summed %s norm comes from ", what);
        show_last(f, half->erf, inputs, "token");
        fputs(". ", f);
    }
    fprintf(f, "ERF(%s) ", threshold_text(q, r->main_threshold));
    if (lead->saturated && inputs == 1)
        fputs("needs the only input", f);
    else if (lead->saturated)
        fprintf(f, "needs all %zu inputs", inputs);
    else
        fprintf(f, "is %zu", lead->erf);
    if (m->train_length && lead->erf > m->train_length)
        fprintf(f, ", beyond the training length of %zu", m->train_length);
    else if (m->train_length && !lead->saturated)
        fprintf(f, ", within the training length of %zu", m->train_length);
    fputs(lead->saturated ? "; the field may be longer." : ".", f);
    tell_share(f, m, half, lead, inputs);
    if (u->sink_share >= sink_least && u->sink_share >= 2 * (double)r->sink / (double)inputs) {
        if (r->sink == 1)
            fputs(" The first token has", f);
        else
            fprintf(f, " The first %zu tokens have", r->sink);
        fprintf(f, " %.3g\u00a0%% of the %s.", 100 * u->sink_share, what);
    }
    return tell_growth(f, r, m);
}

char *erf_sentence(const struct result *r, const struct result_model *m)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int rc;

    if (!f)
        return NULL;
    rc = erf_tell(f, r, m);
    if (fclose(f) == 0 && rc == 0)
        return text;
    free(text);
    return NULL;
}

int erf_print_sentences(const struct result *r)
{
    int told = 0;

    if (r->model_count > SENTENCES_MOST) {
        screen_say("\nWhat was found of each of these %zu models is said in sentences by "
                   "`reach report` and with --json; the screen has them for up to %d models.\n",
                   r->model_count, SENTENCES_MOST);
        return 0;
    }
    for (size_t i = 0; i < r->model_count; i++) {
        const struct erf_summary *u = &result_main(&r->models[i])->summary;
        char *text;

        if (u->segments == u->excluded)
            continue;
        if (!(text = erf_sentence(r, &r->models[i])))
            return -1;
        if (!told++)
            screen_say("\n");
        screen_say("%s\n", text);
        free(text);
    }
    return 0;
}
