/* Which distances are asked about, at which precision. */
#include "analyze/series/proof/rounding.h"
#include "analyze/series/search/search.h"

#include <math.h>

enum {
    CLOSED_PREC_MAX = 7200, /* bits; sums in closed form */
    PREC_MAX = 400, /* others */
    LATE = 2, /* questions that are asked when the work is done */
    WAVES_MAX = 20000, /* distances that waves are summed over in balls */
    NEAR_BITS = 33230 /* about 10^SERIES_DIGITS_MAX: beyond, counts are logarithms */
};

static const char NARROWING[] = "the field was narrowed";

struct search {
    struct field *f;
    struct shares *m;
    const fmpq *epsilon;
    struct budget *budget;
    arb_t value; /* of the last comparison, */
    double asking, looking; /* the work of that, and of the last share of one distance */
};

void middle_of(fmpz_t out, const fmpz_t lo, const fmpz_t hi, ulong near)
{
    fmpz_mul_ui(out, lo, 4);
    fmpz_add_ui(out, out, near);
    if (fmpz_cmp(hi, out) > 0) {
        fmpz_add_ui(out, lo, 1);
        fmpz_mul(out, out, hi);
        fmpz_sqrt(out, out);
    } else {
        fmpz_add(out, lo, hi);
        fmpz_fdiv_q_2exp(out, out, 1);
    }
}

static int test(struct search *s, const fmpz_t j)
{
    double before = s->budget->done;
    int sign = field_test(s->f, s->value, s->m, j, s->epsilon);
    s->asking = s->budget->done - before;
    return sign;
}

/* 1 if too little work is left for another test. */
static int is_spent(const struct search *s)
{
    if (budget_left(s->budget) > s->asking)
        return 0;
    budget_stop(s->budget, NARROWING);
    return 1;
}

/* The share of distance j: 1, or 0 if too little work is left for that and a test. */
static int look(arb_t term, struct search *s, const fmpz_t j)
{
    double before = s->budget->done;
    if (budget_left(s->budget) <= fmax(s->asking, s->looking)) {
        budget_stop(s->budget, NARROWING);
        return 0;
    }
    shares_term(term, s->m, j);
    s->looking = s->budget->done - before;
    return 1;
}

/* A guess from the comparison at j, as if the share beyond j fell as a power of j. 1 or 0. */
static int guess(fmpz_t out, struct search *s, const fmpz_t j)
{
    slong prec = 64 + (slong)fmpz_bits(j);
    LOCAL(arb, outside, target, term, x);
    if (!look(term, s, j))
        return 0;
    arb_set_fmpq(target, s->epsilon, prec);
    arb_get_mid_arb(outside, s->value);
    arb_sub(outside, target, outside, prec);
    arb_mul_fmpz(term, term, j, prec);
    int ok = arb_is_positive(outside) && arb_is_positive(term);
    if (ok) { /* j (outside / target)^(outside / (j f)) */
        arb_div(x, outside, target, prec);
        arb_log(x, x, prec);
        arb_mul(x, x, outside, prec);
        arb_div(x, x, term, prec);
        arb_exp(x, x, prec);
        arb_mul_fmpz(x, x, j, prec);
        ok = arb_is_finite(x) && arf_cmpabs_2exp_si(arb_midref(x), NEAR_BITS) < 0;
        if (ok)
            arf_get_fmpz(out, arb_midref(x), ARF_RND_FLOOR);
    }
    return ok;
}

/* Narrows (no, yes] around the undecided distance j, below it or above: away from it in growing
 * steps, the first as wide as the ball of the comparison is in distances, then back by halves. */
static void close_in(struct search *s, const fmpz_t unknown, const fmpz_t width, int down)
{
    LOCAL(fmpz, edge, step, j, span);
    fmpz_set(edge, unknown);
    fmpz_set(step, width);
    int decided = 0;
    for (int tries = 0; tries < 500 && (down || s->f->bounded) && !is_spent(s); tries++) {
        fmpz_sub(span, edge, down ? s->f->no : s->f->yes);
        fmpz_abs(span, span);
        fmpz_mul_2exp(j, span, 6);
        if (fmpz_cmp_ui(span, 1) <= 0 ||
            (decided && fmpz_cmp(j, width) <= 0)) /* the rest is not worth it */
            break;
        fmpz_mul_2exp(j, step, 1);
        if (decided || fmpz_cmp(j, span) > 0)
            fmpz_fdiv_q_2exp(step, span, 1);
        if (down)
            fmpz_sub(j, edge, step);
        else
            fmpz_add(j, edge, step);
        if (test(s, j) == 0) {
            fmpz_set(edge, j);
            fmpz_mul_2exp(step, step, 1);
        } else {
            decided = 1;
        }
    }
}

