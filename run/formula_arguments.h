/* FORMULA, PRESET and MODEL arguments of `reach trf`, `fit` and `bias`. */
#ifndef REACH_RUN_FORMULA_ARGUMENTS_H
#define REACH_RUN_FORMULA_ARGUMENTS_H

#include "model/biases.h"
#include "run/formula_options.h"
#include "run/progress.h"
#include "run/status.h"

struct formula_argument {
    char *label; /* in outputs: NAME of NAME=ARGUMENT, a checkpoint's name, or the text as it was written; owned */
    int is_model;
    int sloped; /* of --slopes press: 1 if it has slopes of ALiBi to be those */
    struct bias_set set;
};

/* Reads one argument: a preset if it names one, else a path if it exists, else a formula; a text that begins with a dash is a
 * formula, one that begins with /, ./ or ../ a path, one that begins with hf: a model in the local cache, and one that begins
 * with rope: a rotation (biases_of_rope). A text with another slash is a formula when it has a value for every parameter, else it
 * is taken for a path that is missing. NAME=ARGUMENT names it (NAME of letters, digits, `_`, `.` and `-`). What people should
 * know of a checkpoint is told to `p`. */
enum run_status formula_argument_read(struct formula_argument *out, const char *text, const struct formula_options *o,
                                      struct progress *p, struct error *e) MUST_USE;
void formula_argument_free(struct formula_argument *a);
/* 1 if one of its formulas has the parameter that "NAME=VALUE" is for. */
int formula_argument_takes(const struct formula_argument *a, const char *assignment);

/* 1 if "NAME=VALUE" is for the parameter `name`. */
int formula_set_names(const char *assignment, const char *name);
/* What none of them takes of --set, --heads and --slopes is wrong usage, and so is a parameter that --set names twice. */
enum run_status formula_arguments_take(const struct formula_argument *all, int count, const struct formula_options *o,
                                       struct error *e) MUST_USE;
/* Reads a list, which must take all options of formulas. The caller frees *out (formula_arguments_free). */
enum run_status formula_arguments_read(struct formula_argument **out, const struct text_list *texts,
                                       const struct formula_options *o, struct progress *p, struct error *e) MUST_USE;
void formula_arguments_free(struct formula_argument *a, int count);

/* The part of TEXT behind NAME=, or TEXT itself; *length of the name is 0 then. */
const char *argument_after_name(const char *text, size_t *length);

#endif
