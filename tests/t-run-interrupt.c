/* Signals: what is half written is removed, and no thread that computes runs a handler. */
#include "run/interrupt.h"
#include "io/system/atomic.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
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
            if (!WIFEXITED(status) || WEXITSTATUS(status) != cases[i].status ||
                scratch_count(scratch_folder))
                fail_msg("case %zu, signal %d: status %#x, %d files left", i, numbers[k],
                         (unsigned)status, scratch_count(scratch_folder));
        }
}

/* -- apart -- */

static _Thread_local int is_main;
static atomic_int on_main, handled;

static void look(int number)
{
    (void)number;
    atomic_fetch_add(&on_main, is_main);
    atomic_fetch_add(&handled, 1);
}

/* Neither the thread that asked nor one that it starts runs a handler; the program gets every
 * signal. */
static void *send(void *nothing)
{
    (void)nothing;
    is_main = 1;
    for (int i = 1; i <= 50; i++) {
        kill(getpid(), i % 2 ? SIGINT : SIGTERM);
        while (atomic_load(&handled) < i)
            sched_yield();
    }
    return NULL;
}

static void test_apart(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        pthread_t thread;
        interrupt_apart();
        interrupt_apart(); /* once is enough */
        signal(SIGINT, look);
        signal(SIGTERM, look);
        send(NULL);
        atomic_store(&handled, 0);
        if (pthread_create(&thread, NULL, send, NULL) != 0 || pthread_join(thread, NULL) != 0)
            _exit(1);
        _exit(atomic_load(&on_main) ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* What the program does about a signal stays as it is: without a handler it ends, with the first
 * stops, with the second ends. */
static void test_apart_ends(void **state)
{
    (void)state;
    for (int watched = 0; watched < 2; watched++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            interrupt_apart();
            if (watched)
                interrupt_watch();
            kill(getpid(), SIGTERM);
            while (!interrupt_wanted())
                sched_yield();
            kill(getpid(), SIGTERM);
            for (;;)
                sched_yield();
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (watched)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals), cmocka_unit_test(test_apart),
                                       cmocka_unit_test(test_apart_ends)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
