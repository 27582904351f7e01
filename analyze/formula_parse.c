/* Formula text -> tree: recursive descent, one function for each grammar rule in formula.h. */
#include "analyze/formula_private.h"

#include <stdlib.h>
#include <string.h>

static int parse_choice(struct reader *r);
static int parse_unary(struct reader *r);

static int same(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* The binding of the name by sum or as a preset's parameter, or NULL. */
static const struct scope *find_in_scope(const struct reader *r, const char *name, size_t length)
{
    const struct scope *s = r->scope;
    while (s && !same(s->name, s->length, name, length))
        s = s->outer;
    return s;
}

/* ---- presets ---- */

/* The most parameters of a preset. */
enum { PRESET_PARAMETERS_MAX = 32 };

/* The parameters of a preset, as listed in its table entry. */
struct signature {
    int count;
    struct {
        const char *name, *fallback; /* fallback NULL: required */
        size_t length, fallback_length;
    } parameter[PRESET_PARAMETERS_MAX];
};

static void read_signature(struct signature *s, const char *text)
{
    s->count = 0;
    while (*text && s->count < PRESET_PARAMETERS_MAX) {
        size_t length = name_length(text);
        s->parameter[s->count].name = text;
        s->parameter[s->count].length = length;
        s->parameter[s->count].fallback = NULL;
        s->parameter[s->count].fallback_length = 0;
        text += length;
        if (*text == '=') {
            const char *start = ++text;
            for (int open = 0; *text && (open || *text != ','); text++)
                open += (*text == '(') - (*text == ')');
            s->parameter[s->count].fallback = start;
            s->parameter[s->count].fallback_length = (size_t)(text - start);
        }
        s->count++;
        if (*text == ',')
            text++;
    }
}

/* Arguments after '(' through ')': given[i] = node of parameter i, -1 if missing. 0 or -1. */
static int parse_arguments(struct reader *r, int *given, const struct formula_preset *preset,
                           const struct signature *s)
{
    const char *takes = s->count ? preset->parameters : "nothing";
    size_t open = r->last;
    int position = 0, named = 0;
    if (reader_accept(r, ')'))
        return 0;
    for (;;) {
        reader_peek(r);
        size_t start = r->at, length = name_length(r->text + r->at), equals = start + length;
        while (equals < r->end && strchr(" \t\r\n", r->text[equals]))
            equals++;
        int i;
        if (length && equals < r->end && r->text[equals] == '=' &&
            !(equals + 1 < r->end && r->text[equals + 1] == '=')) {
            const char *name = r->text + start;
            for (i = 0;
                 i < s->count && !same(s->parameter[i].name, s->parameter[i].length, name, length);)
                i++;
            if (i == s->count)
                return reader_refuse(r, start, "%s has no parameter '%.*s' (it takes: %.150s)",
                                     preset->name, length > 31 ? 31 : (int)length, name, takes);
            if (given[i] >= 0)
                return reader_refuse(r, start, "parameter '%.*s' of %s is given twice", (int)length,
                                     name, preset->name);
            r->at = equals;
            reader_consume(r, 1);
            named = 1;
        } else {
            i = position++;
            if (named)
                return reader_refuse(r, start,
                                     "an argument without a name follows one with a name");
            if (i >= s->count)
                return reader_refuse(r, start, "too many arguments (%s takes: %.150s)",
                                     preset->name, takes);
        }
        given[i] = parse_choice(r);
        if (given[i] < 0)
            return -1;
        if (!reader_accept(r, ','))
            return reader_close(r, open);
    }
}

/* A preset's text read as part of the formula, seeing only the names in `scope`. */
static int parse_preset_text(struct reader *r, size_t at, const char *text, size_t length,
                             const struct scope *scope)
{
    struct reader inner = {.b = r->b,
                           .text = text,
                           .end = length,
                           .scope = scope,
                           .in_preset = 1,
                           .origin = r->in_preset ? r->origin : at};
    return parse_choice(&inner);
}

static int parse_preset(struct reader *r, const struct formula_preset *preset, size_t at)
{
    struct signature s;
    struct scope scopes[PRESET_PARAMETERS_MAX];
    int given[PRESET_PARAMETERS_MAX];
    read_signature(&s, preset->parameters);
    for (int i = 0; i < s.count; i++)
        given[i] = -1;
    if (reader_accept(r, '(') && parse_arguments(r, given, preset, &s))
        return -1;
    for (int i = 0; i < s.count; i++) {
        const char *name = s.parameter[i].name, *fallback = s.parameter[i].fallback;
        if (given[i] < 0) {
            int otherwise = fallback ? parse_preset_text(r, at, fallback,
                                                         s.parameter[i].fallback_length, NULL)
                                     : -1;
            if (fallback && otherwise < 0)
                return -1;
            given[i] = reader_add_parameter(r, name, s.parameter[i].length, at, otherwise);
            if (given[i] < 0)
                return -1;
        }
        scopes[i] = (struct scope){name, s.parameter[i].length, given[i],
                                   i ? &scopes[i - 1] : NULL};
    }
    return parse_preset_text(r, at, preset->body, strlen(preset->body),
                             s.count ? &scopes[s.count - 1] : NULL);
}

/* ---- values ---- */

static int parse_number(struct reader *r, size_t length)
{
    size_t at = r->at;
    reader_consume(r, length);
    char next = r->text[r->at];
    if ((next == 'e' || next == 'E') && name_length(r->text + r->at) == 1)
        return reader_refuse(r, r->at + 1, "expected digits in the exponent of a number");
    if (next == '.')
        return reader_refuse(r, r->at, "a second point in a number");
    int n = reader_add(r, NODE_LITERAL, at, -1, -1, -1);
    if (n < 0)
        return -1;
    char *decimal = strndup(r->text + at, length);
    if (!decimal)
        return reader_refuse_memory(r);
    r->b->f->nodes[n].decimal = decimal;
    if (decimal_value(&r->b->f->nodes[n].value, decimal))
        return reader_refuse(r, at, "the number is out of range (about 1e-323 to 1e308)");
    return n;
}

/* After sum( : reads the rest. */
static int parse_sum(struct reader *r, size_t at)
{
    static const char takes[] = "sum takes 4 arguments: name, first, last, body";
    size_t open = r->last;
    reader_peek(r);
    size_t start = r->at, length = name_length(r->text + r->at);
    const char *name = r->text + start;
    if (length == 0)
        return reader_refuse(r, start,
                             "expected the name that sum counts with, as in sum(i, 0, 9, i^2)");
    if (name_is_reserved(name, length))
        return reader_refuse(r, start, "sum cannot count with the reserved name '%.*s'",
                             (int)length, name);
    reader_consume(r, length);
    int child[3];
    const struct scope *outer = r->scope;
    struct scope scope = {name, length, -1, outer};
    int number = r->b->sums++;
    if (number >= FORMULA_SUMS_MAX)
        return reader_refuse(r, at, "more than %d sums", FORMULA_SUMS_MAX);
    for (int i = 0; i < 3; i++) {
        if (reader_peek(r) == ')')
            return reader_refuse(r, r->at, "%s", takes);
        if (!reader_accept(r, ','))
            return reader_refuse_rest(r, "',' in sum(name, first, last, body)");
        if (i == 2) {
            scope.node = reader_add(r, NODE_INDEX, start, -1, -1, -1);
            if (scope.node < 0)
                return -1;
            r->b->f->nodes[scope.node].slot = number;
            r->scope = &scope;
        }
        child[i] = parse_choice(r);
        r->scope = outer;
        if (child[i] < 0)
            return -1;
    }
    if (reader_peek(r) == ',')
        return reader_refuse(r, r->at, "%s", takes);
    if (reader_close(r, open))
        return -1;
    int n = reader_add(r, NODE_SUM, at, child[0], child[1], child[2]);
    if (n >= 0)
        r->b->f->nodes[n].slot = number;
    return n;
}

/* After NAME( : reads the rest. Functions of more than two arguments are folded from the left. */
static int parse_call(struct reader *r, const struct formula_function *function, size_t at)
{
    size_t open = r->last;
    int folded = -1, count = 0;
    if (function->kind == NODE_SUM)
        return parse_sum(r, at);
    do {
        if (count == function->most)
            return reader_refuse(r, r->last, "%s takes %d argument%s", function->name,
                                 function->most, function->most == 1 ? "" : "s");
        int argument = parse_choice(r);
        if (argument < 0)
            return -1;
        count++;
        if (function->most == 1)
            folded = reader_add(r, function->kind, at, argument, -1, -1);
        else
            folded = count == 1 ? argument
                                : reader_add(r, function->kind, at, folded, argument, -1);
        if (folded < 0)
            return -1;
    } while (reader_accept(r, ','));
    if (count < function->least && reader_peek(r) == ')')
        return reader_refuse(r, r->at, "%s takes %s2 arguments", function->name,
                             function->most > 2 ? "at least " : "");
    return reader_close(r, open) ? -1 : folded;
}

static int parse_name(struct reader *r, size_t length)
{
    size_t at = r->at;
    const char *name = r->text + at;
    const struct formula_function *function = name_function(name, length);
    const struct formula_preset *preset = name_preset(name, length);
    const struct scope *bound = find_in_scope(r, name, length);
    reader_consume(r, length);
    if (reader_peek(r) == '(') {
        if (function) {
            reader_consume(r, 1);
            return parse_call(r, function, at);
        }
        if (preset)
            return parse_preset(r, preset, at);
        /* a name known as something else, before a parenthesis: a product without its sign */
        int known = bound || name_is_reserved(name, length);
        return known ? reader_refuse_rest(r, "an operator")
                     : reader_refuse_function(r, name, length, at);
    }
    if (bound)
        return bound->node;
    if (function)
        return reader_refuse(r, r->at, "expected '(' after the function '%s'", function->name);
    if (name_is(name, length, "pi"))
        return reader_add(r, NODE_PI, at, -1, -1, -1);
    if (name_is(name, length, "inf"))
        return reader_add(r, NODE_INFINITY, at, -1, -1, -1);
    int variable = name_variable(name, length);
    if (variable >= 0) {
        int n = reader_add(r, NODE_VARIABLE, at, -1, -1, -1);
        if (n >= 0)
            r->b->f->nodes[n].slot = variable;
        return n;
    }
    if (preset)
        return parse_preset(r, preset, at);
    return reader_add_parameter(r, name, length, at, -1);
}

static int parse_value(struct reader *r)
{
    char c = reader_peek(r);
    size_t length;
    if ((length = decimal_length(r->text + r->at)) > 0)
        return parse_number(r, length);
    if ((length = name_length(r->text + r->at)) > 0)
        return parse_name(r, length);
    if (c == '(') {
        size_t open = r->at;
        reader_consume(r, 1);
        int inside = parse_choice(r);
        if (inside < 0 || reader_close(r, open))
            return -1;
        return inside;
    }
    return reader_refuse_value(r);
}

/* ---- operators ---- */

static int enter(struct reader *r)
{
    if (++r->b->nesting > FORMULA_NESTING_MAX)
        return reader_refuse(r, r->at, "the formula is nested too deeply (more than %d levels)",
                             FORMULA_NESTING_MAX);
    return 0;
}

/* One level deeper for a sign or an exponent. */
static int parse_operand(struct reader *r)
{
    if (enter(r))
        return -1;
    int n = parse_unary(r);
    r->b->nesting--;
    return n;
}

static int parse_unary(struct reader *r)
{
    reader_peek(r);
    size_t at = r->at;
    if (reader_accept(r, '-')) {
        int n = parse_operand(r);
        return n < 0 ? -1 : reader_add(r, NODE_NEGATE, at, n, -1, -1);
    }
    int base = parse_value(r);
    if (base < 0)
        return -1;
    reader_peek(r);
    at = r->at;
    if (!reader_accept(r, '^'))
        return base;
    int exponent = parse_operand(r);
    return exponent < 0 ? -1 : reader_add(r, NODE_POWER, at, base, exponent, -1);
}

static int parse_product(struct reader *r)
{
    int left = parse_unary(r);
    while (left >= 0) {
        char c = reader_peek(r);
        size_t at = r->at;
        if (c != '*' && c != '/')
            break;
        reader_consume(r, 1);
        int right = parse_unary(r);
        left = right < 0
                   ? -1
                   : reader_add(r, c == '*' ? NODE_MULTIPLY : NODE_DIVIDE, at, left, right, -1);
    }
    return left;
}

static int parse_terms(struct reader *r)
{
    int left = parse_product(r);
    while (left >= 0) {
        char c = reader_peek(r);
        size_t at = r->at;
        if (c != '+' && c != '-')
            break;
        reader_consume(r, 1);
        int right = parse_product(r);
        left = right < 0 ? -1
                         : reader_add(r, c == '+' ? NODE_ADD : NODE_SUBTRACT, at, left, right, -1);
    }
    return left;
}

/* The comparison at the current place and its length, 0 if there is none. */
static size_t comparison_at(struct reader *r, enum formula_node_kind *kind)
{
    char c = reader_peek(r);
    int equal = r->at + 1 < r->end && r->text[r->at + 1] == '=';
    if (c == '<' || c == '>') {
        *kind = c == '<' ? (equal ? NODE_LESS_EQUAL : NODE_LESS)
                         : (equal ? NODE_GREATER_EQUAL : NODE_GREATER);
        return equal ? 2 : 1;
    }
    if ((c == '=' || c == '!') && equal) {
        *kind = c == '=' ? NODE_EQUAL : NODE_NOT_EQUAL;
        return 2;
    }
    return 0;
}

static int parse_comparison(struct reader *r)
{
    enum formula_node_kind kind, again;
    int left = parse_terms(r);
    size_t length = left < 0 ? 0 : comparison_at(r, &kind);
    if (length == 0)
        return left;
    size_t at = r->at;
    reader_consume(r, length);
    int right = parse_terms(r);
    if (right < 0)
        return -1;
    if (comparison_at(r, &again))
        return reader_refuse(r, r->at,
                             "comparisons cannot be chained: use parentheses, or c ? a : b");
    return reader_add(r, kind, at, left, right, -1);
}

static int parse_branches(struct reader *r)
{
    int condition = parse_comparison(r);
    if (condition < 0)
        return -1;
    reader_peek(r);
    size_t at = r->at;
    if (!reader_accept(r, '?'))
        return condition;
    int chosen = parse_choice(r);
    if (chosen < 0)
        return -1;
    char c = reader_peek(r);
    if (c == ')' || c == '\0')
        return reader_refuse(r, r->at, "expected ':' for the '?' at character %zu", at + 1);
    if (!reader_accept(r, ':'))
        return reader_refuse_rest(r, "an operator or ':'");
    int otherwise = parse_choice(r);
    return otherwise < 0 ? -1 : reader_add(r, NODE_CHOOSE, at, condition, chosen, otherwise);
}

static int parse_choice(struct reader *r)
{
    if (enter(r))
        return -1;
    int n = parse_branches(r);
    r->b->nesting--;
    return n;
}

struct formula *formula_parse(const char *text, struct formula_error *e)
{
    struct formula_error ignored;
    struct builder b = {.e = e ? e : &ignored};
    size_t length = strnlen(text, FORMULA_TEXT_MAX + 1);
    struct reader r = {.b = &b, .text = text, .end = length};
    int failed = 1;
    if (length > FORMULA_TEXT_MAX) {
        reader_refuse(&r, FORMULA_TEXT_MAX, "the formula is too long (more than %d bytes)",
                      FORMULA_TEXT_MAX);
        return NULL;
    }
    b.f = calloc(1, sizeof *b.f);
    if (!b.f || !(b.f->source = strdup(text))) {
        reader_refuse_memory(&r);
        goto end;
    }
    if (reader_peek(&r) == '\0') {
        reader_refuse(&r, r.at, "the formula is empty");
        goto end;
    }
    b.f->root = parse_choice(&r);
    if (b.f->root < 0)
        goto end;
    if (reader_peek(&r)) {
        if (reader_peek(&r) == ',')
            reader_refuse(&r, r.at, "',' outside the arguments of a function");
        else
            reader_refuse_rest(&r, "an operator or the end");
        goto end;
    }
    formula_update_head(b.f);
    failed = 0;
end:
    free(b.depth);
    if (failed) {
        formula_free(b.f);
        return NULL;
    }
    return b.f;
}
