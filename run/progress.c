#include "run/progress.h"

#include "io/system/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double progress_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

void progress_silent(struct progress *p, enum progress_kind kind, const char *line)
{
    (void)p, (void)kind, (void)line;
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

/* ---- the same about several models ---- */

enum { NAMES_MOST = 3 };

struct progress_said {
    struct progress_said *next;
    enum progress_kind kind;
    char *text, *first, *others; /* others: names with commas, NULL: none */
    size_t count; /* of the others */
};

static int add_name(char **names, size_t *count, const char *name)
{
    char *longer = NULL;

    if (++*count > NAMES_MOST)
        return 0;
    if (asprintf(&longer, "%s%s%s", *names ? *names : "", *names ? ", " : "", name) < 0)
        return -1;
    free(*names);
    *names = longer;
    return 0;
}

/* Keeps what is said for the first time; without memory it will be said again. */
static void keep_said(struct progress *p, enum progress_kind kind, const char *model, char *text)
{
    struct progress_said *new = calloc(1, sizeof *new), **last = &p->said;

    if (!new || !(new->first = strdup(model))) {
        free(new);
        free(text);
        return;
    }
    new->kind = kind;
    new->text = text;
    while (*last)
        last = &(*last)->next;
    *last = new;
}

void progress_about(struct progress *p, enum progress_kind kind, const char *model,
                    const char *format, ...)
{
    struct progress_said *said = p->said;
    char *text, *line;
    va_list arguments;
    int rc;

    va_start(arguments, format);
    rc = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (rc < 0)
        return;
    while (said && (said->kind != kind || strcmp(said->text, text) != 0))
        said = said->next;
    if (asprintf(&line, "%s: %s", model, text) >= 0) {
        p->say(p, said && add_name(&said->others, &said->count, model) == 0 ? PROGRESS_LOG : kind,
               line);
        free(line);
    }
    if (said)
        free(text);
    else
        keep_said(p, kind, model, text);
}

void progress_repeat(struct progress *p)
{
    for (struct progress_said *said = p->said, *next; said; said = next) {
        char more[32] = "";

        next = said->next;
        if (said->count > NAMES_MOST)
            snprintf(more, sizeof more, " and %zu more", said->count - NAMES_MOST);
        if (said->others && said->kind == PROGRESS_WARNING)
            progress_warning(p, "%s%s: %s, as of %s", said->others, more, said->text, said->first);
        free(said->text);
        free(said->first);
        free(said->others);
        free(said);
    }
    p->said = NULL;
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
    p->measured = 0;
    p->cost.total = p->cost.done = p->cost.at_start = 0;
    progress_tell(p, "work",
                  (const struct progress_fact[]){{"unit", p->unit, 0},
                                                 {"total", NULL, (double)total},
                                                 {"done", NULL, (double)done},
                                                 {0}});
}

void progress_costs(struct progress *p, double total, double done)
{
    p->cost.total = total;
    p->cost.done = p->cost.at_start = done;
}

void progress_step_of(struct progress *p, size_t done, double cost_of_each, const char *what)
{
    p->cost.done += (double)done * cost_of_each;
    progress_step(p, done, what);
}

void progress_spend(struct progress *p, double cost, const char *what)
{
    p->cost.done += cost;
    progress_step(p, 0, what);
}

void progress_step(struct progress *p, size_t done, const char *what)
{
    p->done += done;
    if (p->show)
        p->show(p, what);
}

void progress_end(struct progress *p)
{
    p->measured = progress_now();
    if (p->show)
        p->show(p, NULL);
}

static double seconds_measuring(const struct progress *p)
{
    return (p->measured > 0 ? p->measured : progress_now()) - p->measuring;
}

double progress_rate(const struct progress *p)
{
    double seconds = seconds_measuring(p);

    return p->done > p->at_start && seconds > 0 ? (double)(p->done - p->at_start) / seconds : 0;
}

double progress_left(const struct progress *p)
{
    double rate = progress_rate(p), spent = p->cost.done - p->cost.at_start;

    if (p->cost.total > 0 && spent > 0) /* time so far, times the ratio of remaining work */
        return seconds_measuring(p) * fmax(0, p->cost.total - p->cost.done) / spent;
    return rate > 0 ? (double)(p->total - p->done) / rate : 0;
}

double progress_part(const struct progress *p)
{
    double total = p->cost.total > 0 ? p->cost.total : (double)p->total,
           done = p->cost.total > 0 ? p->cost.done : (double)p->done;

    return total > 0 && done > 0 ? fmin(1, done / total) : 0;
}

void progress_tell(struct progress *p, const char *event, const struct progress_fact *facts)
{
    if (p->tell)
        p->tell(p, event, facts);
}

void progress_plan(struct progress *p, const char *model, const char *plan, double bytes)
{
    if (strcmp(p->plan, plan) != 0)
        progress_message(p, "%s: %s", model, plan);
    progress_tell(p, "plan",
                  (const struct progress_fact[]){
                      {"model", model, 0}, {"plan", plan, 0}, {"plan_bytes", NULL, bytes}, {0}});
    snprintf(p->plan, sizeof p->plan, "%s", plan);
}

const char *duration_text(char out[DURATION_TEXT], double seconds)
{
    double minutes = round(seconds / 60), days = seconds / 86400;

    if (seconds < 99.5)
        snprintf(out, DURATION_TEXT, seconds < 9.95 ? "%.2g s" : "%.0f s", seconds);
    else if (minutes < 100)
        snprintf(out, DURATION_TEXT, "%.0f min", minutes);
    else if (days >= 4)
        snprintf(out, DURATION_TEXT, days < 9.95 ? "%.1f days" : "%.0f days", days);
    else
        snprintf(out, DURATION_TEXT, "%.0f h %02.0f min", floor(minutes / 60), fmod(minutes, 60));
    return out;
}
