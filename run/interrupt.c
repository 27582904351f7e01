/* Signals of a long run. */
#include "run/interrupt.h"

#include "io/system/atomic.h"
#include "plots/draw.h"
#include "run/ranks.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 << 10
}; /* a frame with AVX-512 and AMX takes 12 KiB, a sanitizer's more */

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int signals_seen, at_once; /* a handler may run on any thread */

/* Whoever makes it ENDING, on whatever thread, ends the program. */
enum { FREE, HELD, ENDING };
static atomic_int state = FREE;

static int change(int from, int to)
{
    return atomic_compare_exchange_strong(&state, &from, to);
}

static char said[64] = "\nreach: interrupted\n";

void interrupt_name(const char *verb)
{
    snprintf(said, sizeof said, "\nreach %.40s: interrupted\n", verb);
}

/* On a terminal the line of progress is open. Nothing is said where it would have to wait: a pipe
 * that is full, a terminal that stops processes in the background. */
static void say(void)
{
    size_t first = !isatty(STDERR_FILENO);
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    sigset_t stops;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stops, NULL);
    if (ranks_here()->rank == 0 && poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT)) {
        ssize_t written = write(STDERR_FILENO, said + first, strlen(said) - first);

        (void)written;
    }
}

/* Only what a handler may call. */
static void end(void)
{
    figure_stop(); /* or it would continue writing */
    atomic_remove_all();
    say();
    _exit(1);
}

static void on_signal(int number)
{
    (void)number;
    if (atomic_fetch_add(&signals_seen, 1) != 0) {
        if (atomic_exchange(&state, ENDING) != ENDING)
            end();
    } else if (atomic_load(&at_once) && change(FREE, ENDING)) {
        end();
    }
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

/* Another thread is ending the program. */
static void wait_for_end(void)
{
    for (;;)
        pause();
}

void interrupt_hold(void)
{
    if (!change(FREE, HELD))
        wait_for_end();
}

void interrupt_release(void)
{
    if (!change(HELD, FREE))
        wait_for_end();
    if (!atomic_load(&at_once) || !interrupt_wanted())
        return;
    if (change(FREE, ENDING))
        end();
    wait_for_end();
}

int interrupt_wanted(void)
{
    return atomic_load(&signals_seen) != 0;
}
