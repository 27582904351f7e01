/* Tools for the grammar: tokens, nodes, known names, and messages that point at a character. */
#include "analyze/formula_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct formula_function functions[] = {
    {"ln", NODE_LN, 1, 1},       {"log", NODE_LN, 1, 1},      {"exp", NODE_EXP, 1, 1},
    {"sqrt", NODE_SQRT, 1, 1},   {"abs", NODE_ABS, 1, 1},     {"min", NODE_MIN, 2, 10000},
    {"max", NODE_MAX, 2, 10000}, {"floor", NODE_FLOOR, 1, 1}, {"sin", NODE_SIN, 1, 1},
    {"cos", NODE_COS, 1, 1},     {"pow", NODE_POWER, 2, 2},   {"sum", NODE_SUM, 4, 4},
};
static const int function_count = sizeof functions / sizeof functions[0];

static const char *const variable_names[] = {"t", "h", "H", "d",
                                             "L"}; /* as enum formula_variable */
static const int variable_count = sizeof variable_names / sizeof variable_names[0];

int name_is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

int reader_refuse(struct reader *r, size_t at, const char *format, ...)
{
    char message[sizeof r->b->e->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return formula_refuse(r->b->e, r->in_preset ? r->origin : at, "%s", message);
}

int reader_refuse_memory(struct reader *r)
{
    return reader_refuse(r, r->at, "out of memory");
}

/* ---- nodes ---- */

int reader_add(struct reader *r, enum formula_node_kind kind, size_t at, int first, int second,
               int third)
{
    struct builder *b = r->b;
    int n = b->f->node_count;
    if (n == FORMULA_NODES_MAX)
        return reader_refuse(r, at, "the formula is too large (more than %d terms)",
                             FORMULA_NODES_MAX);
    if (n == b->node_capacity) {
        int capacity = n ? 2 * n : 64;
        struct formula_node *nodes = realloc(b->f->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes)
            return reader_refuse_memory(r);
        b->f->nodes = nodes;
        int *depth = realloc(b->depth, (size_t)capacity * sizeof *depth);
        if (!depth)
            return reader_refuse_memory(r);
        b->depth = depth;
        b->node_capacity = capacity;
    }
    int depth = 1;
    const int child[3] = {first, second, third};
    for (int i = 0; i < 3; i++)
        if (child[i] >= 0 && b->depth[child[i]] >= depth)
            depth = b->depth[child[i]] + 1;
    if (depth > FORMULA_DEPTH_MAX)
        return reader_refuse(
            r, at, "the formula is too deep (more than %d operations one inside the other)",
            FORMULA_DEPTH_MAX);
    b->depth[n] = depth;
    b->f->nodes[n] = (struct formula_node){.kind = kind,
                                           .child = {first, second, third},
                                           .slot = -1,
                                           .at = r->in_preset ? r->origin : at};
    b->f->node_count = n + 1;
    return n;
}

int reader_add_parameter(struct reader *r, const char *name, size_t length, size_t at, int fallback)
{
    struct formula *f = r->b->f;
    if (length >= sizeof f->parameters->name)
        return reader_refuse(r, at, "the name '%.31s...' is longer than 31 characters", name);
    int slot = 0;
    while (slot < f->parameter_count && !name_is(name, length, f->parameters[slot].name))
        slot++;
    if (slot == f->parameter_count) {
        if (slot == r->b->parameter_capacity) {
            int capacity = slot ? 2 * slot : 8;
            struct formula_parameter *parameters = realloc(f->parameters,
                                                           (size_t)capacity * sizeof *parameters);
            if (!parameters)
                return reader_refuse_memory(r);
            f->parameters = parameters;
            r->b->parameter_capacity = capacity;
        }
        f->parameters[slot] = (struct formula_parameter){.count = 0};
        memcpy(f->parameters[slot].name, name, length);
        f->parameter_count++;
    }
    int n = reader_add(r, NODE_PARAMETER, at, fallback, -1, -1);
    if (n >= 0)
        f->nodes[n].slot = slot;
    return n;
}

/* ---- tokens ---- */

char reader_peek(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", r->text[r->at]))
        r->at++;
    return r->at < r->end ? r->text[r->at] : '\0';
}

void reader_consume(struct reader *r, size_t length)
{
    r->last = r->at;
    r->last_length = length;
    r->at += length;
}

int reader_accept(struct reader *r, char c)
{
    if (reader_peek(r) != c)
        return 0;
    reader_consume(r, 1);
    return 1;
}

/* The text at the current place, for "found ...". Editors make a dash or a minus sign of "-". */
static const char *found(struct reader *r, char text[48])
{
    static const char *const dashes[] = {"\xe2\x88\x92", "\xe2\x80\x93", "\xe2\x80\x94",
                                         "\xe2\x80\x90", "\xe2\x80\x91"};
    char c = reader_peek(r);
    size_t name = name_length(r->text + r->at);
    if (c == '\0')
        snprintf(text, 48, "the end");
    else if (name > 0)
        snprintf(text, 48, "'%.*s'", name > 31 ? 31 : (int)name, r->text + r->at);
    else if (c > ' ' && c <= '~')
        snprintf(text, 48, "'%c'", c);
    else
        snprintf(text, 48, "byte 0x%02x, which is not ASCII text", (unsigned)(unsigned char)c);
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (strncmp(r->text + r->at, dashes[i], 3) == 0)
            snprintf(text, 48, "'%s' (did you mean \"-\"?)", dashes[i]);
    return text;
}

int reader_refuse_value(struct reader *r)
{
    char text[48];
    found(r, text);
    if (reader_peek(r) == '*' && r->last_length == 1 && r->text[r->last] == '*')
        return reader_refuse(r, r->at, "expected a value after '*' (a power is written a^b)");
    if (r->last_length == 0)
        return reader_refuse(r, r->at, "expected a value, found %s", text);
    int length = r->last_length > 31 ? 31 : (int)r->last_length;
    return reader_refuse(r, r->at, "expected a value after '%.*s', found %s", length,
                         r->text + r->last, text);
}

int reader_refuse_rest(struct reader *r, const char *expected)
{
    char text[48];
    char c = reader_peek(r);
    found(r, text);
    if (name_length(r->text + r->at) || decimal_length(r->text + r->at) || c == '(')
        return reader_refuse(r, r->at, "expected %s, found %s (a product is written a*b)", expected,
                             text);
    if (c == '=')
        return reader_refuse(r, r->at, "expected %s, found '=' (equality is written a == b)",
                             expected);
    if (c == '%')
        return reader_refuse(r, r->at,
                             "expected %s, found '%%' (a remainder is written x - n*floor(x/n))",
                             expected);
    if (c == ')')
        return reader_refuse(r, r->at, "')' without a '(' before it");
    if (c == ':')
        return reader_refuse(r, r->at, "':' without a '?' before it");
    return reader_refuse(r, r->at, "expected %s, found %s", expected, text);
}

int reader_close(struct reader *r, size_t open)
{
    if (reader_accept(r, ')'))
        return 0;
    if (reader_peek(r) == '\0')
        return reader_refuse(r, r->at, "expected ')' for the '(' at character %zu", open + 1);
    return reader_refuse_rest(r, "an operator or ')'");
}

/* ---- names ---- */

/* Edits (insert, delete, replace) from one name to the other; 99 for long names. */
static int edit_distance(const char *a, size_t length, const char *b)
{
    enum { LONGEST = 24 };
    int row[LONGEST + 1];
    size_t other = strlen(b);
    if (length > LONGEST || other > LONGEST)
        return 99;
    for (size_t j = 0; j <= other; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= other; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[other];
}

/* Functions that the language does not have, and how to write them. */
static const struct {
    const char *name, *call, *written;
} elsewhere[] = {
    {"tan", "tan(x)", "sin(x)/cos(x)"},           {"sinh", "sinh(x)", "(exp(x) - exp(-x))/2"},
    {"cosh", "cosh(x)", "(exp(x) + exp(-x))/2"},  {"tanh", "tanh(x)", "1 - 2/(1 + exp(2*x))"},
    {"sigmoid", "sigmoid(x)", "1/(1 + exp(-x))"}, {"log2", "log2(x)", "ln(x)/ln(2)"},
    {"log10", "log10(x)", "ln(x)/ln(10)"},        {"ceil", "ceil(x)", "-floor(-x)"},
    {"round", "round(x)", "floor(x + 1/2)"},      {"mod", "mod(x, n)", "x - n*floor(x/n)"},
    {"sign", "sign(x)", "(x > 0) - (x < 0)"},
};

int reader_refuse_function(struct reader *r, const char *name, size_t length, size_t at)
{
    char list[200] = "";
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (name_is(name, length, elsewhere[i].name))
            return reader_refuse(r, at, "unknown function '%s'; %s is written %s",
                                 elsewhere[i].name, elsewhere[i].call, elsewhere[i].written);
    size_t used = 0;
    int near = 1;
    for (int pass = 0; pass < 2 && used == 0; pass++) {
        near = pass == 0;
        for (int i = 0; i < function_count + formula_preset_count; i++) {
            const char *known = i < function_count ? functions[i].name
                                                   : formula_presets[i - function_count].name;
            if (used + strlen(known) + 2 <= sizeof list &&
                (!near || edit_distance(name, length, known) <= (length < 4 ? 1 : 2)))
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? " " : "",
                                         known);
        }
    }
    return reader_refuse(r, at, "unknown function '%.*s'; %s: %s", length > 31 ? 31 : (int)length,
                         name, near ? "did you mean" : "known are", list);
}

const struct formula_preset *formula_preset_near(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < formula_preset_count; i++)
        if (edit_distance(name, length, formula_presets[i].name) <= (length < 4 ? 1 : 2))
            return &formula_presets[i];
    return NULL;
}

const struct formula_function *name_function(const char *name, size_t length)
{
    for (int i = 0; i < function_count; i++)
        if (name_is(name, length, functions[i].name))
            return &functions[i];
    return NULL;
}

const struct formula_preset *name_preset(const char *name, size_t length)
{
    for (int i = 0; i < formula_preset_count; i++)
        if (name_is(name, length, formula_presets[i].name))
            return &formula_presets[i];
    return NULL;
}

int name_variable(const char *name, size_t length)
{
    for (int i = 0; i < variable_count; i++)
        if (name_is(name, length, variable_names[i]))
            return i;
    return -1;
}

int name_is_reserved(const char *name, size_t length)
{
    return name_variable(name, length) >= 0 || name_is(name, length, "pi") ||
           name_is(name, length, "inf") || name_function(name, length);
}
