/* Parsing the command recorded in a result. */
#ifndef REACH_RUN_COMMAND_H
#define REACH_RUN_COMMAND_H

#include "io/text_list.h"

/* The words of a command without their quoting; *words and the words are one block, which caller
 * frees. */
int command_words(char ***words, int *count, const char *command, struct error *e) MUST_USE;

/* The word after `option`, or NULL. */
const char *command_value(char *const *words, int count, const char *option);
/* Adds the words after every `option`. */
int command_values(struct text_list *out, char *const *words, int count, const char *option,
                   struct error *e) MUST_USE;

/* A shard's command without --shard, as for the undivided run. NULL with *e when memory runs out;
 * caller frees, also below. */
char *command_of_run(const char *command, struct error *e);
/* Only the options that can change a number: without models, text and --shard. */
char *command_options(const char *command, struct error *e);

#endif
