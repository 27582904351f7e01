/* Bar, messages and log of a long run. */
#include "commands/terminal.h"

#include "commands/screen.h"
#include "io/system/memory.h"
#include "run/interrupt.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void say(struct progress *p, enum progress_kind kind, const char *line)
{
    struct terminal *t = (struct terminal *)p; /* its first member */

    if (kind == PROGRESS_NOT_DRAWN)
        fail(&t->not_drawn, "%s", line);
    if (kind == PROGRESS_WARNING || (kind == PROGRESS_MESSAGE && !t->quiet)) {
        terminal_clear(t);
        screen_complain("reach %s: %s", t->verb, screen_text(line));
    }
    static const char *const levels[] = {[PROGRESS_LOG] = "detail",
                                         [PROGRESS_MESSAGE] = "message",
                                         [PROGRESS_WARNING] = "warning",
                                         [PROGRESS_NOT_DRAWN] = "warning"};

    log_line(&t->log, p, "message",
             (const struct progress_fact[]){{"level", levels[kind], 0}, {"message", line, 0}, {0}});
}

static void tell(struct progress *p, const char *event, const struct progress_fact *facts)
{
    log_line(&((struct terminal *)p)->log, p, event, facts);
}

/* Logs the first, the last, and one every few seconds, so that a night's log stays short. */
static void log_progress(struct terminal *t, const char *what)
{
    enum { EVERY_SECONDS = 10 };
    const struct progress *p = &t->progress;
    double now = progress_seconds(p), rate = progress_rate(p);

    if (!t->log.path ||
        (t->log.progress > 0 && now - t->log.progress < EVERY_SECONDS && p->done < p->total))
        return;
    t->log.progress = now;
    log_line(&t->log, p, "progress",
             (const struct progress_fact[]){{"what", what, 0},
                                            {"done", NULL, (double)p->done},
                                            {"total", NULL, (double)p->total},
                                            {"rate", NULL, rate},
                                            {"seconds_left", NULL, progress_left(p)},
                                            {"peak_bytes", NULL, (double)memory_peak()},
                                            {0}});
}

void terminal_line(struct terminal *t)
{
    const double first = 60, share = 0.2; /* of the time so far: a day has some thirty lines */
    const struct progress *p = &t->progress;
    double now = progress_seconds(p), left = progress_left(p);
    char done[64], text[DURATION_TEXT];

    if (!t->lines || p->done >= p->total || now - t->said < fmax(first, share * now))
        return;
    t->said = now;
    if (p->total == 1)
        snprintf(done, sizeof done, "%.0f %%", 100 * progress_part(p));
    else
        snprintf(done, sizeof done, "%zu of %zu %s", p->done, p->total, p->unit);
    screen_complain("reach %s: %s%s%s%s", t->verb, done, left > 0 ? ", " : "",
                    left > 0 ? duration_text(text, left) : "", left > 0 ? " left" : "");
}

static void show(struct progress *p, const char *what)
{
    enum { WIDTH = 28 };
    const double soon = 0.5; /* a single unit that ends before has no bar */
    struct terminal *t = (struct terminal *)p;
    double time = progress_now(), part = progress_part(p), left = progress_left(p);
    char bar[WIDTH + 1], counts[64], line[200];
    size_t length;
    int most = screen_error_width() - 1; /* of columns; more would begin a new line */

    if (what && p->total > 0)
        log_progress(t, what);
    if (what)
        terminal_line(t);
    else
        terminal_clear(t);
    if (!what || !t->bar || p->total == 0 || (time - t->drawn < 0.2 && p->done < p->total) ||
        (p->total == 1 && time - p->measuring < soon))
        return;
    t->drawn = time;
    memset(bar, ' ', WIDTH);
    memset(bar, '=', (size_t)(part * WIDTH));
    bar[WIDTH] = 0;
    if (p->total == 1)
        snprintf(counts, sizeof counts, "%.0f %%", 100 * part);
    else
        snprintf(counts, sizeof counts, "%zu/%zu  %.3g %s/s", p->done, p->total, progress_rate(p),
                 p->unit);
    snprintf(line, sizeof line, "[%s] %s  %d:%02d left  %.24s", bar, counts, (int)(left / 60),
             (int)left % 60, screen_text(what));
    length = strlen(line);
    while (most > 0 && screen_columns_of(line, length) > most)
        length--;
    fprintf(stderr, "\r%.*s\033[K", (int)length, line);
    fflush(stderr);
}

