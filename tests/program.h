/* The program as a user meets it: $REACH is spawned in a folder of the test's own, and what it
 * prints and returns is kept. For tests of verbs. */
#ifndef REACH_TESTS_PROGRAM_H
#define REACH_TESTS_PROGRAM_H

#include "io/error.h"

#include <sys/types.h>

extern char *base; /* the folder of all tests: models, texts, results */
extern char *built; /* the folder that $REACH was built in */

struct outcome {
    int status; /* exit status; -N: ended by signal N */
    char *out, *err; /* owned */
};
void outcome_free(struct outcome *o);

/* Makes `base` and copies $REACH into it, for a group's setup: 0 or -1. program_close, a group's
 * teardown, removes `base`. */
int program_open(void);
int program_close(void **state);

/* BASE/NAME in one of a few rotating buffers. */
const char *at(const char *format, ...) PRINTF_LIKE(1, 2);
/* Starts `reach LINE` in BASE, LINE divided at blanks (`~` in a word stands for a blank), its
 * output going to BASE/stdout and stderr. `path` NULL: PATH as it is. */
pid_t start(const char *line, const char *path);
/* The same, stopped before it begins (SIGSTOP). */
pid_t start_stopped(const char *line, const char *path);
/* Waits for it, held or not. */
struct outcome finish(pid_t child);
/* Both. */
struct outcome reach(const char *line);
/* Runs a line, which must succeed, without pictures: gnuplot takes longer than all else.
 * succeed_drawn: with them. */
void succeed(const char *format, ...) PRINTF_LIKE(1, 2);
void succeed_drawn(const char *format, ...) PRINTF_LIKE(1, 2);
/* A system call of the first thread of a run: about to be made, or made. */
struct system_call {
    pid_t run;
    long number;
    int made;
};
/* Starts LINE and holds it at the first call at which `here` says 1, asked at each with the thread
 * stopped there; finish lets it go on. Nothing hangs on how quick the run and the test are. A run
 * that has ended by itself is left for finish. Skips the test where processes cannot be watched. */
pid_t start_held(const char *line, const char *path,
                 int (*here)(const struct system_call *, void *), void *of);
/* Starts LINE, sends it `number` where `here` says 1, and waits for it. */
struct outcome end_at(const char *line, int number, int (*here)(const struct system_call *, void *),
                      void *of);
/* The same with a run of erf into BASE/folder, once `reached` says 1; it does not succeed, and
 * leaves its journal. */
struct outcome run_until(const char *line, const char *folder, int number,
                         int (*reached)(const void *), const void *of);
/* The same, once the journal has so many bytes. */
struct outcome run_until_journal(const char *line, const char *folder, int number, size_t bytes);
/* The size of BASE/folder/erf.part; 0 if there is none. */
size_t journal_size(const char *folder);

/* Both ends of a terminal of so many columns. Skips the test where the system has none to give, as
 * in a root without /dev/pts. */
void open_terminal(int columns, int *master, int *terminal);

int lines(const char *text);
int exists(const char *path);
/* Runs LINE, which must end with `status`: holding `said` in what it prints, or, if `status` is not
 * 0, printing nothing but one line on standard error that holds `said`. */
void expect(const char *line, int status, const char *said);

#endif
