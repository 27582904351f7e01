/* The formula language for position biases: one parser, one tree, several evaluators (this file:
 * parser and double evaluator).
 *
 *   choice     = comparison [ "?" choice ":" choice ]
 *   comparison = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
 *   sum        = product { ("+" | "-") product }
 *   product    = unary { ("*" | "/") unary }
 *   unary      = "-" unary | power
 *   power      = value [ "^" unary ]
 *   value      = number | name | "(" choice ")" | function "(" choice { "," choice } ")"
 *              | preset [ "(" [ argument { "," argument } ] ")" ]
 *              | "sum" "(" name "," first "," last "," body ")"
 *   argument   = choice | name "=" choice
 *
 * Only the chosen branch of a choice is evaluated. A comparison is 1 or 0, and not chained. Powers
 * are right-associative: 2^3^2 = 2^9; -t^2 = -(t^2), and 2^-t is allowed. The name of a sum is
 * first, first + 1, ... while <= last; an empty sum is 0. Arguments are by place or by name; named
 * ones come last.
 *
 * Variables: t distance (from 0), h head (from 1), H heads, d head size, L length. Constants: pi,
 * inf. Functions: ln = log, exp, sqrt, abs, min and max (2 or more), floor, sin, cos, pow(a,b) =
 * a^b. These names and those of presets cannot be parameters; any other name is one (up to 31 of
 * A-Z a-z 0-9 _), to be set later, and equal names are one parameter. Numbers are decimals (12,
 * 0.5, .5, 1e-4), stored as written, so that a rigorous evaluator can read them exactly.
 *
 * A preset is replaced by its body. A preset parameter without an argument becomes a parameter of
 * the formula, with the preset's default if it has one: `alibi`, `alibi(2)`, `alibi(delta=2)`,
 * `alibi + window(w=64)`, and `kerple_log` with p and a set later. The name bound by sum hides
 * parameters and presets inside its body.
 *
 * NaN propagates through comparisons, ?:, min and max, so that no branch hides it. Parsing is
 * bounded in size and depth, evaluation in steps. */
#ifndef REACH_ANALYZE_FORMULA_H
#define REACH_ANALYZE_FORMULA_H

#include <stddef.h>

enum {
    FORMULA_TEXT_MAX = 65536, /* bytes of source */
    FORMULA_NODES_MAX = 10000,
    FORMULA_NESTING_MAX =
        200, /* of parentheses, arguments, branches, signs and powers in the text */
    FORMULA_DEPTH_MAX = 1000, /* of the tree: long sums are deep on the left */
    FORMULA_SUMS_MAX = 64, /* sum(...) in one formula, presets included */
    FORMULA_STEPS_MAX = 1000000 /* nodes evaluated for one point */
};

/* Where and why something was refused: `at` is a byte offset in the given text. */
struct formula_error {
    size_t at;
    char message[256];
};

enum formula_node_kind {
    NODE_LITERAL,
    NODE_INFINITY,
    NODE_PI,
    NODE_VARIABLE /* t h H d L */,
    NODE_PARAMETER,
    NODE_INDEX /* of sum */,
    NODE_NEGATE,
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_DIVIDE,
    NODE_POWER,
    NODE_LESS,
    NODE_LESS_EQUAL,
    NODE_GREATER,
    NODE_GREATER_EQUAL,
    NODE_EQUAL,
    NODE_NOT_EQUAL,
    NODE_CHOOSE,
    NODE_LN,
    NODE_EXP,
    NODE_SQRT,
    NODE_ABS,
    NODE_MIN,
    NODE_MAX,
    NODE_FLOOR,
    NODE_SIN,
    NODE_COS,
    NODE_SUM
};

enum formula_variable {
    VARIABLE_T,
    VARIABLE_H,
    VARIABLE_HEADS,
    VARIABLE_HEAD_SIZE,
    VARIABLE_LENGTH
};

/* A node of the tree. Children come before their parents in `nodes`; a node may have several
 * parents (a preset's argument used twice). */
struct formula_node {
    enum formula_node_kind kind;
    int child[3]; /* indices into nodes, -1 if none. NODE_SUM: first, last, body. NODE_PARAMETER:
                     its default, used while the parameter has no value (-1: it must be set).
                     NODE_CHOOSE: condition, then, else */
    int slot; /* NODE_VARIABLE: enum formula_variable; NODE_PARAMETER: index into parameters;
               * NODE_SUM: the number of this sum, below FORMULA_SUMS_MAX; NODE_INDEX: the number of
               * the sum that binds it */
    const char *decimal; /* NODE_LITERAL: its text, owned by the formula */
    double value; /* NODE_LITERAL: nearest double */
    size_t at; /* where in the source; inside a preset: where the preset's name is */
};

