#include "io/tokenizer/pattern.h"

#include "io/system/clock.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATTERN_BYTES_MAX = 1 << 16,
    STACK_MIN = 1 << 16,
    STACK_MAX = 1 << 26,
    MATCH_LIMIT = 10000000,
    NESTING_MAX = 64
};

/* Limits on a pattern's cost. PCRE2 counts neither the places where it tries to match nor the
 * characters that a step passes, so it gets STARTS places at a time, and such a search is timed
 * every INTERVAL_SECONDS or so; if a search exceeds LIMIT_FIRST of what PCRE2 does count, it is
 * repeated with a check of the clock between its steps. */
enum {
    STARTS = 64,
    INTERVAL_MOST = 256, /* searches */
    LIMIT_FIRST = 4000,
    STEPS_A_LOOK = 1024,
    SECONDS_FREE = 5, /* of the processor */
    BYTES_A_SECOND = 500000 /* beyond these; published patterns need about ten million */
};
#define INTERVAL_SECONDS 0.05
#define LOOK_SECONDS 0.25 /* between two calls of the user's step */

struct pattern {
    pcre2_code *code;
    pcre2_code *watched; /* the same with a call between its steps; NULL: not needed so far */
    struct buffer text; /* its source */
    uint32_t options;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    int compiled; /* to machine code */
    size_t last; /* place where a match may start; PCRE2_UNSET: any */

    int (*step)(void *context, struct error *e); /* NULL, or stops the work if nonzero */
    void *step_context;
    double seconds, bytes; /* of the searches so far: their time and steps */
    double first, began; /* start times of the first search, and of the watched one */
    double looked; /* `seconds` at the last call of step */
    size_t calls, interval; /* searches since one was timed, and until the next is timed */
    size_t steps; /* of the watched search */
    struct error *e;
};

/* -- Oniguruma's Ruby syntax to PCRE2's -- */

/* Between [ and ]. PCRE2's \s includes U+180E, and its \w has no marks; Oniguruma's \w includes the
 * superscripts and fractions of Latin-1, but no others. */
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

/* \p{Name}: general categories have one or two letters; a longer name is taken as a script, for
 * which PCRE2 would use the wider definition. */
static int translate_property(struct translation *t)
{
    char text[80];
    const char *name = t->at + 3, *close = t->end - t->at > 3 && t->at[2] == '{'
                                               ? memchr(name, '}', (size_t)(t->end - name))
                                               : NULL;
    if (!close || close - name > 40)
        return refuse(t, "\\p without {...} or with a long name");
    int negated = *name == '^', length = (int)(close - name - negated);
    snprintf(text, sizeof text, "\\%c{%s%s%.*s}", t->at[1], negated ? "^" : "",
             length > 2 ? "sc:" : "", length, name + negated);
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
    const char *close = t->end - t->at > 3 && t->at[2] == '{'
                            ? memchr(t->at, '}', (size_t)(t->end - t->at))
                            : NULL;
    if (close && close - t->at < 12)
        return copy(t, (size_t)(close + 1 - t->at));
    if (t->end - t->at >= 4 && t->at[2] >= '0' && t->at[2] <= '7' &&
        isxdigit((unsigned char)t->at[3]))
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

/* A class, from its [ to its ]. Ruby's classes may contain others: their union is flattened. */
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
                return refuse(t, "classes nested in this way");
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

/* {n,m} and possible suffixes: Ruby reads {n,m}+ and {n}? differently from PCRE2. */
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
        return refuse(t, "+ or ? after {...}");
    if (comma == t->at + 1) {
        t->at++;
        if (put(t, "{0"))
            return -1;
    }
    return copy(t, (size_t)(p + 1 - t->at));
}

