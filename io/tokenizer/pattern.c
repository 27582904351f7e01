#include "io/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES_MAX = 1 << 16, STACK_MIN = 1 << 16, STACK_MAX = 1 << 26, MATCH_LIMIT = 50000000, NESTING_MAX = 64 };

struct pattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    int compiled; /* to machine code */
};

/* -- Oniguruma's Ruby syntax to PCRE2's -- */

/* Between [ and ]. PCRE2's own \s takes U+180E for white space, and its \w knows no marks; Oniguruma's \w has the superscripts
 * and fractions of Latin-1, though no others. */
#define SPACE "\\t-\\r\\x{85}\\p{Z}"
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xB2\\xB3\\xB9\\xBC-\\xBE"

struct translation {
    const char *at, *end; /* of the Ruby text */
    struct buffer out;
    struct error *e;
};

static int put(struct translation *t, const char *text)
{
    return buffer_add(&t->out, text, strlen(text), t->e);
}

static int copy(struct translation *t, size_t size)
{
    int result = buffer_add(&t->out, t->at, size, t->e);
    t->at += size;
    return result;
}

static int starts(const struct translation *t, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(t->end - t->at) >= size && memcmp(t->at, text, size) == 0;
}

static int refuse(struct translation *t, const char *what)
{
    return fail(t->e, "the pattern has %s, which is not supported", what);
}

/* \p{Name}: general categories have one or two letters; a longer name is taken for a script, of which PCRE2 would take the wider
 * notion. */
static int translate_property(struct translation *t)
{
    char text[80];
    const char *name = t->at + 3,
               *close = t->end - t->at > 3 && t->at[2] == '{' ? memchr(name, '}', (size_t)(t->end - name)) : NULL;
    if (!close || close - name > 40)
        return refuse(t, "\\p without {...} or with a long name");
    int negated = *name == '^', length = (int)(close - name - negated);
    snprintf(text, sizeof text, "\\%c{%s%s%.*s}", t->at[1], negated ? "^" : "", length > 2 ? "sc:" : "", length, name + negated);
    t->at = close + 1;
    return put(t, text);
}

static int translate_unicode(struct translation *t)
{
    char text[16];
    for (int i = 2; i < 6; i++)
        if (t->end - t->at < 6 || !isxdigit((unsigned char)t->at[i]))
            return refuse(t, "\\u without four hexadecimal digits");
    snprintf(text, sizeof text, "\\x{%.4s}", t->at + 2);
    t->at += 6;
    return put(t, text);
}

static int translate_hex(struct translation *t)
{
    const char *close = t->end - t->at > 3 && t->at[2] == '{' ? memchr(t->at, '}', (size_t)(t->end - t->at)) : NULL;
    if (close && close - t->at < 12)
        return copy(t, (size_t)(close + 1 - t->at));
    if (t->end - t->at >= 4 && t->at[2] >= '0' && t->at[2] <= '7' && isxdigit((unsigned char)t->at[3]))
        return copy(t, 4);
    return refuse(t, "\\x with neither {...} nor two digits below 80");
}

/* An escape, which begins at the backslash. */
static int translate_escape(struct translation *t, int in_class)
{
    char what[] = "\\?";
    size_t size;
    if (t->end - t->at < 2)
        return refuse(t, "a \\ at its end");
    char c = what[1] = t->at[1];
    if (in_class ? (c == 's' || c == 'w') : (c == 's' || c == 'S' || c == 'w' || c == 'W')) {
        const char *set = c == 's' || c == 'S' ? SPACE : WORD;
        t->at += 2;
        if (in_class)
            return put(t, set);
        return put(t, c == 's' || c == 'w' ? "[" : "[^") || put(t, set) || put(t, "]") ? -1 : 0;
    }
    switch (c) {
    case 'p':
    case 'P': return translate_property(t);
    case 'u': return translate_unicode(t);
    case 'x': return translate_hex(t);
    case 'v': t->at += 2; return put(t, "\\x0b");
    case 'd':
    case 'D':
    case 'r':
    case 'n':
    case 't':
    case 'f':
    case 'a':
    case 'e': return copy(t, 2);
    case 'A':
    case 'z':
    case 'Z':
        if (!in_class)
            return copy(t, 2);
    }
    if (isalnum((unsigned char)c))
        return refuse(t, what);
    if ((unsigned char)c < 0x80)
        return copy(t, 2);
    t->at++; /* a character that needs no \ */
    character_at(t->at, &size);
    return copy(t, size);
}

/* A class, from its [ to its ]. Ruby's classes hold others: their union is flattened. */
static int translate_class(struct translation *t)
{
    int depth = 1;
    if (copy(t, starts(t, "[^") ? 2 : 1) || (starts(t, "]") && copy(t, 1)))
        return -1;
    while (t->at < t->end) {
        size_t size;
        if (starts(t, "[:"))
            return refuse(t, "[:...:]");
        if (starts(t, "[^"))
            return refuse(t, "a negated class within a class");
        if (starts(t, "&&"))
            return refuse(t, "&& in a class");
        if (*t->at == '[') {
            if (t->at[-1] == '-' || ++depth > NESTING_MAX)
                return refuse(t, "classes nested so");
            t->at++;
        } else if (*t->at == ']') {
            if (--depth == 0)
                return copy(t, 1);
            t->at++;
        } else if (*t->at == '\\') {
            if (translate_escape(t, 1))
                return -1;
        } else {
            character_at(t->at, &size);
            if (copy(t, size))
                return -1;
        }
    }
    return refuse(t, "a class without its end");
}

