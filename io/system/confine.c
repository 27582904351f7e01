#include "io/system/confine.h"

#include "io/element.h"
#include "io/system/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's last byte says how its work ended; before ENDED_FAILED comes a struct error. */
enum { ENDED_DONE = 'D', ENDED_FAILED = 'F' };

/* Writable private memory of this process, in bytes; 0 if unknown. */
static size_t data_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(int resource, size_t value)
{
    struct rlimit r;
    if (getrlimit(resource, &r) == 0 && (r.rlim_max == RLIM_INFINITY || value < r.rlim_max)) {
        r.rlim_cur = r.rlim_max = value;
        setrlimit(resource, &r);
    }
}

/* The child's work; does not return. */
static void run_child(int descriptor, int (*work)(FILE *, void *, struct error *), void *context,
                      size_t memory, size_t seconds)
{
    struct error e = {""};
    struct rusage used;
    size_t bytes;
    for (int i = 1; i < NSIG; i++)
        signal(i, i == SIGPIPE || i == SIGXFSZ
                      ? SIG_IGN
                      : SIG_DFL); /* a handler would continue the program */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* no thread handles them here */
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO); /* what a crash prints is not for the user */
    limit(RLIMIT_CORE, 0);
    if (size_add(&bytes, data_bytes(), memory) == 0)
        limit(RLIMIT_DATA, bytes);
    if (getrusage(RUSAGE_SELF, &used) == 0)
        limit(RLIMIT_CPU, (size_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + seconds);
    FILE *out = fdopen(descriptor, "w");
    if (!out)
        _exit(1);
    int failed = work(out, context, &e);
    if (failed)
        fwrite(&e, sizeof e, 1, out);
    fputc(failed ? ENDED_FAILED : ENDED_DONE, out);
    _exit(fclose(out) ? 1 : 0);
}

/* Reads everything from the pipe, up to the limit. */
static int read_all(char **output, size_t *size, int descriptor, const char *path, struct error *e)
{
    size_t capacity = 0;
    for (;;) {
        if (*size == capacity) {
            size_t more = capacity ? 2 * capacity : 1 << 16;
            char *grown = more <= CONFINE_OUTPUT_MAX + sizeof(struct error) + 1
                              ? realloc(*output, more)
                              : NULL;
            if (!grown)
                return fail_memory(e, (double)more, path);
            *output = grown;
            capacity = more;
        }
        ssize_t n = read(descriptor, *output + *size, capacity - *size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(e, "%s: cannot be read: %s", path, strerror(errno));
        if (n == 0)
            return 0;
        *size += (size_t)n;
    }
}

/* Interprets the end of the output. */
static int conclude(const char *output, size_t *size, int status, const char *path, struct error *e)
{
    char end = *size && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? output[*size - 1] : 0;
    if (end == ENDED_DONE) {
        --*size;
        return 0;
    }
    if (end == ENDED_FAILED && *size > sizeof(struct error)) {
        struct error told;
        memcpy(&told, output + *size - 1 - sizeof told, sizeof told);
        told.text[sizeof told.text - 1] = '\0';
        return fail(e, "%s", told.text);
    }
    return fail(e, "%s: is damaged (the work on it took too much memory or time, or crashed)",
                path);
}

int confine(char **output, size_t *size, int (*work)(FILE *, void *, struct error *), void *context,
            size_t memory, size_t seconds, const char *path, struct error *e)
{
    int ends[2], result, status = -1;
    *output = NULL;
    *size = 0;
    if (pipe2(ends, O_CLOEXEC))
        return fail(e, "%s: cannot be read: no pipe can be made: %s", path, strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(ends[1], work, context, memory, seconds);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return fail(e, "%s: cannot be read: no process can be started: %s", path, strerror(errno));
    }
    result = read_all(output, size, ends[0], path, e);
    close(ends[0]); /* ends a child that is still writing */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (result == 0)
        result = conclude(*output, size, status, path, e);
    if (result) {
        free(*output);
        *output = NULL;
        *size = 0;
    }
    return result;
}

void *confine_memory(size_t bytes, const char *what, struct error *e)
{
    if (memory_check(bytes, what, e))
        return NULL;
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    fail_memory(e, (double)bytes, what);
    return NULL;
}

void confine_memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}