/* How many distances at j make up the radius of the last comparison, at least 1. 1 or 0. */
static int ball_width(fmpz_t out, struct search *s, const fmpz_t j)
{
    LOCAL(arb, radius, term);
    if (!look(term, s, j))
        return 0;
    fmpz_one(out);
    arb_get_rad_arb(radius, s->value);
    arb_div(radius, radius, term, 64);
    if (arb_is_finite(radius) && arf_cmpabs_2exp_si(arb_midref(radius), NEAR_BITS) < 0 &&
        arf_cmp_si(arb_midref(radius), 1) > 0)
        arf_get_fmpz(out, arb_midref(radius), ARF_RND_FLOOR);
    return 1;
}

/* Brings no and yes together as far as this precision allows. */
static void narrow(struct search *s)
{
    int steps = 0, guessed = 0;
    LOCAL(fmpz, j, next);
    if (!s->f->bounded) /* ever farther */
        for (slong bits = 1; bits <= NEAR_BITS && !s->f->bounded && !is_spent(s);
             bits = bits < NEAR_BITS && 2 * bits > NEAR_BITS ? NEAR_BITS : 2 * bits) {
            fmpz_one_2exp(j, (ulong)bits);
            if (fmpz_cmp(j, s->f->no) <= 0)
                continue;
            int known = test(s, j);
            if (known == 0) {
                if (ball_width(next, s, j))
                    close_in(s, j, next, 1);
                int late = 0; /* an end is worth a few more questions */
                for (bits++; bits <= NEAR_BITS && !s->f->bounded && late < LATE;
                     bits += 1 + bits / 4) {
                    late += is_spent(s);
                    fmpz_one_2exp(next, (ulong)bits);
                    test(s, next);
                }
                if (ball_width(next, s, j))
                    close_in(s, j, next, 0);
                return;
            }
            if (bits == NEAR_BITS)
                break;
        }
    while (s->f->bounded && !is_spent(s)) {
        fmpz_sub(next, s->f->yes, s->f->no);
        if (fmpz_cmp_ui(next, 1) <= 0)
            break;
        if (!guessed || steps % 4 == 3)
            middle_of(j, s->f->no, s->f->yes, 4);
        if (fmpz_cmp(j, s->f->no) <= 0)
            fmpz_add_ui(j, s->f->no, 1);
        if (fmpz_cmp(j, s->f->yes) >= 0)
            fmpz_sub_ui(j, s->f->yes, 1);
        if (test(s, j) == 0) {
            if (ball_width(next, s, j)) {
                close_in(s, j, next, 1);
                close_in(s, j, next, 0);
            }
            break;
        }
        guessed = guess(next, s, j);
        if (guessed)
            fmpz_set(j, next);
        steps++;
    }
}

/* ---- beyond numbers with SERIES_DIGITS_MAX digits ---- */

/* Asks about mantissa * 2^exponent: 1 if the field is surely below (want 1), or may be (-1). */
static int stops_at(struct search *s, int want, ulong mantissa, const fmpz_t exponent)
{
    LOCAL(arb, j);
    arb_set_ui(j, mantissa);
    arb_mul_2exp_fmpz(j, j, exponent);
    int sign = field_test_far(s->f, s->m, j, s->epsilon);
    return want == 1 ? sign == 1 : sign != -1;
}

/* Finds the largest j with sign -1 (want -1), or the least with sign 1 (want 1), whose logarithm is
 * right to some 15 digits. First j = 2^y, y doubled up to 2^1000 and then halved in, then the 60
 * bits after the first. */
