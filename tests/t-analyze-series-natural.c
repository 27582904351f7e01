/* Biases as people write them (tests/goldens/series/natural.tsv): each is decided but those named
 * here, none wrongly, and all fields but those named here are the exact integer. */
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

/* With an interval for a field. */
static const char *const LOOSE[] = {
    "-(1+2*ln(ln(3+t))/ln(3+t))*ln(3+t)",
    "-ln(3+t)-ln(ln(3+t))-ln(ln(3+t))^0.5",
    "-ln(1+t)-ln(1+t)^0.1",
    "-ln(2+t)-exp(sqrt(ln(ln(2+t)+3)))",
    "-ln(3+t)-ln(1+t)^0.1",
    "-ln(1+t)-ln(1+t)^0.1-1.5*ln(ln(3+t))",
    "-ln(3+t)-ln(3+t)^0.1+5*ln(ln(3+t))",
    "-ln(1+t)-exp(sqrt(ln(ln(3+t))))",
    "ln(max(0,cos(t/11)))-1.3*ln(1+t)",
    /* waves that do not come back after whole distances: their worst values bound the tail beyond
       2^16 */
    "-ln(1+t)*(2.5+sin(t))",
    "-2*ln(1+t)*(1+sin(t)/4)",
    "sin(t/1000)-t/1e5",
    "5*cos(6.28*t)-t/1e5",
    "-1.5*ln(1+t)+sin(t)",
    "ln(sin(t)^2)-1.5*ln(1+t)",
    "ln(1-sin(t/6))-1.6*ln(3+t)",
    "ln((1+cos(t/10))/(1+t)^1.5)",
    "-1.2*ln(1+t)+sin(t)+0.5*cos(3*t+1)",
    "ln(1.001+cos(t))-1.2*ln(1+t)",
    "-1.1*ln(1+t)+sin(t)",
    "-ln(2+t)-2*ln(ln(2+t))+sin(t)",
    "t==0?0:2*ln(abs(sin(t/50)/(t/50)))",
    "-2*sqrt(t+4)+sqrt(t)+sqrt(t+1)-1.2*ln(1+t)", /* roots that cancel: many digits of each are lost
                                                     far out */
    "-floor(ln(1+t)/ln(2))", /* the floor of a logarithm: its worst values */
    /* a peak so far out that double does not tell it: there is no end */
    "40*t-t*ln(1+t)",
    "50*t-t*ln(1+t)",
    "60*t-t*ln(2+3*t)",
    "1000*t-t*ln(1+t)",
    /* ties, told as two neighbours */
    "ln(1/(1+t)-1/(2+t))",
    "ln(1/(1+t)^2-1/(2+t)^2)",
    "-ln(1+t)-ln(2+t)",
    NULL,
};

/* Undecided: waves that decide how often f is large, 1/(1+u) that cancels 1 far out, and sums to t.
 */
static const char *const OPEN[] = {
    "ln(1-1/(1+exp(-sqrt(t))))",
    "ln(1-1/(1+exp(-t^2/50)))",
    "-(1+cos(t))*ln(1+t)",
    "-ln(1+t)*(1.5+sin(t))",
    "-ln(1+t)*(1+0.2*sin(t))",
    "sin(t)>0?-ln(1+t):-2*ln(1+t)",
    "sin(t)>0?0:-inf",
    "-sum(i,1,t,ln(i))",
    "-sum(i,1,t,1/i)",
    "-2*sum(i,1,t,1/i)",
    "-sum(i,0,t,i)",
    "-sum(i,1,t,1/sqrt(i))",
    "-1.5*sum(i,1,t,1/i)",
    "-2*sum(i,0,t,1/(2*i+1))-ln(1+t)/4",
    "2*sum(i,1,t,ln(i))-sum(i,1,2*t,ln(i))",
    "sum(i,1,2*t,ln(i))-2*sum(i,1,t,ln(i))-2*t*ln(2)-ln(1+t)",
    NULL,
};

static int is_among(const char *const *list, const char *text)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
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
    FILE *file = fopen("tests/goldens/series/natural.tsv", "r");
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
        if (found != (is_among(OPEN, text) ? SERIES_UNDECIDED
                      : *verdict == 'C'    ? SERIES_CONVERGES
                                           : SERIES_DIVERGES))
            fail_msg("'%s' %s (expected %s): %s", text, series_verdict_name(found), verdict,
                     series_proof(s));
        int known = found == SERIES_CONVERGES && check_field(s, text, field);
        if (found == SERIES_CONVERGES && known == is_among(LOOSE, text)) {
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