static int translate_group(struct translation *t)
{
    static const char *const kinds[] = {"(?:",  "(?=",  "(?!",  "(?>",
                                        "(?<=", "(?<!", "(?i:", "(?-i:"};
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

static pcre2_code *make_code(struct span text, uint32_t options, struct error *e)
{
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    PCRE2_SIZE at;
    int problem;
    if (!how) {
        fail_memory(e, 1024, "a pattern");
        return NULL;
    }
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text.text, text.size,
                                     PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT | options, &problem, &at,
                                     how);
    pcre2_compile_context_free(how);
    if (!code) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(problem, message, sizeof message);
        fail(e, "the pattern '%.*s' is not understood: %s (at byte %zu of it)",
             (int)(text.size < 200 ? text.size : 200), text.text, (const char *)message, at);
    }
    return code;
}

/* Whether the work may continue after this much time: 0 or -1. */
static int look(struct pattern *p, double seconds, struct error *e)
{
    if (seconds - p->looked >= LOOK_SECONDS) {
        p->looked = seconds;
        if (p->step && p->step(p->step_context, e))
            return -1;
    }
    return seconds <= SECONDS_FREE + p->bytes / BYTES_A_SECOND
               ? 0
               : fail(e,
                      "a pattern takes too long on the text: %.1f s for %.0f bytes (expected one "
                      "whose time grows with them)",
                      seconds, p->bytes);
}

static int on_step(pcre2_callout_block *block, void *context)
{
    struct pattern *p = context;
    (void)block;
    return ++p->steps % STEPS_A_LOOK ||
                   look(p, p->seconds + clock_seconds(CLOCK_THREAD_CPUTIME_ID) - p->began, p->e) ==
                       0
               ? 0
               : PCRE2_ERROR_CALLOUT;
}

static struct pattern *compile(struct span text, uint32_t options, struct error *e)
{
    struct pattern *p = calloc(1, sizeof *p);
    if (!p) {
        fail_memory(e, sizeof *p, "a pattern");
        return NULL;
    }
    p->options = options;
    p->interval = 1;
    if (buffer_add(&p->text, text.text, text.size, e) || !(p->code = make_code(text, options, e)))
        goto failed;
    p->compiled = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) ==
                  0; /* else interpreted, with the same result */
    p->match = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    p->stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
    if (!p->match || !p->context || (p->compiled && !p->stack)) {
        fail_memory(e, STACK_MIN, "a pattern");
        goto failed;
    }
    p->last = PCRE2_UNSET;
    pcre2_set_match_limit(p->context, LIMIT_FIRST);
    pcre2_set_callout(p->context, on_step, p);
    pcre2_jit_stack_assign(p->context, NULL, p->stack);
    return p;
failed:
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
        fail(e, "a text to look for has %zu bytes (expected 1 to %d)", text.size,
             PATTERN_BYTES_MAX);
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
    pcre2_code_free(p->watched);
    buffer_free(&p->text);
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->context);
    pcre2_jit_stack_free(p->stack);
    free(p);
}

void pattern_watch(struct pattern *p, int (*step)(void *context, struct error *e), void *context)
{
    p->step = step;
    p->step_context = context;
}

/* The text is known to be whole UTF-8; checking it at every match would take quadratic time. */
static inline int run(struct pattern *p, const pcre2_code *code, struct span text, size_t at,
                      uint32_t options)
{
    return p->compiled && options == 0
               ? pcre2_jit_match(code, (PCRE2_SPTR)text.text, text.size, at, 0, p->match,
                                 p->context)
               : pcre2_match(code, (PCRE2_SPTR)text.text, text.size, at,
                             options | PCRE2_NO_UTF_CHECK, p->match, p->context);
}

static int run_watched(struct pattern *p, struct span text, size_t at, uint32_t options,
                       struct error *e)
{
    if (!p->watched) {
        p->watched = make_code(buffer_span(&p->text), p->options | PCRE2_AUTO_CALLOUT, e);
        if (!p->watched || (p->compiled && pcre2_jit_compile(p->watched, PCRE2_JIT_COMPLETE)))
            return fail_memory(e, (double)p->text.size, "a pattern"), PCRE2_ERROR_CALLOUT;
    }
    p->e = e;
    p->steps = 0;
    p->began = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    int found = run(p, p->watched, text, at, options);
    pcre2_set_match_limit(p->context, LIMIT_FIRST);
    p->seconds += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - p->began;
    return found;
}

