/* Messages from library code to the command that prints them.
 *
 * A function that can fail returns 0 or -1 (or a pointer, NULL on failure) and leaves one line in
 * an `error`; it never prints and never exits. The message names the file or thing first, then what
 * is wrong, then in parentheses what was expected. */
#ifndef REACH_IO_ERROR_H
#define REACH_IO_ERROR_H

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))

struct error {
    char text[768];
};

/* Writes the message (unprintable characters spelled out as in io/glyph.h, a long message shortened
 * in the middle) and returns -1. `e` may be NULL. */
int fail(struct error *e, const char *format, ...) PRINTF_LIKE(2, 3);

/* fail() for memory: "out of memory (N bytes for WHAT)". */
int fail_memory(struct error *e, double bytes, const char *what);

#endif
