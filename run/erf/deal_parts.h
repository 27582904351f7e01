/* What ranks of one run of `reach erf` say to each other. Private to run/erf/deal*.c and serve.c. */
#ifndef REACH_RUN_ERF_DEAL_PARTS_H
#define REACH_RUN_ERF_DEAL_PARTS_H

#include "run/ranks.h"

#include <stdint.h>

enum deal_kind {
    DEAL_READY = 1, /* to rank 0: erf_settings_text of a rank that waits for work */
    DEAL_FAILED, /* to rank 0: why a rank cannot go on */
    DEAL_CHUNK, /* from rank 0: struct deal_chunk to measure */
    DEAL_MEASURED, /* to rank 0: struct deal_chunk, then of all its segments norms, log p, completeness, near ties */
    DEAL_END /* from rank 0: there is no more */
};

/* Segments [first, first + count) of a target of a model, by their numbers in the run. */
struct deal_chunk {
    uint64_t model, target, first, count;
};

/* deal_compare.c: a rank that has other weights, tokens, kernels or options would measure something else: an error that names the
 * first line in which the settings of its message differ from rank 0's. */
int deal_compare(const char *settings, const struct ranks_message *m, struct error *e) MUST_USE;

#endif
