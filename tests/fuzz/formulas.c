/* Targets: formulas, evaluated in double and as rigorous series. */
#include "tests/fuzz/fuzz.h"

#include "analyze/formula.h"
#include "analyze/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parses the input and gives every parameter a value; NULL if it is not a formula. */
static struct formula *parse(const uint8_t *data, size_t size)
{
    struct formula_error e = {0};
    char *text = fuzz_text(data, size);
    struct formula *f = formula_parse(text, &e);
    free(text);
    if (!f && (!e.message[0] || e.at > size))
        abort();
    const char *one_half = "0.5";
    for (const char *missing; f && (missing = formula_missing(f));)
        if (formula_set(f, missing, &one_half, 1, &e))
            abort();
    return f;
}

int fuzz_formula(const uint8_t *data, size_t size)
{
    enum { HEADS = 2, DISTANCES = 3 };
    struct formula *f = parse(data, size);
    struct formula_error e = {0};
    double table[HEADS * DISTANCES];
    if (!f)
        return 0;
    int result = formula_table(table, f, HEADS, 64, DISTANCES, 2048, &e);
    if (result && !e.message[0])
        abort();
    for (int h = 1; h <= HEADS; h++)
        for (int t = 0; t < DISTANCES; t++) {
            const struct formula_point at = {
                .t = t, .h = h, .heads = HEADS, .head_size = 64, .length = 2048};
            double value = formula_evaluate(f, &at), *kept = &table[(h - 1) * DISTANCES + t];
            if (result == 0 && memcmp(&value, kept, sizeof value))
                abort();
        }
    formula_free(f);
    return 1;
}

static void check_count(struct series_count *count)
{
    if (count->log10_lo > count->log10_hi)
        abort();
    series_count_free(count);
}

int fuzz_series(const uint8_t *data, size_t size)
{
    const struct formula_point at = {.t = 0, .h = 1, .heads = 2, .head_size = 64, .length = 128};
    struct formula_error e = {0};
    struct series_count count;
    double lo, hi;
    struct formula *f = parse(data, size);
    if (!f)
        return 0;
    struct series *s = series_open(f, &at, &e);
    if (s) {
        series_sum(s, &lo, &hi);
        if (!(lo <= hi) || !*series_proof(s))
            abort();
        if (series_trf(s, "0.01", &count, &e) == 0)
            check_count(&count);
        if (series_trf_finite(s, "0.01", 128, &count, &lo, &hi, &e) == 0) {
            int unknown = isnan(count.log10_lo) && lo == 0 &&
                          isinf(hi); /* a value may be no number */
            if (!(lo <= hi) || !(count.log10_hi <= 3 || unknown))
                abort();
            check_count(&count);
        }
        char text[128];
        series_closed_form(s, 0.01, &lo, text);
    } else if (!e.message[0]) {
        abort();
    }
    series_free(s);
    formula_free(f);
    return s != NULL;
}
