/* reach: dispatch to the verbs. */
#include "commands/commands.h"
#include "commands/fault.h"
#include "commands/screen.h"
#include "commands/verb.h"
#include "io/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_help(FILE *f)
{
    fputs("usage: reach VERB [arguments]\n\nMeasures how far back a language model "
          "looks.\n\nVerbs:\n",
          f);
    for (const struct verb *const *v = verbs; *v; v++)
        fprintf(f, "  %-10s %s\n", (*v)->name, (*v)->summary);
    fputs("\n`reach help VERB` explains one verb, with --all every option of it.\n"
          "`man reach` is the manual (`man -l doc/reach.1` before `make install`).\n",
          f);
}

/* The verb of that name; NULL, with a message on standard error, if there is none. */
static const struct verb *find(const char *name)
{
    const struct verb *const *v = verbs;

    while (*v && strcmp(name, (*v)->name) != 0)
        v++;
    if (*v)
        return *v;
    for (v = verbs; *v && edit_distance(name, strlen(name), (*v)->name) > NEAR; v++)
        ;
    if (*v && strlen(name) > NEAR)
        screen_complain("reach: %s: unknown verb (did you mean reach %s?)", screen_text(name),
                        (*v)->name);
    else
        screen_complain("reach: %s: unknown verb (expected one of those that `reach --help` lists)",
                        screen_text(name));
    return NULL;
}

/* Makes waiting threads sleep: by default they spin, which made runs on a busy machine five times
 * slower. The OpenMP library reads its environment when loaded, before main, so the program starts
 * itself again with the setting; the user's own takes precedence. */
static void wait_asleep(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME") ||
        setenv("OMP_WAIT_POLICY", "passive", 1) != 0)
        return;
    execv("/proc/self/exe", argv); /* if it fails, runs are only slower */
}

/* Keeps a standard stream closed by the caller from being reused: otherwise the next opened file
 * would get its number, and be read as standard input or written as standard error. */
static void hold_closed_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", i == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0)
            return;
}

/* 1 if standard output is a pipe without a reader, which may have stopped early, like head. */
static int reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

int commands_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const char *blank = "", *verb = ""; /* of the last message */
    const struct verb *v;
    int status = EXIT_USAGE, with_all = argc > 3 && strcmp(argv[3], "--all") == 0;

    hold_closed_streams();
    fault_watch();

    signal(SIGCHLD, SIG_DFL); /* if it is ignored, the child's status is lost */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe does not end a run */
    signal(SIGXFSZ, SIG_IGN); /* nor does a file that may not grow further */
    if (!strcmp(name, "help") && argc > 3 + with_all) {
        screen_complain("reach help: %s: unexpected argument (expected reach help VERB [--all])",
                        screen_text(argv[3 + with_all]));
    } else if (!strcmp(name, "help") && argc >= 3) {
        if ((v = find(argv[2])))
            status = verb_run(v, 1 + with_all, (char *[]){(char *)"--help", (char *)"--all", NULL});
    } else if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_help(stdout);
        status = EXIT_DONE;
    } else if (!strcmp(name, "--version")) {
        status = verb_run(&version_verb, 0, argv);
    } else if (argc < 2) {
        print_help(stderr);
    } else if ((v = find(name))) {
        if (v->computes)
            wait_asleep(argv);
        blank = " ", verb = v->name, status = verb_run(v, argc - 2, argv + 2);
    }
    if (fflush(stdout) != 0 || ferror(stdout) ? !reader_left() : fclose(stdout) != 0) {
        screen_complain("reach%s%s: standard output: cannot be written: %s", blank, verb,
                        strerror(errno));
        if (status == EXIT_DONE)
            status = EXIT_FAILED;
    }
    return status;
}
