/* The command that a result records, taken apart. */
#ifndef REACH_RUN_MERGE_COMMAND_H
#define REACH_RUN_MERGE_COMMAND_H

#include "io/error.h"

/* The words of a command as they were before they were quoted; *words and what they point to are one block, which the caller
 * frees. */
int command_words(char ***words, int *count, const char *command, struct error *e) MUST_USE;

/* The word behind `option`, or NULL. */
const char *command_value(char *const *words, int count, const char *option);

/* What is left of a shard's command for the run that was divided: all but --shard. NULL with *e without memory; the caller frees,
 * also below. */
char *command_of_run(const char *command, struct error *e);
/* The options that can change a number alone: without models, text and --shard. */
char *command_options(const char *command, struct error *e);

#endif
