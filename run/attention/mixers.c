/* What mixes the rows of each layer, as text: `recurrence,recurrence,attention`. */
#include "run/attention/attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ways to attend, as attention.csv names them. */
static const char *const attends[] = {"attention", "window", "chunk"};
enum { WAYS = sizeof attends / sizeof *attends };

char *mixers_text(const struct decoder *d)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (int l = 0; f && l < d->layers; l++) {
        const struct block *b = &d->blocks[l];
        const char *names[] = {block_attends(b) ? attends[b->score.window  ? 1
                                                          : b->score.chunk ? 2
                                                                           : 0]
                                                : "",
                               block_convolves(b) || block_mixes_channels(b) ? "convolution" : "",
                               block_recurs(b) ? "recurrence" : ""};
        const char *between = l ? "," : "";

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (*names[i]) {
                fprintf(f, "%s%s", between, names[i]);
                between = "+";
            }
        if (*between == ',') /* an MLP alone */
            fputc(',', f);
    }
    if (!f || fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* One name, which ends at `+`, `,` or the end. -1 if there is no such mixer. */
static int take(struct mixers *out, const char *name, size_t length)
{
    for (size_t i = 0; i < WAYS; i++)
        if (strlen(attends[i]) == length && strncmp(name, attends[i], length) == 0)
            return out->attention ? -1 : (out->attention = attends[i], 0);
    if (length == strlen("convolution") && strncmp(name, "convolution", length) == 0)
        return out->convolves++ ? -1 : 0;
    if (length == strlen("recurrence") && strncmp(name, "recurrence", length) == 0)
        return out->recurs++ ? -1 : 0;
    return length ? -1 : 0;
}

int mixers_of(struct mixers *out, const struct result_attention *a, size_t layer)
{
    const char *at = a->mixers;

    *out = (struct mixers){0};
    if (!at) {
        out->attention = "";
        return 0;
    }
    for (size_t l = 0; l < layer; l++, at++)
        if (!*(at = strchrnul(at, ',')))
            return -1;
    for (size_t length;; at += length + 1) {
        length = strcspn(at, "+,");
        if (take(out, at, length) != 0)
            return -1;
        if (at[length] != '+')
            return layer + 1 == a->layers && at[length] ? -1 : 0;
    }
}