/* A named parameter and its values: one for all heads, or one per head. `decimal` keeps what was
 * written. */
struct formula_parameter {
    char name[32];
    int count; /* 0: not set, the default in its nodes applies; 1: all heads; else one per head */
    double *value; /* [count] */
    char **decimal; /* [count] exact decimal text, or NULL (binary value is exact) */
};

struct formula {
    char *source; /* as written by the user */
    struct formula_node *nodes;
    int node_count, root;
    struct formula_parameter *parameters;
    int parameter_count;
    int uses_head; /* 0: the same for every head (with the current parameters) */
};

/* Parses TEXT. NULL with *e on failure. Caller frees. */
struct formula *formula_parse(const char *text, struct formula_error *e);
void formula_free(struct formula *f);

/* Sets a parameter by `count` decimals (1, or one per head). Unknown names, malformed numbers and
 * numbers beyond the range of double are errors; e->at counts in the decimal at fault. Returns 0 or
 * -1; on failure the formula is unchanged. */
int formula_set(struct formula *f, const char *name, const char *const *decimals, int count,
                struct formula_error *e);
/* The same from binary values (a checkpoint's), which must be finite. */
int formula_set_values(struct formula *f, const char *name, const double *values, int count,
                       struct formula_error *e);
/* `NAME=V` or `NAME=V,V,...` as --set takes it. */
int formula_set_text(struct formula *f, const char *assignment, struct formula_error *e);
/* The first parameter without a value that needs one, or NULL. */
const char *formula_missing(const struct formula *f);

struct formula_point {
    double t;
    int h, heads; /* h from 1 */
    int head_size;
    double length;
};

/* uses_t[n] = 1 if the value of node n depends on the distance. uses_t [FORMULA_NODES_MAX]. */
void formula_mark_distance(unsigned char *uses_t, const struct formula *f);

/* Value at one point in double. Infinities and NaN as in doc/formula.md; the caller decides. NaN
 * also when a parameter has no value (for this head), and beyond FORMULA_STEPS_MAX. */
double formula_evaluate(const struct formula *f, const struct formula_point *at);
/* The nodes evaluated for that. */
long formula_steps(const struct formula *f, const struct formula_point *at);

/* The same values, bit for bit, for one head at increasing distances: a sum to t continues from its
 * last value, so that all of them cost as much as the last one. Other distances take longer.
 * Borrows f. NULL: out of memory. */
struct formula_walk *formula_walk_new(const struct formula *f);
/* *steps: the number of nodes that may be evaluated, and then of those left; below 0 they were not
 * enough, and the value is NaN. */
double formula_walk_to(struct formula_walk *w, const struct formula_point *at, long *steps);
void formula_walk_free(struct formula_walk *w);

/* table[heads, distances]: table[h, t] = b(t), the same bits as formula_evaluate. A NaN or +inf is
 * an error that names head and distance; -inf is a mask. Also errors: a parameter without a value
 * or with neither 1 nor `heads` values, too many steps, memory. Returns 0 or -1. */
int formula_table(double *table, const struct formula *f, int heads, int head_size,
                  size_t distances, double length, struct formula_error *e);

/* How a program computes a formula in a narrower type: round(x, type) is the nearest number of that
 * type. */
struct formula_rounding {
    double (*round)(double x, int type);
    int type;
};
/* The same two, rounding like such a program; NULL: no rounding. The distance, the result of every
 * operation with it, and each part of the formula without it (a slope, a parameter), which is
 * computed in double, are rounded once each. So are the terms of a sum and their total, which is
 * added up in double. Conditions (of ?: and in comparisons) and arguments of floor are not rounded:
 * programs choose windows and buckets in whole numbers. */
double formula_evaluate_rounded(const struct formula *f, const struct formula_point *at,
                                const struct formula_rounding *rounding);
int formula_table_rounded(double *table, const struct formula *f, int heads, int head_size,
                          size_t distances, double length, const struct formula_rounding *rounding,
                          struct formula_error *e);

/* Presets, written in the language. */
struct formula_preset {
    const char *name;
    const char *parameters; /* "delta=0": names with defaults; "p,a": required; "" none */
    const char *body;
    const char *summary; /* one line for --help */
};
extern const struct formula_preset formula_presets[];
extern const int formula_preset_count;
/* The preset whose name is a typing error away, or NULL. */
const struct formula_preset *formula_preset_near(const char *name);
/* The preset of that name, or NULL. */
const struct formula_preset *formula_preset_find(const char *name);

#endif
