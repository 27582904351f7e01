/* Rotary positions of the arguments: the first distance at which the sum of their cosines is below
 * 0 (arXiv:2405.14591), and how far the slowest pair has turned (arXiv:2602.10959). */
#include "run/trf/trf.h"

#include "run/trf/columns.h"

#include "io/formats/csv.h"

#include <stdlib.h>
#include <time.h>

/* Distances between two checks of the clock. */
enum { STEP = 1 << 18 };

/* Layers rotated by a bias; for a given rotation, the requested ones. */
static int layers_of(const struct trf_run *r, int argument, int bias)
{
    const struct bias_set *s = &r->arguments[argument].set;
    int count = 0;

    for (int i = 0; i < s->layers; i++)
        count += s->bias_of_layer[i] == bias;
    return s->layers ? count : (int)r->options->layers;
}

/* The slowest pair. 0 or -1. */
static int look_at_slowest(const struct trf_run *r, struct trf_rotary *out, const double *frequency,
                           struct error *e)
{
    struct formula_error problem;

    for (int i = 0; i < out->turned; i++)
        if (frequency[i] > 0 && (out->slowest == 0 || frequency[i] < out->slowest))
            out->slowest = frequency[i];
    out->layers = layers_of(r, out->argument, out->bias);
    return out->slowest == 0 || series_slowest(&out->slow, out->slowest, r->options->coherence,
                                               out->layers, &problem) == 0
               ? 0
               : fail(e, "--coherence: %s", problem.message);
}

/* The sum by distance for that many inputs; 0: all up to another scaling. */
static int look(struct trf_run *r, int argument, int bias, double inputs, struct error *e)
{
    const struct bias_set *s = &r->arguments[argument].set;
    const struct rotary *turned = &s->biases[bias].rotary;
    struct trf_rotary *grown = reallocarray(r->rotaries, (size_t)r->rotary_count + 1,
                                            sizeof *grown),
                      *out;
    double begin = (double)clock(),
           *frequency = calloc((size_t)turned->size / 2 + 1, sizeof *frequency);
    double factor = turned->beyond && inputs > turned->limit ? turned->beyond_factor
                                                             : turned->factor;
    int rc = grown && frequency ? 0 : fail(e, "out of memory for a rotation");

    r->rotaries = grown ? grown : r->rotaries;
    if (rc == 0) {
        out = &grown[r->rotary_count++];
        *out = (struct trf_rotary){.argument = argument,
                                   .bias = bias,
                                   .inputs = turned->stretch > 0 || turned->beyond ? inputs : 0,
                                   .turned = turned->size / 2 - turned->still,
                                   .still = (s->biases[bias].head_size - turned->size) / 2.0 +
                                            turned->still};
        for (int i = 0; i < out->turned; i++)
            frequency[i] = rotary_frequency(turned, i, inputs);
        rc = look_at_slowest(r, out, frequency, e);
        for (uint64_t at = 0; at < ROTARY_DISTANCES && rc == 0; at += STEP) {
            progress_step(r->progress, 0, r->arguments[argument].label);
            out->spent = r->options->effort > 0 && at &&
                         ((double)clock() - begin) / CLOCKS_PER_SEC > r->options->effort;
            if (out->spent)
                break;
            uint64_t end = at + STEP < ROTARY_DISTANCES ? at + STEP : ROTARY_DISTANCES;
            if (series_rotary(&out->found, frequency, out->turned, factor * factor, out->still, at,
                              end) != 0)
                rc = fail(e, "out of memory for a rotation");
            if (out->found.verdict != ROTARY_NOT_BELOW)
                break;
        }
    }
    free(frequency);
    return rc;
}

int trf_rotary(struct trf_run *r, struct error *e)
{
    for (int a = 0; a < r->count; a++)
        for (int b = 0; b < r->arguments[a].set.bias_count; b++) {
            const struct rotary *turned = &r->arguments[a].set.biases[b].rotary;

            if (turned->size == 0)
                continue;
            if (look(r, a, b, turned->limit, e) != 0 ||
                (turned->beyond && look(r, a, b, turned->limit + 1.0, e) != 0))
                return -1;
            for (int i = 0; i < r->options->length_count && turned->stretch > 0; i++)
                if (r->options->lengths[i] > (uint64_t)turned->limit &&
                    look(r, a, b, (double)r->options->lengths[i], e) != 0)
                    return -1;
        }
    return 0;
}

static void write_row(struct csv *csv, const struct trf_run *r, const struct trf_rotary *x,
                      int layer)
{
    static const char *const verdicts[] = {[ROTARY_NEVER_BELOW] = "never",
                                           [ROTARY_NOT_BELOW] = "not below",
                                           [ROTARY_BELOW] = "below",
                                           [ROTARY_TIE] = "undecided"};
    const struct formula_argument *a = &r->arguments[x->argument];

    csv_row(csv,
            &(struct rotary_row){.formula = a->label,
                                 .layer = layer,
                                 .inputs = (long long)x->inputs,
                                 .turned = x->turned,
                                 .still = x->still,
                                 .verdict = verdicts[x->found.verdict],
                                 .distance = x->found.verdict == ROTARY_NEVER_BELOW
                                                 ? 0
                                                 : (long long)x->found.at,
                                 .window = a->set.biases[x->bias].window,
                                 .train_length = trf_train_length(r, x->argument),
                                 .slowest = x->slowest,
                                 .quarter_turn = (long long)x->slow.quarter,
                                 .whole_turn = (long long)x->slow.whole,
                                 .layers = x->layers,
                                 .coherence = r->options->coherence ? r->options->coherence : "",
                                 .incoherent = (long long)x->slow.incoherent});
}

int trf_rotary_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->count; i++) {
        const struct bias_set *s = &r->arguments[i].set;

        for (int layer = 0; layer < (s->layers ? s->layers : 1); layer++)
            for (int k = 0; k < r->rotary_count; k++)
                if (r->rotaries[k].argument == i &&
                    r->rotaries[k].bias == (s->layers ? s->bias_of_layer[layer] : 0))
                    write_row(csv, r, &r->rotaries[k], s->layers ? layer + 1 : 0);
    }
    return 0;
}
