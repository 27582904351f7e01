/* FORMULA, PRESET and MODEL arguments of `reach trf`, `fit` and `bias`, and the options that go with them. */
#ifndef REACH_COMMANDS_FORMULA_ARGUMENTS_H
#define REACH_COMMANDS_FORMULA_ARGUMENTS_H

#include "analyze/formula.h"
#include "commands/options.h"
#include "model/decoder.h"
#include "run/formula_options.h"

enum { HEADS_MAX = 4096, HEAD_SIZE_DEFAULT = 64 };

/* A bias by distance, and the layers of a checkpoint that share it. */
struct layer_bias {
    struct formula *formula; /* owned, every parameter set; NULL: there is none */
    long window; /* b(t) = -inf for t >= window; 0: no such end is known */
    char reason[192]; /* why the series of the encoding does not apply; empty: it does. `formula` is that of the window alone then
                       */
};

/* Zeroed: none. */
struct bias_set {
    int heads, head_size;
    int uses_length; /* 1: a formula has L in it */
    int layers; /* of a decoder; 0: a formula */
    int train_length; /* of a decoder; 0: unknown */
    long cone; /* of a decoder: 1 + sum over layers of (window - 1); 0: a layer has no window */
    char position[256]; /* of a decoder: what its position encoding is */
    struct layer_bias *biases; /* [bias_count]; owned; one for a formula */
    int bias_count;
    int *bias_of_layer; /* [layers]; owned; NULL for a formula */
};

struct formula_argument {
    char *label; /* in outputs: NAME of NAME=ARGUMENT, a checkpoint's name, or the text as it was written; owned */
    const char *text; /* without NAME=; borrowed */
    int is_model;
    struct bias_set set;
};

/* Reads one argument: a preset if it names one, else a path if it exists, else a formula; a text that begins with a dash is a
 * formula, and one that begins with /, ./ or ../ a path. A text with another slash is a formula when it has a value for every
 * parameter, else it is taken for a path that is missing. NAME=ARGUMENT names it (NAME of letters, digits, `_`, `.` and `-`).
 * Returns EXIT_DONE, EXIT_FAILED or EXIT_USAGE with *e. */
int formula_argument_read(struct formula_argument *out, const char *text, const struct formula_options *o,
                          struct error *e) MUST_USE;
void formula_argument_free(struct formula_argument *a);

/* The same for a list; an assignment of --set that no formula takes is wrong usage. The caller frees *out
 * (formula_arguments_free). */
int formula_arguments_read(struct formula_argument **out, const struct text_list *texts, const struct formula_options *o,
                           struct error *e) MUST_USE;
void formula_arguments_free(struct formula_argument *a, int count);

/* 1 if the text names a file whose name ends in .csv. */
int is_csv_path(const char *text);

/* The part of TEXT behind NAME=, or TEXT itself; *length of the name is 0 then. */
const char *argument_after_name(const char *text, size_t *length);

/* The biases of an open checkpoint, exact binary values and all. `out` is zeroed; the caller frees it, also when it fails. */
int biases_of_decoder(struct bias_set *out, const struct decoder *d, struct error *e) MUST_USE;
/* That of a formula, all of whose parameters are set; takes it over, also when it fails. */
int biases_of_formula(struct bias_set *out, struct formula *f, int heads, int head_size, struct error *e) MUST_USE;
void biases_free(struct bias_set *s);

/* Rows of this bias: its heads, or 1 when all heads are alike. */
int bias_rows(const struct bias_set *s, const struct layer_bias *b);

/* Layers of bias number `index` as "layers 1-4, 6", or "layer 2"; empty for a formula or when all layers share it. */
void bias_layers_text(char *out, size_t size, const struct bias_set *s, int index);

/* table[rows, distances] of b(t), rows as bias_rows says; L = distances. `label` begins the message. */
int bias_table(double *table, const struct bias_set *s, const struct layer_bias *b, size_t distances, const char *label,
               struct error *e) MUST_USE;

#endif
