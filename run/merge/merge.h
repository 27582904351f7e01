/* Merging all shards of a run into one result. */
#ifndef REACH_RUN_MERGE_MERGE_H
#define REACH_RUN_MERGE_MERGE_H

#include "io/results/result.h"
#include "io/text_list.h"
#include "run/progress.h"
#include "run/shared_options.h"

struct merge_request {
    struct text_list folders; /* of the shards */
    const char *folder, *formats; /* of the result */
    int force;
    struct shown_options shown;
    struct progress *progress;
};

/* Joins the shards, reduces them and writes the files of the result, byte for byte as one run would
 * have written them; *out is the result. Caller frees it with result_free, also on failure. */
int merge_run(struct result *out, const struct merge_request *q, struct error *e) MUST_USE;

#endif
