/* Writes JSON by hand: a log that needs a library's memory would fail when needed most. */
#include "commands/log.h"

#include "io/formats/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READER_MILLISECONDS = 5000 }; /* how long a pipe may be full before its reader is given up */

/* 1 if an existing file does not begin like a line of JSON: appending a log would corrupt it. */
static int is_other_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    char first = '{';

    if (descriptor < 0)
        return 0;
    if (fstat(descriptor, &st) == 0 && S_ISREG(st.st_mode) && read(descriptor, &first, 1) != 1)
        first = '{';
    close(descriptor);
    return first != '{';
}

int log_open(struct log *l, const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/');

    *l = (struct log){.descriptor = -1};
    if (is_other_file(path))
        return fail(e, "%s: exists and is not a log (expected another --log FILE)", path);
    /* without O_NONBLOCK, opening an unread pipe or writing to a full one would wait forever */
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                          0666);

    if (descriptor < 0 && errno == ENXIO)
        return fail(e,
                    "%s: is a pipe that nobody reads (expected a file for the log, or a reader "
                    "that is started first)",
                    path);
    if (descriptor < 0 && errno == ENOENT && slash > path)
        return fail(e, "%s: the folder %.*s does not exist (expected a file in one that does)",
                    path, (int)(slash - path), path);
    if (descriptor < 0)
        return fail(e, "%s: cannot be written: %s (expected a file for the log)", path,
                    strerror(errno));
    if (!(l->path = strdup(path))) {
        close(descriptor);
        return fail_memory(e, (double)strlen(path) + 1, "a path");
    }
    l->descriptor = descriptor;
    return 0;
}

void log_close(struct log *l)
{
    if (!l->path)
        return;
    if (close(l->descriptor) != 0 && !*l->failed.text)
        fail(&l->failed, "%s: cannot be written: %s", l->path, strerror(errno));
    free(l->path);
    l->path = NULL;
}

static void put_time(FILE *f)
{
    struct timespec now;
    struct tm parts;
    char text[32] = "";

    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    fprintf(f, ",\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

/* Writes all of it, or -1 with errno. */
static int write_line(int descriptor, const char *line, size_t size)
{
    for (size_t done = 0; done < size;) {
        struct pollfd reader = {.fd = descriptor, .events = POLLOUT};
        ssize_t n = write(descriptor, line + done, size - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EAGAIN) {
            if (poll(&reader, 1, READER_MILLISECONDS) == 0) {
                errno = ETIMEDOUT;
                return -1;
            }
        } else if (n == 0 || errno != EINTR)
            return -1;
    }
    return 0;
}

void log_line(struct log *l, const struct progress *p, const char *event,
              const struct progress_fact *facts)
{
    char *line = NULL;
    size_t size = 0;
    FILE *f = l->path && !*l->failed.text ? open_memstream(&line, &size) : NULL;

    if (!f) {
        if (l->path && !*l->failed.text)
            fail_memory(&l->failed, 1024, "a line of the log");
        return;
    }
    fputs("{\"event\":", f);
    json_write_quoted(f, event);
    put_time(f);
    fprintf(f, ",\"seconds\":%.3f", progress_seconds(p));
    for (; facts->name; facts++) {
        fputc(',', f);
        json_write_quoted(f, facts->name);
        fputc(':', f);
        if (facts->text)
            json_write_quoted(f, facts->text);
        else if (isfinite(facts->number))
            fprintf(f, "%.15g", facts->number);
        else
            fputs("null", f);
    }
    fputs("}\n", f);
    if (fclose(f) != 0)
        fail_memory(&l->failed, (double)size, "a line of the log");
    else if (write_line(l->descriptor, line, size) != 0)
        fail(&l->failed, "%s: cannot be written: %s (expected a file for the log)", l->path,
             errno == ETIMEDOUT ? "the pipe is full and its reader does not read"
                                : strerror(errno));
    free(line);
}
