/* The part of cmocka that the kernel tests use, for machines without it; `make gpu-check` takes the real one where it is. */
#ifndef REACH_BENCH_GPU_CMOCKA_H
#define REACH_BENCH_GPU_CMOCKA_H

#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};
#define cmocka_unit_test(f) \
    { \
#f, f \
    }

/* Ends the running test as failed (1) or skipped (2). */
_Noreturn void cmocka_end(int outcome);
int cmocka_run(const char *group, const struct CMUnitTest *tests, size_t count, int (*setup)(void **), int (*teardown)(void **));
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
    cmocka_run(name, tests, sizeof(tests) / sizeof *(tests), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run(#tests, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define fail_msg(...) (fprintf(stderr, "ERROR: " __VA_ARGS__), fprintf(stderr, " (%s:%d)\n", __FILE__, __LINE__), cmocka_end(1))
#define skip() cmocka_end(2)
#define assert_true(x) \
    do { \
        if (!(x)) \
            fail_msg("not true: %s", #x); \
    } while (0)
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_null(x) assert_true((x) == NULL)
#define assert_int_equal(a, b) assert_true((long long)(a) == (long long)(b))
#define assert_int_not_equal(a, b) assert_true((long long)(a) != (long long)(b))
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)

#endif
