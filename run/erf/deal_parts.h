/* Messages between ranks of one `reach erf` run. Private to run/erf/deal*.c and serve.c. */
#ifndef REACH_RUN_ERF_DEAL_PARTS_H
#define REACH_RUN_ERF_DEAL_PARTS_H

#include "run/ranks.h"

#include <stdint.h>

enum deal_kind {
    DEAL_READY = 1, /* to rank 0: erf_settings_text of a rank waiting for work */
    DEAL_FAILED, /* to rank 0: why a rank cannot continue */
    DEAL_CHUNK, /* from rank 0: struct deal_chunk to measure */
    DEAL_MEASURED, /* to rank 0: struct deal_chunk, then its norms, log p, completeness, near ties
                    */
    DEAL_END /* from rank 0: no more work */
};

/* Segments [first, first + count) of a target of a model, by their numbers in the run. */
struct deal_chunk {
    uint64_t model, target, first, count;
};

/* deal_compare.c: fails if a rank has other weights, tokens, kernels or options, naming the first
 * line in which the settings in its message differ from rank 0's. */
int deal_compare(const char *settings, const struct ranks_message *m, struct error *e) MUST_USE;

#endif
