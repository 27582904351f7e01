/* The attention of all segments as exact sums, and its reduction. */
#include "analyze/attribution.h"
#include "io/results/journal.h"
#include "run/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* bits after the point: doubles from 2^-43 up are exact, of decays from 2^-27 up, and 2^32 segments
 * fit */
enum { SUM_BITS = 96, DECAY_BITS = 80, DECAY_MOST = 1 << 16 };

static size_t mass_words(const struct result_attention *a)
{
    return a->layers * a->heads * a->positions;
}

static size_t decay_words(const struct result_attention *a)
{
    return a->layers * a->recurrence_heads;
}

size_t attention_words(const struct result_attention *a)
{
    return mass_words(a) + decay_words(a);
}

static void add(uint64_t *high, uint64_t *low, unsigned __int128 more)
{
    unsigned __int128 sum = ((unsigned __int128)*high << 64 | *low) + more;

    *high = (uint64_t)(sum >> 64);
    *low = (uint64_t)sum;
}

/* Adds the sums of a part. */
static void join(uint64_t *high, uint64_t *low, const uint64_t *more_high, const uint64_t *more_low,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(&high[i], &low[i], (unsigned __int128)more_high[i] << 64 | more_low[i]);
}

/* The mean of the segments. */
static double mean(const struct result_attention *a, uint64_t high, uint64_t low, int bits)
{
    return ldexp((double)((unsigned __int128)high << 64 | low), -bits) / (double)a->used;
}

void attention_add(struct result_attention *a, const double *mass, const double *decay)
{
    size_t count = mass_words(a), decays = decay_words(a);
    int usable = 1;

    for (size_t i = 0; i < count; i++)
        usable &= mass[i] >= 0 && mass[i] < 2;
    for (size_t i = 0; i < decays; i++)
        usable &= decay[i] >= 0 && decay[i] < DECAY_MOST;
    a->measured++;
    if (!usable)
        return;
    a->used++;
    for (size_t i = 0; i < count; i++)
        add(&a->high[i], &a->low[i], (unsigned __int128)ldexp(mass[i], SUM_BITS));
    for (size_t i = 0; i < decays; i++)
        add(&a->decay_high[i], &a->decay_low[i], (unsigned __int128)ldexp(decay[i], DECAY_BITS));
}

void attention_join(struct result_attention *a, const struct result_attention *part)
{
    join(a->high, a->low, part->high, part->low, mass_words(a));
    join(a->decay_high, a->decay_low, part->decay_high, part->decay_low, decay_words(a));
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

/* The mean log decays of all recurrences. */
static int reduce_decays(struct result_model *m, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t heads = a->recurrence_heads;
    struct mixers mixers;

    if (heads && !(a->log_decay = calloc(decay_words(a), sizeof *a->log_decay)))
        return fail_memory(e, (double)decay_words(a) * sizeof *a->log_decay,
                           "the decays of recurrences");
    for (size_t l = 0; l < a->layers; l++) {
        if (mixers_of(&mixers, a, l) != 0)
            return fail(e, "%s: mixers is damaged (expected a name for each layer)", m->path);
        for (size_t i = l * heads; i < (l + 1) * heads; i++)
            a->log_decay[i] = mixers.recurs
                                  ? -mean(a, a->decay_high[i], a->decay_low[i], DECAY_BITS)
                                  : NAN;
    }
    return 0;
}

int attention_reduce(const struct result *r, struct result_model *m, struct error *e)
{
    struct result_attention *a = &m->attention;
    size_t count = mass_words(a), heads = a->layers * a->heads;

    if (a->used == 0)
        return fail(e,
                    "%s: the attention of none of %zu segments is finite (expected finite numbers)",
                    m->path, m->segments);
    a->mass = calloc(count, sizeof *a->mass);
    a->rows = calloc(heads, r->threshold_count * sizeof *a->rows);
    if (!a->mass || !a->rows)
        return fail_memory(e, (double)count * sizeof *a->mass, "the attention of all heads");
    for (size_t i = 0; i < count; i++)
        a->mass[i] = mean(a, a->high[i], a->low[i], SUM_BITS);
    for (size_t h = 0; h < heads; h++)
        for (size_t q = 0; q < r->threshold_count; q++) {
            char epsilon[32];

            attention_row(r, m, 0, h, q)->erf =
                attention_erf(a->mass + h * a->positions, a->positions,
                              strtod(result_epsilon(epsilon, r->thresholds[q]), NULL));
        }
    return reduce_decays(m, e);
}
