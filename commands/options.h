/* The description of a verb: its arguments are parsed, and its help, recorded command, settings and
 * completions are written, from one table, so that none can forget an option. */
#ifndef REACH_COMMANDS_OPTIONS_H
#define REACH_COMMANDS_OPTIONS_H

#include "io/error.h"
#include "io/text_list.h"
#include "run/settings.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The type of an option's value and of its field. */
enum option_type {
    OPTION_FLAG, /* int, 1 when given; the option takes no value */
    OPTION_TEXT, /* const char *, not empty; borrowed, here and below */
    OPTION_LIST, /* struct text_list; the option may be repeated */
    OPTION_CHOICE, /* const char *: one of the choices */
    OPTION_NUMBERED_CHOICE, /* int or enum: the choice's number, from 0; an empty choice means none
                             */
    OPTION_INT, /* whole numbers, both ends included */
    OPTION_LONG,
    OPTION_SIZE,
    OPTION_UNSIGNED, /* uint64_t, its whole range */
    OPTION_BYTES, /* size_t: a whole number, optionally with K, M, G or T (powers of 1000) */
    OPTION_REAL, /* double, ends not included */
    OPTION_OWN /* parsed by the functions of the row */
};

enum {
    OPTION_RESULT = 1, /* changes what is computed: recorded in commands and settings */
    OPTION_RECORDED = 2, /* in commands even if it is the default */
    OPTION_LATER = 4, /* the default is set after parsing, since it depends on other options */
    OPTION_REPEATED = 8, /* OPTION_OWN: may be given several times */
    OPTION_COMMON = 16 /* in the short help, and first in that of all */
};

/* The part of a long help that shows it. */
enum option_group {
    GROUP_INPUT,
    GROUP_MEASURED,
    GROUP_MODEL,
    GROUP_MACHINE,
    GROUP_FIGURE,
    GROUP_OUTPUT,
    GROUP_RUN,
    OPTION_GROUPS
};

/* One option `--name`; only -o (row "o") and -h have one letter. Order as in recorded commands. */
struct option_row {
    const char *name;
    const char *value; /* its name in the help: DIR and FILE are completed as such; NULL: none */
    const char *brief; /* what it does, in a line of the short help and in completion; NULL: the
                          beginning of `help` is as short */
    const char *help; /* what it does, unit; %s is its default, else appended; later wrapped */
    enum option_type type;
    size_t at; /* of the field in the options of the verb */
    const char *standard; /* the default, as a user would write it; NULL: none */
    long absent; /* value of a whole-number field if not given and without a default */
    double low, high; /* for numbers */
    const char *const
        *choices; /* ended by NULL; also completed. Whole numbers: a word for the lowest */
    int (*check)(const char *text, struct error *e); /* for OPTION_TEXT; may be NULL */
    /* For OPTION_OWN; `nth` counts the earlier uses of the option. `write` writes value number nth
     * as it would be given, and returns 0 if there is none; other types may have one too, for
     * recorded commands. */
    int (*read)(void *options, const char *value, int nth, struct error *e);
    int (*write)(FILE *f, const void *options, int nth);
    const char *const *beside; /* the only options allowed with it, ended by NULL; NULL: any */
    const char *against; /* the option that it may not be given with; NULL: none */
    const char *with; /* the option it needs for an effect, unless that has a default; NULL: none */
    enum option_group group;
    unsigned flags;
};

/* Arguments other than options. */
enum {
    OPERAND_LIST = 1, /* the last operand: one or more, a struct text_list; else a const char * */
    OPERAND_FORMULA = 2, /* may begin with a dash */
    OPERAND_STREAM = 4, /* may be - */
    OPERAND_BY_STEP = 8 /* a list, put in the order of steps that its names state (run/steps.h) */
};
struct operand_row {
    const char *name, *expected; /* "MODEL", "a checkpoint folder" */
    size_t at;
    unsigned flags;
    const char *const *choices; /* ended by NULL; NULL: any */
};

struct call;
struct results_file;

