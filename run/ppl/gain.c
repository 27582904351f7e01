/* `reach ppl --gain`: whether more context helps, and how much of it each target needs. */
#include "run/ppl/ppl.h"

#include "plots/gain.h"
#include "run/ppl/columns.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

void ppl_gain(struct ppl_model *m, const double *nll, size_t contexts, size_t targets,
              double within)
{
    const double *longest = nll + (contexts - 1) * targets;
    double enough = 0;

    m->reference = 0;
    for (size_t j = 1; j < contexts && m->results[j].context <= (size_t)m->train_length; j++)
        m->reference = j;
    for (size_t j = 0; j < contexts; j++) {
        struct ppl_result *at = &m->results[j];
        size_t count = 0;

        at->gain = j ? perplexity_compare(nll + (j - 1) * targets, nll + j * targets, targets)
                     : (struct perplexity_difference){0};
        at->rest = perplexity_compare(nll + j * targets, longest, targets);
        at->change = perplexity_compare(nll + j * targets, nll + m->reference * targets, targets);
        for (size_t i = 0; i < targets; i++)
            count += context_needed(nll + i, contexts, targets, within) == j;
        at->needed = (double)count / (double)targets;
        at->enough = (enough += (double)count) / (double)targets;
    }
}

const struct ppl_result *ppl_gain_best(const struct ppl_run *r, const struct ppl_model *m)
{
    const struct ppl_result *longest = &m->results[r->result_count - 1], *best = longest;

    for (const struct ppl_result *at = m->results; at < longest; at++)
        if (at->perplexity.nll < best->perplexity.nll)
            best = at;
    return best->rest.difference + perplexity_margin(&best->rest, best->perplexity.tokens) < 0
               ? best
               : longest;
}

size_t ppl_gain_quantile(const struct ppl_run *r, const struct ppl_model *m, double p)
{
    size_t j = 0;

    if (ppl_gain_best(r, m) != &m->results[r->result_count - 1])
        return 0;
    while (j + 1 < r->result_count && m->results[j].enough < p)
        j++;
    return m->results[j].context;
}

static void write_row(struct csv *csv, const struct ppl_run *r, const struct ppl_model *m, size_t j)
{
    const struct ppl_result *at = &m->results[j];
    size_t targets = at->perplexity.tokens;
    double gain = perplexity_margin(&at->gain, targets),
           rest = perplexity_margin(&at->rest, targets);
    int is_first = j == 0, is_last = j + 1 == r->result_count;

    csv_row(csv, &(struct gain_row){.model = m->argument->name,
                                    .protocol = protocol_names[r->options->protocol],
                                    .context = (long long)at->context,
                                    .tokens = (long long)targets,
                                    .nll = at->perplexity.nll,
                                    .gain = is_first ? NAN : at->gain.difference,
                                    .gain_lo = is_first ? NAN : at->gain.difference - gain,
                                    .gain_hi = is_first ? NAN : at->gain.difference + gain,
                                    .p = is_first ? NAN : at->gain.p,
                                    .rest = is_last ? NAN : at->rest.difference,
                                    .rest_lo = is_last ? NAN : at->rest.difference - rest,
                                    .rest_hi = is_last ? NAN : at->rest.difference + rest,
                                    .within = r->options->gain_within,
                                    .needed = at->needed,
                                    .enough = at->enough,
                                    .needed_q10 = (long long)ppl_gain_quantile(r, m, 0.1),
                                    .needed_median = (long long)ppl_gain_quantile(r, m, 0.5),
                                    .needed_q90 = (long long)ppl_gain_quantile(r, m, 0.9)});
}

int ppl_gain_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct ppl_run *r = found;

    (void)e;
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->result_count; j++)
            write_row(csv, r, &r->models[i], j);
    return 0;
}

int ppl_gain_draw(const struct ppl_run *r, const struct figure_place *to, struct error *e)
{
    struct gain_line *lines = calloc(r->count, sizeof *lines);
    struct gain_point *points = calloc(r->count * r->result_count, sizeof *points);
    int rc = lines && points ? 0 : fail(e, "%s: out of memory for the figure", to->folder);

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct gain_point *p = points + i * r->result_count;

        for (size_t j = 0; j < r->result_count; j++) {
            const struct ppl_result *at = &r->models[i].results[j];

            p[j] = (struct gain_point){(double)at->context, at->enough, at->enough, at->enough};
            if (j + 1 < r->result_count) /* the longest is enough by definition */
                share_interval(&p[j].lo, &p[j].hi, at->enough, at->perplexity.tokens);
        }
        lines[i] = (struct gain_line){r->models[i].argument->name, p, r->result_count,
                                      r->models[i].train_length};
    }
    if (rc == 0)
        rc = figure_gain(to, &(struct gain_lines){lines, r->count, r->options->gain_within}, e);
    free(lines);
    free(points);
    return rc;
}
