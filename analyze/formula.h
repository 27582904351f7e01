/* The formula language for position biases: one parser, one tree, several evaluators (this file: parser and double evaluator).
 *
 * t distance, h head from 1, H heads, d head size, L length; + - * / ^ (right-associative, binds tighter than unary minus), parentheses,
 * comparisons (== != < <= > >=) and `? :`, inf, pi, ln log exp sqrt abs min max floor sin cos pow, sum(i, a, b, expr), parameters, presets by name.
 * Literals are kept as the decimal text that was written, so that a rigorous evaluator can read them exactly. Parsing is bounded in depth and size,
 * evaluation in steps. */
#ifndef REACH_ANALYZE_FORMULA_H
#define REACH_ANALYZE_FORMULA_H

#include <stddef.h>

/* Where and why a formula was refused: `at` counts bytes from 0 in the text given; `expected` may be empty. */
struct formula_error {
    size_t at;
    char message[256];
};

enum formula_node_kind {
    NODE_LITERAL, NODE_INFINITY, NODE_PI, NODE_VARIABLE /* t h H d L */, NODE_PARAMETER, NODE_INDEX /* of sum */,
    NODE_NEGATE, NODE_ADD, NODE_SUBTRACT, NODE_MULTIPLY, NODE_DIVIDE, NODE_POWER,
    NODE_LESS, NODE_LESS_EQUAL, NODE_GREATER, NODE_GREATER_EQUAL, NODE_EQUAL, NODE_NOT_EQUAL, NODE_CHOOSE,
    NODE_LN, NODE_EXP, NODE_SQRT, NODE_ABS, NODE_MIN, NODE_MAX, NODE_FLOOR, NODE_SIN, NODE_COS, NODE_SUM
};

enum formula_variable { VARIABLE_T, VARIABLE_H, VARIABLE_HEADS, VARIABLE_HEAD_SIZE, VARIABLE_LENGTH };

/* A node of the tree. Children come before their parents in `nodes`. */
struct formula_node {
    enum formula_node_kind kind;
    int child[3];        /* indices into nodes, -1 if none; NODE_SUM: first, last, body */
    int slot;            /* NODE_VARIABLE: enum formula_variable; NODE_PARAMETER: index into parameters; NODE_INDEX: nesting depth of its sum */
    const char *decimal; /* NODE_LITERAL: its text, owned by the formula */
    double value;        /* NODE_LITERAL: nearest double */
    size_t at;           /* where in the source */
};

/* A named parameter and its values: one for all heads, or one per head. `decimal` keeps what was written. */
struct formula_parameter {
    char name[32];
    int count;           /* 0: not set; 1: all heads; else one per head */
    double *value;       /* [count] */
    char **decimal;      /* [count] exact decimal text, or NULL where the value came from a checkpoint (then the binary value is exact) */
};

struct formula {
    char *source;        /* as written by the user */
    struct formula_node *nodes;
    int node_count, root;
    struct formula_parameter *parameters;
    int parameter_count;
    int uses_head;       /* 0: the same for every head */
};

/* Parses TEXT: a formula, a preset's name, or name(argument, ...) / name(name=value, ...). NULL with *e on failure. Caller frees. */
struct formula *formula_parse(const char *text, struct formula_error *e);
void formula_free(struct formula *f);

/* Sets a parameter by `count` decimals (1, or one per head). Unknown names and malformed numbers are errors. Returns 0 or -1. */
int formula_set(struct formula *f, const char *name, const char *const *decimals, int count, struct formula_error *e);
/* The same from binary values (a checkpoint's). */
int formula_set_values(struct formula *f, const char *name, const double *values, int count, struct formula_error *e);
/* `NAME=V` or `NAME=V,V,...` as --set takes it. */
int formula_set_text(struct formula *f, const char *assignment, struct formula_error *e);
/* The first parameter without a value, or NULL. */
const char *formula_missing(const struct formula *f);

struct formula_point {
    double t;
    int h, heads;        /* h from 1 */
    int head_size;
    double length;
};

/* Value at one point in double. Division by zero and logs of non-positives follow IEEE (inf, nan); the caller decides. All parameters must be set. */
double formula_evaluate(const struct formula *f, const struct formula_point *at);

/* table[h, t] = b(t) for t < distances, h < heads. A NaN or +inf is an error that names head and distance; -inf is a mask. */
int formula_table(double *table, const struct formula *f, int heads, int head_size, size_t distances, double length, struct formula_error *e);

/* Presets, written in the language. */
struct formula_preset {
    const char *name;
    const char *parameters; /* "delta=0" : names with defaults; "p,a": required; "" none */
    const char *body;
    const char *summary;    /* one line for --help */
};
extern const struct formula_preset formula_presets[];
extern const int formula_preset_count;
const struct formula_preset *formula_preset_find(const char *name);

#endif
