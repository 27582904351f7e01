/* The parts of `reach merge`: what shards say of themselves, and one run of all of them. Private to run/merge. */
#ifndef REACH_RUN_MERGE_SHARDS_H
#define REACH_RUN_MERGE_SHARDS_H

#include "commands/erf.h"
#include "io/result.h"

/* One folder that is to be merged. */
struct shard {
    const char *folder; /* as given */
    char *path; /* of its erf.h5; owned */
    struct result heads; /* without data; owned */
    long number, of; /* I/N, checked */
};

/* Reads what the results in `folders` say of themselves and sorts them by their numbers: all shards of one run, each once. What
 * is missing, there twice or differs is named. The caller frees, also after a failure, with shards_free. */
int shards_open(struct shard **out, const struct text_list *folders, struct error *e) MUST_USE;
void shards_free(struct shard *s, int count);

/* The value of an attribute that must be there, NULL with a message; or as a whole number from `low` to `high`. */
const char *shard_text(const struct shard *s, const struct result_model *m, const char *name, struct error *e);
int shard_whole(long *out, const struct shard *s, const struct result_model *m, const char *name, long low, long high,
                struct error *e) MUST_USE;

/* The words of a command as command_word wrote them; *words and what they point to are one block, which the caller frees. */
int command_words(char ***words, int *count, const char *command, struct error *e) MUST_USE;

/* The run that was divided: `options` parsed from its command, borrowed by the run, and models as the first shard describes them,
 * with room for all segments. What options and arguments borrow is in *words. The caller ends it with erf_run_free,
 * erf_options_free and two calls of free, also after a failure. */
int merge_open(struct erf_run *r, struct erf_options *options, char ***words, const struct shard *shards,
               struct error *e) MUST_USE;
/* Reads the data of one shard after the other into their places, and reduces them. */
int merge_fill(struct erf_run *r, const struct shard *shards, int count, struct error *e) MUST_USE;

#endif
