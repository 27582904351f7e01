/* What comparisons say of the field. */
#include "analyze/series/proof/field.h"
#include "analyze/formula_private.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EPSILON_DIGITS = 1000 };

void field_init(struct field *f, const fmpz *limit)
{
    fmpz_init(f->no);
    fmpz_init(f->yes);
    arb_init(f->far_no);
    arb_init(f->far_yes);
    f->bounded = limit != NULL;
    if (limit)
        fmpz_set(f->yes, limit);
}

void field_clear(struct field *f)
{
    fmpz_clear(f->no);
    fmpz_clear(f->yes);
    arb_clear(f->far_no);
    arb_clear(f->far_yes);
}

int field_epsilon(fmpq_t out, const char *text, struct formula_error *e)
{
    size_t length = decimal_length(text), exponent = strcspn(text, "eE");
    if (length == 0 || text[length])
        return formula_refuse(e, 0, "epsilon '%.40s' is not a decimal number between 0 and 1",
                              text);
    if (length > EPSILON_DIGITS ||
        (text[exponent] && labs(strtol(text + exponent + 1, NULL, 10)) > EPSILON_DIGITS))
        return formula_refuse(e, 0, "epsilon '%.40s' has too many digits (expected at most %d)",
                              text, EPSILON_DIGITS);
    decimal_exact(out, text);
    if (fmpq_sgn(out) <= 0 || fmpz_cmp(fmpq_numref(out), fmpq_denref(out)) >= 0)
        return formula_refuse(e, 0,
                              "epsilon is %.40s (expected a number between 0 and 1, both excluded)",
                              text);
    return 0;
}

/* [6.3] */
int field_test(struct field *f, arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    int sign = shares_compare(value, m, j, epsilon);
    if (sign == 1 && (!f->bounded || fmpz_cmp(j, f->yes) < 0)) {
        fmpz_set(f->yes, j);
        f->bounded = 1;
    }
    if ((sign == -1 || sign == 0) && fmpz_cmp(j, f->no) > 0)
        fmpz_set(f->no, j);
    return sign == 2 ? 0 : sign == 1 ? 1 : -1;
}

/* [6.4] */
int field_test_far(struct field *f, const struct shares *m, const arb_t j, const fmpq_t epsilon)
{
    LOCAL(arb, share, target);
    shares_above(share, m, j);
    arb_set_fmpq(target, epsilon, 256);
    arb_sub(share, target, share, 256);
    if (arb_is_positive(share)) {
        if (arb_is_zero(f->far_yes) || arb_lt(j, f->far_yes))
            arb_set(f->far_yes, j);
        return 1;
    }
    if (arb_is_negative(share)) {
        if (arb_gt(j, f->far_no))
            arb_set(f->far_no, j);
        return -1;
    }
    return 0;
}

/* ---- results ---- */

void series_count_free(struct series_count *c)
{
    free(c->lo);
    free(c->hi);
    c->lo = c->hi = NULL;
}

int series_count_exact(const struct series_count *c)
{
    return c->lo && c->hi && strcmp(c->lo, c->hi) == 0;
}

/* One end: its logarithm, and its digits if they are not too many. */
static int report_end(char **digits, double *log10, const fmpz_t n, int up, struct formula_error *e)
{
    LOCAL(arb, x);
    arb_set_fmpz(x, n);
    *log10 = log10_bound(x, up);
    if (fmpz_sizeinbase(n, 10) > SERIES_DIGITS_MAX)
        return 0;
    char *text = fmpz_get_str(NULL, 10, n);
    *digits = strdup(text);
    flint_free(text);
    return *digits ? 0 : formula_refuse(e, 0, "out of memory");
}

/* [6.4] */
int field_report(struct series_count *out, const struct field *f, struct formula_error *e)
{
    LOCAL(fmpz, least);
    *out = (struct series_count){.log10_hi = INFINITY};
    fmpz_add_ui(least, f->no, 1);
    if (report_end(&out->lo, &out->log10_lo, least, 0, e) ||
        (f->bounded && report_end(&out->hi, &out->log10_hi, f->yes, 1, e))) {
        series_count_free(out);
        return -1;
    }
    if (!out->lo && !arb_is_zero(f->far_no))
        out->log10_lo = fmax(out->log10_lo, log10_bound(f->far_no, 0));
    if (!arb_is_zero(f->far_yes))
        out->log10_hi = fmin(out->log10_hi, log10_bound(f->far_yes, 1));
    return 0;
}
