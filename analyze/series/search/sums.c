/* By what means each piece is summed. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ESTIMATE_PREC = 256,
    LEAD_MAX = 1 << 13, /* points before Euler-Maclaurin's formula, tried up to this */
    COARSE_LEAD = 1 << 17, /* points before panels of bounds */
    COARSE_PANELS = 512,
    COARSE_STEPS = 100000, /* nodes times panels */
    ROUGH_BITS = 16, /* a rough last piece is summed up to 2^this */
    FAR_BITS = 40000,
    PAYABLE = 1000000000 /* points that a user may want to wait for */
};

static const char ADDING[] = "terms were added";
/* Of summing point by point, in any case. */
static const double POINTS_LEAST = 8e4;
/* Of choosing panels for a strand. */
static const double PANELS_WORK = 1e7;
struct plan {
    struct summand *f;
    struct sums *sums;
    slong prec, target; /* bits of the balls; the error should be about 2^-target */
    int quick, limited;
    int exhausted; /* more precision would not make the balls narrower */
};

/* 1 if log2 of a number, as far as it is known, is above *best, which then becomes that. */
static int is_better(fmpz_t best, const arb_t y)
{
    if (arb_is_zero(y) || arb_rel_accuracy_bits(y) < 8 ||
        fmpz_cmp(ARF_EXPREF(arb_midref(y)), best) <= 0)
        return 0;
    fmpz_set(best, ARF_EXPREF(arb_midref(y)));
    return 1;
}

/* log2 of about the sum: the largest of t f(t) at powers of 2, or of f between. Only a hint. */
static slong estimate(const struct summand *f, const fmpz *limit)
{
    slong peak = -2, most = limit ? (slong)fmpz_bits(limit) - 1 : FAR_BITS;
    LOCAL(fmpz, best, lo, hi, third, at);
    LOCAL(arb, t, y, other);
    struct evaluator *v = evaluator_new(f->problem.pool, f->problem.root, ESTIMATE_PREC, NULL);
    fmpz_one_2exp(best, 4096);
    fmpz_neg(best, best);
    double least = 0.75 * budget_left(f->problem.pool->budget);
    for (slong bits = -1; v && bits <= most && budget_left(f->problem.pool->budget) > least;
         bits = bits < 32 ? bits + 1 : bits + bits / 16) {
        f->problem.pool->budget->done += evaluator_cost(v, 0) * (double)(bits > 0 ? bits : 0) /
                                         ESTIMATE_PREC; /* angles so large take longer */
        arb_set_ui(t, bits >= 0);
        arb_mul_2exp_si(t, t, bits < 0 ? 0 : bits);
        if (evaluator_point(y, v, t))
            continue;
        if (bits > 0) /* there are about 2^bits distances as far out */
            arb_mul_2exp_si(y, y, bits);
        if (is_better(best, y)) /* not if all its digits cancel */
            peak = bits;
    }
    fmpz_one_2exp(lo, peak > 0 ? (ulong)peak - 1 : 0);
    fmpz_one_2exp(hi, (ulong)(peak > 0 ? peak : 0) + 1);
    if (limit && fmpz_cmp(hi, limit) > 0)
        fmpz_set(hi, limit);
    for (fmpz_sub(third, hi, lo);
         v && peak > -2 && peak < ESTIMATE_PREC && fmpz_cmp_ui(third, 2) > 0;
         fmpz_sub(third, hi, lo)) {
        int known = 1;
        fmpz_fdiv_q_ui(third, third, 3);
        for (int right = 0; right < 2 && known; right++) {
            (right ? fmpz_sub : fmpz_add)(at, right ? hi : lo, third);
            arb_set_fmpz(t, at);
            known = evaluator_point(right ? other : y, v, t) == 0;
        }
        if (!known)
            break;
        if (arb_lt(y, other)) {
            fmpz_add(lo, lo, third);
            arb_swap(y, other);
        } else {
            fmpz_sub(hi, hi, third);
        }
        is_better(best, y);
    }
    evaluator_free(v);
    return fmpz_fits_si(best) ? fmpz_get_si(best) : 0;
}

