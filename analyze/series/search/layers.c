/* How the field across depth is looked for. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>

enum {
    EXACT_LENGTH = 1 << 18, /* counts up to this are looked for one by one */
    CELLS = 1 << 14, /* beyond: at most this many cells of equal width */
    CELLS_SLOW = 1 << 9, /* at least, */
    CELLS_LEAST = 1 << 5, /* where a share takes long, */
    OVERDRAFT = 8 /* but not if that takes this many times the work that is left */
};

/* How many cells: fewer where a partial sum takes a while. */
static int choose_cells(const struct summand *f)
{
    int cells = CELLS / f->strands;
    for (int k = 0; k < f->proof.pieces; k++)
        if (f->proof.piece[k].kind == PIECE_SMOOTH)
            cells = CELLS_SLOW;
    return cells > CELLS_SLOW ? cells : CELLS_SLOW;
}

/* How many shares, of distances or cells, may be worked out, if all cost what one half way does. */
static ulong affordable(const struct summand *f, struct shares *m, const fmpz_t reach, int layers,
                        slong prec, int single)
{
    double before = f->problem.pool->budget->done,
           left = fmax(budget_left(f->problem.pool->budget), 0);
    double products = depth_work(1, prec) *
                      (FLINT_BIT_COUNT(layers) + __builtin_popcount((unsigned)layers) - 2);
    LOCAL(arb, share);
    LOCAL(fmpz, j);
    fmpz_fdiv_q_2exp(j, reach, 1);
    if (shares_limit(m) && fmpz_cmp(j, shares_limit(m)) > 0)
        fmpz_set(j, shares_limit(m));
    (single ? shares_term : shares_below)(share, m, j);
    return (ulong)fmin(left / 2 / (1 + products + f->problem.pool->budget->done - before),
                       EXACT_LENGTH);
}

/* The convolution for a field of at most `reach`, by single distances or by at most `coarse` cells.
 * NULL: it would be dear, or memory is short. */
static struct depth *depth_for(struct shares *m, const struct summand *f, int layers,
                               const fmpz_t reach, int coarse, slong prec)
{
    int cells = coarse;
    LOCAL(fmpz, width, wide);
    fmpz_one(width);
    ulong low = fmpz_bits(reach) > 3 ? fmpz_bits(reach) - 3 : 0; /* to three bits */
    fmpz_cdiv_q_2exp(wide, reach, low);
    fmpz_mul_2exp(wide, wide, low);
    ulong most = affordable(f, m, reach, layers, prec, !coarse);
    if (!coarse) {
        cells = (int)fmpz_get_ui(fmpz_cmp_ui(wide, most) > 0 ? reach : wide);
    } else {
        if ((ulong)cells > most)
            cells = most < CELLS_LEAST ? CELLS_LEAST : (int)most;
        fmpz_cdiv_q_ui(width, wide, (ulong)cells);
    }
    return (ulong)cells > (coarse ? OVERDRAFT * most : most)
               ? NULL
               : depth_new(m, layers, width, cells, prec, f->problem.pool->budget);
}

/* 1 if it is less than 7/8 of what it was. */
static int has_fallen(const fmpz_t now, const fmpz_t before)
{
    LOCAL(fmpz, difference);
    fmpz_sub(difference, before, now);
    fmpz_mul_ui(difference, difference, 8);
    return fmpz_cmp(difference, before) > 0;
}

/* Narrows from bounds that are whole numbers. 0 or -1 with *e. */
static int narrow(struct field *f, const struct question *q, const fmpq_t epsilon, int layers)
{
    struct budget *budget = q->summand[0]->problem.pool->budget;
    int waves = search_has_waves(q), coarse = CELLS, exhausted = 0;
    slong extra = (slong)fmpz_bits(fmpq_denref(epsilon));
    LOCAL(fmpz, reach, least);
    for (int i = 0; i < q->count; i++)
        coarse = choose_cells(q->summand[i]) < coarse ? choose_cells(q->summand[i]) : coarse;
    for (int attempt = fmpz_cmp_ui(f->yes, EXACT_LENGTH) > 0 ? -1 : 0;
         attempt < 3 && !(exhausted && attempt > 0) &&
         !budget_spent(budget, "layers were convolved");
         attempt++) {
        slong prec = (attempt <= 0 ? 64 : attempt == 1 ? 128 : 256) + extra;
        fmpz_add_ui(least, f->no, 1);
        fmpz_set(reach, f->yes);
        if (attempt >= 0) {
            if (fmpz_cmp_ui(f->no, EXACT_LENGTH) >= 0 || fmpz_cmp(least, f->yes) >= 0)
                break;
            if (fmpz_cmp_ui(reach, EXACT_LENGTH) > 0)
                fmpz_set_ui(reach, EXACT_LENGTH);
        }
        struct sums_kept *sums = kept_shares(q, prec, waves && attempt <= 0);
        if (!sums)
            return -1;
        exhausted = sums->exhausted;
        struct depth *d = depth_for(sums->shares, q->summand[0], layers, reach,
                                    attempt < 0 ? coarse : 0, prec);
        if (!d) {
            budget_stop(budget, "layers were convolved");
            break;
        }
        depth_narrow(f, d, epsilon);
        depth_free(d);
        if (attempt < 0 && fmpz_cmp_ui(f->yes, EXACT_LENGTH) > 0 && has_fallen(f->yes, reach))
            attempt--; /* a shorter reach has smaller cells */
        depth_exactly(f, sums->shares, epsilon, layers, budget, budget_left(budget));
    }
    return 0;
}

int search_depth(struct series_count *out, const struct question *q, const fmpq_t epsilon,
                 int layers)
{
    struct field least, greatest, all;
    struct series_count lo = {0}, hi = {0};
    LOCAL(fmpq, low, high);
    field_init(&least, q->limit);
    field_init(&greatest, q->limit);
    field_init(&all, NULL);
    depth_epsilons(low, high, epsilon, layers);
    int failed = search_field(&least, NULL, q, low);
    if (!failed)
        failed = search_field(&greatest, NULL, q, high);
    if (!failed)
        failed = field_report(&lo, &least, q->e) || field_report(&hi, &greatest, q->e) ? -1 : 0;
    if (!failed && lo.lo && hi.hi) {
        depth_by_one_layer(&all, &least, &greatest, layers);
        failed = narrow(&all, q, epsilon, layers) || field_report(out, &all, q->e) ? -1 : 0;
    } else if (!failed) { /* beyond whole numbers, or no end is known */
        depth_report_far(out, &lo, &hi, layers);
        out->lo = lo.lo;
        lo.lo = NULL;
    }
    series_count_free(&lo);
    series_count_free(&hi);
    field_clear(&least);
    field_clear(&greatest);
    field_clear(&all);
    return failed;
}
