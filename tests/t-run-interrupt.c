/* Signals: what is half written is removed. */
#include "run/interrupt.h"
#include "io/atomic.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process with a file half written that gets `count` signals. */
static void half_written(void (*install)(void), int number, int count)
{
    struct error e = {""};
    struct atomic_file f = {0};
    install();
    if (atomic_open(&f, scratch_path(scratch_folder, "out"), &e))
        _exit(3);
    for (int i = 0; i < count; i++)
        raise(number);
    atomic_abandon(&f);
    _exit(interrupt_wanted() ? 2 : 3);
}

static void test_signals(void **state)
{
    (void)state;
    static const struct {
        void (*install)(void);
        int count, status;
    } cases[] = {{interrupt_watch, 1, 2}, {interrupt_watch, 2, 1}, {interrupt_end, 1, 1}};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 3; k++) {
            int status;
            signal(SIGHUP, SIG_DFL);
            pid_t child = fork();
            if (child == 0)
                half_written(cases[i].install, numbers[k], cases[i].count);
            assert_int_equal(waitpid(child, &status, 0), child);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != cases[i].status || scratch_count(scratch_folder))
                fail_msg("case %zu, signal %d: status %#x, %d files left", i, numbers[k], (unsigned)status,
                         scratch_count(scratch_folder));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