static int is_narrow(const struct plan *plan, const arb_t tail)
{
    return arb_is_finite(tail) && mag_cmp_2exp_si(arb_radref(tail), -plan->target - 4) < 0;
}

/* How far to sum before the tail: the least power of 2 tried whose tail is known to 2^-prec. */
static void find_far(struct plan *plan)
{
    const struct summand *f = plan->f;
    const struct piece *last = &f->proof.piece[f->proof.pieces - 1];
    LOCAL(arb, from, value);
    LOCAL(fmpz, far);
    /* falling integrals in closed form cost little however long, and hold from where f falls */
    int closed = 0, vanishes;
    if (last->kind == PIECE_SMOOTH && !f->no_euler && f->proof.decreasing) {
        fmpz_set(far, fmpz_cmp(f->proof.decreasing_from, last->first) > 0 ? f->proof.decreasing_from
                                                                          : last->first);
        arb_set_fmpz(from, far);
        arb_add_ui(from, from, 64, 64);
        closed = antiderivative(value, &vanishes, f->problem.pool, last->root, from, 64) &&
                 vanishes;
    }
    if (!closed)
        fmpz_set(far,
                 fmpz_cmp(f->proof.tail_from, last->first) > 0 ? f->proof.tail_from : last->first);
    const arb_struct *tail = sums_offer_tail(plan->sums, far);
    if (f->proof.tail == TAIL_ZERO || f->proof.tail == TAIL_GEOMETRIC)
        return;
    slong bits = (slong)fmpz_bits(far);
    slong most = f->no_euler ? ROUGH_BITS : closed ? FAR_BITS : bits + 32 * plan->prec + 64;
    for (bits = bits < 6 ? 6 : bits + 1;
         bits <= most && !is_narrow(plan, tail) &&
         !budget_spent(plan->f->problem.pool->budget, "the rest beyond X was bounded");
         bits = bits < 24 ? bits + 1 : bits + bits / 8) {
        fmpz_one_2exp(far, (ulong)bits);
        tail = sums_offer_tail(plan->sums, far);
    }
    plan->exhausted |= !is_narrow(plan, tail);
}

/* Covers [first, end) of a rough piece by panels, closer ones near its begin. */
static int bound(struct plan *plan, const struct piece *piece, const fmpz_t first, const fmpz_t end)
{
    int panels = COARSE_STEPS / (piece->root + 1), failed = 0;
    LOCAL(fmpz, length, next);
    panels = panels < 16 ? 16 : panels > COARSE_PANELS ? COARSE_PANELS : panels;
    if (fmpz_bits(end) >
        FAR_BITS) /* they would all be too long to say anything, and so would their numbers */
        panels = 1;
    fmpz_set(next, first);
    for (int i = 0; i < panels && fmpz_cmp(next, end) < 0 && !failed; i++) {
        fmpz_sub(length, end, next); /* the remaining distances, in equal parts */
        if (!budget_spent(plan->f->problem.pool->budget, "panels were bounded"))
            fmpz_cdiv_q_ui(length, length, (ulong)(panels - i));
        fmpz_add(next, next, length);
        failed = sums_bound(plan->sums, next);
    }
    plan->exhausted = 1;
    return failed;
}

/* How many of `length` distances may be summed one by one. Waves in double have no other way. */
static ulong affordable(const struct plan *plan, const struct piece *piece, const fmpz_t length,
                        int waves)
{
    double work = fmax(budget_left(plan->f->problem.pool->budget) * (waves ? 0.9 : 0.5),
                       POINTS_LEAST),
           cost;
    LOCAL(fmpz, t);
    ulong points = 8;
    do { /* far out a term of sums is dearer */
        points *= 2;
        fmpz_add_ui(t, piece->first, points);
        cost = fmax(sums_cost(plan->sums, t), 1);
    } while ((double)points * cost < work && fmpz_cmp_ui(length, points) > 0);
    return (ulong)fmax(work / cost, 1);
}

/* Euler-Maclaurin's formula after as few points as possible, for all strands of the last piece, or
 * of one piece before it; 1 if it is to be had, and *points; -1: memory. */
