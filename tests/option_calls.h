/* Calls of verbs by text, for tests of options. */
#ifndef REACH_TESTS_OPTION_CALLS_H
#define REACH_TESTS_OPTION_CALLS_H

#include "commands/commands.h"
#include "commands/erf.h"
#include "run/command.h"
#include "run/models.h"

#include <stddef.h>

/* Parses a line of words; `~` in a word stands for a blank, and a word of one `_` is empty. */
int option_parse(void *options, const struct verb *v, const char *line, char *copy,
                 struct error *e);

#endif
