/* Biases as people write them (tests/goldens/series/natural.tsv): none is decided wrongly, and but
 * for those of left.tsv each is decided, and each field is the exact integer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char left[1 << 14]; /* tests/goldens/series/left.tsv */

/* 1 if that is all that is told of it. */
static int is_left(const char *told, const char *text)
{
    char line[1024];
    snprintf(line, sizeof line, "\n%s\t%s\t", told, text);
    return strstr(left, line) != NULL;
}

/* The decimals of whole numbers, the longer one is larger. */
static int compare_digits(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    return n != m ? (n > m) - (n < m) : strcmp(a, b);
}

/* 1 if the field of the series is known exactly; fails if it does not contain the true one (empty:
 * not known). */
static int check_field(const struct series *s, const char *text, const char *field)
{
    struct formula_error e;
    struct series_count c;
    if (series_trf(s, "0.01", &c, &e))
        fail_msg("'%s': %s", text, e.message);
    if (*field &&
        ((c.lo && compare_digits(field, c.lo) < 0) || (c.hi && compare_digits(field, c.hi) > 0)))
        fail_msg("'%s': the field is in [%s, %s] (expected %s)", text, c.lo ? c.lo : "",
                 c.hi ? c.hi : "", field);
    int exact = series_count_exact(&c);
    series_count_free(&c);
    return exact;
}

static void test_natural(void **state)
{
    (void)state;
    char line[1024];
    int rows = 0, exact = 0, fields = 0, wrong = 0;
    FILE *file = fopen("tests/goldens/series/left.tsv", "r");
    assert_true(file && fread(left, 1, sizeof left - 1, file) > 0 && feof(file));
    fclose(file);
    file = fopen("tests/goldens/series/natural.tsv", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the header */
    while (fgets(line, sizeof line, file)) {
        char *rest = line, *family = strsep(&rest, "\t"), *text = strsep(&rest, "\t"),
             *verdict = strsep(&rest, "\t"), *field = strsep(&rest, "\t");
        assert_non_null(rest);
        struct formula_error e;
        struct formula *f = formula_parse(text, &e);
        struct series *s = f ? series_open(f, &(struct formula_point){0, 1, 1, 64, 0}, &e) : NULL;
        if (!s)
            fail_msg("%s '%s': %s", family, text, e.message);
        enum series_verdict found = series_verdict(s);
        if (found != (is_left("undecided", text) ? SERIES_UNDECIDED
                      : *verdict == 'C'          ? SERIES_CONVERGES
                                                 : SERIES_DIVERGES))
            fail_msg("'%s' %s (expected %s): %s", text, series_verdict_name(found), verdict,
                     series_proof(s));
        int known = found == SERIES_CONVERGES && check_field(s, text, field);
        if (found == SERIES_CONVERGES && known == is_left("interval", text)) {
            print_message("%s '%s': the field is %sexact\n", family, text, known ? "" : "not ");
            wrong++;
        }
        rows++;
        fields += *verdict == 'C';
        exact += known;
        series_free(s);
        formula_free(f);
    }
    fclose(file);
    print_message("%d rows; %d of %d fields exact\n", rows, exact, fields);
    assert_true(rows > 110);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_natural)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
