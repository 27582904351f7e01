/* Work in a process of its own: what comes back, and every way in which it can end. */
#include "io/system/confine.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 64 << 20 };

static int answer(FILE *out, void *context, struct error *e)
{
    (void)e;
    fprintf(out, "%s!D", (const char *)context);
    return 0;
}

static int answer_much(FILE *out, void *context, struct error *e)
{
    (void)e;
    for (size_t i = 0; i < *(size_t *)context; i++)
        fputc((int)(i % 251), out);
    return 0;
}

static int refuse(FILE *out, void *context, struct error *e)
{
    fputs("some output", out);
    return (fail)(e, "%s: the reason", (const char *)context);
}

static int write_shared(FILE *out, void *context, struct error *e)
{
    (void)out, (void)e;
    strcpy(context, "from the child");
    return 0;
}

static int crash(FILE *out, void *context, struct error *e)
{
    (void)e;
    fputs("D", out);
    fflush(out);
    raise(*(int *)context);
    return 0;
}

static int leave(FILE *out, void *context, struct error *e)
{
    (void)context, (void)e;
    fputs("D", out);
    fflush(out);
    _exit(3);
}

static int spin(FILE *out, void *context, struct error *e)
{
    (void)out, (void)e;
    while (*(volatile int *)context == 0)
        ;
    return 0;
}

static int devour(FILE *out, void *context, struct error *e)
{
    (void)out, (void)context;
    void *p = mmap(NULL, 4 * MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? (fail)(e, "no memory") : 0;
}

static void test_answers(void **state)
{
    (void)state;
    struct error e = {""};
    char *output;
    size_t size, much = (1 << 20) + 17;
    assert_int_equal(confine(&output, &size, answer, (void *)(uintptr_t) "yes", MEMORY, 5, "p", &e),
                     0);
    assert_int_equal(size, 5);
    assert_memory_equal(output, "yes!D", 5);
    free(output);
    assert_int_equal(confine(&output, &size, answer_much, &much, MEMORY, 5, "p", &e), 0);
    assert_int_equal(size, much);
    for (size_t i = 0; i < much; i++)
        if ((unsigned char)output[i] != i % 251)
            fail_msg("byte %zu differs", i);
    free(output);
    much = 0;
    assert_int_equal(confine(&output, &size, answer_much, &much, MEMORY, 5, "p", &e), 0);
    assert_int_equal(size, 0);
    free(output);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(confine(&output, &size, write_shared, shared, MEMORY, 5, "p", &e), 0);
    assert_string_equal(shared, "from the child");
    munmap(shared, 4096);
    free(output);
}

static void test_failures(void **state)
{
    (void)state;
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGTERM};
    struct error e = {""};
    char *output;
    size_t size;
    int never = 0;
    assert_int_equal(confine(&output, &size, refuse, (void *)(uintptr_t) "file", MEMORY, 5, "p",
                             &e),
                     -1);
    assert_string_equal(e.text, "file: the reason");
    assert_null(output);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int number = signals[i];
        assert_int_equal(confine(&output, &size, crash, &number, MEMORY, 5, "p", &e), -1);
        assert_int_equal(check_message("crash", &e, "p: is damaged|crashed"), 0);
        assert_null(output);
    }
    assert_int_equal(confine(&output, &size, leave, NULL, MEMORY, 5, "p", &e), -1);
    assert_int_equal(check_message("leave", &e, "p: is damaged"), 0);
    assert_int_equal(confine(&output, &size, spin, &never, MEMORY, 0, "p", &e), -1);
    assert_int_equal(check_message("spin", &e, "p: is damaged|time"), 0);
    assert_int_equal(confine(&output, &size, devour, NULL, MEMORY, 5, "p", &e), -1);
    assert_string_equal(e.text, "no memory");
    assert_int_equal(confine(&output, &size, devour, NULL, 16 * (size_t)MEMORY, 5, "p", &e), 0);
    free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
