/* The shards of a run. Private to run/merge. */
#ifndef REACH_RUN_MERGE_SHARDS_H
#define REACH_RUN_MERGE_SHARDS_H

#include "io/results/result.h"
#include "io/text_list.h"

/* One folder that is to be merged. */
struct shard {
    const char *folder; /* as given */
    char *path; /* of its erf.h5; owned */
    struct result heads; /* without data; owned */
};

/* Reads what the results in `folders` say of themselves and sorts them by their numbers: all shards of one run, each once. What
 * is missing, there twice or differs is named. The caller frees, also after a failure, with shards_free. */
int shards_open(struct shard **out, const struct text_list *folders, struct error *e) MUST_USE;
void shards_free(struct shard *s, int count);

/* compare.c: 0 if a is a part of the run that b is a part of. */
int shards_compare(const struct shard *a, const struct shard *b, struct error *e) MUST_USE;

/* join.c: the result of the whole run from those of all shards, reduced. It takes over what the first one says of itself. */
int shards_join(struct result *out, struct shard *s, int count, struct error *e) MUST_USE;

#endif
