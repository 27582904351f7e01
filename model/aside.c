/* Inputs of layers between forward and reverse, if they do not stay in their buffers: on disk
 * unchanged, or rounded to bf16 in memory or on disk. They pass through the host in pieces, by the
 * set's own read and write, which are exact. */
#include "io/element.h"
#include "io/system/spill.h"
#include "model/engine_parts.h"

#include <stdlib.h>
#include <string.h>

enum { ASIDE_PIECE = 1 << 13 }; /* elements */

static enum element waits_as(const struct kernels *k, const struct shape *s)
{
    if (s->short_inputs)
        return ELEMENT_BF16;
    return k->role_size[ROLE_RESIDUAL] == sizeof(double) ? ELEMENT_F64 : ELEMENT_F32;
}

int aside_layers(const struct shape *s)
{
    return s->short_inputs ? s->d->layers : s->disk_layers;
}

/* Bytes of the inputs of layers first .. end - 1. */
static double span_bytes(const struct kernels *k, const struct shape *s, int first, int end)
{
    double rows = 0;
    for (int l = first; l < end; l++)
        rows += s->keys[l];
    return rows * s->batch * stream_width(s->d) * (double)element_size(waits_as(k, s));
}

void aside_bytes(double *memory, double *disk, double *passing, const struct kernels *k,
                 const struct shape *s)
{
    *disk = span_bytes(k, s, 0, s->disk_layers);
    *memory = span_bytes(k, s, s->disk_layers, aside_layers(s));
    *passing = aside_layers(s)
                   ? (double)ASIDE_PIECE * (sizeof(double) + (double)element_size(waits_as(k, s)))
                   : 0;
}

int aside_open(struct engine *g, struct error *e)
{
    static const char what[] = "inputs of layers";
    const char *folder = g->request.kind == REQUEST_GRADIENT ? g->request.gradient.scratch : NULL;
    struct aside *a = &g->aside;
    double memory, disk, passing;
    aside_bytes(&memory, &disk, &passing, g->k, &g->shape);
    if (disk >= (double)SIZE_MAX || memory >= (double)SIZE_MAX)
        return fail(e, "%s: their size overflows", what);
    if (folder &&
        !(a->file = spill_open(folder, (size_t)disk, what, e))) /* also if requested only */
        return -1;
    if (passing == 0)
        return 0;
    a->values = malloc(ASIDE_PIECE * sizeof *a->values);
    a->piece = malloc(ASIDE_PIECE * element_size(waits_as(g->k, &g->shape)));
    a->memory = malloc(memory > 0 ? (size_t)memory : 1);
    return a->values && a->piece && a->memory ? 0 : fail_memory(e, memory + passing, what);
}

void aside_close(struct engine *g)
{
    struct aside *a = &g->aside;
    free(a->values), free(a->piece), free(a->memory);
    spill_close(a->file);
    *a = (struct aside){0};
}

/* out = values [count] as stored; to bf16 through float, to nearest, ties to even; NaN stays
 * NaN. */
static void pack(unsigned char *out, const double *values, enum element type, size_t count)
{
    for (size_t i = 0; type == ELEMENT_F64 && i < count; i++)
        memcpy(out + i * sizeof *values, values + i, sizeof *values);
    for (size_t i = 0; type != ELEMENT_F64 && i < count; i++) {
        float one = (float)values[i];
        if (type == ELEMENT_BF16) {
            float rounded = float_round_bf16(one);
            uint32_t bits;
            memcpy(&bits, &rounded, sizeof bits);
            uint16_t upper = (uint16_t)(bits >> 16);
            memcpy(out + i * sizeof upper, &upper, sizeof upper);
        } else {
            memcpy(out + i * sizeof one, &one, sizeof one);
        }
    }
}

/* Stores layer l's x, or restores it. */
static int pass(struct engine *g, int l, int batch, int back, struct error *e)
{
    const struct shape *s = &g->shape;
    struct aside *a = &g->aside;
    struct kernels *k = g->k;
    if (l >= aside_layers(s))
        return 0;
    enum element type = waits_as(k, s);
    int on_disk = l < s->disk_layers;
    size_t each = element_size(type),
           count = (size_t)batch * (size_t)s->keys[l] * (size_t)stream_width(s->d),
           begin = (size_t)span_bytes(k, s, on_disk ? 0 : s->disk_layers, l);
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < ASIDE_PIECE ? count - at : ASIDE_PIECE;
        size_t from = begin + at * each;
        unsigned char *piece = on_disk ? a->piece : a->memory + from;
        if (!back) {
            k->read(k, a->values, g->layers[l].x, at, now);
            pack(piece, a->values, type, now);
            if (on_disk && spill_write(a->file, from, piece, now * each, e))
                return -1;
        } else {
            if (on_disk && spill_read(a->file, from, piece, now * each, e))
                return -1;
            element_widen_f64(a->values, piece, type, now);
            k->write(k, g->layers[l].x, at, a->values, now);
        }
    }
    return 0;
}

int aside_put(struct engine *g, int l, int batch, struct error *e)
{
    return pass(g, l, batch, 0, e);
}

int aside_take(struct engine *g, int l, int batch, struct error *e)
{
    return pass(g, l, batch, 1, e);
}
