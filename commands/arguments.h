/* Options of the verbs: one table a verb, from which arguments are parsed and the help is printed, so that neither can forget an
 * option. */
#ifndef REACH_COMMANDS_ARGUMENTS_H
#define REACH_COMMANDS_ARGUMENTS_H

#include "commands/exit_status.h"
#include "io/error.h"
#include "io/text_list.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One option `--name`. Only -o (the row named "o") and -h have one letter. */
struct argument_row {
    const char *name;
    const char *value; /* how the help calls the value: "FILE"; NULL: the option takes none */
    const char *help; /* what it does, unit, default; wrapped when printed */
};

/* All that `reach VERB --help` says. */
struct verb_help {
    const char *verb;
    const char *synopsis; /* lines behind `reach VERB`, without it */
    const char *description; /* paragraphs divided by an empty line; a line that begins with a space is kept as it is */
    const struct argument_row *options;
    size_t option_count;
    const char *examples; /* lines */
};

void verb_help_print(FILE *f, const struct verb_help *h);

enum { ARGUMENT_END = -1, ARGUMENT_ERROR = -2, ARGUMENT_HELP = -3, ARGUMENT_OPERAND = -4 };

struct arguments {
    int count;
    char **text;
    int at; /* the next one to look at */
    int only_operands; /* after `--` */
};

/* The next argument: the index of its option in the help's table with *value set (NULL for an option without one), or one of the
 * codes above (ARGUMENT_OPERAND with *value the argument). `--name VALUE` and `--name=VALUE` are the same; an argument that
 * begins with a single dash, other than -o and -h, is an operand; `--` ends the options. ARGUMENT_ERROR leaves the message in *e.
 */
int arguments_next(struct arguments *a, const struct verb_help *h, const char **value, struct error *e);

/* Strict readings of a whole value; `option` names it in the message. 0 or -1. */
int read_whole(const char *option, const char *text, long low, long high, long *out, struct error *e) MUST_USE;
int read_unsigned(const char *option, const char *text, uint64_t *out, struct error *e) MUST_USE;
/* low < value < high. */
int read_between(const char *option, const char *text, double low, double high, double *out, struct error *e) MUST_USE;
/* Bytes: a whole number with K, M, G or T (powers of 1024) behind it or nothing. */
int read_size(const char *option, const char *text, size_t *out, struct error *e) MUST_USE;

/* A blank, and the word as a shell reads it back. */
void command_word(FILE *f, const char *word);

/* `reach VERB: MESSAGE` on standard error, standard output flushed before; for usage with a pointer to the help. Return
 * EXIT_FAILED, EXIT_USAGE. */
int print_failure(const char *verb, const struct error *e);
int print_usage_error(const char *verb, const struct error *e);

#endif
