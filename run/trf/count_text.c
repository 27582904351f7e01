/* Counts of tokens for people. */
#include "run/trf/trf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS_SHOWN = 15, LEADING_LEAST = 3, LEADING_MOST = 12 };

/* One end of a count: all digits if short, else `leading` ones, rounded down (up 0) or up (1), so
 * that the count is between the printed ends. NULL digits: from the logarithm. */
static void end_text(char out[48], const char *digits, double log10, int leading, int up)
{
    size_t length = digits ? strlen(digits) : 0;

    if (digits && length <= DIGITS_SHOWN) {
        snprintf(out, 48, "%s", digits);
    } else if (digits) {
        char first[LEADING_MOST + 1];

        int carry = up && strspn(digits + leading, "0") < length - (size_t)leading;

        snprintf(first, sizeof first, "%.*s", leading, digits);
        for (int i = leading - 1; carry && i >= 0; i--) {
            carry = first[i] == '9';
            first[i] = carry ? '0' : (char)(first[i] + 1);
        }
        if (carry) {
            first[0] = '1';
            length++;
        }
        snprintf(out, 48, "%c.%se%zu", first[0], first + 1, length - 1);
    } else if (log10 == INFINITY) {
        snprintf(out, 48, "inf");
    } else {
        char exponent[64];

        snprintf(out, 48, "10^%.40s", series_bound_text(exponent, log10, up, 10));
    }
}

/* Digits needed to distinguish two long counts. */
static int leading_digits(const struct series_count *c)
{
    int leading = LEADING_LEAST;

    if (c->lo && c->hi && !series_count_exact(c) && strlen(c->lo) == strlen(c->hi))
        while (leading < LEADING_MOST && strncmp(c->lo, c->hi, (size_t)leading) == 0)
            leading++;
    return leading;
}

void trf_count_text(char out[128], const struct series_count *c)
{
    char lo[48], hi[48];

    if (isnan(c->log10_lo)) {
        snprintf(out, 128, "-");
        return;
    }
    int leading = leading_digits(c);
    end_text(lo, c->lo, c->log10_lo, leading, 0);
    end_text(hi, c->hi, c->log10_hi, leading, 1);
    if (series_count_exact(c)) {
        size_t length = strlen(c->lo);

        if (length > DIGITS_SHOWN) /* the nearer of the two ends */
            snprintf(out, 128, "%s (%zu digits)", length > 3 && c->lo[3] >= '5' ? hi : lo, length);
        else
            snprintf(out, 128, "%s", lo);
    } else if (c->log10_hi == INFINITY) {
        snprintf(out, 128, ">= %s", lo);
    } else {
        snprintf(out, 128, "[%s, %s]", lo, hi);
    }
}
