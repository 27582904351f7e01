/* The attention of all segments as exact sums, and its reduction. */
#include "analyze/attribution.h"
#include "io/results/journal.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUM_BITS = 96
}; /* bits after the point: doubles from 2^-43 up are exact, and 2^32 segments fit */

size_t attention_words(const struct result_attention *a)
{
    return a->layers * a->heads * a->positions;
}

static void add(struct result_attention *a, size_t i, unsigned __int128 more)
{
    unsigned __int128 sum = ((unsigned __int128)a->high[i] << 64 | a->low[i]) + more;

    a->high[i] = (uint64_t)(sum >> 64);
    a->low[i] = (uint64_t)sum;
}

void attention_add(struct result_attention *a, const double *mass)
{
    size_t count = attention_words(a);
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

void attention_join(struct result_attention *a, const struct result_attention *part)
{
    for (size_t i = 0; i < attention_words(a); i++)
        add(a, i, (unsigned __int128)part->high[i] << 64 | part->low[i]);
    a->measured += part->measured;
    a->used += part->used;
}

int attention_resume(struct result_model *m, const struct journal_attention *kept)
{
    struct result_attention *a = &m->attention;
    size_t bytes = attention_words(a) * sizeof *a->high;

    if (!a->high || kept->measured > m->segments || kept->used > kept->measured)
        return -1;
    memcpy(a->high, kept->high, bytes);
    memcpy(a->low, kept->low, bytes);
    a->measured = kept->measured;
    a->used = kept->used;
    return 0;
}

int attention_reduce(const struct result *r, struct result_model *m, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t count = attention_words(a), heads = a->layers * a->heads;

    if (a->used == 0)
        return fail(e,
                    "%s: the attention of none of %zu segments is finite (expected finite numbers)",
                    m->path, m->segments);
    a->mass = calloc(count, sizeof *a->mass);
    a->rows = calloc(heads, r->threshold_count * sizeof *a->rows);
    if (!a->mass || !a->rows)
        return fail_memory(e, (double)count * sizeof *a->mass, "the attention of all heads");
    for (size_t i = 0; i < count; i++)
        a->mass[i] = ldexp((double)((unsigned __int128)a->high[i] << 64 | a->low[i]), -SUM_BITS) /
                     (double)a->used;
    for (size_t h = 0; h < heads; h++)
        for (size_t q = 0; q < r->threshold_count; q++) {
            char epsilon[32];

            attention_row(r, m, 0, h, q)->erf =
                attention_erf(a->mass + h * a->positions, a->positions,
                              strtod(result_epsilon(epsilon, r->thresholds[q]), NULL));
        }
    return 0;
}
