/* The shards of a run. Private to run/merge. */
#ifndef REACH_RUN_MERGE_SHARDS_H
#define REACH_RUN_MERGE_SHARDS_H

#include "io/results/result.h"
#include "io/text_list.h"

/* One folder to merge. */
struct shard {
    const char *folder; /* as given */
    char *path; /* of its erf.h5; owned */
    struct result heads; /* without data; owned */
};

/* Reads the descriptions of the results in `folders` and sorts them by number: all shards of one
 * run, each once. A missing or repeated shard, or a difference, is named. Caller frees with
 * shards_free, also on failure. */
int shards_open(struct shard **out, const struct text_list *folders, struct error *e) MUST_USE;
void shards_free(struct shard *s, int count);

/* compare.c: 0 if a and b are parts of the same run. */
int shards_compare(const struct shard *a, const struct shard *b, struct error *e) MUST_USE;

/* join.c: the result of the whole run from those of all shards, reduced. It takes over the
 * description of the first. */
int shards_join(struct result *out, struct shard *s, int count, struct error *e) MUST_USE;

#endif
