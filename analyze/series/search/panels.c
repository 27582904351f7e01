/* Which order, panels and radii Euler-Maclaurin's formula is given. */
#include "analyze/series/search/search.h"

#include <math.h>

enum {
    FAILURES = 12, /* of panels, until another order is looked for */
    GUARD = 8 /* bits */
};

/* A sum whose panels are looked for. */
struct cover {
    struct euler *e;
    const struct budget *budget;
    double most_work; /* of the budget */
    slong most; /* order */
};

static int is_over(const struct cover *c)
{
    return c->budget->done >= c->most_work;
}

/* The least even order with a remainder below 2^-target on the first panel, or 0. */
static slong choose_order(const struct cover *c, const fmpz_t a, const fmpz_t b, double target)
{
    slong best = 0;
    double length = euler_length(a, b);
    int failures = 0;
    for (double r = 1; r <= (double)c->most && failures < 4 && !is_over(c); r *= 1.1892) {
        double size = euler_magnitude(c->e, a, b, r);
        if (size == EULER_UNKNOWN) {
            failures++;
            continue;
        }
        slong limit = (slong)(2 * M_PI * r);
        limit = best && best - 2 < limit ? best - 2 : limit < c->most ? limit : c->most;
        for (slong order = 2; order <= limit; order += 2)
            if (euler_remainder((double)order, r, size, length) <= -target) {
                best = order;
                break;
            }
    }
    return best;
}

/* Offers a panel with radii that suit it, until one will do. */
static double offer(const struct cover *c, const fmpz_t next, slong order, double target)
{
    struct euler *e = c->e;
    double best = EULER_UNKNOWN, near = (double)order / (2 * M_PI), far, wide;
    LOCAL(fmpz, width);
    fmpz_sub(width, next, euler_end(e));
    wide = fmpz_bits(width) < 1000 ? fmpz_get_d(width) : 0x1p1000;
    far = fmpz_bits(euler_end(e)) < 1000 ? fmpz_get_d(euler_end(e)) : 0x1p1000;
    for (int i = 0; i < (wide < far / 16 ? 14 : 10) && best > -target && !is_over(c); i++)
        best = euler_offer(e, next,
                           i < 4    ? ldexp(far, -1 - i)
                           : i < 10 ? near * ldexp(1, i - 4)
                                    : ldexp(wide, 10 - i));
    return best;
}

/* About a / b, b > 0. */
static double relative(const fmpz_t a, const fmpz_t b)
{
    slong above, below;
    double x = fmpz_get_d_2exp(&above, a), y = fmpz_get_d_2exp(&below, b);
    return x <= 0 ? 0
           : above - below > 1000
               ? INFINITY
               : ldexp(x / y, (int)(above - below > -1000 ? above - below : -1000));
}

/* Covers all up to `end` with panels. 0 if that is done, else an order that might do, or -1. */
static slong cover(const struct cover *c, const fmpz_t end, slong order, double target)
{
    struct euler *e = c->e;
    int panels = 0, failures = 0, patience = FAILURES;
    slong exponent;
    LOCAL(fmpz, next, base, width);
    fmpz_add_ui(base, euler_end(e), 8);
    fmpz_sub(width, end, base);
    /* a panel ends at its begin times 2^step, or so */
    double step = fmin(0.5, relative(width, base)), least = fmin(0x1p-24, step * 0x1p-12);
    euler_order(e, order);
    while (fmpz_cmp(euler_end(e), end) < 0) {
        const fmpz *a = euler_end(e);
        fmpz_add_ui(base, a, 8);
        double mantissa = fmpz_get_d_2exp(&exponent, base) * expm1(step * M_LN2);
        fmpz_set_d_2exp(width, mantissa, exponent);
        fmpz_add_ui(width, width, 1);
        fmpz_add(next, width, a);
        if (fmpz_cmp(next, end) > 0)
            fmpz_set(next, end);
        double wanted = target + panels * 0.01;
        if (offer(c, next, order, wanted) <= -wanted && euler_accept(e) == 0) {
            panels++;
            step = step < 8 ? 2 * step : step;
        } else {
            step /= 2;
            int least_step = step < 0.02 && (step < least || fmpz_cmp_ui(width, 8) < 0);
            if (least_step || ++failures == patience) { /* for want of a higher order? */
                patience *= 2;
                slong higher = choose_order(c, a, next, target + 64);
                if (higher > order || least_step)
                    return higher > order ? higher : -1;
            }
        }
    }
    return 0;
}

struct euler *search_euler(const struct expression_pool *p, int root, const fmpz_t N,
                           const fmpz_t end, slong prec, slong target, double most_work)
{
    struct euler *e = euler_new(p, root, N, prec, target);
    LOCAL(fmpz, b);
    if (!e)
        return NULL;
    if (fmpz_cmp(N, end) >= 0) { /* the sum of nothing */
        euler_order(e, 2);
        return e;
    }
    fmpz_fdiv_q_2exp(b, N, 2);
    fmpz_add(b, b, N);
    fmpz_add_ui(b, b, 4);
    if (fmpz_cmp(b, end) > 0)
        fmpz_set(b, end);
    struct cover c = {e, p->budget, most_work, prec / 2 + 64};
    slong order = choose_order(&c, N, b, (double)(target + GUARD));
    for (order = order ? order : -1; order > 0;)
        order = cover(&c, end, order, (double)(target + GUARD));
    if (order == 0)
        return e;
    euler_free(e);
    return NULL;
}