/* Results other than a match or none. */
__attribute__((noinline)) static int match_otherwise(struct pattern *p, int found, struct span text,
                                                     size_t at, uint32_t options, struct error *e)
{
    PCRE2_UCHAR message[128];
    if (found == PCRE2_ERROR_MATCHLIMIT)
        found = run_watched(p, text, at, options, e);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH || found == PCRE2_ERROR_CALLOUT)
        return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
    pcre2_get_error_message(found, message, sizeof message);
    return fail(e, "a pattern fails on the text at byte %zu of a piece of %zu: %s", at, text.size,
                (const char *)message);
}

/* The first match that starts at most `starts` bytes after `at`: 1, 0 or -1. */
static inline int match(struct pattern *p, struct span text, size_t at, size_t starts,
                        uint32_t options, struct error *e)
{
    const size_t last = starts < text.size - at ? at + starts : PCRE2_UNSET;
    if (last != p->last)
        pcre2_set_offset_limit(p->context, p->last = last);
    int found = run(p, p->code, text, at, options);
    return found >= 0                     ? 1
           : found == PCRE2_ERROR_NOMATCH ? 0
                                          : match_otherwise(p, found, text, at, options, e);
}

/* The same, timed, for all searches since the last timed one. */
static int match_timed(struct pattern *p, struct span text, size_t at, size_t starts,
                       struct error *e)
{
    double seconds = p->seconds, before = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    p->first = p->first > 0 ? p->first : before;
    int found = match(p, text, at, starts, 0, e);
    const double now = clock_seconds(CLOCK_THREAD_CPUTIME_ID),
                 taken = (double)p->calls * (now - before), all = now - p->first;
    p->seconds = seconds + taken < all ? seconds + taken
                                       : all; /* the others may have been faster */
    p->calls = 0;
    if (taken > INTERVAL_SECONDS)
        p->interval = p->interval / 2 + 1;
    else if (p->interval < INTERVAL_MOST)
        p->interval *= 2;
    return found >= 0 && look(p, p->seconds, e) ? -1 : found;
}

/* The first match that starts after `at`: 1, 0 or -1. */
static int find(struct pattern *p, struct span text, size_t at, struct error *e)
{
    for (;;) {
        int found = ++p->calls < p->interval ? match(p, text, at, STARTS, 0, e)
                                             : match_timed(p, text, at, STARTS, e);
        if (found || text.size - at <= STARTS)
            return found;
        p->bytes += STARTS;
        for (at += STARTS + 1; at < text.size && ((unsigned char)text.text[at] & 0xC0) == 0x80;
             at++)
            ;
    }
}

int pattern_next(struct pattern *p, struct search *s, struct span text, size_t *start, size_t *end,
                 struct error *e)
{
    while (s->at <= text.size) {
        int found = find(p, text, s->at, e);
        if (found != 1)
            return found;
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(p->match);
        if (bounds[0] != bounds[1] || !s->any || s->last_end != bounds[1]) {
            p->bytes += (double)(bounds[1] - bounds[0]);
            *start = bounds[0];
            *end = s->at = s->last_end = bounds[1];
            s->any = 1;
            return 1;
        }
        /* an empty match right after the last one: continue at the next character */
        size_t size = 1;
        if (s->at < text.size)
            character_at(text.text + s->at, &size);
        s->at += size;
    }
    return 0;
}

int pattern_matches_at(struct pattern *p, struct span text, size_t at, struct error *e)
{
    return match(p, text, at, 0, PCRE2_ANCHORED, e);
}
