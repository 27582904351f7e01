#include "run/validate/validate.h"

#include "analyze/curve.h"
#include "io/results/result.h"

#include <math.h>
#include <stdlib.h>

/* The tests used, and memory for their numbers. */
struct gather {
    const struct validation *v;
    size_t *test; /* [used] */
    double *s, *c; /* [used, positions] shares of the gradient, and their sums from a position to
                      the end */
    double *whole, *changed, *other; /* [used] */
};

static int gather_open(struct gather *g, struct validation *v, const struct result_field *f,
                       struct error *e)
{
    size_t n = v->positions;

    *g = (struct gather){.v = v, .test = calloc(v->tests, sizeof *g->test)};
    v->used = 0;
    for (size_t i = 0; g->test && i < v->tests; i++)
        if (f->status[v->segment[i]] == SEGMENT_DONE)
            g->test[v->used++] = i;
    if (g->test && v->used == 0)
        return fail(e, "--validate: every segment that it tests is excluded (expected gradients "
                       "that are finite)");
    g->s = reallocarray(NULL, v->used, n * sizeof *g->s);
    g->c = reallocarray(NULL, v->used, n * sizeof *g->c);
    g->whole = calloc(v->used, sizeof *g->whole);
    g->changed = calloc(v->used, sizeof *g->changed);
    g->other = calloc(v->used, sizeof *g->other);
    if (!g->test || !g->s || !g->c || !g->whole || !g->changed || !g->other)
        return fail_memory(e, 2 * (double)v->used * (double)n * sizeof *g->s,
                           "the gradients of the validation");
    for (size_t i = 0; i < v->used; i++) {
        if (curve_share(g->s + i * n, f->norm + v->segment[g->test[i]] * n, n) != 0)
            return fail(
                e,
                "--validate: norms of segment %zu have no sum (expected positive, finite numbers)",
                v->segment[g->test[i]]);
        curve_cumulative(g->c + i * n, g->s + i * n, n);
    }
    return 0;
}

static void gather_close(struct gather *g)
{
    free(g->test);
    free(g->s);
    free(g->c);
    free(g->whole);
    free(g->changed);
    free(g->other);
}

/* Loss number `change` with all inputs: 0 the whole, then replaced, then single. */
static double loss(const struct gather *g, size_t i, size_t change)
{
    const struct validation *v = g->v;

    return v->nll[v->kept_count * v->tests + g->test[i] * (1 + v->kept_count + v->single_count) +
                  change];
}

/* The share of the gradient before the last `kept` inputs, mean over the tests. */
static double before(const struct gather *g, size_t kept)
{
    size_t n = g->v->positions;
    double sum = 0;

    for (size_t i = 0; i < g->v->used; i++)
        sum += 1 - g->c[i * n + n - kept];
    return sum / (double)g->v->used;
}

static int kept_row(struct validation_row *out, struct gather *g, enum validation_kind kind,
                    size_t k)
{
    const struct validation *v = g->v;

    for (size_t i = 0; i < v->used; i++)
        g->changed[i] = kind == VALIDATION_TRUNCATED ? v->nll[k * v->tests + g->test[i]]
                                                     : loss(g, i, 1 + k);
    *out = (struct validation_row){.kind = kind,
                                   .tokens = v->kept[k],
                                   .gradient = before(g, v->kept[k])};
    return validation_change(&out->loss, g->changed, g->whole, v->used);
}

/* Single inputs [from, to) of each test, in one octave: each test counts with its means. */
static void single_row(struct validation_row *out, struct gather *g, size_t from, size_t to,
                       size_t octave)
{
    const struct validation *v = g->v;
    double count = (double)(to - from), gradient = 0;

    for (size_t i = 0; i < v->used; i++) {
        double sum = 0, size = 0;

        for (size_t j = from; j < to; j++) {
            double change = loss(g, i, 1 + v->kept_count + j) - g->whole[i];

            sum += change;
            size += fabs(change);
            gradient +=
                g->s[i * v->positions + v->positions - v->where[g->test[i] * v->single_count + j]];
        }
        g->changed[i] = sum / count;
        g->other[i] = size / count;
    }
    *out = (struct validation_row){.kind = VALIDATION_SINGLE,
                                   .tokens = octave,
                                   .loss = {validation_mean(g->changed, v->used),
                                            validation_mean(g->other, v->used)},
                                   .gradient = gradient / count / (double)v->used};
}

