/* One kind of attention in the cpu set: its tables of positions in float, as the vector kernels
 * read them. */
#include "kernels/cpu/state.h"

#include <math.h>
#include <stdlib.h>

/* A table by distance: at[-t] = value(t), -inf after it for t < 0 and before it for t >= window.
 * `source` NULL: `neutral` everywhere. */
static void distance_table(float *at, float *extreme, const double *source, float neutral,
                           float future, int positions, int window, int absolute)
{
    for (int t = 0; t < positions; t++) {
        float value = source ? (float)source[t] : neutral;
        if (window > 0 && t >= window)
            value = -INFINITY;
        at[-t] = value;
        float size = absolute ? fabsf(value) : value, *block = &extreme[t / TABLE_BLOCK];
        if (t % TABLE_BLOCK == 0 || !(size <= *block))
            *block = size;
    }
    for (int t = 1; t < TABLE_PAD; t++)
        at[t] = future;
}

static void fill_tables(struct cpu_attention *f, const struct attention_shape *s)
{
    size_t blocks = f->extreme_stride, n = (size_t)s->positions;
    for (int h = 0; h < s->heads; h++) {
        size_t from = (size_t)h * n, to = (size_t)h * f->stride, extreme = (size_t)h * blocks;
        if (h == 0 || s->bias)
            distance_table((float *)f->bias.at + to, (float *)f->bias.extreme + extreme,
                           s->bias ? s->bias + from : NULL, 0, -INFINITY, s->positions, s->window,
                           0);
        if (f->open.at && (h == 0 || s->bias))
            distance_table((float *)f->open.at + to, (float *)f->open.extreme + extreme,
                           s->bias ? s->bias + from : NULL, 0, -INFINITY, s->positions, 0, 0);
        if (s->multiplier)
            distance_table((float *)f->multiplier.at + to, (float *)f->multiplier.extreme + extreme,
                           s->multiplier + from, 1, 1, s->positions, 0, 1);
        for (size_t j = 0; s->key_bias && j < n; j++) {
            float value = (float)s->key_bias[from + j],
                  *block = (float *)&f->key_bias.extreme[extreme + j / TABLE_BLOCK];
            ((float *)f->key_bias.at)[to + j] = value;
            if (j % TABLE_BLOCK == 0 || !(value <= *block))
                *block = value;
        }
    }
    size_t pairs = (size_t)s->rotary_size / 2;
    for (size_t i = 0; i < n * pairs; i++) {
        float *cosine = (float *)f->cosine, *sine = (float *)f->sine;
        if (s->pairing == PAIRING_HALF) {
            cosine[i] = (float)s->cosine[i];
            sine[i] = (float)s->sine[i];
        } else {
            cosine[2 * i] = cosine[2 * i + 1] = (float)s->cosine[i];
            sine[2 * i] = (float)-s->sine[i];
            sine[2 * i + 1] = (float)s->sine[i];
        }
    }
}

static void attention_free(struct kernels *k, struct attention *a)
{
    (void)k;
    if (a && a->fast) {
        free(((struct cpu_attention *)a->fast)->storage);
        free(a->fast);
    }
    attention_release(a);
}

static struct attention *attention_create(struct kernels *k, const struct attention_shape *shape,
                                          struct error *e)
{
    struct attention *a;
    struct cpu_attention *f;
    if (kernels_take_error(k, e))
        return NULL;
    a = attention_copy(shape, e);
    if (!a)
        return NULL;
    a->fast = f = calloc(1, sizeof *f);
    if (!f) {
        attention_free(k, a);
        fail_memory(e, sizeof *f, "attention tables");
        return NULL;
    }
    size_t n = (size_t)shape->positions, heads = (size_t)shape->heads;
    f->stride = n + TABLE_PAD;
    f->extreme_stride = (n + TABLE_BLOCK - 1) / TABLE_BLOCK;
    f->biased = shape->bias != NULL;
    /* counts are at most those of the doubles that attention_copy checked and made */
    size_t table = f->stride + f->extreme_stride,
           rotary = shape->rotary_size ? n * (size_t)shape->rotary_size : 0;
    size_t rows = shape->bias ? heads : 1, open = shape->window > 0 && shape->keep > 0 ? rows : 0;
    size_t tables = rows + open + (shape->multiplier ? heads : 0) + (shape->key_bias ? heads : 0),
           floats;
    if (size_multiply(&floats, tables, table) || size_add(&floats, floats, 2 * rotary) ||
        size_multiply(&floats, floats, sizeof(float)) || !(f->storage = calloc(1, floats))) {
        attention_free(k, a);
        fail_memory(e, (double)tables * (double)table * sizeof(float), "attention tables");
        return NULL;
    }
    float *next = f->storage;
    f->bias = (struct distance_table){next + n - 1, next + rows * f->stride};
    next += rows * table;
    if (open) {
        f->open = (struct distance_table){next + n - 1, next + rows * f->stride};
        next += rows * table;
    }
    if (shape->multiplier) {
        f->multiplier = (struct distance_table){next + n - 1, next + heads * f->stride};
        next += heads * table;
    }
    if (shape->key_bias) {
        f->key_bias = (struct distance_table){next, next + heads * f->stride};
        next += heads * table;
    }
    f->cosine = next;
    f->sine = next + rotary;
    fill_tables(f, &a->shape);
    return a;
}

void cpu_fill_attention_tables(struct kernels *k)
{
    k->attention_create = attention_create;
    k->attention_free = attention_free;
}
