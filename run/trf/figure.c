/* The figure of `reach trf`: weights, and the share beyond the most recent tokens. */
#include "run/trf/trf.h"

#include "plots/trf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURVES_MAX = 24, HEADS_DRAWN = 8, POINTS_MAX = 2400 };
#define TOKENS_MAX 1e6 /* drawn at most */
#define STEPS_MAX 80000000L /* of formulas, over all curves: about a second */

/* The drawn heads: up to 8 of one encoding, spread evenly; of several the last of each. */
static int choose_heads(const struct trf_head *drawn[CURVES_MAX], const struct trf_run *r)
{
    int count = 0;

    for (int first = 0, last; first < r->head_count && count < CURVES_MAX; first = last) {
        const struct trf_head *head = &r->heads[first];
        int heads = 0, shown;

        for (last = first; last < r->head_count && r->heads[last].argument == head->argument &&
                           r->heads[last].bias == head->bias;
             last++)
            heads += !r->heads[last].averaged;
        if (!head->values)
            continue;
        shown = r->count > 1 || r->arguments[head->argument].set.bias_count > 1 ? 1
                : heads < HEADS_DRAWN                                           ? heads
                                                                                : HEADS_DRAWN;
        for (int k = 0; k < shown && count < CURVES_MAX; k++)
            drawn[count++] = head + (shown == 1 ? heads - 1 : k * (heads - 1) / (shown - 1));
    }
    return count;
}

/* A head's drawn series: infinite, or the longest requested length. */
static const struct trf_value *drawn_value(const struct trf_run *r, const struct trf_head *head,
                                           uint64_t *length)
{
    int longest = 0;

    *length = 0;
    if (head->series && series_verdict(head->series) == SERIES_CONVERGES)
        return &head->values[0];
    for (int i = 1; i <= r->options->length_count; i++)
        if (!longest || r->options->lengths[i - 1] > r->options->lengths[longest - 1])
            longest = i;
    *length = longest ? r->options->lengths[longest - 1] : 0;
    return &head->values[trf_index(r, longest, 0, 0)];
}

static struct formula_point point_of(const struct trf_run *r, const struct trf_head *head,
                                     uint64_t length, double t)
{
    const struct formula_argument *a = &r->arguments[head->argument];

    return (struct formula_point){.t = t,
                                  .h = head->head ? head->head : 1,
                                  .heads = a->set.heads,
                                  .head_size = a->set.head_size,
                                  .length = (double)length};
}

/* How many tokens of a head fit into this many steps, at most `most`: later sums take more. */
static double affordable(const struct trf_run *r, const struct trf_head *head, uint64_t length,
                         double most, long steps)
{
    struct formula_walk *w = formula_walk_new(
        r->arguments[head->argument].set.biases[head->bias].formula);
    double each = 0, tokens = 32;

    for (long left = steps; w && tokens < most && left >= 0 && tokens * each < (double)steps;) {
        tokens = fmin(2 * tokens, most);
        struct formula_point before = point_of(r, head, length, tokens - 2),
                             at = point_of(r, head, length, tokens - 1);
        formula_walk_to(w, &before, &left);
        each = (double)left;
        formula_walk_to(w, &at, &left);
        each = left < 0 ? 2 * (double)steps / tokens : each - (double)left;
    }
    formula_walk_free(w);
    return each > 0 ? fmin(most, (double)steps / each) : 1;
}

static double middle(double lo, double hi)
{
    return isfinite(hi) ? lo + (hi - lo) / 2 : lo;
}

/* Sums f up to `most` tokens and keeps the points to draw: all of the first, then steps of a
 * hundredth of the distance; for a step that ends at f = 0 its largest f. The arrays are one
 * block. */