static int try_euler(ulong *points, struct plan *plan, const struct piece *piece, const fmpz_t end,
                     ulong most, int fits)
{
    struct euler *e[PERIOD_MAX];
    int hard = 0, node[PERIOD_MAX], strands = piece->unbounded ? plan->f->strands : 1;
    LOCAL(fmpz, N, first, from, to, length);
    for (int r = 0; r < strands; r++)
        node[r] = strand_node(plan->f->problem.pool, piece->root, r, strands);
    int several = strands < 16 ? strands : 16;
    struct budget *budget = plan->f->problem.pool->budget;
    double most_work = budget->done + PANELS_WORK * several;
    fmpz_sub(length, end, piece->first);
    strand_place(first, piece->first, 0, strands);
    strand_place(to, end, 0, strands);
    fmpz_sub(from, to, first);
    for (ulong lead = 0; lead <= LEAD_MAX && budget->done < most_work &&
                         !budget_spent(plan->f->problem.pool->budget, "Euler's formula was tried");
         lead = lead < 16 ? lead + 8 : lead + lead / 4) {
        fmpz_add_ui(from, first, lead); /* they all begin there */
        fmpz_mul_si(N, from, strands);
        fmpz_sub(from, N, piece->first);
        *points = fmpz_abs_fits_ui(from) ? fmpz_get_ui(from) : UWORD_MAX;
        if (*points > most || fmpz_cmp(N, end) >= 0 ||
            (fits && fmpz_cmp_ui(length, 4 * *points) < 0))
            return 0;
        int failed = 0;
        memset(e, 0, sizeof e);
        strand_place(from, N, 0, strands);
        for (int i = 0; i < strands && !failed; i++) {
            int r = (hard + i) % strands;
            if (node[r] == NODE_MINUS_INFINITY || search_first(node, r) < r)
                continue;
            e[r] = search_euler(plan->f->problem.pool, node[r], from, to, plan->prec, plan->target,
                                most_work);
            failed = !e[r];
            if (failed)
                hard = r;
            else
                euler_limit(e[r], budget_left(plan->f->problem.pool->budget) /
                                      (2 * several)); /* the rest for another way */
        }
        if (!failed)
            return sums_euler(plan->sums, e, strands,
                              plan->prec / 2 - plan->target); /* 0: the integral is too hard */
        for (int r = 0; r < strands; r++)
            euler_free(e[r]);
    }
    return 0;
}

/* 0, -1 for memory, 1 where it turns out that a last piece can only be summed point by point. */
static int sum_piece(struct plan *plan, const struct piece *piece, const fmpz_t end)
{
    int endless = piece->unbounded && !plan->limited;
    /* where the tail is known to a few digits only, so are the points */
    int blurred = endless && plan->f->no_euler && plan->exhausted;
    int waves = sums_evaluate(plan->sums, plan->quick || blurred ? 64 : plan->prec, plan->quick);
    LOCAL(fmpz, length, N);
    if (waves < 0)
        return -1;
    fmpz_sub(length, end, piece->first);
    ulong most = affordable(plan, piece, length, waves), points;
    int fits = fmpz_cmp_ui(length, most) <= 0,
        blocks = waves && fits; /* cheaper than Euler-Maclaurin */
    int euler = piece->unbounded ? !plan->f->no_euler : piece->kind == PIECE_SMOOTH;
    if (euler && !blocks && fmpz_cmp_ui(length, 200) > 0) {
        int known = try_euler(&points, plan, piece, end, most, fits);
        if (known)
            return known < 0 ? -1 : sums_points(plan->sums, points);
    }
    if (!fits && endless && euler && !plan->f->no_euler) {
        plan->f->no_euler = 1;
        return 1;
    }
    points = fits ? fmpz_get_ui(length) : most < COARSE_LEAD ? most : COARSE_LEAD;
    if (sums_points(plan->sums, points))
        return -1;
    if (fits || sums_unknown(plan->sums))
        return 0;
    fmpz_add_ui(N, piece->first, points);
    if (fmpz_cmp_ui(length, PAYABLE) < 0) /* with more effort they are */
        budget_stop(plan->f->problem.pool->budget, ADDING);
    return bound(plan, piece, N, end);
}

