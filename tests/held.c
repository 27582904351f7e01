/* Runs that are held at a known point: program.h. */
#include "tests/program.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

/* as in linux/ptrace.h, which cannot be included beside sys/ptrace.h */
enum { SYSCALL_ENTRY = 1, SYSCALL_EXIT = 2, GET_SYSCALL_INFO = 0x420e };
struct syscall_info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t instruction_pointer, stack_pointer, number, arguments[6];
};

/* 1 where the call is: its number is told as it begins. */
static int find_call(struct system_call *c)
{
    struct syscall_info info;

    if (ptrace((enum __ptrace_request)GET_SYSCALL_INFO, c->run, sizeof info, &info) <= 0)
        return 0;
    c->made = info.op == SYSCALL_EXIT;
    if (info.op == SYSCALL_ENTRY)
        c->number = (long)info.number;
    return c->made || info.op == SYSCALL_ENTRY;
}

pid_t start_held(const char *line, const char *path,
                 int (*here)(const struct system_call *, void *), void *of)
{
    struct system_call c = {.run = start_stopped(line, path)};
    int status;

    assert_true(waitpid(c.run, &status, WUNTRACED) == c.run && WIFSTOPPED(status));
    if (ptrace(PTRACE_SEIZE, c.run, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) {
        kill(c.run, SIGKILL);
        waitpid(c.run, &status, 0);
        print_message("skipped: processes cannot be watched here\n");
        skip();
    }
    kill(c.run, SIGCONT);
    for (siginfo_t found = {0};
         waitid(P_PID, (id_t)c.run, &found, WEXITED | WSTOPPED | WNOWAIT | __WALL) == 0 &&
         found.si_code != CLD_EXITED && found.si_code != CLD_KILLED &&
         found.si_code != CLD_DUMPED;) {
        int passed = 0;

        if (waitpid(c.run, &status, __WALL) != c.run)
            break;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            if (find_call(&c) && here(&c, of))
                break;
        } else if (status >> 16 == 0) {
            passed = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, c.run, NULL, (void *)(intptr_t)passed);
    }
    return c.run;
}

/* The set of signals of a process with this name in /proc. */
static unsigned long long signals_of(pid_t run, const char *name)
{
    char path[64], *text, *found;
    unsigned long long set;

    snprintf(path, sizeof path, "/proc/%d/status", (int)run);
    text = slurp(path, NULL);
    found = text ? strstr(text, name) : NULL;
    set = found ? strtoull(found + strlen(name), NULL, 16) : 0;
    free(text);
    return set;
}

struct outcome end_at(const char *line, int number, int (*here)(const struct system_call *, void *),
                      void *of)
{
    const unsigned long long bit = 1ULL << (number - 1);
    const struct timespec pause = {0, 1000000};
    pid_t run = start_held(line, NULL, here, of);

    kill(run, number);
    /* where the first thread leaves signals to another (run/interrupt.h), not before that has taken
     * it */
    for (int i = 0; i < 60000 && signals_of(run, "SigBlk:") & signals_of(run, "ShdPnd:") & bit; i++)
        nanosleep(&pause, NULL);
    return finish(run);
}

struct point {
    int (*reached)(const void *);
    const void *of;
};

static int is_reached(const struct system_call *c, void *of)
{
    const struct point *p = of;

    return c->made && p->reached(p->of);
}

struct outcome run_until(const char *line, const char *folder, int number,
                         int (*reached)(const void *), const void *of)
{
    struct outcome o = end_at(line, number, is_reached, &(struct point){reached, of});

    if (o.status == 0 || !journal_size(folder))
        fail_msg("reach %s\nended before signal %d came: exit %d: %s", line, number, o.status,
                 o.err);
    return o;
}

struct journal_mark {
    const char *folder;
    size_t bytes;
};

static int journal_is_that_long(const void *of)
{
    const struct journal_mark *m = of;

    return journal_size(m->folder) >= m->bytes;
}

struct outcome run_until_journal(const char *line, const char *folder, int number, size_t bytes)
{
    return run_until(line, folder, number, journal_is_that_long,
                     &(struct journal_mark){folder, bytes});
}
