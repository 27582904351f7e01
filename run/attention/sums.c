/* The attention of all segments as exact sums, and what is made of them. */
#include "analyze/attribution.h"
#include "io/journal.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUM_BITS = 96 }; /* behind the point: no double from 2^-43 up is cut, and 2^32 segments fit */

size_t attention_words(const struct erf_run *r, const struct erf_model *m)
{
    return (size_t)m->decoder->layers * (size_t)m->decoder->heads * r->positions;
}

int attention_room(struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        size_t bytes = attention_words(r, m) * sizeof *m->attention.high;

        m->attention.high = calloc(1, bytes);
        m->attention.low = calloc(1, bytes);
        if (!m->attention.high || !m->attention.low)
            return fail_memory(e, 2 * (double)bytes, "the attention of all heads");
    }
    return 0;
}

void attention_free(struct erf_attention *a)
{
    free(a->high);
    free(a->low);
    free(a->mass);
    free(a->rows);
    memset(a, 0, sizeof *a);
}

static void add(struct erf_attention *a, size_t i, unsigned __int128 more)
{
    unsigned __int128 sum = ((unsigned __int128)a->high[i] << 64 | a->low[i]) + more;

    a->high[i] = (uint64_t)(sum >> 64);
    a->low[i] = (uint64_t)sum;
}

void attention_add(struct erf_attention *a, const double *mass, size_t count)
{
    int usable = 1;

    for (size_t i = 0; i < count; i++)
        usable &= mass[i] >= 0 && mass[i] < 2;
    a->measured++;
    if (!usable)
        return;
    a->used++;
    for (size_t i = 0; i < count; i++)
        add(a, i, (unsigned __int128)ldexp(mass[i], SUM_BITS));
}

int attention_resume(const struct erf_run *r, struct erf_model *m, const struct journal_attention *kept)
{
    struct erf_attention *a = &m->attention;
    size_t bytes = attention_words(r, m) * sizeof *a->high;

    if (!a->high || kept->measured > m->segments.count || kept->used > kept->measured)
        return -1;
    memcpy(a->high, kept->high, bytes);
    memcpy(a->low, kept->low, bytes);
    a->measured = kept->measured;
    a->used = kept->used;
    return 0;
}

void erf_epsilon_text(char out[32], double threshold)
{
    snprintf(out, 32, "%.15g", 1 - threshold);
}

int attention_reduce(const struct erf_run *r, struct erf_model *m, const char *known, struct error *e)
{
    struct erf_attention *a = &m->attention;
    int layers = m->decoder->layers, heads = m->decoder->heads;
    size_t thresholds = r->options->threshold_count;

    if (a->used == 0)
        return fail(e, "%s: the attention of none of %zu segments is finite (expected finite numbers)", m->argument->path,
                    m->segments.count);
    a->mass = calloc(attention_words(r, m), sizeof *a->mass);
    if (!a->mass)
        return fail_memory(e, (double)attention_words(r, m) * sizeof *a->mass, "the attention of all heads");
    for (size_t i = 0; i < attention_words(r, m); i++)
        a->mass[i] = ldexp((double)((unsigned __int128)a->high[i] << 64 | a->low[i]), -SUM_BITS) / (double)a->used;
    a->rows = calloc((size_t)layers * (size_t)heads, thresholds * sizeof *a->rows);
    if (!a->rows)
        return fail_memory(e, (double)layers * heads * (double)thresholds * sizeof *a->rows, "the attention fields");
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++)
            for (size_t q = 0; q < thresholds; q++) {
                char epsilon[32];

                erf_epsilon_text(epsilon, r->options->thresholds[q]);
                attention_row(r, m, l, h, q)->erf = attention_erf(a->mass +
                                                                      ((size_t)l * (size_t)heads + (size_t)h) * r->positions,
                                                                  r->positions, strtod(epsilon, NULL));
            }
    return (known ? attention_theory_read(r, m, known, e) : attention_theory(r, m, e)) != 0 || attention_correlate(r, m, e) != 0
               ? -1
               : 0;
}
