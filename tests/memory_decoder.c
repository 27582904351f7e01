/* Random decoders in memory: see memory_decoder.h. */
#include "tests/memory_decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The decoder first, so that its pointer is this one's. */
struct memory_model {
    struct decoder decoder;
    char *arena;
    size_t arena_bytes;
    size_t elements; /* handed out */
    enum element type;
    int tensors;
};

/* A 32-bit mixing of counter and seed. */
static uint32_t mix(uint32_t i, uint32_t seed)
{
    uint32_t h = (i + 1) * 2654435761u + seed * 2246822519u;
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return h ^ h >> 16;
}

/* The next tensor [rows, columns]; counted only while there is no arena. */
static view tensor(struct memory_model *m, size_t rows, size_t columns, float mean, float spread)
{
    size_t count = rows * columns, size = element_size(m->type);
    char *data = m->arena ? m->arena + m->elements * size : NULL;
    uint32_t number = (uint32_t)m->tensors++;
    m->elements += count;
    if (data) {
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++) {
            float x = mean + spread * ((float)(mix((uint32_t)i, number) >> 8) * 0x1p-23f - 1.0f);
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            if (m->type == ELEMENT_BF16)
                ((uint16_t *)(void *)data)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >>
                                                           16);
            else
                ((float *)(void *)data)[i] = x;
        }
    }
    return (view){.data = data,
                  .type = m->type,
                  .groups = 1,
                  .rows = rows,
                  .columns = columns,
                  .row_stride = columns,
                  .column_stride = 1};
}

/* The same with rows and columns exchanged. */
static view transposed(view v)
{
    return (view){.data = v.data,
                  .type = v.type,
                  .groups = 1,
                  .rows = v.columns,
                  .columns = v.rows,
                  .row_stride = 1,
                  .column_stride = v.columns};
}

/* Rows first .. first + count - 1. */
static view rows_of(view v, size_t first, size_t count)
{
    if (v.data)
        v.data = (const char *)v.data + first * v.row_stride * element_size(v.type);
    v.rows = count;
    return v;
}

/* Part `which` of three of every group of 3 * size rows. */
static view third(view v, size_t groups, size_t size, size_t which)
{
    view part = rows_of(v, which * size, size);
    part.groups = groups;
    part.group_stride = 3 * size * v.row_stride;
    return part;
}

static struct norm_view layer_norm(struct memory_model *m, size_t width)
{
    struct norm_view n = {.kind = NORM_LAYER, .epsilon = 1e-5, .present = 1};
    n.scale = tensor(m, width, 1, 1, 0.1f);
    n.shift = tensor(m, width, 1, 0, 0.1f);
    return n;
}

static struct norm_view rms_norm(struct memory_model *m, size_t width)
{
    return (struct norm_view){.kind = NORM_RMS,
                              .epsilon = 1e-5,
                              .present = 1,
                              .scale = tensor(m, width, 1, 1, 0.1f)};
}

static void fill_gpt2(struct memory_model *m, const struct memory_shape *s)
{
    struct decoder *d = &m->decoder;
    size_t width = (size_t)s->hidden, inner = (size_t)s->mlp;
    float w = 1.7f / sqrtf((float)s->hidden);
    d->tied = 1;
    d->embedding = d->head.weight = tensor(m, (size_t)s->vocabulary, width, 0, 0.05f);
    d->position_rows = tensor(m, (size_t)s->positions, width, 0, 0.02f);
    if (s->kind == MEMORY_GPT2) {
        d->position = POSITION_LEARNED;
        d->position_limit = s->positions;
    }
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        b->attention_norm = layer_norm(m, width);
        view fused = transposed(tensor(m, width, 3 * width, 0, w)),
             bias = tensor(m, 3 * width, 1, 0, 0.1f);
        for (size_t i = 0; i < 3; i++)
            *qkv[i] = (struct linear){rows_of(fused, i * width, width),
                                      rows_of(bias, i * width, width)};
        b->output.weight = transposed(tensor(m, width, width, 0, w / 4));
        b->output.bias = tensor(m, width, 1, 0, 0.1f);
        b->mlp_norm = layer_norm(m, width);
        b->up.weight = transposed(tensor(m, width, inner, 0, w));
        b->up.bias = tensor(m, inner, 1, 0, 0.1f);
        b->down.weight = transposed(tensor(m, inner, width, 0, w / 8));
        b->down.bias = tensor(m, width, 1, 0, 0.1f);
        b->activation = ACTIVATION_GELU_TANH;
    }
    d->final_norm = layer_norm(m, width);
}