static void far_boundary(struct search *s, int want)
{
    int found = 0;
    LOCAL(fmpz, y, inside, outside, difference);
    fmpz_set_ui(y, NEAR_BITS);
    fmpz_set(inside, y);
    for (int k = 0; k < 985 && !found && !budget_spent(s->budget, NARROWING); k++) {
        fmpz_mul_2exp(y, y, 1);
        found = stops_at(s, want, 1, y);
        fmpz_set(found ? outside : inside, y);
    }
    for (fmpz_sub(difference, outside, inside); found && !budget_spent(s->budget, NARROWING);
         fmpz_sub(difference, outside, inside)) {
        fmpz_mul_2exp(y, difference, 55);
        if (fmpz_is_one(difference) || fmpz_cmp(y, inside) <= 0)
            break;
        fmpz_add(y, inside, outside);
        fmpz_fdiv_q_2exp(y, y, 1);
        fmpz_set(stops_at(s, want, 1, y) ? outside : inside, y);
    }
    if (!found || !fmpz_is_one(difference))
        return;
    ulong low = (ulong)1 << 60, high = (ulong)1 << 61;
    fmpz_sub_ui(y, inside, 60);
    while (high - low > 1 && !budget_spent(s->budget, NARROWING)) {
        ulong half = low + (high - low) / 2;
        if (stops_at(s, want, half, y))
            high = half;
        else
            low = half;
    }
}

/* ---- precision ---- */

/* Bits that tell the counts near `yes` apart. */
static slong needed_precision(struct search *s)
{
    slong bits = 0;
    LOCAL(arb, term);
    shares_term(term, s->m, s->f->yes);
    if (arb_is_positive(term) && fmpz_fits_si(ARF_EXPREF(arb_midref(term))))
        bits = -fmpz_get_si(ARF_EXPREF(arb_midref(term)));
    return bits < 0 ? 16 : bits + 16;
}

/* 1 if every sum that needs it is known in closed form, so that precision is cheap. */
static int is_closed(const struct summand *f)
{
    int closed = 1, vanishes;
    LOCAL(arb, x, t);
    for (int k = 0; k < f->proof.pieces && closed; k++) {
        const struct piece *piece = &f->proof.piece[k];
        if (piece->kind == PIECE_ROUGH)
            closed = 0;
        if (piece->kind != PIECE_SMOOTH)
            continue;
        arb_set_fmpz(t, piece->first);
        arb_add_ui(t, t, 64, 64);
        closed &= antiderivative(x, &vanishes, f->problem.pool, piece->root, t, 64);
    }
    return closed;
}

int search_field(struct field *out, arb_ptr total, const struct question *q, const fmpq_t epsilon)
{
    struct search s = {.f = out, .epsilon = epsilon, .budget = q->summand[0]->problem.pool->budget};
    int failed = 0, done = 0, closed = 1, waves = search_has_waves(q);
    for (int i = 0; i < q->count; i++)
        closed &= is_closed(q->summand[i]);
    slong most = closed ? CLOSED_PREC_MAX : PREC_MAX, need = 0;
    slong small = (slong)fmpz_bits(fmpq_denref(epsilon)) - (slong)fmpz_bits(fmpq_numref(epsilon)),
          first = SERIES_PREC + (small > 32 ? small : 0);
    LOCAL(fmpz, span);
    LOCAL(arb, sum);
    arb_init(s.value);
    for (int attempt = waves && q->limit ? 0 : 1;
         attempt < 5 && !done && (attempt < 2 || !budget_spent(s.budget, NARROWING)); attempt++) {
        slong prec = attempt == 0   ? 64
                     : attempt == 1 ? first
                     : attempt == 2 ? need + 48
                     : attempt == 3 ? need + 160
                                    : need + 320;
        if (attempt >= 2 && prec <= first)
            continue;
        if ((attempt == 4 && need > 400) || (attempt > 2 && prec > most))
            break;
        const struct sums_kept *sums = kept_shares(q, prec > most ? most : prec, attempt == 0);
        if (!sums) {
            failed = -1;
            break;
        }
        s.m = sums->shares;
        if (shares_unknown(s.m)) {
            failed = done = 1;
        } else {
            narrow(&s);
            shares_total(sum, s.m);
            if (total)
                ball_narrow(total, sum); /* sharper ones that the work ended with may be wider */
            fmpz_sub(span, out->yes, out->no);
            int settled = out->bounded && fmpz_is_one(span);
            if (attempt >= 1 && !out->bounded) { /* not known to be below 2^NEAR_BITS */
                if (fmpz_bits(out->no) > NEAR_BITS)
                    far_boundary(&s, -1);
                far_boundary(&s, 1);
                done = 1;
            }
            /* in balls a long run of waves would take too long */
            done |= settled || (attempt >= 1 && sums->exhausted) ||
                    (attempt == 0 && fmpz_cmp_ui(out->yes, WAVES_MAX) > 0);
            if (!done && out->bounded)
                need = needed_precision(&s);
        }
    }
    arb_clear(s.value);
    return failed;
}
