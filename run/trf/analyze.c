/* The analysis: a series for every head, and its numbers for every length, depth and epsilon. */
#include "run/trf/trf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int trf_index(const struct trf_run *r, int length, int depth, int epsilon)
{
    return (length * r->depths + depth) * r->options->epsilon_count + epsilon;
}

static size_t value_count(const struct trf_run *r)
{
    return (size_t)(1 + r->options->length_count) * (size_t)r->depths *
           (size_t)r->options->epsilon_count;
}

/* `LABEL, head 3: MESSAGE` */
static int fail_series(struct error *e, const struct formula_argument *a,
                       const struct trf_head *head, const struct formula_error *problem)
{
    if (head->head)
        return fail(e, "%s, head %d: %s", a->label, head->head, problem->message);
    return fail(e, "%s: %s", a->label, problem->message);
}

static struct series *open_series(const struct trf_run *r, const struct formula *f,
                                  const struct formula_point *at, struct formula_error *problem)
{
    return series_open_within(f, at, r->options->effort > 0 ? r->options->effort : INFINITY,
                              problem);
}

/* The values of one length (0: infinite) of a series. */
static int fill_length(struct trf_head *head, const struct trf_run *r, const struct series *s,
                       int length, struct formula_error *problem)
{
    const struct trf_options *o = r->options;
    uint64_t keys = length ? o->lengths[length - 1] : 0;
    int failed = 0;

    for (int depth = 0; depth < r->depths; depth++)
        for (int i = 0; i < o->epsilon_count && !failed; i++) {
            struct trf_value *v = &head->values[trf_index(r, length, depth, i)];
            const char *epsilon = o->epsilons[i];

            v->verdict = series_verdict(s);
            series_sum(s, &v->sum_lo, &v->sum_hi);
            if (depth > 0 && length) {
                v->sum_lo = head->values[trf_index(r, length, 0, i)].sum_lo;
                v->sum_hi = head->values[trf_index(r, length, 0, i)].sum_hi;
            }
            failed = depth > 0
                         ? series_trf_depth(s, epsilon, (int)o->layers, keys, &v->count, problem)
                     : length ? series_trf_finite(s, epsilon, keys, &v->count, &v->sum_lo,
                                                  &v->sum_hi, problem)
                              : series_trf(s, epsilon, &v->count, problem);
        }
    return failed;
}

/* A formula with L is different for every length, and has no infinite series. */
static int fill_by_length(struct trf_head *head, const struct trf_run *r, const struct formula *f,
                          struct formula_point at, struct formula_error *problem)
{
    int rc = 0;

    for (int i = 0; i < r->depths * r->options->epsilon_count; i++) {
        struct trf_value *v = &head->values[i];

        v->verdict = SERIES_UNDECIDED;
        v->sum_lo = v->sum_hi = v->count.log10_lo = v->count.log10_hi = NAN;
    }
    for (int length = 1; length <= r->options->length_count && rc == 0; length++) {
        struct series *s;

        at.length = (double)r->options->lengths[length - 1];
        s = open_series(r, f, &at, problem);
        rc = s ? fill_length(head, r, s, length, problem) : -1;
        series_free(s);
    }
    return rc;
}

static struct trf_head *add_head(struct trf_run *r, int argument, int bias, int number,
                                 struct error *e)
{
    struct trf_head *grown = reallocarray(r->heads, (size_t)r->head_count + 1, sizeof *grown);

    if (!grown) {
        fail_memory(e, sizeof *grown, "a head");
        return NULL;
    }
    r->heads = grown;
    grown += r->head_count++;
    *grown = (struct trf_head){.argument = argument, .bias = bias, .head = number};
    grown->values = calloc(value_count(r), sizeof *grown->values);
    if (!grown->values) {
        fail_memory(e, (double)value_count(r) * sizeof *grown->values, "the numbers of a head");
        return NULL;
    }
    return grown;
}

/* All heads of one bias, and the mean kernel of several. */
static int analyze_bias(struct trf_run *r, int argument, int bias, struct error *e)
{
    const struct formula_argument *a = &r->arguments[argument];
    const struct formula *f = a->set.biases[bias].formula;
    int rows = bias_rows(&a->set, &a->set.biases[bias]), first = r->head_count, rc = 0;
    struct formula_error problem = {0, "out of memory"};
    struct series **all = NULL;
    struct trf_head *head;
    char what[128];

    if (!f) {
        head = add_head(r, argument, bias, 0, e);
        if (!head)
            return -1;
        free(head->values);
        head->values = NULL;
        return 0;
    }
    for (int h = 1; h <= rows; h++) {
        struct formula_point at = {.t = 0,
                                   .h = h,
                                   .heads = a->set.heads,
                                   .head_size = a->set.head_size};

        snprintf(what, sizeof what, "%.60s, head %d of %d", a->label, h, rows);
        progress_step(r->progress, 1, what);
        head = add_head(r, argument, bias, rows > 1 ? h : 0, e);
        if (!head)
            return -1;
        if (a->set.uses_length) {
            rc = fill_by_length(head, r, f, at, &problem);
        } else {
            head->series = open_series(r, f, &at, &problem);
            rc = head->series ? 0 : -1;
            for (int length = 0; length <= r->options->length_count && rc == 0; length++)
                rc = fill_length(head, r, head->series, length, &problem);
            if (rc == 0)
                series_settle(head->series);
        }
        if (rc != 0)
            return fail_series(e, a, head, &problem);
    }
    /* the mean kernel, the basis of the ranking */
    if (rows == 1 || a->set.uses_length)
        return 0;
    all = calloc((size_t)rows, sizeof *all);
    if (!all)
        return fail_memory(e, (double)rows * sizeof *all, "the heads");
    for (int h = 0; h < rows; h++)
        all[h] = r->heads[first + h].series;
    head = add_head(r, argument, bias, 0, e);
    rc = head ? 0 : -1;
    if (head) {
        head->averaged = 1;
        head->series = series_open_mean(all, rows, &problem);
        rc = head->series ? 0 : -1;
        for (int length = 0; length <= r->options->length_count && rc == 0; length++)
            rc = fill_length(head, r, head->series, length, &problem);
        if (rc != 0)
            fail_series(e, a, head, &problem);
    }
    free(all);
    return rc;
}

enum run_status trf_analyze(struct trf_run *r, struct error *e)
{
    size_t total = 0;
    int rc = 0;

    r->depths = r->options->layers > 1 ? 2 : 1;
    for (int i = 0; i < r->count; i++) {
        const struct bias_set *s = &r->arguments[i].set;

        if (s->uses_length && r->options->length_count == 0) {
            fail(e, "%s: uses the length L, so it has no infinite series (expected --length)",
                 r->arguments[i].label);
            return RUN_USAGE;
        }
        for (int b = 0; b < s->bias_count; b++)
            total += s->biases[b].formula ? (size_t)bias_rows(s, &s->biases[b]) : 0;
    }
    progress_start(r->progress, total, 0);
    for (int i = 0; i < r->count && rc == 0; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count && rc == 0; b++)
            rc = analyze_bias(r, i, b, e);
    progress_end(r->progress);
    return rc == 0 ? RUN_DONE : RUN_FAILED;
}
