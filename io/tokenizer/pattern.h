/* The regular expressions of tokenizer files, written for Oniguruma in its Ruby syntax, run by
 * PCRE2. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_PATTERN_H
#define REACH_IO_TOKENIZER_PATTERN_H

#include "io/error.h"
#include "io/tokenizer/text.h"

struct pattern;

/* Constructs that the two libraries read differently are translated (white space, words, nested
 * character classes, \u) or refused by name. NULL on failure. */
struct pattern *pattern_compile(struct span ruby, struct error *e) MUST_USE;
/* Matches the text itself. */
struct pattern *pattern_literal(struct span text, struct error *e) MUST_USE;
/* A pattern of our own, in PCRE2's syntax. */
struct pattern *pattern_own(const char *pcre, struct error *e) MUST_USE;
void pattern_free(struct pattern *p);

/* Sets a `step` to be called now and then during long matching; nonzero stops it with -1 and the
 * message left by step. */
void pattern_watch(struct pattern *p, int (*step)(void *context, struct error *e), void *context);

/* A search through one text; zeroed at its start. */
struct search {
    size_t at; /* where the next search starts */
    size_t last_end; /* of the last match */
    int any; /* a match was found */
};

/* The next match in whole UTF-8. 1: found, [*start, *end); 0: none; -1: an error (the pattern needs
 * too much work, time or memory: patterns come with models, and their time may grow with the square
 * of a text, or without bounds). */
int pattern_next(struct pattern *p, struct search *s, struct span text, size_t *start, size_t *end,
                 struct error *e) MUST_USE;

/* 1 if the pattern matches at `at`; -1: an error. */
int pattern_matches_at(struct pattern *p, struct span text, size_t at, struct error *e) MUST_USE;

#endif
