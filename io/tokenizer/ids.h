/* A growing array of token ids, for readers that learn the number of tokens only at the end of the
 * data. Private to io/. */
#ifndef REACH_IO_TOKENIZER_IDS_H
#define REACH_IO_TOKENIZER_IDS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct ids {
    int32_t *id; /* [count] of [capacity]; freed by the owner */
    size_t count, capacity;
};

/* Reserves room for `extra` more ids. On failure the array is unchanged. */
int ids_reserve(struct ids *a, size_t extra, struct error *e) MUST_USE;

#endif
