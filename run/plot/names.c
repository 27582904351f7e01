/* --only and --label. */
#include "run/plot/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_TOLD = 6 };

const char *plot_layers_text(struct plot_run *r, const long *layers, size_t count, struct error *e)
{
    const char *text = plot_text(r, e, count > 1 ? "layers" : "layer");

    for (size_t first = 0, last; text && first < count; first = last + 1) {
        for (last = first; last + 1 < count && layers[last + 1] == layers[last] + 1;)
            last++;
        text = plot_text(r, e, "%s%s%ld", text, first ? ", " : " ", layers[first]);
        if (text && last > first)
            text = plot_text(r, e, "%s-%ld", text, layers[last]);
    }
    return text;
}

static int fail_name(const char *option, const char *stem, const char *name, size_t length,
                     const char **labels, size_t count, struct error *e)
{
    char known[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && i < NAMES_TOLD && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 labels[i]);
    return fail(e, "--%s: %s.gp has nothing called \"%.*s\" (expected one of %s%s)", option, stem,
                (int)length, name, known, count > NAMES_TOLD ? ", ..." : "");
}

/* Marks the name in `keep`; returns how many match. */
static size_t mark(unsigned char *keep, const char **labels, size_t count, const char *name,
                   size_t length)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        if (strlen(labels[i]) == length && strncmp(labels[i], name, length) == 0)
            keep[i] = 1, found++;
    return found;
}

/* A value of --only: one name, possibly with commas, or several. */
static int mark_list(unsigned char *keep, const char *list, const char *stem, const char **labels,
                     size_t count, struct error *e)
{
    if (mark(keep, labels, count, list, strlen(list)))
        return 0;
    for (const char *p = list;; p++) {
        size_t length = strcspn(p, ",");

        if (!mark(keep, labels, count, p, length))
            return fail_name("only", stem, p, length, labels, count, e);
        p += length;
        if (!*p)
            return 0;
    }
}

/* The text of "NAME=TEXT" if NAME is this one, else NULL. */
static const char *text_for(const char *pair, const char *name)
{
    size_t length = strlen(name);

    return strncmp(pair, name, length) == 0 && pair[length] == '=' ? pair + length + 1 : NULL;
}

int plot_names(const struct plot_run *r, const char *stem, const char **labels, unsigned char *keep,
               size_t count, struct error *e)
{
    const struct text_list *only = &r->options->only, *pairs = &r->options->labels;
    const char **texts = calloc(count ? count : 1, sizeof *texts);
    int rc = texts ? 0 : fail(e, "out of memory for the labels");

    memset(keep, only->count == 0, count);
    for (int k = 0; k < only->count && rc == 0; k++)
        rc = mark_list(keep, only->item[k], stem, labels, count, e);
    for (int k = 0; k < pairs->count && rc == 0; k++) {
        size_t found = 0;

        for (size_t i = 0; i < count && rc == 0; i++) {
            const char *text = text_for(pairs->item[k], labels[i]);

            if (text && texts[i])
                rc = fail(e, "--label: \"%s\" is given two texts, \"%s\" and \"%s\" (expected one)",
                          labels[i], texts[i], text);
            else if (text)
                texts[i] = text, found++;
        }
        if (rc == 0 && !found)
            rc = fail_name("label", stem, pairs->item[k], strcspn(pairs->item[k], "="), labels,
                           count, e);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        labels[i] = texts[i] ? texts[i] : labels[i];
    free(texts);
    return rc;
}

void *plot_pick(struct plot_run *r, const char *stem, const void *rows, size_t size, size_t *count,
                struct error *e)
{
    size_t all = *count, kept = 0;
    const char **labels = plot_new(r, all, sizeof *labels, e);
    unsigned char *keep = labels ? plot_new(r, all, 1, e) : NULL;
    char *picked = keep ? plot_new(r, all, size, e) : NULL;

    if (!picked)
        return NULL;
    for (size_t i = 0; i < all; i++)
        memcpy(&labels[i], (const char *)rows + i * size, sizeof labels[i]);
    if (plot_names(r, stem, labels, keep, all, e) != 0)
        return NULL;
    for (size_t i = 0; i < all; i++)
        if (keep[i]) {
            memcpy(picked + kept * size, (const char *)rows + i * size, size);
            memcpy(picked + kept++ * size, &labels[i], sizeof labels[i]);
        }
    *count = kept;
    return picked;
}
