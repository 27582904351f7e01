/* Signals of a long run. */
#include "run/interrupt.h"

#include "io/system/atomic.h"
#include "plots/draw.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 << 10
}; /* a frame with AVX-512 and AMX takes 12 KiB, a sanitizer's more */

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int signals_seen, at_once, held; /* a handler may run on any thread */

/* Only what a handler may call. On a terminal the line of progress is open. */
static void end(void)
{
    static const char said[] = "\nreach: interrupted\n";
    size_t first = !isatty(STDERR_FILENO);
    ssize_t written = write(STDERR_FILENO, said + first, sizeof said - 1 - first);

    (void)written;
    figure_stop(); /* or it would continue writing */
    atomic_remove_all();
    _exit(1);
}

static void on_signal(int number)
{
    (void)number;
    if (atomic_fetch_add(&signals_seen, 1) != 0 || (atomic_load(&at_once) && !atomic_load(&held)))
        end();
}

static void fill(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(set, numbers[i]);
}

/* Handlers run here, on a normal stack. */
static void *take_signals(void *nothing)
{
    sigset_t ours;

    (void)nothing;
    fill(&ours);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    for (;;)
        pause();
    return NULL;
}

void interrupt_apart(void)
{
    static int started;
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t ours, before;

    if (started || pthread_attr_init(&attributes) != 0)
        return;
    fill(&ours);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) == 0) {
        started = pthread_create(&thread, &attributes, take_signals, NULL) == 0;
        if (!started)
            pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
}

static void install(int ends)
{
    struct sigaction action, before;

    atomic_store(&at_once, ends);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) /* as set by nohup */
        if ((!ends && numbers[i] != SIGHUP) ||
            (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN))
            sigaction(numbers[i], &action, NULL);
}

void interrupt_watch(void)
{
    install(0);
}

void interrupt_end(void)
{
    install(1);
}

void interrupt_hold(void)
{
    atomic_store(&held, 1);
}

void interrupt_release(void)
{
    atomic_store(&held, 0);
    if (atomic_load(&at_once) && interrupt_wanted())
        end();
}

int interrupt_wanted(void)
{
    return atomic_load(&signals_seen) != 0;
}
