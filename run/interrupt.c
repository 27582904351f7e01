/* Signals of a long run. */
#include "run/interrupt.h"

#include "io/atomic.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t signals_seen, at_once;

static void on_signal(int number)
{
    (void)number;
    if (signals_seen++ == 0 && !at_once)
        return;
    atomic_remove_all();
    _exit(1);
}

void interrupt_watch(void)
{
    struct sigaction action, before;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup stays in force */
        sigaction(SIGHUP, &action, NULL);
}

void interrupt_end(void)
{
    at_once = 1;
    interrupt_watch();
}

int interrupt_wanted(void)
{
    return signals_seen != 0;
}
