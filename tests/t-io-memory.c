/* What the system says of its memory, and refusals of what is more. */
#include "io/system/confine.h"
#include "io/system/memory.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

static void test_memory(void **state)
{
    (void)state;
    struct error e = {""};
    size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
           available = memory_available();
    if (available < 1 << 20 || available > all)
        fail_msg("%zu bytes available of %zu", available, all);
    assert_int_equal(memory_check(1 << 20, "some", &e), 0);
    assert_int_equal(memory_check(2 * all, "file.h5", &e), -1);
    assert_int_equal(check_message("too much", &e,
                                   "file.h5: needs | bytes of memory, and | are free"),
                     0);
    assert_null(confine_memory(2 * all, "file.h5", &e));
    assert_int_equal(check_message("too much to share", &e, "file.h5: needs"), 0);
}

/* Powers of 1000; the digits never reach the next unit. */
static void test_text(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 kB"},           {1, "1 kB"},       {999e3, "999 kB"},
                 {999001, "1.0 MB"},    {1.5e6, "1.5 MB"}, {999.9e6, "999.9 MB"},
                 {999.96e6, "1.00 GB"}, {16e9, "16.00 GB"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BYTES_TEXT];
        assert_string_equal(bytes_text(text, cases[i].bytes), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
