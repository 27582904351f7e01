/* Text to a file of token ids: the work of `reach tokenize`. */
#ifndef REACH_RUN_TOKENIZE_H
#define REACH_RUN_TOKENIZE_H

#include "run/progress.h"
#include "run/shared_options.h"

struct tokenize_options {
    const char *model, *file, *out; /* arguments, borrowed, here and below */
    const char *field; /* of JSON lines; NULL: not given */
    const char *boundary; /* put after each record of JSON lines; NULL: not given */
    int strict, force;
    struct shown_options shown;
};

struct tokenized {
    size_t tokens, bytes; /* bytes of text */
    double seconds; /* of converting text to ids */
};

/* Writes o->out. -1 on failure or interruption. */
int tokenize_run(struct tokenized *done, const struct tokenize_options *o, struct progress *p,
                 struct error *e) MUST_USE;

#endif
