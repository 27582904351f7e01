/* Spawning the program for tests. */
#include "tests/program.h"

#include "tests/scratch.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

char *base, *built;

/* A copy of the program in a folder of its own: a plug-in beside the program does not come along,
   so that a test runs on the processor, whether this machine has nvcc or a GPU, unless it names a
   device. REACH_CUDA names a plug-in that all the same is to be used. Returns its path, which the
   caller frees. */
static char *copy_program(const char *from)
{
    size_t size = 0;
    char folder[4096], *path = NULL;
    unsigned char *bytes = scratch_read(from, &size);

    snprintf(folder, sizeof folder, "%s/.program", base);
    if (bytes && mkdir(folder, 0700) == 0 &&
        (path = strdup(scratch_write(folder, "reach", bytes, size))) && chmod(path, 0700) != 0) {
        free(path);
        path = NULL;
    }
    free(bytes);
    return path;
}

int program_open(void)
{
    base = scratch_make();
    if (!base || !getenv("REACH")) {
        fprintf(stderr, "REACH names no program\n");
        return -1;
    }
    char *copy = copy_program(getenv("REACH")), *slash;
    int result = copy && (built = realpath(getenv("REACH"), NULL)) && (slash = strrchr(built, '/'))
                     ? setenv("REACH", copy, 1)
                     : -1;
    if (result == 0)
        *slash = 0;
    free(copy);
    return result;
}

int program_close(void **state)
{
    (void)state;
    scratch_remove(base);
    free(built);
    return 0;
}

void outcome_free(struct outcome *o)
{
    free(o->out);
    free(o->err);
    memset(o, 0, sizeof *o);
}

const char *at(const char *format, ...)
{
    static char buffers[16][4200];
    static int next;
    char *buffer = buffers[next++ % 16];
    va_list arguments;
    int used = snprintf(buffer, sizeof buffers[0], "%s/", base);

    va_start(arguments, format);
    vsnprintf(buffer + used, sizeof buffers[0] - (size_t)used, format, arguments);
    va_end(arguments);
    return buffer;
}

static pid_t spawn(const char *line, const char *path, int stopped)
{
    static char copy[4096], variable[4200];
    char *argv[128], *names[200];
    posix_spawn_file_actions_t actions;
    int argc = 0, count = 0;
    pid_t child;

    snprintf(copy, sizeof copy, "%s", line);
    if (stopped) {
        argv[argc++] = "/bin/sh";
        argv[argc++] = "-c";
        argv[argc++] = "kill -s STOP $$; exec \"$0\" \"$@\"";
    }
    argv[argc++] = getenv("REACH");
    for (char *word = strtok(copy, " "); word && argc < 127; word = strtok(NULL, " ")) {
        for (char *p = word; *p; p++)
            if (*p == '~')
                *p = ' ';
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    for (char **p = environ; *p && count < 190; p++)
        if ((!path || strncmp(*p, "PATH=", 5) != 0) &&
            (strncmp(*p, "REACH_", 6) != 0 || strncmp(*p, "REACH_CUDA=", 11) == 0 ||
             strncmp(*p, "REACH_CUDA_HOST_BLAS=", 21) == 0))
            names[count++] = *p;
    if (!getenv("OMP_NUM_THREADS"))
        names[count++] = "OMP_NUM_THREADS=2";
    if (!getenv("OMP_WAIT_POLICY"))
        names[count++] = "OMP_WAIT_POLICY=passive"; /* tiny models on a busy machine: threads that
                                                       spin would take turns */
    if (path) {
        snprintf(variable, sizeof variable, "PATH=%s", path);
        names[count++] = variable;
    }
    names[count] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, at("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addopen(&actions, 2, at("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addchdir_np(&actions, base);
    if (posix_spawn(&child, argv[0], &actions, NULL, argv, names) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

pid_t start(const char *line, const char *path)
{
    return spawn(line, path, 0);
}

pid_t start_stopped(const char *line, const char *path)
{
    return spawn(line, path, 1);
}

struct outcome finish(pid_t child)
{
    struct outcome o = {.status = -1000};
    int status;

    ptrace(PTRACE_DETACH, child, NULL, NULL); /* fails if it is not held */
    if (child > 0 && waitpid(child, &status, 0) == child)
        o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    o.out = slurp(at("stdout"), NULL);
    o.err = slurp(at("stderr"), NULL);
    assert_non_null(o.out);
    assert_non_null(o.err);
    return o;
}

struct outcome reach(const char *line)
{
    return finish(start(line, NULL));
}

static void must_succeed(const char *path, const char *format, va_list arguments)
{
    char line[16384];
    struct outcome o;

    if (vsnprintf(line, sizeof line, format, arguments) >= (int)sizeof line)
        fail_msg("the line is too long");
    o = finish(start(line, path));
    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

void succeed(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    must_succeed("/nonexistent", format, arguments);
    va_end(arguments);
}

void succeed_drawn(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    must_succeed(NULL, format, arguments);
    va_end(arguments);
}

size_t journal_size(const char *folder)
{
    struct stat found;

    return stat(at("%s/erf.part", folder), &found) == 0 ? (size_t)found.st_size : 0;
}

void open_terminal(int columns, int *master, int *terminal)
{
    const struct winsize size = {.ws_row = 20, .ws_col = (unsigned short)columns};

    *master = posix_openpt(O_RDWR | O_NOCTTY);
    *terminal = *master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0
                    ? open(ptsname(*master), O_RDWR | O_NOCTTY)
                    : -1;
    if (*terminal >= 0) {
        assert_int_equal(ioctl(*terminal, TIOCSWINSZ, &size), 0);
        return;
    }
    if (*master >= 0)
        close(*master);
    print_message("skipped: the system has no terminal to give (is /dev/pts mounted?)\n");
    skip();
}

int lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void expect(const char *line, int status, const char *said)
{
    struct outcome o = reach(line);
    const char *where = status ? o.err : o.out;

    if (o.status != status || (said && !strstr(where, said)) ||
        (status != 0 && (lines(o.err) != 1 || *o.out)))
        fail_msg(
            "reach %s\nexit %d (expected %d), expected to be told \"%s\"\nstderr: %s\nstdout: %s",
            line, o.status, status, said ? said : "", o.err, o.out);
    outcome_free(&o);
}
