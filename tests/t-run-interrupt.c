/* Signals: what is half written is removed, and no thread that computes runs a handler. */
#include "run/interrupt.h"
#include "io/system/atomic.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
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

/* -- held -- */

/* What a process with a file half written does, to which signals come; another thread takes them.
 */
static void get_one(void)
{
    kill(getpid(), SIGTERM);
    while (!interrupt_wanted())
        sched_yield();
}

static void held_once(void)
{
    interrupt_hold();
    get_one();
    if (scratch_count(scratch_folder) != 1)
        _exit(5);
    interrupt_release();
}

static void held_twice(void)
{
    interrupt_hold();
    get_one();
    get_one();
    for (;;)
        pause();
}

static void held_in_vain(void)
{
    interrupt_hold();
    interrupt_release();
    interrupt_hold();
    interrupt_release();
}

static void not_held(void)
{
    get_one();
    for (;;)
        pause();
}

/* Signals from another thread, and the hold of this one between them. */
static void *send_one(void *nothing)
{
    kill(getpid(), SIGTERM);
    return nothing;
}

static void held_by_two(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, send_one, NULL) != 0)
        _exit(5);
    for (;;) {
        interrupt_hold();
        if (scratch_count(scratch_folder) != 1)
            _exit(6);
        interrupt_release();
    }
}

enum { A_READER, FULL };

/* Runs `act` in a process; returns its exit status. What it says goes to `said`. */
static int run_held(void (*act)(void), int reader, char said[256])
{
    int ends[2], status;
    pid_t child;
    ssize_t size;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        struct error e = {""};
        struct atomic_file f = {0};

        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        alarm(20); /* SIGALRM: it hung */
        if (reader == FULL) {
            fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
            while (write(STDERR_FILENO, "x", 1) == 1)
                ;
            fcntl(STDERR_FILENO, F_SETFL, 0);
        }
        interrupt_name("erf");
        interrupt_apart();
        interrupt_end();
        if (atomic_open(&f, scratch_path(scratch_folder, "out"), &e))
            _exit(3);
        act();
        atomic_abandon(&f);
        _exit(7);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    size = reader == FULL ? 0 : read(ends[0], said, 255);
    said[size > 0 ? size : 0] = '\0';
    close(ends[0]);
    if (!WIFEXITED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void test_held(void **state)
{
    static const struct {
        void (*act)(void);
        int reader, status;
        const char *said;
    } cases[] = {
        {held_once, A_READER, 1, "reach erf: interrupted\n"},
        {held_twice, A_READER, 1, "reach erf: interrupted\n"},
        {held_in_vain, A_READER, 7, ""},
        {not_held, A_READER, 1, "reach erf: interrupted\n"},
        {not_held, FULL, 1, ""},
        {held_once, FULL, 1, ""},
        {held_by_two, A_READER, 1, "reach erf: interrupted\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int again = 0; again < (cases[i].act == held_by_two ? 50 : 1); again++) {
            char said[256];
            int status = run_held(cases[i].act, cases[i].reader, said);

            if (status != cases[i].status || strcmp(said, cases[i].said) != 0 ||
                scratch_count(scratch_folder) != 0)
                fail_msg("case %zu: status %d (expected %d), %d files left, said %s", i, status,
                         cases[i].status, scratch_count(scratch_folder), said);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals), cmocka_unit_test(test_held),
                                       cmocka_unit_test(test_apart),
                                       cmocka_unit_test(test_apart_ends)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
