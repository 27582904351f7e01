#include "run/steps.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stated {
    double step;
    size_t before; /* bytes of the text before the number */
    int is_plain; /* a number without a word and a unit */
};

/* A decimal number with k, M or B after it, *unit then 1, and the text after that; NULL: none. */
static const char *read_number(double *value, int *unit, const char *text)
{
    static const char units[] = "kmb";
    const char *p = text, *found;

    while (isdigit((unsigned char)*p))
        p++;
    if (p == text)
        return NULL;
    if (*p == '.' && isdigit((unsigned char)p[1]))
        for (p++; isdigit((unsigned char)*p);)
            p++;
    *value = strtod(text, NULL);
    found = *p ? strchr(units, tolower((unsigned char)*p)) : NULL;
    *unit = found != NULL;
    if (found)
        *value *= pow(1000, (double)(found - units + 1)), p++;
    return isalnum((unsigned char)*p) ? NULL : p;
}

/* The number after the last of these words. */
static int after_word(struct stated *out, const char *text)
{
    static const char *const words[] = {"step", "steps",     "checkpoint", "ckpt",
                                        "iter", "iteration", "update"};
    int found = 0, unit;

    for (const char *at = text; *at; at++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const char *p = at + strlen(words[i]);

            if (strncasecmp(at, words[i], strlen(words[i])) != 0)
                continue;
            p += *p && strchr("-_ =.", *p) ? 1 : 0;
            if (read_number(&out->step, &unit, p)) {
                out->before = (size_t)(p - text);
                found = 1;
            }
        }
    return found;
}

static int read_step(struct stated *out, const char *text)
{
    size_t end = strlen(text), start;
    const char *rest;
    int unit;

    out->is_plain = 0;
    if (after_word(out, text))
        return 1;
    while (end && text[end - 1] == '/')
        end--;
    for (start = end; start && text[start - 1] != '/';)
        start--;
    rest = read_number(&out->step, &unit, text + start);
    out->before = start;
    out->is_plain = !unit;
    return rest == text + end;
}

enum steps_stated steps_find(double *steps, const char *const *texts, size_t count)
{
    struct stated first = {0};
    int plain = 1;

    for (size_t i = 0; i < count; i++) {
        struct stated s = {0};

        if (!read_step(&s, texts[i]))
            return STEPS_NONE;
        first = i ? first : s;
        if (s.before != first.before || memcmp(texts[i], texts[0], s.before) != 0)
            return STEPS_NONE;
        steps[i] = s.step;
        plain &= s.is_plain;
    }
    return count == 0 ? STEPS_NONE : plain ? STEPS_NUMBERS : STEPS_STATED;
}

int steps_sort(struct text_list *l, enum steps_stated least, struct error *e)
{
    size_t count = (size_t)l->count;
    double *steps = calloc(count + 1, sizeof *steps);

    if (!steps)
        return fail(e, "out of memory for the arguments");
    if (steps_find(steps, l->item, count) >= least)
        for (size_t i = 1; i < count; i++) /* by insertion, so that equal ones keep their order */
            for (size_t k = i; k && steps[k] < steps[k - 1]; k--) {
                double step = steps[k];
                const char *text = l->item[k];

                steps[k] = steps[k - 1], steps[k - 1] = step;
                l->item[k] = l->item[k - 1], l->item[k - 1] = text;
            }
    free(steps);
    return 0;
}