static void fill_neox(struct memory_model *m, const struct memory_shape *s)
{
    struct decoder *d = &m->decoder;
    size_t width = (size_t)s->hidden, inner = (size_t)s->mlp, heads = (size_t)s->heads,
           size = (size_t)d->head_size;
    float w = 1.7f / sqrtf((float)s->hidden);
    d->embedding = tensor(m, (size_t)s->vocabulary, width, 0, 0.05f);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        b->attention_norm = layer_norm(m, width);
        b->mlp_norm = layer_norm(m, width);
        view fused = tensor(m, 3 * width, width, 0, w), bias = tensor(m, 3 * width, 1, 0, 0.1f);
        for (size_t i = 0; i < 3; i++)
            *qkv[i] = (struct linear){third(fused, heads, size, i), third(bias, heads, size, i)};
        b->output.weight = tensor(m, width, width, 0, w / 4);
        b->output.bias = tensor(m, width, 1, 0, 0.1f);
        b->up.weight = tensor(m, inner, width, 0, w);
        b->up.bias = tensor(m, inner, 1, 0, 0.1f);
        b->down.weight = tensor(m, width, inner, 0, w / 8);
        b->down.bias = tensor(m, width, 1, 0, 0.1f);
        b->activation = ACTIVATION_GELU;
        b->residual = RESIDUAL_PARALLEL;
    }
    d->final_norm = layer_norm(m, width);
    d->head.weight = tensor(m, (size_t)s->vocabulary, width, 0, w);
}

static void fill_llama(struct memory_model *m, const struct memory_shape *s)
{
    struct decoder *d = &m->decoder;
    size_t width = (size_t)s->hidden, inner = (size_t)s->mlp,
           kv_width = (size_t)d->kv_heads * (size_t)d->head_size;
    float w = 1.7f / sqrtf((float)s->hidden);
    d->embedding = tensor(m, (size_t)s->vocabulary, width, 0, 0.05f);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        b->attention_norm = rms_norm(m, width);
        b->query.weight = tensor(m, width, width, 0, w);
        b->key.weight = tensor(m, kv_width, width, 0, w);
        b->value.weight = tensor(m, kv_width, width, 0, w);
        b->output.weight = tensor(m, width, width, 0, w / 4);
        b->mlp_norm = rms_norm(m, width);
        b->gate.weight = tensor(m, inner, width, 0, w);
        b->up.weight = tensor(m, inner, width, 0, w);
        b->down.weight = tensor(m, width, inner, 0, w / 8);
        b->activation = ACTIVATION_SILU;
    }
    d->final_norm = rms_norm(m, width);
    d->head.weight = tensor(m, (size_t)s->vocabulary, width, 0, w);
}

static void fill(struct memory_model *m, const struct memory_shape *s)
{
    m->elements = 0;
    m->tensors = 0;
    if (s->kind == MEMORY_NEOX)
        fill_neox(m, s);
    else if (s->kind == MEMORY_LLAMA)
        fill_llama(m, s);
    else
        fill_gpt2(m, s);
}

