/* Shares, ranks and lines of the inputs. */
#include "run/explain/explain.h"

#include "analyze/curve.h"

#include <stdlib.h>

static int by_share(const void *a, const void *b, void *context)
{
    const double *share = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (share[x] != share[y])
        return share[x] > share[y] ? -1 : 1;
    return (x < y) - (x > y); /* if equal, the nearest */
}

static void count_lines(struct explanation *x)
{
    size_t line = 1;

    for (size_t i = 0; i <= x->count; i++) {
        size_t size;
        const char *text = texts_find(x->pieces, x->id[i], &size);

        x->line[i] = line;
        for (size_t k = 0; text && k < size; k++)
            line += text[k] == '\n';
    }
}

int explain_reduce(struct explanation *x, struct error *e)
{
    size_t n = x->count;

    x->share = calloc(n, sizeof *x->share);
    x->cumulative = calloc(n, sizeof *x->cumulative);
    x->order = calloc(n, sizeof *x->order);
    x->rank = calloc(n, sizeof *x->rank);
    x->line = calloc(n + 1, sizeof *x->line);
    if (!x->share || !x->cumulative || !x->order || !x->rank || !x->line)
        return fail_memory(e, 5.0 * (double)n * sizeof *x->share, "the shares of tokens");
    if (curve_share(x->share, x->norm, n) != 0)
        return fail(e,
                    "%s: the norms of the segment are not usable (expected finite ones with a "
                    "positive sum)",
                    x->path);
    curve_cumulative(x->cumulative, x->share, n);
    x->half = curve_erf(x->cumulative, n, 0.5);
    for (size_t i = 0; i < n; i++)
        x->order[i] = i;
    qsort_r(x->order, n, sizeof *x->order, by_share, x->share);
    for (size_t i = 0; i < n; i++)
        x->rank[x->order[i]] = i;
    count_lines(x);
    return 0;
}
