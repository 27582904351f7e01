/* The program as a user meets it: $REACH is spawned in a folder of the test's own, and what it prints and returns is kept. For
 * tests of verbs. */
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

/* Makes `base` and copies $REACH into it, for a group's setup: 0 or -1. program_close, a group's teardown, removes `base`. */
int program_open(void);
int program_close(void **state);

/* BASE/NAME in one of a few rotating buffers. */
const char *at(const char *format, ...) PRINTF_LIKE(1, 2);
/* Starts `reach LINE` in BASE, LINE divided at blanks (`~` in a word stands for a blank), its output going to BASE/stdout and
 * stderr. `path` NULL: PATH as it is. */
pid_t start(const char *line, const char *path);
/* Waits for it. */
struct outcome finish(pid_t child);
/* Both. */
struct outcome reach(const char *line);
/* Runs a line, which must succeed, without pictures: gnuplot takes longer than all else. succeed_drawn: with them. */
void succeed(const char *format, ...) PRINTF_LIKE(1, 2);
void succeed_drawn(const char *format, ...) PRINTF_LIKE(1, 2);
/* Starts LINE, a run of erf into BASE/folder, sends it `number` once `reached` says 1, and waits for it; its journal is there. A
 * run that was quicker than the signal is removed and started again: a busy machine may not let the test look in time. */
struct outcome run_until(const char *line, const char *folder, int number, int (*reached)(const void *), const void *of);
/* The same, once the journal has so many bytes. */
struct outcome run_until_journal(const char *line, const char *folder, int number, size_t bytes);
/* The size of BASE/folder/erf.part; 0 if there is none. */
size_t journal_size(const char *folder);

int lines(const char *text);
int exists(const char *path);
/* Runs LINE, which must end with `status`: holding `said` in what it prints, or, if `status` is not 0, printing nothing but one
 * line on standard error that holds `said`. */
void expect(const char *line, int status, const char *said);

#endif