static int set_rotary(struct decoder *d, int size, struct error *e)
{
    d->position = POSITION_ROTARY;
    d->rotary[0].size = size;
    d->rotary[0].pairing = PAIRING_HALF;
    d->rotary[0].factor = 1;
    d->rotary[0].base = 10000;
    d->rotary[0].frequency = calloc((size_t)size / 2, sizeof *d->rotary[0].frequency);
    if (!d->rotary[0].frequency)
        return fail_memory(e, 4.0 * size, "rotary frequencies");
    for (int i = 0; i < size / 2; i++)
        d->rotary[0].frequency[i] = pow(10000, -2.0 * i / size);
    return 0;
}

static int set_scores(struct decoder *d, const struct memory_shape *s, struct error *e)
{
    const struct formula *bias = NULL;
    if (s->kind == MEMORY_ALIBI) {
        struct formula_error problem = {0, ""};
        d->formulas = calloc(1, sizeof *d->formulas);
        if (!d->formulas || !(d->formulas[0] = formula_parse("alibi(delta=0)", &problem)))
            return fail(e, "alibi: %s", problem.message);
        d->formula_count = 1;
        bias = d->formulas[0];
    }
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score = (struct score){.scale = 1 / sqrt((double)d->head_size),
                                            .window = s->window > 0 ? s->window : 0,
                                            .chunk = s->window < 0 ? -s->window : 0,
                                            .bias = bias,
                                            .key_bias_type = ELEMENT_F64,
                                            .key_bias_scale = 1};
    return 0;
}

struct decoder *memory_decoder(const struct memory_shape *s, struct error *e)
{
    static const char *const names[] = {"gpt2", "gpt_neox", "llama", "alibi"};
    struct memory_model *m = calloc(1, sizeof *m);
    struct decoder *d = &m->decoder;
    if (!m) {
        fail_memory(e, sizeof *m, "a decoder");
        return NULL;
    }
    m->type = s->kind == MEMORY_LLAMA ? ELEMENT_BF16 : ELEMENT_F32;
    snprintf(d->family, sizeof d->family, "%s", names[s->kind]);
    snprintf(d->path, sizeof d->path, "random %s", names[s->kind]);
    d->vocabulary = s->vocabulary, d->hidden = d->embedding_width = s->hidden,
    d->layers = s->layers, d->heads = s->heads, d->mlp = s->mlp;
    d->kv_heads = s->kind == MEMORY_LLAMA ? s->kv_heads : s->heads;
    d->head_size = d->value_size = s->hidden / s->heads;
    d->embedding_scale = 1;
    d->bos = d->padding = -1;
    d->blocks = calloc((size_t)s->layers, sizeof *d->blocks);
    if (!d->blocks) {
        fail_memory(e, (double)s->layers * sizeof *d->blocks, "blocks");
        goto failed;
    }
    for (int l = 0; l < s->layers; l++)
        d->blocks[l].mixer.ways = MIXING_ATTENTION;
    fill(m, s); /* counts */
    m->arena_bytes = m->elements * element_size(m->type);
    /* shared memory, which keeps its contents when tensors_release_pages lets go of its pages */
    m->arena = mmap(NULL, m->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    if (m->arena == MAP_FAILED) {
        m->arena = NULL;
        fail_memory(e, (double)m->arena_bytes, "random weights");
        goto failed;
    }
    fill(m, s);
    if ((s->kind == MEMORY_NEOX && set_rotary(d, d->head_size / 4 / 2 * 2, e)) ||
        (s->kind == MEMORY_LLAMA && set_rotary(d, d->head_size / 2 * 2, e)) || set_scores(d, s, e))
        goto failed;
    return d;
failed:
    memory_decoder_free(d);
    return NULL;
}

void memory_decoder_free(struct decoder *d)
{
    struct memory_model *m = (struct memory_model *)(void *)d;
    if (!d)
        return;
    for (int i = 0; i < d->formula_count; i++)
        formula_free(d->formulas[i]);
    free(d->formulas);
    free(d->rotary[0].frequency);
    free(d->blocks);
    if (m->arena)
        munmap(m->arena, m->arena_bytes);
    free(m);
}