struct verb {
    const char *name, *summary;
    const char *synopsis; /* after `reach VERB` */
    const char *description; /* paragraphs separated by empty lines; lines that begin with a space
                                are kept */
    const char *examples; /* lines */
    void (*print_more)(FILE *f); /* prints the end of all of the help; may be NULL */
    const struct operand_row *operands;
    const struct option_row *options;
    size_t operand_count, option_count,
        options_size; /* options_size: of the struct that `at` is in */
    int computes; /* uses threads */
    int divided; /* may be run by several ranks (run/ranks.h): all except rank 0 print nothing */
    /* of --json (run/results.h): tables that only the document has, and those of the files */
    const struct results_file *const *shown, *const *files; /* ended by NULL; NULL: none */
    int (*check)(void *options,
                 struct error *e); /* refuses conflicts, sets dependent defaults; or NULL */
    int (*run)(struct call *c, struct error *e); /* 0, EXIT_USAGE, or another number: failed */
};

#define ROWS(array) (array), sizeof(array) / sizeof *(array)
/* For the rows of one struct: OPTIONS names it. The type of a whole number is that of its field. */
#define AT(member) offsetof(OPTIONS, member)
#define WHOLE_AT(member, lowest, highest) \
    .type = _Generic(((OPTIONS *)0)->member, int \
                     : OPTION_INT, long \
                     : OPTION_LONG, size_t \
                     : OPTION_SIZE), \
    .at = AT(member), .low = (lowest), .high = (highest)

enum { PARSED_HELP = 1, PARSED_HELP_ALL };

/* Fills `options` (v->options_size bytes) with the defaults and the given values. 0, PARSED_HELP,
 * PARSED_HELP_ALL (--help with --all),
 * or -1 with a message: wrong usage. `--name VALUE` and `--name=VALUE` are the same; `--` ends the
 * options. Free `options` in every case. */
int options_parse(void *options, const struct verb *v, int argc, char **argv,
                  struct error *e) MUST_USE;
void options_free(void *options, const struct verb *v);
/* The command as recorded in results: operands and all options that can change a number, in the
 * order of the table, without defaults; so a run and its --resume, or two runs into different
 * folders, record the same. Caller frees; NULL: out of memory. */
char *options_command(const void *options, const struct verb *v);
/* Every option that can change a number, with its value. */
int options_settings(struct settings *out, const void *options, const struct verb *v,
                     struct error *e) MUST_USE;

/* The row called NAME, or NULL. */
const struct option_row *option_find(const struct verb *v, const char *name);
/* Its field in `options`. */
#define OPTION_FIELD(type, options, row) (*(type *)((char *)(options) + (row)->at))
/* "--length", "-o". */
enum { OPTION_NAME_MAX = 40 };
const char *option_dashed(char out[OPTION_NAME_MAX], const char *name);

/* Reads one value into its field; writes value number nth, or returns 0 if there is none. */
int option_read(void *options, const struct option_row *row, const char *value, int nth,
                struct error *e) MUST_USE;
int option_write(FILE *f, const void *options, const struct option_row *row, int nth);
/* Sets a default of OPTION_LATER. */
int option_default(void *options, const struct verb *v, const char *name, struct error *e) MUST_USE;

/* What `reach VERB --help` prints: all of it, or what fits a screen, which is all of a short one;
 * the help for one option, and the same in one line. */
enum { HELP_MAX = 1024 };
enum { HELP_LINES = 35 };
void help_print(FILE *f, const struct verb *v, int all);
void option_help(char *out, size_t size, const struct option_row *o);
/* In at most BRIEF_MAX columns. */
enum { BRIEF_MAX = 54 };
void option_brief(char *out, size_t size, const struct option_row *o);

/* Strict parsers for a whole value; the message names `option`. 0 or -1. */
int read_whole(const char *option, const char *text, long low, long high, long *out,
               struct error *e) MUST_USE;
int read_unsigned(const char *option, const char *text, uint64_t *out, struct error *e) MUST_USE;
/* low < value < high. */
int read_between(const char *option, const char *text, double low, double high, double *out,
                 struct error *e) MUST_USE;
int read_size(const char *option, const char *text, size_t *out, struct error *e) MUST_USE;

/* The number of the choice, or -1. */
int read_choice(const char *option, const char *text, const char *const *choices,
                struct error *e) MUST_USE;

/* A blank, and the word as a shell reads it back. */
void command_word(FILE *f, const char *word);

#endif
