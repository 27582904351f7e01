/* Shared by the files of the formula language only. */
#ifndef REACH_ANALYZE_FORMULA_PRIVATE_H
#define REACH_ANALYZE_FORMULA_PRIVATE_H

#include "analyze/formula.h"

/* ---- text (formula_text.c) ---- */

/* Writes *e (which may be NULL) and returns -1. */
int formula_refuse(struct formula_error *e, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes of the unsigned decimal number at the start of TEXT (12, 12., 1.5e-3, .5), 0 if there is
 * none. An exponent without digits is not part of the number. */
size_t decimal_length(const char *text);

/* Nearest double of a whole decimal, sign allowed. -1 if it is beyond the largest double, or
 * nonzero and below the smallest. */
int decimal_value(double *value, const char *decimal);

/* Bytes of the name at the start of TEXT, 0 if there is none. */
size_t name_length(const char *text);

/* ---- reading (formula_reader.c) ---- */

/* A name in scope and its node: sum's index, or a preset's parameter. */
struct scope {
    const char *name;
    size_t length;
    int node;
    const struct scope *outer;
};

/* The tree under construction. */
struct builder {
    struct formula *f;
    int *depth; /* [nodes] height of each node's subtree */
    int node_capacity, parameter_capacity;
    int sums, nesting;
    struct formula_error *e;
};

/* A reader of one text: the user's, or a preset's. */
struct reader {
    struct builder *b;
    const char *text; /* readable past `end`, where it has '\0' or ',' */
    size_t at, end;
    size_t last, last_length; /* the token read last, for messages */
    const struct scope *scope;
    int in_preset; /* 1: errors are reported at `origin`, where the user wrote the preset's name */
    size_t origin;
};

struct formula_function {
    const char *name;
    enum formula_node_kind kind;
    int least, most; /* arguments */
};

/* The next character that is not a blank, '\0' at the end. */
char reader_peek(struct reader *r);
/* Skips `length` bytes: one token. */
void reader_consume(struct reader *r, size_t length);
/* Skips the character c if it is next; 1 if it was. */
int reader_accept(struct reader *r, char c);
/* Skips ')' for the '(' at `open`. 0 or -1. */
int reader_close(struct reader *r, size_t open);

/* Appends a node; its index, or -1. Missing children are -1. */
int reader_add(struct reader *r, enum formula_node_kind kind, size_t at, int first, int second,
               int third);
/* Appends a use of the parameter of that name; `fallback` is its default's node or -1. */
int reader_add_parameter(struct reader *r, const char *name, size_t length, size_t at,
                         int fallback);

/* Refusals; all return -1. */
int reader_refuse(struct reader *r, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int reader_refuse_memory(struct reader *r);
/* A value is missing here. */
int reader_refuse_value(struct reader *r);
/* The text does not end or continue as it should; `expected` names what was possible here. */
int reader_refuse_rest(struct reader *r, const char *expected);
/* An unknown NAME( : names similar ones, else all. */
int reader_refuse_function(struct reader *r, const char *name, size_t length, size_t at);

/* Known names; the texts are not NUL-terminated. */
int name_is(const char *text, size_t length, const char *name);
/* enum formula_variable, or -1. */
int name_variable(const char *name, size_t length);
const struct formula_function *name_function(const char *name, size_t length);
const struct formula_preset *name_preset(const char *name, size_t length);
/* 1: a variable, a constant or a function. */
int name_is_reserved(const char *name, size_t length);

/* ---- walking the tree (formula.c) ---- */

/* reached[i] = 1 for nodes that the value depends on: not the default of a parameter that is set.
 * reached [FORMULA_NODES_MAX]. */
void formula_reach(unsigned char *reached, const struct formula *f);

/* Updates uses_head. */
void formula_update_head(struct formula *f);

#endif
