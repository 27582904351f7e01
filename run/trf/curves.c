/* The curves of `reach trf`: weights by distance, and the share beyond the most recent tokens. */
#include "run/trf/trf.h"

#include "run/trf/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURVES_MAX = 24, HEADS_DRAWN = 8, POINTS_MAX = 2400 };
#define TOKENS_MAX 1e6 /* drawn at most */
#define STEPS_MAX 80000000L /* of formulas, over all curves: about a second */

/* ---- which heads ---- */

static int rows_of(const struct trf_run *r, const struct trf_head *head)
{
    const struct bias_set *set = &r->arguments[head->argument].set;

    return bias_rows(set, &set->biases[head->bias]);
}

/* A head's numbers: of the infinite series, or if that does not converge of the longest requested
 * length. */
static const struct trf_value *value_of(const struct trf_run *r, const struct trf_head *head,
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

/* The numbers of a head of a mean kernel, over the same length as that kernel's. */
static const struct trf_value *value_within(const struct trf_run *r, const struct trf_head *head,
                                            uint64_t length)
{
    int i = 0;

    while (length && r->options->lengths[i] != length)
        i++;
    return &head->values[length ? trf_index(r, i + 1, 0, 0) : 0];
}

/* 1 if every head of a mean kernel has a sum, by which it can be divided. */
static int is_mean(const struct trf_run *r, const struct trf_head *head)
{
    uint64_t length;
    int sums = head->averaged && isfinite(value_of(r, head, &length)->sum_hi);

    for (int k = 1; sums && k <= rows_of(r, head); k++) {
        const struct trf_value *v = value_within(r, head - k, length);

        sums = v->sum_lo > 0 && isfinite(v->sum_hi);
    }
    return sums;
}

/* How many kernels a curve is the mean of. */
static int kernels_of(const struct trf_run *r, const struct kernel_curve *c)
{
    return c->head->averaged ? rows_of(r, c->head) : 1;
}

static void add(struct trf_run *r, const struct trf_head *head)
{
    struct kernel_curve *c = &r->curves[r->curve_count];

    if (r->curve_count == CURVES_MAX)
        return;
    *c = (struct kernel_curve){.head = head};
    c->value = value_of(r, head, &c->length);
    r->curve_count++;
}

/* The last of these heads [count]; if their mean `end` has no sum, the last that takes it away. */
static const struct trf_head *last_of(const struct trf_head *heads, int count,
                                      const struct trf_head *end)
{
    int k = count - 1;

    while (k > 0 && end->averaged && series_verdict(heads[k].series) != series_verdict(end->series))
        k--;
    return &heads[k];
}

/* Of one encoding up to 8 heads, spread evenly, and their mean; of several the mean of each, or one
 * head if the mean has no sum. */
static void choose_heads(struct trf_run *r)
{
    for (int first = 0, last; first < r->head_count; first = last) {
        const struct trf_head *head = &r->heads[first], *end;
        int heads = 0, shown, single;

        for (last = first; last < r->head_count && r->heads[last].argument == head->argument &&
                           r->heads[last].bias == head->bias;
             last++)
            heads += !r->heads[last].averaged;
        end = &r->heads[last - 1];
        shown = heads < HEADS_DRAWN ? heads : HEADS_DRAWN;
        single = r->count == 1 && r->arguments[head->argument].set.bias_count == 1;
        if (!head->values)
            continue;
        for (int k = 0; single && k < shown; k++)
            add(r, head + (shown == 1 ? 0 : k * (heads - 1) / (shown - 1)));
        if (is_mean(r, end))
            add(r, end);
        else if (!single)
            add(r, last_of(head, heads, end));
    }
}

/* ---- a kernel ---- */

/* The kernel of a head, or the mean of several heads, each divided by its sum. */
struct kernel {
    const struct trf_run *r;
    const struct trf_head *heads; /* [count] */
    int count;
    struct formula_walk **walk; /* [count] */
    double *share; /* [count] logarithm of what a head is multiplied by */
    uint64_t length;
};

static double middle(double lo, double hi)
{
    return isfinite(hi) ? lo + (hi - lo) / 2 : lo;
}

static void kernel_free(struct kernel *k)
{
    for (int h = 0; k->walk && h < k->count; h++)
        formula_walk_free(k->walk[h]);
    free(k->walk);
    free(k->share);
}

static int kernel_open(struct kernel *k, const struct trf_run *r, const struct kernel_curve *c,
                       struct error *e)
{
    const struct formula_argument *a = &r->arguments[c->head->argument];
    int mean = c->head->averaged, count = kernels_of(r, c), there = 1;

    *k = (struct kernel){r, mean ? c->head - count : c->head, count, NULL, NULL, c->length};
    k->walk = calloc((size_t)k->count, sizeof *k->walk);
    k->share = calloc((size_t)k->count, sizeof *k->share);
    for (int h = 0; k->walk && k->share && h < k->count; h++) {
        const struct trf_value *v = value_within(r, &k->heads[h], c->length);

        k->walk[h] = formula_walk_new(a->set.biases[c->head->bias].formula);
        k->share[h] = mean ? -log(middle(v->sum_lo, v->sum_hi)) - log(k->count) : 0;
        there &= k->walk[h] != NULL;
    }
    if (k->walk && k->share && there)
        return 0;
    kernel_free(k);
    return fail(e, "out of memory for a curve");
}

/* ln f(t), or NaN if it takes more than *steps, of which those left are set. */
static double kernel_at(const struct kernel *k, double t, long *steps)
{
    const struct formula_argument *a = &k->r->arguments[k->heads->argument];
    double sum = 0, value = 0;

    for (int h = 0; h < k->count; h++) {
        const struct formula_point at = {.t = t,
                                         .h = k->heads[h].head ? k->heads[h].head : 1,
                                         .heads = a->set.heads,
                                         .head_size = a->set.head_size,
                                         .length = (double)k->length};

        value = formula_walk_to(k->walk[h], &at, steps) + k->share[h];
        sum += exp(value);
    }
    return k->count > 1 ? log(sum) : value;
}

/* How many tokens of a curve fit into this many steps, at most `most`: later sums take more. */
static int affordable(double *most, const struct trf_run *r, const struct kernel_curve *c,
                      long steps, struct error *e)
{
    struct kernel k;
    double each = 0, tokens = 32;

    if (kernel_open(&k, r, c, e) != 0)
        return -1;
    for (long left = steps; tokens < *most && left >= 0 && tokens * each < (double)steps;) {
        tokens = fmin(2 * tokens, *most);
        kernel_at(&k, tokens - 2, &left);
        each = (double)left;
        kernel_at(&k, tokens - 1, &left);
        each = left < 0 ? 2 * (double)steps / tokens : each - (double)left;
    }
    kernel_free(&k);
    *most = floor(fmin(*most, each > 0 ? (double)steps / each : tokens));
    return 0;
}

/* ---- a curve ---- */

/* The upper bound of the field; 0: none, or no number. */
static double field_of(const struct trf_value *v)
{
    double field = v->count.hi && strlen(v->count.hi) < 16 ? strtod(v->count.hi, NULL)
                                                           : exp(M_LN10 * v->count.log10_hi);

    return isfinite(field) ? field : 0;
}

/* Sums f up to `most` tokens and keeps the points to draw: all of the first, the field, then steps
 * of a hundredth of the distance; for a step that ends at f = 0 its largest f. */
static int fill(struct kernel_curve *c, const struct trf_run *r, double most, struct error *e)
{
    const struct trf_value *v = c->value;
    double total = middle(v->sum_lo, v->sum_hi), largest = -INFINITY, greatest = -INFINITY,
           at_greatest = 1, sum_there = 0, sum = 0, next = 1;
    struct kernel k;

    c->tokens = malloc(3 * POINTS_MAX * sizeof *c->tokens);
    if (!c->tokens)
        return fail_memory(e, 3.0 * POINTS_MAX * sizeof *c->tokens, "a curve");
    if (kernel_open(&k, r, c, e) != 0)
        return -1;
    c->weight = c->tokens + POINTS_MAX;
    c->beyond = isfinite(v->sum_hi) && total > 0 ? c->weight + POINTS_MAX : NULL;
    c->field = field_of(v);
    most = c->length ? fmin(most, (double)c->length) : most;
    for (double j = 1; j <= most; j++) {
        long steps = STEPS_MAX;
        double value = kernel_at(&k, j - 1, &steps);
        int zero;

        if (isnan(value))
            break;
        sum += exp(value);
        largest = fmax(largest, value);
        if (value >= greatest) {
            greatest = value;
            at_greatest = j;
            sum_there = sum;
        }
        if (!(j >= next || j == most || j == c->field) || c->points == POINTS_MAX)
            continue;
        next = fmax(j + 1, j * 1.01);
        zero = !(exp(value) > 0);
        c->tokens[c->points] = zero ? at_greatest : j;
        c->weight[c->points] = zero ? greatest : value;
        if (c->beyond)
            c->beyond[c->points] = fmax(1 - (zero ? sum_there : sum) / total, 0);
        c->points++;
        greatest = -INFINITY;
        at_greatest = j + 1;
        sum_there = sum;
    }
    for (size_t i = 0; i < c->points; i++)
        c->weight[i] = largest > -INFINITY ? exp(c->weight[i] - largest) : 0;
    kernel_free(&k);
    return 0;
}

int trf_find_curves(struct trf_run *r, struct error *e)
{
    double most = 64;
    int rc = 0, kernels = 0;

    r->curves = calloc(CURVES_MAX, sizeof *r->curves);
    if (!r->curves)
        return fail_memory(e, (double)CURVES_MAX * sizeof *r->curves, "the curves");
    choose_heads(r);
    for (int i = 0; i < r->curve_count; i++) {
        const struct kernel_curve *c = &r->curves[i];

        if (isfinite(c->value->count.log10_hi))
            most = fmax(most, 5 * exp(M_LN10 * fmin(c->value->count.log10_hi, 12)));
        most = fmax(most, (double)c->length);
        if (isnan(c->value->count.log10_lo))
            most = fmax(most, 4096);
        kernels += kernels_of(r, c);
    }
    most = floor(fmin(most, TOKENS_MAX));
    for (int i = 0; i < r->curve_count && rc == 0; i++) {
        const struct kernel_curve *c = &r->curves[i];
        double wanted = c->length ? fmin(most, (double)c->length) : most, tokens = wanted;

        rc = affordable(&tokens, r, c, STEPS_MAX / kernels * kernels_of(r, c), e);
        most = tokens < wanted ? tokens : most;
    }
    for (int i = 0; i < r->curve_count && rc == 0; i++)
        rc = fill(&r->curves[i], r, most, e);
    return rc;
}

/* ---- weights.csv ---- */

const char *kernel_curve_head(char out[16], const struct kernel_curve *c)
{
    snprintf(out, 16, "%d", c->head->head);
    return c->head->head ? out : c->head->averaged ? "mean" : "all";
}

const char *kernel_curve_length(char out[24], const struct kernel_curve *c)
{
    snprintf(out, 24, "%llu", (unsigned long long)c->length);
    return c->length ? out : "inf";
}

int trf_weights_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = found;

    (void)e;
    for (int i = 0; i < r->curve_count; i++) {
        const struct kernel_curve *c = &r->curves[i];
        const struct formula_argument *a = &r->arguments[c->head->argument];
        char layers[128], head[16], length[24], field[128];

        bias_layers_text(layers, sizeof layers, &a->set, c->head->bias);
        trf_count_text(field, &c->value->count);
        for (size_t k = 0; k < c->points; k++)
            csv_row(csv,
                    &(struct weights_row){.formula = a->label,
                                          .layers = layers,
                                          .head = kernel_curve_head(head, c),
                                          .length = kernel_curve_length(length, c),
                                          .tokens = (long long)c->tokens[k],
                                          .weight = c->weight[k],
                                          .beyond = c->beyond ? c->beyond[k] : NAN,
                                          .epsilon = r->options->epsilons[0],
                                          .verdict = series_verdict_name(c->value->verdict),
                                          .field = isnan(c->value->count.log10_lo) ? NULL : field,
                                          .trf = c->field > 0 ? c->field : NAN});
    }
    return 0;
}
