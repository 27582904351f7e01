/* Bar, messages and log of a long run. */
#include "commands/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int progress_open(struct progress *p, const char *verb, int quiet, const char *log_path, struct error *e)
{
    memset(p, 0, sizeof *p);
    p->verb = verb;
    p->unit = "segments";
    p->quiet = quiet;
    p->bar = !quiet && isatty(STDERR_FILENO);
    p->started = now();
    if (!log_path)
        return 0;
    p->log = fopen(log_path, "ae");
    if (!p->log)
        return fail(e, "%s: cannot be written: %s (expected a file for the log)", log_path, strerror(errno));
    setvbuf(p->log, NULL, _IOLBF, 0);
    return 0;
}

double progress_seconds(const struct progress *p)
{
    return now() - p->started;
}

void progress_clear(struct progress *p)
{
    if (p->bar && p->drawn > 0)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
}

static void write_log(struct progress *p, const char *format, va_list arguments)
{
    if (!p->log)
        return;
    fprintf(p->log, "%10.2f  ", progress_seconds(p));
    vfprintf(p->log, format, arguments);
    fputc('\n', p->log);
}

static void write_error(struct progress *p, const char *format, va_list arguments)
{
    progress_clear(p);
    fprintf(stderr, "reach %s: ", p->verb);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void progress_message(struct progress *p, const char *format, ...)
{
    va_list arguments, again;

    va_start(arguments, format);
    va_copy(again, arguments);
    if (!p->quiet)
        write_error(p, format, arguments);
    write_log(p, format, again);
    va_end(again);
    va_end(arguments);
}

void progress_warning(struct progress *p, const char *format, ...)
{
    va_list arguments, again;

    va_start(arguments, format);
    va_copy(again, arguments);
    write_error(p, format, arguments);
    write_log(p, format, again);
    va_end(again);
    va_end(arguments);
}

void progress_log(struct progress *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_log(p, format, arguments);
    va_end(arguments);
}

void progress_start(struct progress *p, size_t total, size_t done)
{
    p->total = total;
    p->done = p->at_start = done;
    p->measuring = now();
}

void progress_step(struct progress *p, size_t done, const char *what)
{
    enum { WIDTH = 28 };
    double time = now(), seconds = time - p->measuring, rate, left;
    char bar[WIDTH + 1];
    size_t filled;

    p->done += done;
    if (!p->bar || p->total == 0 || (time - p->drawn < 0.2 && p->done < p->total))
        return;
    p->drawn = time;
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

void progress_close(struct progress *p)
{
    progress_clear(p);
    if (p->log) {
        struct rusage usage;

        getrusage(RUSAGE_SELF, &usage);
        progress_log(p, "peak resident memory %.3f GB, processor time %.2f s", (double)usage.ru_maxrss * 1024 / 1e9,
                     (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec);
        fclose(p->log);
        p->log = NULL;
    }
}
