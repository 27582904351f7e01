/* Programs that drawing runs: found on PATH, started with an argument vector (no shell), and what
 * they say. */
#include "plots/program.h"

#include "io/system/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* 1 for variables that make gnuplot do more than its script says: another initial terminal, files
 * to load, a log of fits. */
static int is_influence(const char *variable)
{
    static const char *const names[] = {"GNUTERM=", "GNUHELP=", "GNUFITLOG=",
                                        "GNUPLOT_", "FIT_LOG=", "FIT_SCRIPT="};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

char *program_path(const char *folder)
{
    const char *at = getenv("PATH"), *colon;
    char *made = malloc(strlen("PATH=") + strlen(at ? at : "") + 1), *end = made;
    struct stat here, there;
    int is_there = stat(folder, &here) == 0;

    if (!made)
        return NULL;
    end = stpcpy(made, "PATH=");
    for (; at && *at; at = *colon ? colon + 1 : colon) {
        char *first = end;

        colon = strchrnul(at, ':');
        if (*at != '/')
            continue;
        if (end[-1] != '=')
            *end++ = ':';
        char *entry = end;
        end = mempcpy(end, at, (size_t)(colon - at));
        *end = 0;
        if (is_there && stat(entry, &there) == 0 && there.st_dev == here.st_dev &&
            there.st_ino == here.st_ino)
            *(end = first) = 0;
    }
    return made;
}

/* 1 if PROGRAM resolves to a file in FOLDER. */
static int lies_in(const char *program, const char *folder)
{
    char *file = realpath(program, NULL), *place = realpath(folder, NULL),
         *slash = file ? strrchr(file, '/') : NULL;
    int inside = 0;

    if (slash && place) {
        slash[slash == file] = 0;
        inside = strcmp(file, place) == 0;
    }
    free(file);
    free(place);
    return inside;
}

char *program_find(const char *name, const char *path, const char *folder)
{
    const char *at = path + strlen("PATH="), *colon;

    for (; *at; at = *colon ? colon + 1 : colon) {
        struct stat found;
        char *program;

        colon = strchrnul(at, ':');
        if (asprintf(&program, "%.*s/%s", (int)(colon - at), at, name) < 0)
            return NULL;
        if (access(program, X_OK) == 0 && stat(program, &found) == 0 && S_ISREG(found.st_mode) &&
            !lies_in(program, folder))
            return program;
        free(program);
    }
    return NULL;
}

char **program_environment(char *path)
{
    static char no_terminal[] = "GNUTERM=unknown";
    size_t count = 0, used = 0;
    char **made;

    while (environ[count])
        count++;
    made = calloc(count + 3, sizeof *made);
    for (size_t i = 0; made && i < count; i++)
        if (!is_influence(environ[i]) && strncmp(environ[i], "PATH=", strlen("PATH=")) != 0)
            made[used++] = environ[i];
    if (made) {
        made[used++] = path;
        made[used] = no_terminal;
    }
    return made;
}

int program_spawn(pid_t *child, const char *program, const posix_spawn_file_actions_t *actions,
                  char *const *argv, char *const *environment)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int rc = posix_spawnattr_init(&attributes);

    if (rc != 0)
        return rc;
    sigemptyset(&none);
    rc = posix_spawnattr_setsigmask(&attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (rc == 0)
        rc = posix_spawn(child, program, actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

int program_collect(int descriptor, char *said, size_t size)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    double last = clock_seconds(CLOCK_MONOTONIC) + PROGRAM_SECONDS;
    size_t used = 0;
    char chunk[512];
    int in_time = 1;

    while (in_time) {
        int ready = poll(&waiting, 1, 1000);
        ssize_t n;

        in_time = clock_seconds(CLOCK_MONOTONIC) < last;
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        n = read(descriptor, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n && used + 1 < size; i++) {
            char c = chunk[i] == '\n' || chunk[i] == '\t' || chunk[i] == '\r' ? ' ' : chunk[i];

            if (c == ' ' && (used == 0 || said[used - 1] == ' '))
                continue;
            said[used++] = c;
        }
    }
    while (used > 0 && said[used - 1] == ' ')
        used--;
    said[used] = 0;
    return in_time ? 0 : -1;
}