static int fill_curve(struct trf_curve *c, const struct trf_run *r, const struct trf_head *head,
                      double most, struct error *e)
{
    const struct formula_argument *a = &r->arguments[head->argument];
    const struct formula *f = a->set.biases[head->bias].formula;
    double *tokens = malloc(3 * POINTS_MAX * sizeof *tokens), *weight, *beyond, sum = 0,
           largest = 0, total, next = 1, greatest = 0, at_greatest = 1, sum_there = 0;
    uint64_t length;
    const struct trf_value *v = drawn_value(r, head, &length);
    char *label = NULL, *note = NULL, layers[64], count[128];

    struct formula_walk *walk = formula_walk_new(f);

    if (!tokens || !walk) {
        free(tokens);
        formula_walk_free(walk);
        return fail_memory(e, 3.0 * POINTS_MAX * sizeof *tokens, "a curve");
    }
    c->tokens = tokens;
    weight = tokens + POINTS_MAX;
    beyond = weight + POINTS_MAX;
    c->weight = weight;
    total = middle(v->sum_lo, v->sum_hi);
    c->beyond = isfinite(v->sum_hi) && total > 0 ? beyond : NULL;
    c->field = exp(M_LN10 * middle(v->count.log10_lo, v->count.log10_hi));
    if (v->count.lo && strlen(v->count.lo) < 16)
        c->field = strtod(v->count.lo, NULL);
    if (!isfinite(c->field))
        c->field = 0;
    for (double j = 1; j <= most && (!length || j <= (double)length); j++) {
        struct formula_point at = point_of(r, head, length, j - 1);
        long steps = STEPS_MAX;
        double value = exp(formula_walk_to(walk, &at, &steps));
        int kept = j >= next || j == most || j == (double)length;

        sum += value;
        largest = fmax(largest, value);
        if (value >= greatest) {
            greatest = value;
            at_greatest = j;
            sum_there = sum;
        }
        if (j == c->field)
            c->weight_at_field = value;
        if (!kept || c->points == POINTS_MAX)
            continue;
        next = fmax(j + 1, j * 1.01);
        int zero = value == 0;
        tokens[c->points] = zero ? at_greatest : j;
        weight[c->points] = zero ? greatest : value;
        beyond[c->points++] = total > 0 ? fmax(1 - (zero ? sum_there : sum) / total, 0) : 1;
        greatest = 0;
    }
    formula_walk_free(walk);
    for (size_t i = 0; i < c->points && largest > 0; i++)
        weight[i] /= largest;
    c->weight_at_field = largest > 0 ? c->weight_at_field / largest : 0;
    bias_layers_text(layers, sizeof layers, &a->set, head->bias);
    trf_count_text(count, &v->count);
    if ((head->head ? asprintf(&label, "%s%s%s, head %d", a->label, layers[0] ? ", " : "", layers,
                               head->head)
                    : asprintf(&label, "%s%s%s", a->label, layers[0] ? ", " : "", layers)) < 0)
        label = NULL;
    if ((isnan(v->count.log10_lo) ? asprintf(&note, "%s", series_verdict_name(v->verdict))
         : length ? asprintf(&note, "TRF %s of the first %llu", count, (unsigned long long)length)
                  : asprintf(&note, "TRF %s", count)) < 0)
        note = NULL;
    c->label = label;
    c->note = note;
    return label && note ? 0 : fail(e, "out of memory for the figure");
}

int trf_write_figure(const struct trf_run *r, const char *const *comments, struct error *e)
{
    const struct trf_options *o = r->options;
    const struct trf_head *drawn[CURVES_MAX];
    struct trf_curve curves[CURVES_MAX] = {{0}};
    int count = choose_heads(drawn, r), rc = 0;
    double most = 64;

    if (count == 0)
        return 0; /* nothing has a series */
    for (int i = 0; i < count; i++) {
        uint64_t length;
        const struct trf_value *v = drawn_value(r, drawn[i], &length);

        if (isfinite(v->count.log10_hi))
            most = fmax(most, 5 * exp(M_LN10 * fmin(v->count.log10_hi, 12)));
        if (length)
            most = fmax(most, (double)length);
        if (isnan(v->count.log10_lo))
            most = fmax(most, 4096);
    }
    most = floor(fmin(most, TOKENS_MAX));
    for (int i = 0; i < count; i++) {
        uint64_t length;

        drawn_value(r, drawn[i], &length);
        most = floor(affordable(r, drawn[i], length, most, STEPS_MAX / count));
    }
    for (int i = 0; i < count && rc == 0; i++)
        rc = fill_curve(&curves[i], r, drawn[i], most, e);
    if (rc == 0)
        rc = figure_trf(&(struct figure_place){o->folder, "trf", comments,
                                               &(struct figure_style){.formats = o->formats}},
                        &(struct trf_curves){curves, (size_t)count,
                                             fmax(strtod(o->epsilons[0], NULL), 1e-300)},
                        e);
    for (int i = 0; i < count; i++) {
        free((double *)curves[i].tokens);
        free((char *)curves[i].label);
        free((char *)curves[i].note);
    }
    return rc;
}
