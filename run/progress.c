#include "run/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double progress_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double progress_seconds(const struct progress *p)
{
    return progress_now() - p->started;
}

static void say(struct progress *p, enum progress_kind kind, const char *format, va_list arguments)
{
    char *line;

    if (vasprintf(&line, format, arguments) < 0)
        return;
    p->say(p, kind, line);
    free(line);
}

void progress_message(struct progress *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(p, PROGRESS_MESSAGE, format, arguments);
    va_end(arguments);
}

void progress_warning(struct progress *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(p, PROGRESS_WARNING, format, arguments);
    va_end(arguments);
}

void progress_not_drawn(struct progress *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(p, PROGRESS_NOT_DRAWN, format, arguments);
    va_end(arguments);
}

void progress_log(struct progress *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(p, PROGRESS_LOG, format, arguments);
    va_end(arguments);
}

void progress_start(struct progress *p, size_t total, size_t done)
{
    p->total = total;
    p->done = p->at_start = done;
    p->measuring = progress_now();
}

void progress_step(struct progress *p, size_t done, const char *what)
{
    p->done += done;
    if (p->show)
        p->show(p, what);
}

void progress_end(struct progress *p)
{
    if (p->show)
        p->show(p, NULL);
}

void progress_plan(struct progress *p, const char *model, const char *plan)
{
    if (strcmp(p->plan, plan) == 0)
        progress_log(p, "%s: %s", model, plan);
    else
        progress_message(p, "%s: %s", model, plan);
    snprintf(p->plan, sizeof p->plan, "%s", plan);
}