/* {n,m} and what it may be followed by: Ruby reads {n,m}+ and {n}? otherwise than PCRE2. */
static int translate_interval(struct translation *t)
{
    const char *p = t->at + 1, *comma = NULL;
    while (p < t->end && (isdigit((unsigned char)*p) || (*p == ',' && !comma))) {
        if (*p == ',')
            comma = p;
        p++;
    }
    if (p == t->end || *p != '}' || p == t->at + 1 || (comma && p == t->at + 2))
        return copy(t, 1); /* a brace like any other character */
    if (p + 1 < t->end && (p[1] == '+' || (p[1] == '?' && !comma)))
        return refuse(t, "+ or ? behind {...}");
    if (comma == t->at + 1) {
        t->at++;
        if (put(t, "{0"))
            return -1;
    }
    return copy(t, (size_t)(p + 1 - t->at));
}

static int translate_group(struct translation *t)
{
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (starts(t, kinds[i]))
            return copy(t, strlen(kinds[i]));
    if (starts(t, "(?") && !(starts(t, "(?i)") && t->out.size == 0))
        return refuse(t, "an option or a group of the kind (?...)");
    if (starts(t, "(*")) /* a verb in PCRE2 */
        return refuse(t, "(*");
    return copy(t, starts(t, "(?i)") ? 4 : 1);
}

static int translate(struct translation *t)
{
    while (t->at < t->end) {
        size_t size;
        int result;
        switch (*t->at) {
        case '\\': result = translate_escape(t, 0); break;
        case '[': result = translate_class(t); break;
        case '{': result = translate_interval(t); break;
        case '(': result = translate_group(t); break;
        default: character_at(t->at, &size); result = copy(t, size);
        }
        if (result)
            return -1;
    }
    return 0;
}

/* -- PCRE2 -- */

static struct pattern *compile(struct span text, uint32_t options, struct error *e)
{
    struct pattern *p = calloc(1, sizeof *p);
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    PCRE2_SIZE at;
    int problem;
    if (!p || !how) {
        fail_memory(e, sizeof *p, "a pattern");
        goto failed;
    }
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile((PCRE2_SPTR)text.text, text.size, PCRE2_UTF | options, &problem, &at, how);
    if (!p->code) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(problem, message, sizeof message);
        fail(e, "the pattern '%.*s' is not understood: %s (at byte %zu of it)", (int)(text.size < 200 ? text.size : 200),
             text.text, (const char *)message, at);
        goto failed;
    }
    p->compiled = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0; /* without it the interpreter does the same */
    p->match = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    p->stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
    if (!p->match || !p->context || (p->compiled && !p->stack)) {
        fail_memory(e, STACK_MIN, "a pattern");
        goto failed;
    }
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    pcre2_jit_stack_assign(p->context, NULL, p->stack);
    pcre2_compile_context_free(how);
    return p;
failed:
    pcre2_compile_context_free(how);
    pattern_free(p);
    return NULL;
}

struct pattern *pattern_compile(struct span ruby, struct error *e)
{
    struct translation t = {.at = ruby.text, .end = ruby.text + ruby.size, .e = e};
    struct pattern *p = NULL;
    if (ruby.size == 0 || ruby.size > PATTERN_BYTES_MAX)
        fail(e, "a pattern has %zu bytes (expected 1 to %d)", ruby.size, PATTERN_BYTES_MAX);
    else if (translate(&t) == 0)
        p = compile(buffer_span(&t.out), PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, e);
    buffer_free(&t.out);
    return p;
}

struct pattern *pattern_literal(struct span text, struct error *e)
{
    if (text.size == 0 || text.size > PATTERN_BYTES_MAX) {
        fail(e, "a text to look for has %zu bytes (expected 1 to %d)", text.size, PATTERN_BYTES_MAX);
        return NULL;
    }
    return compile(text, PCRE2_LITERAL, e);
}

struct pattern *pattern_own(const char *pcre, struct error *e)
{
    return compile((struct span){pcre, strlen(pcre)}, PCRE2_UCP, e);
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->context);
    pcre2_jit_stack_free(p->stack);
    free(p);
}

/* 1, 0 or -1. The text is known to be whole UTF-8: to check it at every match would take quadratic time. */
static int match(struct pattern *p, struct span text, size_t at, uint32_t options, struct error *e)
{
    int found = p->compiled && options == 0
                    ? pcre2_jit_match(p->code, (PCRE2_SPTR)text.text, text.size, at, 0, p->match, p->context)
                    : pcre2_match(p->code, (PCRE2_SPTR)text.text, text.size, at, options | PCRE2_NO_UTF_CHECK, p->match,
                                  p->context);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    PCRE2_UCHAR message[128];
    pcre2_get_error_message(found, message, sizeof message);
    return fail(e, "a pattern fails on the text at byte %zu of a piece of %zu: %s", at, text.size, (const char *)message);
}

int pattern_next(struct pattern *p, struct search *s, struct span text, size_t *start, size_t *end, struct error *e)
{
    while (s->at <= text.size) {
        int found = match(p, text, s->at, 0, e);
        if (found != 1)
            return found;
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(p->match);
        if (bounds[0] != bounds[1] || !s->any || s->last_end != bounds[1]) {
            *start = bounds[0];
            *end = s->at = s->last_end = bounds[1];
            s->any = 1;
            return 1;
        }
        /* nothing, right behind the last match: on to the next character */
        size_t size = 1;
        if (s->at < text.size)
            character_at(text.text + s->at, &size);
        s->at += size;
    }
    return 0;
}

int pattern_matches_at(struct pattern *p, struct span text, size_t at, struct error *e)
{
    return match(p, text, at, PCRE2_ANCHORED, e);
}
