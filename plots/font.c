#include "plots/font.h"

#include "plots/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 128, SAID = 1024 };

/* Names of a style, not of a font. */
static int is_generic(const char *font)
{
    static const char *const names[] = {"sans",      "sans-serif", "sans serif", "serif",
                                        "monospace", "mono",       "system-ui"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(font, names[i]) == 0)
            return 1;
    return 0;
}

/* As fontconfig compares names: without blanks, and of either case. */
static int is_same(const char *a, const char *b, size_t length)
{
    const char *end = b + length;

    for (;; a++, b++) {
        a += strspn(a, " ");
        while (b < end && *b == ' ')
            b++;
        if (!*a || b == end)
            return !*a && b == end;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return 0;
    }
}

/* Asks fc-match for the families of the font that it has for a pattern. 0, or -1 if there is no
 * answer. */
static int ask(char *said, size_t size, const char *pattern, const char *folder)
{
    const char *argv[] = {"fc-match", "-f", "%{family}", pattern, NULL};
    char *path = program_path(folder),
         *program = path ? program_find("fc-match", path, folder) : NULL;
    char **environment = program ? program_environment(path) : NULL;
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1, rc = environment ? 0 : -1;
    pid_t child;

    *said = 0;
    if (rc == 0)
        rc = pipe2(ends, O_CLOEXEC);
    if (rc == 0) {
        rc = posix_spawn_file_actions_init(&actions);
        if (rc == 0) {
            rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
            if (rc == 0)
                rc = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
            if (rc == 0)
                rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                      O_WRONLY, 0);
            if (rc == 0)
                rc = program_spawn(&child, program, &actions, (char *const *)argv, environment);
            posix_spawn_file_actions_destroy(&actions);
        }
        close(ends[1]);
        if (rc == 0 && program_collect(ends[0], said, size) != 0)
            kill(child, SIGKILL);
        close(ends[0]);
        while (rc == 0 && waitpid(child, &status, 0) < 0)
            if (errno != EINTR)
                rc = -1;
    }
    free(environment);
    free(program);
    free(path);
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && *said ? 0 : -1;
}

int font_is_replaced(char *instead, size_t size, const char *font, const char *folder)
{
    char name[NAME], pattern[2 * NAME], said[SAID];
    size_t used = 0;

    /* gnuplot's own syntax follows a colon or a comma */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(font, ":,"), font);
    if (!*name || is_generic(name))
        return 0;
    for (const char *p = name; *p; p++) {
        if (*p == '-' || *p == '\\') /* fontconfig's */
            pattern[used++] = '\\';
        pattern[used++] = *p;
    }
    pattern[used] = 0;
    if (ask(said, sizeof said, pattern, folder) != 0)
        return 0;
    for (const char *at = said; *at; at += strcspn(at, ","), at += *at == ',')
        if (is_same(name, at, strcspn(at, ",")))
            return 0;
    snprintf(instead, size, "%.*s", (int)strcspn(said, ","), said);
    return 1;
}
