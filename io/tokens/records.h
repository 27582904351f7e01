/* Texts of a corpus, one after the other, with their ends. Private to io/tokens. */
#ifndef REACH_IO_TOKENS_RECORDS_H
#define REACH_IO_TOKENS_RECORDS_H

#include "io/system/input.h"
#include "io/tokenizer/text.h"

struct records {
    struct buffer text;
    size_t *end; /* [count] of [room] */
    size_t count, room;
};

/* Appends the member `field` of each line of JSON, each a record; with `joined` and a newline after
 * it, and none of them a record. */
int records_read(struct records *r, struct input *in, const char *field, int joined,
                 struct error *e) MUST_USE;
/* Ends a record at the end of the text so far. */
int records_end(struct records *r, struct error *e) MUST_USE;
void records_free(struct records *r);

#endif
