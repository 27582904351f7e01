/* Bar, messages and log of a long run. */
#include "commands/terminal.h"

#include <errno.h>
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
        fprintf(stderr, "reach %s: %s\n", t->verb, line);
    }
    if (t->log)
        fprintf(t->log, "%10.2f  %s\n", progress_seconds(p), line);
}

static void show(struct progress *p, const char *what)
{
    enum { WIDTH = 28 };
    struct terminal *t = (struct terminal *)p;
    double time = progress_now(), seconds = time - p->measuring, rate, left;
    char bar[WIDTH + 1];
    size_t filled;

    if (!what)
        terminal_clear(t);
    if (!what || !t->bar || p->total == 0 || (time - t->drawn < 0.2 && p->done < p->total))
        return;
    t->drawn = time;
    rate = seconds > 0 ? (double)(p->done - p->at_start) / seconds : 0;
    left = rate > 0 ? (double)(p->total - p->done) / rate : 0;
    filled = p->done * WIDTH / p->total;
    memset(bar, ' ', WIDTH);
    memset(bar, '=', filled);
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %zu/%zu  %.3g %s/s  %d:%02d left  %.24s\033[K", bar, p->done, p->total, rate, p->unit,
            (int)(left / 60), (int)left % 60, what);
    fflush(stderr);
}

void terminal_plain(struct terminal *t, const char *verb, int quiet)
{
    *t = (struct terminal){.progress = {.say = say, .unit = "segments", .started = progress_now()}, .verb = verb, .quiet = quiet};
}

int terminal_open(struct terminal *t, const char *verb, int quiet, const char *log_path, struct error *e)
{
    terminal_plain(t, verb, quiet);
    t->progress.show = show;
    t->bar = !quiet && isatty(STDERR_FILENO);
    if (!log_path)
        return 0;
    t->log = fopen(log_path, "ae");
    if (!t->log)
        return fail(e, "%s: cannot be written: %s (expected a file for the log)", log_path, strerror(errno));
    setvbuf(t->log, NULL, _IOLBF, 0);
    return 0;
}

void terminal_clear(struct terminal *t)
{
    if (t->bar && t->drawn > 0)
        fputs("\r\033[K", stderr);
    t->drawn = 0;
}

void terminal_close(struct terminal *t)
{
    struct rusage usage;

    terminal_clear(t);
    if (!t->log)
        return;
    getrusage(RUSAGE_SELF, &usage);
    progress_log(&t->progress, "peak resident memory %.3f GB, processor time %.2f s", (double)usage.ru_maxrss * 1024 / 1e9,
                 (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec);
    fclose(t->log);
    t->log = NULL;
}