void terminal_plain(struct terminal *t, const char *verb, int quiet)
{
    *t = (struct terminal){.progress = {.say = say, .unit = "segments", .started = progress_now()},
                           .verb = verb,
                           .quiet = quiet};
}

void terminal_silent(struct terminal *t, const char *verb)
{
    terminal_plain(t, verb, 1);
    t->progress.say = progress_silent;
}

int terminal_open(struct terminal *t, const char *verb, int quiet, const char *log_path,
                  const char *command, struct error *e)
{
    char host[256] = "";

    terminal_plain(t, verb, quiet);
    t->progress.show = show;
    t->bar = !quiet && isatty(STDERR_FILENO);
    t->lines = !quiet && !t->bar;
    if (!log_path)
        return 0;
    if (log_open(&t->log, log_path, e) != 0)
        return -1;
    t->progress.tell = tell;
    gethostname(host, sizeof host - 1);
    tell(&t->progress, "start",
         (const struct progress_fact[]){{"version", REACH_VERSION, 0},
                                        {"verb", verb, 0},
                                        {"command", command, 0},
                                        {"host", host, 0},
                                        {"pid", NULL, (double)getpid()},
                                        {0}});
    if (!*t->log.failed.text)
        return 0;
    fail(e, "%s",
         t->log.failed.text); /* if the log cannot start, fail before anything is measured */
    log_close(&t->log);
    return -1;
}

void terminal_clear(struct terminal *t)
{
    if (t->bar && t->drawn > 0)
        fputs("\r\033[K", stderr);
    t->drawn = 0;
}

void terminal_sum_up(struct terminal *t)
{
    struct progress *p = &t->progress;
    char measured[96] = "", peak[BYTES_TEXT];

    if (p->done > p->at_start)
        snprintf(measured, sizeof measured, "%zu %.*s in %.3g s, %.3g %s/s, ",
                 p->done - p->at_start,
                 (int)strlen(p->unit) - (p->done - p->at_start == 1), /* "1 target" */
                 p->unit, p->measured - p->measuring, progress_rate(p), p->unit);
    progress_message(p, "%speak memory %s", measured, bytes_text(peak, (double)memory_peak()));
}

void terminal_close(struct terminal *t, const char *message)
{
    const struct progress *p = &t->progress;
    struct progress_fact facts[8] = {{"status",
                                      !message             ? "done"
                                      : interrupt_wanted() ? "interrupted"
                                                           : "failed",
                                      0}};
    struct rusage usage;
    int count = 1;

    terminal_clear(t);
    if (!t->log.path)
        return;
    getrusage(RUSAGE_SELF, &usage);
    if (message)
        facts[count++] = (struct progress_fact){"message", message, 0};
    if (p->total > 0) {
        facts[count++] = (struct progress_fact){"done", NULL, (double)p->done};
        facts[count++] = (struct progress_fact){"total", NULL, (double)p->total};
        facts[count++] = (struct progress_fact){"rate", NULL, progress_rate(p)};
    }
    facts[count++] = (struct progress_fact){"peak_bytes", NULL, (double)memory_peak()};
    facts[count++] = (struct progress_fact){"processor_seconds", NULL,
                                            (double)usage.ru_utime.tv_sec +
                                                1e-6 * (double)usage.ru_utime.tv_usec};
    log_line(&t->log, p, "end", facts);
    log_close(&t->log);
}
