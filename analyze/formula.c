/* A parsed formula: its parameters and their values. */
#include "analyze/formula_private.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_values(double *value, char **decimal, int count)
{
    for (int i = 0; decimal && i < count; i++)
        free(decimal[i]);
    free(decimal);
    free(value);
}

void formula_free(struct formula *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->node_count; i++)
        free((char *)f->nodes[i].decimal);
    for (int i = 0; i < f->parameter_count; i++)
        free_values(f->parameters[i].value, f->parameters[i].decimal, f->parameters[i].count);
    free(f->nodes);
    free(f->parameters);
    free(f->source);
    free(f);
}

void formula_reach(unsigned char *reached, const struct formula *f)
{
    memset(reached, 0, FORMULA_NODES_MAX);
    reached[f->root] = 1;
    for (int n = f->root; n >= 0; n--) { /* parents come after their children */
        const struct formula_node *node = &f->nodes[n];
        if (!reached[n] || (node->kind == NODE_PARAMETER && f->parameters[node->slot].count > 0))
            continue;
        for (int i = 0; i < 3; i++)
            if (node->child[i] >= 0)
                reached[node->child[i]] = 1;
    }
}

void formula_update_head(struct formula *f)
{
    unsigned char reached[FORMULA_NODES_MAX];
    formula_reach(reached, f);
    f->uses_head = 0;
    for (int n = 0; n <= f->root; n++) {
        const struct formula_node *node = &f->nodes[n];
        int is_head = node->kind == NODE_VARIABLE && node->slot == VARIABLE_H;
        int per_head = node->kind == NODE_PARAMETER && f->parameters[node->slot].count > 1;
        if (reached[n] && (is_head || per_head))
            f->uses_head = 1;
    }
}

const char *formula_missing(const struct formula *f)
{
    unsigned char reached[FORMULA_NODES_MAX];
    int first = f->parameter_count;
    formula_reach(reached, f);
    for (int n = 0; n <= f->root; n++) {
        const struct formula_node *node = &f->nodes[n];
        if (reached[n] && node->kind == NODE_PARAMETER && node->child[0] < 0 &&
            f->parameters[node->slot].count == 0 && node->slot < first)
            first = node->slot;
    }
    return first < f->parameter_count ? f->parameters[first].name : NULL;
}

/* The parameter of that name; NULL with *e when there is none. */
static struct formula_parameter *find_parameter(struct formula *f, const char *name,
                                                struct formula_error *e)
{
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; i < f->parameter_count; i++) {
        const char *known = f->parameters[i].name;
        if (strcmp(known, name) == 0)
            return &f->parameters[i];
        if (used + strlen(known) + 3 <= sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     known);
    }
    formula_refuse(e, 0, "the formula has no parameter '%.31s' (it has %s)", name,
                   used ? list : "none");
    return NULL;
}

/* Sets the parameter's values; takes over both arrays. decimal may be NULL. */
static void replace_values(struct formula *f, struct formula_parameter *p, double *value,
                           char **decimal, int count)
{
    free_values(p->value, p->decimal, p->count);
    p->value = value;
    p->decimal = decimal;
    p->count = count;
    formula_update_head(f);
}

/* formula_set; *bad is the index of the refused decimal, or -1. */
static int set_decimals(struct formula *f, const char *name, const char *const *decimals, int count,
                        struct formula_error *e, int *bad)
{
    *bad = -1;
    struct formula_parameter *p = find_parameter(f, name, e);
    if (!p)
        return -1;
    if (count < 1)
        return formula_refuse(e, 0, "no value for parameter '%s'", name);
    double *value = calloc((size_t)count, sizeof *value);
    char **decimal = calloc((size_t)count, sizeof *decimal);
    if (!value || !decimal)
        goto memory;
    for (int i = 0; i < count; i++) {
        const char *text = decimals[i];
        size_t sign = text[0] == '-' || text[0] == '+', length = decimal_length(text + sign);
        *bad = i;
        if (length == 0 || text[sign + length]) {
            formula_refuse(e, length ? sign + length : 0,
                           "parameter '%s': '%.40s' is not a decimal number", name, text);
            goto failed;
        }
        decimal[i] = strdup(text);
        if (!decimal[i])
            goto memory;
        if (decimal_value(&value[i], decimal[i])) {
            formula_refuse(e, 0, "parameter '%s': '%.40s' is out of range (about 1e-323 to 1e308)",
                           name, text);
            goto failed;
        }
    }
    replace_values(f, p, value, decimal, count);
    return 0;
memory:
    formula_refuse(e, 0, "out of memory");
failed:
    free_values(value, decimal, count);
    return -1;
}

int formula_set(struct formula *f, const char *name, const char *const *decimals, int count,
                struct formula_error *e)
{
    int bad;
    return set_decimals(f, name, decimals, count, e, &bad);
}

int formula_set_values(struct formula *f, const char *name, const double *values, int count,
                       struct formula_error *e)
{
    struct formula_parameter *p = find_parameter(f, name, e);
    if (!p)
        return -1;
    if (count < 1)
        return formula_refuse(e, 0, "no value for parameter '%s'", name);
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return formula_refuse(e, 0, "parameter '%s': value %d of %d is not finite", name, i + 1,
                                  count);
    double *value = calloc((size_t)count, sizeof *value);
    if (!value)
        return formula_refuse(e, 0, "out of memory");
    memcpy(value, values, (size_t)count * sizeof *value);
    replace_values(f, p, value, NULL, count);
    return 0;
}

/* Start of the text without leading blanks; trailing ones are overwritten. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    return text;
}

int formula_set_text(struct formula *f, const char *assignment, struct formula_error *e)
{
    int failed = -1, count = 1, bad = -1;
    const char **decimals = NULL;
    char *copy = NULL;
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return formula_refuse(e, 0, "'%.60s' is not NAME=VALUE or NAME=VALUE,VALUE,...",
                              assignment);
    for (const char *c = equals; *c; c++) {
        if (count == INT32_MAX)
            return formula_refuse(e, 0, "too many values");
        count += *c == ',';
    }
    copy = strdup(assignment);
    decimals = calloc((size_t)count, sizeof *decimals);
    if (!copy || !decimals) {
        formula_refuse(e, 0, "out of memory");
        goto end;
    }
    char *rest = copy + (equals - assignment);
    *rest++ = '\0';
    for (int i = 0; i < count; i++)
        decimals[i] = trim(strsep(&rest, ","));
    failed = set_decimals(f, trim(copy), decimals, count, e, &bad);
    if (failed && e && bad >= 0)
        e->at += (size_t)(decimals[bad] - copy);
end:
    free(decimals);
    free(copy);
    return failed;
}
