/* The ranking of several encodings. */
#include "run/trf/trf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The infinite series' if it converges; else the largest requested length's. */
static const struct trf_value *ranked_value(const struct trf_run *r, const struct trf_head *head)
{
    const struct trf_value *v = &head->values[0];
    uint64_t longest = 0;

    if (head->series && series_verdict(head->series) == SERIES_CONVERGES)
        return v;
    for (int i = 0; i < r->options->length_count; i++)
        if (r->options->lengths[i] > longest) {
            longest = r->options->lengths[i];
            v = &head->values[trf_index(r, i + 1, 0, 0)];
        }
    return v;
}

int trf_is_finite(const struct trf_place *p)
{
    return p->by->series && series_verdict(p->by->series) == SERIES_CONVERGES;
}

static int by_field(const void *a, const void *b)
{
    const struct trf_place *x = a, *y = b;
    int finite = trf_is_finite(y) - trf_is_finite(x);
    double p = x->value->count.log10_lo, q = y->value->count.log10_lo;

    if (finite)
        return finite;
    p = isnan(p) ? INFINITY : p;
    q = isnan(q) ? INFINITY : q;
    if (p != q)
        return p < q ? -1 : 1;
    return x->argument != y->argument ? x->argument - y->argument : x->bias - y->bias;
}

/* Heads of a place, without the mean kernel. */
static const struct trf_head *heads_of(const struct trf_run *r, const struct trf_place *p,
                                       int *count)
{
    const struct trf_head *first = NULL;

    *count = 0;
    for (int i = 0; i < r->head_count; i++)
        if (r->heads[i].argument == p->argument && r->heads[i].bias == p->bias &&
            !r->heads[i].averaged) {
            first = first ? first : &r->heads[i];
            ++*count;
        }
    return first;
}

/* *proved 1 if for every head f/g never increases, which also orders the mean kernels: each head's
 * share within j distances is larger, and so is the mean. `why` is the last head's. */
static int prove_order(int *proved, char why[256], const struct trf_run *r,
                       const struct trf_place *f, const struct trf_place *g, struct error *e)
{
    int count_f, count_g, heads;
    const struct trf_head *first_f = heads_of(r, f, &count_f), *first_g = heads_of(r, g, &count_g);

    *proved = 0;
    heads = count_f > count_g ? count_f : count_g;
    if (!first_f || !first_g || (count_f != heads && count_f != 1) ||
        (count_g != heads && count_g != 1))
        return 0;
    for (int h = 0; h < heads; h++) {
        const struct trf_head *a = first_f + (count_f == 1 ? 0 : h),
                              *b = first_g + (count_g == 1 ? 0 : h);
        struct formula_error problem;
        int order;

        if (!a->series || !b->series)
            return 0;
        if (series_compare(a->series, b->series, &order, why, &problem) != 0)
            return fail(e, "%s against %s: %s", r->arguments[f->argument].label,
                        r->arguments[g->argument].label, problem.message);
        if (order != -1)
            return 0;
    }
    *proved = 1;
    return 0;
}

/* 1 if the bounds show that a's count is not larger than b's. */
static int bounds_order(const struct trf_place *a, const struct trf_place *b)
{
    const struct series_count *x = &a->value->count, *y = &b->value->count;

    if (x->hi && y->lo) {
        size_t i = strlen(x->hi), k = strlen(y->lo);

        return i < k || (i == k && strcmp(x->hi, y->lo) <= 0);
    }
    return x->log10_hi <= y->log10_lo;
}

int trf_rank(struct trf_run *r, struct error *e)
{
    r->places = calloc((size_t)r->head_count + 1, sizeof *r->places);
    if (!r->places)
        return fail(e, "out of memory for the ranking");
    for (int i = 0; i < r->head_count; i++) {
        const struct trf_head *head = &r->heads[i];
        const struct bias_set *s = &r->arguments[head->argument].set;

        if (head->values && (!head->head || bias_rows(s, &s->biases[head->bias]) == 1))
            r->places[r->place_count++] = (struct trf_place){.argument = head->argument,
                                                             .bias = head->bias,
                                                             .by = head,
                                                             .value = ranked_value(r, head)};
    }
    qsort(r->places, (size_t)r->place_count, sizeof *r->places, by_field);
    for (int i = 0; i + 1 < r->place_count; i++) {
        struct trf_place *p = &r->places[i], *next = p + 1;
        int proved;

        if (prove_order(&proved, p->why, r, p, next, e) != 0)
            return -1;
        if (proved)
            p->order = TRF_PROVED;
        else if (trf_is_finite(p) && next->by->series &&
                 series_verdict(next->by->series) == SERIES_DIVERGES)
            p->order = TRF_NEXT_DIVERGES;
        else if (bounds_order(p, next))
            p->order = TRF_BY_NUMBERS;
    }
    return 0;
}
