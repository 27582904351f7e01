/* Parts of committed files that are made from tables of the program, between two marks. A test
 * compares them, and its program writes them when it is called with --write (make outputs). */
#ifndef REACH_TESTS_WRITTEN_H
#define REACH_TESTS_WRITTEN_H

#include <stddef.h>
#include <stdio.h>

struct written {
    const char *path;
    const char *begin, *end; /* marks, which stay: whole lines, the first of its kind in the file,
                                and the next one after it */
    void (*write)(FILE *f, const void *from); /* what stands between them */
    const void *from;
};

/* Fails a test where one of them is not what it should be. */
void written_check(const struct written *parts, size_t count);
/* Writes them. Returns an exit status. */
int written_write(const struct written *parts, size_t count);
/* 1 if the program is to do so. */
int written_wanted(int argc, char **argv);

/* `text` as words from column `at` on, in lines of `width` characters at most, which begin with
 * `indent` but for the first; ends the last line. */
void written_wrap(FILE *f, const char *text, size_t at, size_t width, const char *indent);

#endif
