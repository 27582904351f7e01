/* Files without a name: what is written comes back, nothing is seen of them, and a place that
 * cannot hold them is told. */
#include "io/system/spill.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { BYTES = 300000 };

static void test_comes_back(void **state)
{
    unsigned char *there = malloc(BYTES), *back = calloc(1, BYTES);
    struct error e;
    struct spill *s = spill_open(scratch_folder, BYTES, "things", &e);
    (void)state;
    assert_true(there && back && s);
    assert_int_equal(scratch_count(scratch_folder), 0);
    for (size_t i = 0; i < BYTES; i++)
        there[i] = (unsigned char)(i * 31 + i / 251);
    /* out of order, at odd places, and once more over what is there */
    assert_int_equal(spill_write(s, 100001, there + 100001, BYTES - 100001, &e), 0);
    assert_int_equal(spill_write(s, 0, there + 7, 100001, &e), 0);
    assert_int_equal(spill_write(s, 0, there, 100001, &e), 0);
    for (size_t at = 0, now; at < BYTES; at += now) {
        now = BYTES - at < 4099 ? BYTES - at : 4099;
        assert_int_equal(spill_read(s, at, back + at, now, &e), 0);
    }
    assert_memory_equal(there, back, BYTES);
    assert_int_equal(spill_read(s, BYTES - 1, back, 2, &e), -1);
    assert_int_equal(check_message("after its end", &e, "things|cannot read"), 0);
    spill_close(s);
    assert_int_equal(scratch_count(scratch_folder), 0);
    spill_close(NULL);
    free(there), free(back);
}

static void test_places(void **state)
{
    struct error e;
    struct spill *s;
    char byte = 1;
    (void)state;
    assert_null(spill_open(scratch_path(scratch_folder, "nowhere"), 10, "things", &e));
    assert_int_equal(check_message("no folder", &e, "nowhere|things|10 bytes|No such file"), 0);
    assert_null(spill_open(scratch_write(scratch_folder, "file", "x", 1), 10, "things", &e));
    assert_int_equal(check_message("a file", &e, "file|Not a directory"), 0);
    assert_null(
        spill_open("/proc", 10, "things", &e)); /* nothing can be made there, whoever asks */
    assert_int_equal(check_message("not to be written to", &e,
                                   "/proc|things|expected a writable folder"),
                     0);
    /* more than any disk has: at once, and without filling it */
    assert_null(spill_open(scratch_folder, (size_t)1 << 60, "things", &e));
    assert_int_equal(check_message("a full disk", &e, "things|No space left"), 0);
    assert_null(spill_open(scratch_folder, SIZE_MAX, "things", &e));
    assert_int_equal(check_message("too large", &e, "things|File too large"), 0);
    scratch_limit(1000);
    assert_null(spill_open(scratch_folder, 1001, "things", &e));
    assert_int_equal(check_message("a limit", &e, "1001 bytes|File too large"), 0);
    s = spill_open(scratch_folder, 1000, "things", &e);
    assert_non_null(s);
    assert_int_equal(spill_write(s, 1000, &byte, 1, &e), -1);
    assert_int_equal(check_message("after a limit", &e,
                                   "cannot write 1 bytes of things|File too large"),
                     0);
    scratch_unlimit();
    spill_close(s);
    assert_int_equal(scratch_count(scratch_folder), 1); /* "file" */
}

static void test_map(void **state)
{
    struct error e;
    unsigned char *m;
    (void)state;
    assert_int_equal(setenv("TMPDIR", scratch_folder, 1), 0);
    m = spill_map(BYTES, "things", &e);
    assert_non_null(m);
    for (size_t i = 0; i < BYTES; i += 997)
        assert_int_equal(m[i], 0);
    memset(m, 3, BYTES);
    assert_int_equal(munmap(m, BYTES), 0);
    assert_null(spill_map((size_t)1 << 60, "things", &e));
    assert_int_equal(check_message("a full disk", &e, "things|No space left|TMPDIR"), 0);
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    assert_null(spill_map(10, "things", &e));
    assert_int_equal(check_message("no folder", &e, "/nonexistent|No such file"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comes_back),
                                       cmocka_unit_test(test_places), cmocka_unit_test(test_map)};
    return cmocka_run_group_tests_name("spill", tests, scratch_setup, scratch_teardown);
}
