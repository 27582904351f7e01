/* Counts of tokens for people. */
#include "run/trf/trf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS_SHOWN = 15 };

/* One end of a count: all digits of a short one, three of a long one, and then rounded down (up 0) or up (1), so that the count
 * lies between the ends that are printed. NULL digits: by the logarithm. */
static void end_text(char out[48], const char *digits, double log10, int up)
{
    size_t length = digits ? strlen(digits) : 0;

    if (digits && length <= DIGITS_SHOWN) {
        snprintf(out, 48, "%s", digits);
    } else if (digits) {
        int leading = 100 * (digits[0] - '0') + 10 * (digits[1] - '0') + digits[2] - '0';

        leading += up && strspn(digits + 3, "0") < length - 3;
        if (leading == 1000)
            snprintf(out, 48, "1.00e%zu", length);
        else
            snprintf(out, 48, "%d.%02de%zu", leading / 100, leading % 100, length - 1);
    } else if (log10 == INFINITY) {
        snprintf(out, 48, "inf");
    } else {
        char exponent[64];

        snprintf(out, 48, "10^%.40s", series_bound_text(exponent, log10, up, 10));
    }
}

void trf_count_text(char out[128], const struct series_count *c)
{
    char lo[48], hi[48];

    if (isnan(c->log10_lo)) {
        snprintf(out, 128, "-");
        return;
    }
    end_text(lo, c->lo, c->log10_lo, 0);
    end_text(hi, c->hi, c->log10_hi, 1);
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
