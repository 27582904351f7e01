#include "page/explanation.h"

#include "io/glyph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int explanation_shade(const struct explanation *x, size_t input)
{
    double most = x->share[x->order[0]];

    return most > 0 ? (int)lround((SHADES - 1) * sqrt(x->share[input] / most)) : 0;
}

double explanation_shade_share(const struct explanation *x, int shade)
{
    double part = (double)shade / (SHADES - 1);

    return x->share[x->order[0]] * part * part;
}

size_t explanation_inputs(const struct explanation *x)
{
    return x->by ? x->tokens->count : x->count;
}

const char *explanation_unit(const struct explanation *x)
{
    return x->by ? x->by : "token";
}

int32_t explanation_target_id(const struct explanation *x)
{
    return x->answer > 1 ? -1 : x->target.id;
}

const char *explanation_piece(const struct explanation *x, int32_t id, size_t *size, char room[16])
{
    const char *text = texts_find(x->pieces, id, size);

    if (text)
        return text;
    *size = (size_t)snprintf(room, 16, "<%d>", (int)id);
    return room;
}

char *explanation_quoted(const struct explanation *x, int32_t id)
{
    char room[16], *out = NULL;
    size_t size, length;
    const char *text = explanation_piece(x, id, &size, room);
    FILE *f = open_memstream(&out, &length);
    int failed;

    if (!f)
        return NULL;
    fputc('"', f);
    for (size_t i = 0; i < size;) {
        struct glyph g;

        i += glyph_next(&g, text + i, size - i);
        fputs(g.text, f);
    }
    fputc('"', f);
    failed = ferror(f);
    if (fclose(f) == 0 && !failed)
        return out;
    free(out);
    return NULL;
}

double explanation_explained(const struct explanation *x)
{
    return x->target.logprob - (x->contrast ? x->against.logprob : 0);
}

void explanation_free(struct explanation *x)
{
    free(x->name);
    free(x->model);
    free(x->path);
    free(x->position_encoding);
    free(x->id);
    free(x->norm);
    free(x->share);
    free(x->cumulative);
    free(x->order);
    free(x->rank);
    free(x->line);
    free(x->start);
    free(x->change);
    free(x->change_order);
    free(x->change_rank);
    *x = (struct explanation){0};
}

void explanations_free(struct explanations *all)
{
    for (size_t i = 0; i < all->count; i++)
        explanation_free(&all->item[i]);
    free(all->item);
    texts_free(&all->pieces);
    *all = (struct explanations){0};
}
