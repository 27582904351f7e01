/* The check of a product before a run: every set passes it, and a set that is made wrong does not.
 */
#include "kernels/ops.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* The entries of the set under test. */
static void (*right_linear)(struct kernels *, struct buffer *, const struct buffer *,
                            const struct weight *, const struct weight *, struct rows, int);
static void (*right_reverse)(struct kernels *, struct buffer *, const struct buffer *,
                             const struct weight *, struct rows, int);

static void spoil(struct kernels *k, struct buffer *b)
{
    double value;

    k->read(k, &value, b, 777, 1);
    value += 1;
    k->write(k, b, 777, &value, 1);
}

static void wrong_linear(struct kernels *k, struct buffer *y, const struct buffer *x,
                         const struct weight *w, const struct weight *bias, struct rows rows,
                         int accumulate)
{
    right_linear(k, y, x, w, bias, rows, accumulate);
    spoil(k, y);
}

static void wrong_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                          const struct weight *w, struct rows rows, int accumulate)
{
    right_reverse(k, dx, dy, w, rows, accumulate);
    spoil(k, dx);
}

static void require_wrong(struct kernels *k)
{
    struct error e = {""};

    if (kernels_check(k, &e) != -1 || strncmp(e.text, k->name, strlen(k->name)) != 0 ||
        !strstr(e.text, ": 1 of ") || !strstr(e.text, "are wrong"))
        fail_msg("%s %s: said \"%s\"", k->name, k->dtype, e.text);
}

static void test_check(void **state)
{
    (void)state;
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e = {""};
        struct kernels *k = kernel_sets[i].usable() ? kernel_sets[i].open(&e) : NULL;

        if (!k)
            continue;
        if (kernels_check(k, &e) != 0)
            fail_msg("%s %s: %s", k->name, k->dtype, e.text);
        right_linear = k->linear;
        k->linear = wrong_linear;
        require_wrong(k);
        k->linear = right_linear;
        right_reverse = k->linear_reverse;
        k->linear_reverse = wrong_reverse;
        require_wrong(k);
        k->linear_reverse = right_reverse;
        assert_int_equal(kernels_check(k, &e), 0);
        k->close(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_check)};
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
