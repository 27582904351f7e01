/* See cmocka.h. Prints as cmocka does, for tests/run.sh. */
#include <cmocka.h>
#include <setjmp.h>

static jmp_buf here;

void cmocka_end(int outcome)
{
    longjmp(here, outcome);
}

int cmocka_run(const char *group, const struct CMUnitTest *tests, size_t count, int (*setup)(void **), int (*teardown)(void **))
{
    static volatile int failed;
    void *state = NULL;
    printf("[==========] %s: %zu tests\n", group, count);
    if (setup && setup(&state) != 0)
        return 1;
    for (volatile size_t i = 0; i < count; i++) {
        int outcome = setjmp(here);
        if (outcome == 0)
            tests[i].test(&state);
        printf(outcome == 0 ? "[       OK ] %s\n" : outcome == 1 ? "[  FAILED  ] %s\n" : "[  SKIPPED ] %s\n", tests[i].name);
        failed += outcome == 1;
        fflush(stdout);
    }
    if (teardown)
        teardown(&state);
    return failed;
}
