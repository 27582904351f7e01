/* The numbers of a rotary scaling, from a configuration and from --rope, in one table. */
#include "model/rope.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [ROPE_NONE] = "default",      [ROPE_LINEAR] = "linear",
    [ROPE_DYNAMIC] = "dynamic",   [ROPE_LLAMA3] = "llama3",
    [ROPE_YARN] = "yarn",         [ROPE_LONGROPE] = "longrope",
    [ROPE_STORED] = "rope_freqs", [ROPE_PROPORTIONAL] = "proportional"};

#define KIND(name) (1 << ROPE_##name)
#define AT(member) offsetof(struct rope_spec, member)

/* `name` in --rope, `key` in a configuration (NULL: not read from there). */
static const struct number {
    const char *name, *key;
    size_t at;
    double low, high, standard; /* standard: the default */
    int kinds, needed; /* scalings that have it; those that require it in --rope */
} numbers[] = {
    {"factor", "factor", AT(factor), 1e-6, 1e6, NAN,
     KIND(LINEAR) | KIND(DYNAMIC) | KIND(LLAMA3) | KIND(YARN) | KIND(LONGROPE) | KIND(PROPORTIONAL),
     KIND(LINEAR) | KIND(DYNAMIC) | KIND(LLAMA3)},
    {"low_freq_factor", "low_freq_factor", AT(low), 1e-6, 1e6, NAN, KIND(LLAMA3), KIND(LLAMA3)},
    {"high_freq_factor", "high_freq_factor", AT(high), 1e-6, 1e6, NAN, KIND(LLAMA3), KIND(LLAMA3)},
    {"original", "original_max_position_embeddings", AT(original), 1, 1e9, NAN,
     KIND(LLAMA3) | KIND(YARN) | KIND(LONGROPE), 0},
    {"original", NULL, AT(original), 1, 1e9, NAN, KIND(DYNAMIC),
     0}, /* else max_position_embeddings */
    {"attention_factor", "attention_factor", AT(attention), 1e-6, 1e6, NAN,
     KIND(YARN) | KIND(LONGROPE), 0},
    {"beta_fast", "beta_fast", AT(fast), 1e-6, 1e6, 32, KIND(YARN), 0},
    {"beta_slow", "beta_slow", AT(slow), 1e-6, 1e6, 1, KIND(YARN), 0},
    {"mscale", "mscale", AT(mscale), 0, 1e6, 0, KIND(YARN), 0},
    {"mscale_all_dim", "mscale_all_dim", AT(all_dim), 0, 1e6, 0, KIND(YARN), 0},
    {"truncate", NULL, AT(truncate), 0, 1, 1, KIND(YARN), 0}, /* true or false in a configuration */
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double *field(struct rope_spec *s, const struct number *n)
{
    return (double *)(void *)((char *)s + n->at);
}

enum rope_kind rope_kind_named(const char *name)
{
    int kind = 0;
    while (kind < ROPE_KINDS && strcmp(kind_names[kind], name) != 0)
        kind++;
    return (enum rope_kind)kind;
}

const char *rope_kind_name(enum rope_kind kind)
{
    return kind_names[kind];
}

/* Every number not given. */
static void fill_standards(struct rope_spec *s, enum rope_kind kind)
{
    *s = (struct rope_spec){kind, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    for (int i = 0; i < NUMBERS; i++)
        if (numbers[i].kinds >> kind & 1)
            *field(s, &numbers[i]) = numbers[i].standard;
}

int rope_read(struct rope_spec *s, struct config *c, const char *root, struct error *e)
{
    double base = s->base;
    char key[96];
    int truncate;
    fill_standards(s, s->kind);
    s->base = base;
    for (int i = 0; i < NUMBERS; i++) {
        const struct number *n = &numbers[i];
        snprintf(key, sizeof key, "%s.%s", root, n->key ? n->key : "");
        if (n->key && n->kinds >> s->kind & 1 &&
            config_real_or(c, key, n->low, n->high, n->standard, field(s, n), e))
            return -1;
    }
    snprintf(key, sizeof key, "%s.truncate", root);
    if (s->kind == ROPE_YARN) {
        if (config_bool_or(c, key, 1, &truncate, e))
            return -1;
        s->truncate = truncate;
    }
    return 0;
}

/* The value of NAME=VALUE, whose text is `length` characters long. */
static int read_number(double *out, const char *text, size_t length, const struct number *n,
                       struct error *e)
{
    char copy[40], *end = copy;
    double value = NAN;
    if (length < sizeof copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
        if (isdigit((unsigned char)*copy) || *copy == '.')
            value = strtod(copy, &end);
    }
    if (end != copy + length || end == copy || !(value >= n->low && value <= n->high) ||
        strcspn(copy, "xX") < length)
        return fail(e, "--rope: %s \"%.*s\" is not valid (expected a number from %g to %g)",
                    n->name, (int)(length < 40 ? length : 40), text, n->low, n->high);
    *out = value;
    return 0;
}

/* The row of a name for this kind, or NULL. */
static const struct number *find_number(const char *name, size_t length, enum rope_kind kind)
{
    for (int i = 0; i < NUMBERS; i++)
        if (strlen(numbers[i].name) == length && strncmp(numbers[i].name, name, length) == 0 &&
            numbers[i].kinds >> kind & 1)
            return &numbers[i];
    return NULL;
}

/* NAME=VALUE,...: all of them. */
static int read_numbers(struct rope_spec *s, const char *text, struct error *e)
{
    int given = 0;
    for (const char *rest = *text ? text : NULL; rest;) {
        size_t length = strcspn(rest, ","), name = strcspn(rest, "=,");
        const struct number *n = find_number(rest, name, s->kind);
        int bit = n ? 1 << (n - numbers) : 0;
        if (!n || rest[name] != '=') {
            char names[160] = "";
            for (int i = 0; i < NUMBERS; i++)
                if (numbers[i].kinds >> s->kind & 1)
                    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                             *names ? ", " : "", numbers[i].name);
            return fail(e, "--rope: \"%.*s\" is not a setting of %s (expected NAME=VALUE of %s)",
                        (int)(length < 40 ? length : 40), rest, rope_kind_name(s->kind), names);
        }
        if (given & bit)
            return fail(e, "--rope: %s is given twice", n->name);
        given |= bit;
        if (read_number(field(s, n), rest + name + 1, length - name - 1, n, e))
            return -1;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    for (int i = 0; i < NUMBERS; i++)
        if (numbers[i].needed >> s->kind & 1 && isnan(*field(s, &numbers[i])))
            return fail(e, "--rope: %s lacks its %s (expected %s:%s=NUMBER)",
                        rope_kind_name(s->kind), numbers[i].name, rope_kind_name(s->kind),
                        numbers[i].name);
    return 0;
}

int rope_parse(struct rope_spec *out, const char *text, struct error *e)
{
    static const struct number base = {.name = "base", .low = 1e-6, .high = 1e12};
    const char *rest = text;
    double at = NAN;
    size_t length;
    char name[24];
    if (strncmp(rest, "base=", 5) == 0) {
        length = strcspn(rest += 5, ",");
        if (read_number(&at, rest, length, &base, e))
            return -1;
        rest = rest[length] ? rest + length + 1 : "none";
    }
    length = strcspn(rest, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             rest);
    enum rope_kind kind = strcmp(name, "none") == 0 ? ROPE_NONE : rope_kind_named(name);
    if (kind == ROPE_KINDS || kind == ROPE_STORED || kind == ROPE_PROPORTIONAL ||
        (kind == ROPE_NONE && strcmp(rest, "none") != 0))
        return fail(e,
                    "--rope: \"%.60s\" is not valid (expected [base=NUMBER,]KIND[:NAME=VALUE,...] "
                    "with none, linear, dynamic, yarn, "
                    "llama3 or longrope for KIND, or base=NUMBER alone)",
                    text);
    fill_standards(out, kind);
    out->base = at;
    return kind == ROPE_NONE ? 0 : read_numbers(out, rest[length] ? rest + length + 1 : "", e);
}

void rope_text(char out[ROPE_TEXT_MAX], const struct rope_spec *s)
{
    size_t at = (size_t)snprintf(out, ROPE_TEXT_MAX, "%s",
                                 s->kind == ROPE_NONE ? "none" : rope_kind_name(s->kind));
    const char *between = ":";
    for (int i = 0; i < NUMBERS; i++) {
        const struct number *n = &numbers[i];
        double value = *field((struct rope_spec *)(uintptr_t)s, n);
        int says_nothing = (n->at == AT(mscale) || n->at == AT(all_dim) || n->at == AT(truncate)) &&
                           value == n->standard;
        if (!(n->kinds >> s->kind & 1) || isnan(value) || says_nothing || at >= ROPE_TEXT_MAX)
            continue;
        at += (size_t)snprintf(out + at, ROPE_TEXT_MAX - at, "%s%s=%.10g", between, n->name, value);
        between = ",";
    }
}
