/* Programs that drawing runs: gnuplot, and fontconfig's fc-match. */
#ifndef REACH_PLOTS_PROGRAM_H
#define REACH_PLOTS_PROGRAM_H

#include <spawn.h>
#include <stddef.h>

/* The absolute entries of PATH other than FOLDER, as "PATH=A:B": nothing in FOLDER is run, not by
 * the program either. Caller frees; NULL: out of memory. */
char *program_path(const char *folder);
/* The first NAME in `path`, of program_path. Caller frees; NULL: none. */
char *program_find(const char *name, const char *path, const char *folder);
/* The environment with that PATH and without what makes gnuplot do more than its script says: so
 * there is no terminal until the script sets one, and no display is used. Caller frees; NULL: out
 * of memory. */
char **program_environment(char *path);

/* posix_spawn, without blocked signals: threads that compute block them (run/interrupt.h). */
int program_spawn(pid_t *child, const char *program, const posix_spawn_file_actions_t *actions,
                  char *const *argv, char *const *environment);
/* Keeps the first lines of the child's output as one line in `said`. Returns 0, or -1 if it has not
 * ended after PROGRAM_SECONDS. */
enum { PROGRAM_SECONDS = 300 };
int program_collect(int descriptor, char *said, size_t size);

#endif