static int make_rows(struct validation *v, struct gather *g)
{
    const size_t *where = v->where; /* all tests have the same octaves */
    struct validation_row *to = v->rows;

    for (int kind = VALIDATION_TRUNCATED; kind <= VALIDATION_REPLACED; kind++)
        for (size_t k = 0; k < v->kept_count; k++)
            if (kept_row(to++, g, (enum validation_kind)kind, k) != 0)
                return -1;
    for (size_t j = 0, next, octave = 1; j < v->single_count; j = next, octave *= 2) {
        for (next = j; next < v->single_count && where[next] < 2 * octave; next++)
            ;
        single_row(to++, g, j, next, octave);
    }
    v->row_count = (size_t)(to - v->rows);
    return 0;
}

/* The fewest inputs kept, by the changes when the rest is replaced (part 0), or by an end of their
 * intervals (-1, 1). */
static size_t enough(const struct validation *v, int part)
{
    double size[VALIDATION_KEPT_MAX];
    size_t at;

    for (size_t k = 0; k < v->kept_count; k++) {
        const struct validation_mean *of = &v->rows[v->kept_count + k].loss.size;

        size[k] = part < 0 ? of->lo : part > 0 ? of->hi : of->mean;
    }
    at = validation_enough(size, v->kept_count, validation_within);
    return at < v->kept_count ? v->kept[at] : v->positions;
}

/* Means over the tests of the existing rank correlations. */
static int correlate(struct validation *v, struct gather *g, const struct result_field *f,
                     struct error *e)
{
    double change[VALIDATION_SINGLE_MAX], all, octaves;
    size_t count = 0, in_octaves = 0;

    for (size_t i = 0; i < v->used; i++) {
        size_t test = g->test[i];

        for (size_t j = 0; j < v->single_count; j++)
            change[j] = loss(g, i, 1 + v->kept_count + j) - g->whole[i];
        if (validation_correlate(&all, &octaves, change, v->where + test * v->single_count,
                                 v->single_count, f->norm + v->segment[test] * v->positions,
                                 v->positions) != 0)
            return fail_memory(e, (double)v->single_count * sizeof all, "a rank correlation");
        if (!isnan(all))
            g->changed[count++] = all;
        if (!isnan(octaves))
            g->other[in_octaves++] = octaves;
    }
    v->correlation = validation_mean(g->changed, count);
    v->within_octaves = validation_mean(g->other, in_octaves);
    return 0;
}

int validate_reduce(struct validation *v, const struct result_model *m, struct error *e)
{
    const struct result_field *f = result_main(m);
    struct gather g;
    int rc = -1;

    v->rows = calloc(2 * v->kept_count + v->single_count, sizeof *v->rows);
    if (gather_open(&g, v, f, e) != 0)
        goto end;
    if (!v->rows) {
        fail_memory(e, (double)(2 * v->kept_count + v->single_count) * sizeof *v->rows,
                    "the validation");
        goto end;
    }
    for (size_t i = 0; i < v->used; i++)
        g.whole[i] = loss(&g, i, 0);
    if (make_rows(v, &g) != 0) {
        fail_memory(e, (double)v->used * sizeof *g.whole, "the changes of the validation");
        goto end;
    }
    v->enough = enough(v, 0);
    v->enough_lo = enough(v, -1);
    v->enough_hi = enough(v, 1);
    v->enough_gradient = v->enough < v->positions ? 1 - before(&g, v->enough) : 1;
    rc = correlate(v, &g, f, e);
end:
    gather_close(&g);
    return rc;
}
