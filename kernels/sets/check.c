/* Compares one product of a set with plain loops before the set is used: a library that computes
 * something else (a wrong build, a thread runtime with unexpected limits) is found here and not in
 * results. */
#include "kernels/ops.h"

#include <stdlib.h>

/* From about 64 x 64 x 64 on oneDNN divides a product among threads; this is well above, and takes
 * some milliseconds. */
enum { ROWS = 128, IN = 64, OUT = 256 };

/* Whole numbers from -3 to 3: exact in every type, and their sums, below 9 x OUT, in float. */
static int entry(size_t i)
{
    return (int)((i * 2654435761u >> 7) % 7) - 3;
}

struct product {
    int x[ROWS * IN], y[ROWS * OUT], w[OUT * IN];
    float stored[OUT * IN]; /* w, as in a checkpoint */
    double got[ROWS * OUT];
};

/* x w^T by the set into p->got, or in reverse y w. */
static int run(struct kernels *k, struct product *p, int reverse, const struct weight *w,
               struct buffer *from, struct buffer *to, struct error *e)
{
    const int *in = reverse ? p->y : p->x;
    size_t in_count = reverse ? ROWS * OUT : ROWS * IN,
           out_count = reverse ? ROWS * IN : ROWS * OUT;

    for (size_t i = 0; i < in_count; i++)
        p->got[i] = in[i];
    k->write(k, from, 0, p->got, in_count);
    if (reverse)
        k->linear_reverse(k, to, from, w, (struct rows){1, ROWS}, 0);
    else
        k->linear(k, to, from, w, NULL, (struct rows){1, ROWS}, 0);
    k->read(k, p->got, to, 0, out_count);
    return k->synchronize(k, e);
}

/* The number of results that differ from plain loops. */
static size_t count_wrong(const struct product *p, int reverse)
{
    size_t wrong = 0;

    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < (reverse ? IN : OUT); c++) {
            int sum = 0;
            if (reverse)
                for (size_t i = 0; i < OUT; i++)
                    sum += p->y[r * OUT + i] * p->w[i * IN + c];
            else
                for (size_t i = 0; i < IN; i++)
                    sum += p->x[r * IN + i] * p->w[c * IN + i];
            wrong += p->got[r * (reverse ? IN : OUT) + c] != sum;
        }
    return wrong;
}

static int check(struct kernels *k, struct product *p, struct error *e)
{
    struct weight_part part = {.data = p->stored,
                               .type = ELEMENT_F32,
                               .groups = 1,
                               .rows = OUT,
                               .columns = IN,
                               .row_stride = IN,
                               .column_stride = 1};
    struct weight *w = k->weight_load(k, WEIGHT_MATRIX, &part, 1, e);
    int rc = w ? 0 : -1;

    for (int reverse = 0; reverse < 2 && rc == 0; reverse++) {
        struct buffer *from = k->create(k, ROLE_ACTIVATION, ROWS * OUT, e),
                      *to = from ? k->create(k, ROLE_RESIDUAL, ROWS * OUT, e) : NULL;
        size_t wrong = 0, of = ROWS * (reverse ? IN : OUT);

        rc = to ? run(k, p, reverse, w, from, to, e) : -1;
        if (rc == 0 && (wrong = count_wrong(p, reverse)) != 0)
            rc = fail(e,
                      "%s: %zu of %zu results of a matrix product are wrong (expected those of "
                      "plain loops; "
                      "REACH_KERNELS=reference runs without this library)",
                      k->name, wrong, of);
        k->destroy(k, from);
        k->destroy(k, to);
    }
    k->weight_free(k, w);
    return rc;
}

int kernels_check(struct kernels *k, struct error *e)
{
    struct product *p = malloc(sizeof *p);
    int rc;

    if (!p)
        return fail_memory(e, sizeof *p, "a product");
    for (size_t i = 0; i < ROWS * IN; i++)
        p->x[i] = entry(i);
    for (size_t i = 0; i < ROWS * OUT; i++)
        p->y[i] = entry(i + ROWS * IN);
    for (size_t i = 0; i < OUT * IN; i++)
        p->stored[i] = (float)(p->w[i] = entry(i + ROWS * (IN + OUT)));
    rc = check(k, p, e);
    free(p);
    return rc;
}
