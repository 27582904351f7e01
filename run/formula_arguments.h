/* FORMULA, PRESET and MODEL arguments of `reach trf`, `fit` and `bias`. */
#ifndef REACH_RUN_FORMULA_ARGUMENTS_H
#define REACH_RUN_FORMULA_ARGUMENTS_H

#include "model/biases.h"
#include "run/formula_options.h"
#include "run/progress.h"
#include "run/status.h"

struct formula_argument {
    char
        *label; /* in outputs: the given NAME, a checkpoint's name, or the text as written; owned */
    int is_model;
    int sloped; /* for --slopes press: 1 if it has ALiBi slopes to replace */
    struct bias_set set;
};

/* Reads one argument: a preset's name, else an existing path, else a formula. A text that begins
 * with a dash is a formula, with /, ./ or ../ a path, with hf: a model in the local cache, with
 * rope: a rotation (biases_of_rope). A text with another slash is a formula if it has a value for
 * every parameter, else a missing path. NAME=ARGUMENT names it (NAME of letters, digits, `_`, `.`
 * and `-`). Notes about a checkpoint go to `p`. */
enum run_status formula_argument_read(struct formula_argument *out, const char *text,
                                      const struct formula_options *o, struct progress *p,
                                      struct error *e) MUST_USE;
void formula_argument_free(struct formula_argument *a);
/* 1 if one of its formulas has the parameter set by "NAME=VALUE". */
int formula_argument_takes(const struct formula_argument *a, const char *assignment);

/* 1 if "NAME=VALUE" sets the parameter `name`. */
int formula_set_names(const char *assignment, const char *name);
/* An option --set, --heads or --slopes that applies to no argument is wrong usage, and so is a
 * parameter that --set names twice. */
enum run_status formula_arguments_take(const struct formula_argument *all, int count,
                                       const struct formula_options *o, struct error *e) MUST_USE;
/* Reads a list; every option of formulas must apply to it. Caller frees *out
 * (formula_arguments_free). */
enum run_status formula_arguments_read(struct formula_argument **out, const struct text_list *texts,
                                       const struct formula_options *o, struct progress *p,
                                       struct error *e) MUST_USE;
void formula_arguments_free(struct formula_argument *a, int count);

/* The part of TEXT after NAME=, or TEXT itself; *length of the name is 0 then. */
const char *argument_after_name(const char *text, size_t *length);

#endif