/* The sums of one summand. NULL with *e on failure. */
static struct sums *sum_up(int *exhausted, struct summand *f, const fmpz *limit, slong prec,
                           int quick, struct formula_error *e)
{
    struct plan plan = {.f = f,
                        .prec = prec,
                        .target = prec - estimate(f, limit),
                        .quick = quick,
                        .limited = limit != NULL};
    const struct piece *piece;
    const fmpz *end;
    int wanted, failed, no_euler = f->no_euler;
    do {
        sums_free(plan.sums); /* once more, now that it is known what cannot be done */
        plan.exhausted = failed = 0;
        plan.sums = sums_new(&f->proof, limit, prec);
        if (!plan.sums)
            break;
        if (!limit)
            find_far(&plan);
        while (!failed && (wanted = sums_next_piece(plan.sums, &piece, &end)) >= 0)
            failed = wanted ? sum_piece(&plan, piece, end) : 0;
    } while (failed == 1);
    f->no_euler = no_euler; /* at fewer bits Euler's formula may do */
    *exhausted |= plan.exhausted;
    if (plan.sums && !failed && sums_close(plan.sums, e) == 0)
        return plan.sums;
    if (!plan.sums || failed)
        formula_refuse(e, 0, "out of memory");
    sums_free(plan.sums);
    return NULL;
}

/* Sums of all of the summands, with an error of about 2^-prec where that can be had with bounded
 * effort, else with wider balls. *exhausted: more precision would not make the balls narrower. NULL
 * with *e on failure: a value that is not a number, no mass, memory. */
static struct shares *share_out(int *exhausted, const struct question *q, slong prec, int quick)
{
    struct shares *m = shares_new(q->count, prec);
    char digits[64];
    *exhausted = 0;
    if (!m)
        formula_refuse(q->e, 0, "out of memory");
    for (int i = 0; m && i < q->count; i++) {
        struct sums *s = sum_up(exhausted, q->summand[i], q->limit, prec, quick, q->e);
        int empty = s && arb_is_zero(sums_total(s)), h = q->summand[i]->problem.at.h;
        if (empty && q->limit)
            formula_refuse(q->e, 0,
                           "head %d has no mass within the length %s: the bias is -inf at each of "
                           "its distances",
                           h, distance_text(digits, q->limit));
        else if (empty)
            formula_refuse(q->e, 0,
                           "the bias is -inf at every distance of head %d: there is no mass at all",
                           h);
        shares_put(m, i, s);
        if (s && !empty)
            continue;
        shares_free(m);
        m = NULL;
    }
    return m;
}

int search_has_waves(const struct question *q)
{
    int waves = 0;
    for (int i = 0; i < q->count && !waves; i++) {
        struct summand *f = q->summand[i];
        struct evaluator *v = f->waves ? NULL
                                       : evaluator_new(f->problem.pool, f->problem.root, 64, NULL);
        if (!f->waves)
            f->waves = v && evaluator_has_waves(v) ? 1 : -1;
        evaluator_free(v);
        waves = f->waves > 0;
    }
    return waves;
}

/* ---- from one question to the next: sums are the same for every epsilon ---- */

void kept_init(struct kept *kept)
{
    *kept = (struct kept){0};
    fmpz_init(kept->limit);
}

void kept_clear(struct kept *kept)
{
    for (int i = 0; i < 2; i++)
        shares_free(kept->sums[i].shares);
    fmpz_clear(kept->limit);
}

struct sums_kept *kept_shares(const struct question *q, slong prec, int quick)
{
    struct sums_kept *k = &q->kept->sums[q->limit != NULL];
    int same = !q->limit || fmpz_equal(q->kept->limit, q->limit);
    if (k->shares && same && prec <= k->prec && !k->cut_short && (quick || !k->quick))
        return k;
    shares_free(k->shares);
    if (q->limit)
        fmpz_set(q->kept->limit, q->limit);
    *k = (struct sums_kept){.prec = FLINT_MAX(prec, SERIES_PREC), .quick = quick};
    k->shares = share_out(&k->exhausted, q, k->prec, quick);
    k->cut_short = budget_left(q->summand[0]->problem.pool->budget) <= 0;
    return k->shares ? k : NULL;
}
