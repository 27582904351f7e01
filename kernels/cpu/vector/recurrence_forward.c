/* Recurrence of one head over one span, chunk after chunk; and what heads share of a chunk. */
#include "kernels/cpu/vector/recurrence.h"

static void read_chunk(struct chunk *c, float *out, const float *state, const float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld, before = (size_t)(t->keys - t->queries);
    int n = c->rows, dv = t->value_size;
    float scale = t->scale, skip = t->skip;
    chunk_weigh(c->score, c->query_key, c->decay, NEAR, n, 0);
    multiply(out, ld, c->query, c->ld, state, ld, n, dv, t->key_size, 0, MASK_NONE);
    chunk_scale(out, ld, c->before, n, dv);
    multiply(out, ld, c->score, CHUNK_LD, written, ld, n, dv, n, 1, MASK_LEFT);
    for (int r = 0; r < n; r++) {
        size_t row = c->first + (size_t)r;
        const float *value = chunk_value(c, r), *from = out + (size_t)r * ld;
        float *o = row < before ? NULL : t->o + (row - before) * t->o_stride;
        for (int j = 0; o && j < dv; j++)
            o[j] = scale * from[j] + skip * value[j];
    }
}

void recur_chunk_pairs(const struct recurrence_task *t, size_t first)
{
    struct chunk_pairs p = pairs_at(t, first);
    size_t ld = row_ld(t->key_size), keys = (size_t)t->keys;
    int n = (int)smaller(keys - first, CHUNK), dk = t->key_size,
        read = first + (size_t)n > keys - (size_t)t->queries;
    float key_t[RECURRENCE_SIZE_MOST * CHUNK_LD]; /* [key_size, CHUNK_LD] */
    unsigned mode = denormals_off();
    chunk_copy(p.key, ld, t->key + first * t->stride, t->stride, n, dk, 1);
    if (read || t->delta)
        chunk_transpose(key_t, CHUNK_LD, p.key, ld, n, dk);
    if (read) {
        chunk_copy(p.query, ld, t->query + first * t->stride, t->stride, n, dk, 1);
        multiply(p.query_key, CHUNK_LD, p.query, ld, key_t, CHUNK_LD, n, n, dk, 0, MASK_RESULT);
    }
    if (t->delta)
        multiply(p.key_key, CHUNK_LD, p.key, ld, key_t, CHUNK_LD, n, n, dk, 0, MASK_RESULT);
    denormals_restore(mode);
}

size_t recur_chunk_pairs_floats(int key_size)
{
    struct chunk_pairs p;
    return pairs_layout(&p, NULL, key_size);
}

void recur_head(const struct recurrence_task *t, size_t span)
{
    struct chunk c;
    size_t at = chunk_layout(&c, t->scratch, t->key_size, t->value_size), ld = c.value_ld,
           last = smaller(span + RECURRENCE_SPAN, (size_t)t->keys),
           before = (size_t)(t->keys - t->queries);
    float *written = recurrence_take(t->scratch, &at, CHUNK * ld),
          *out = recurrence_take(t->scratch, &at, CHUNK * ld),
          *erase = recurrence_take(t->scratch, &at, (size_t)CHUNK * CHUNK_LD),
          *state = recurrence_take(t->scratch, &at, (size_t)t->key_size * ld);
    unsigned mode = denormals_off();
    chunk_fetch(t->value + span * t->stride, t->stride, chunk_rows(span, last), t->value_size);
    recurrence_load(state, t, span, ld);
    for (size_t first = span, end; first < last; first = end) {
        chunk_begin(&c, t, first);
        end = first + (size_t)c.rows;
        if (first >= before)
            chunk_fetch_to_write(t->o + (first - before) * t->o_stride, t->o_stride, end - first,
                                 t->value_size);
        if (t->delta)
            chunk_correct(&c, state, erase, out, written);
        else
            chunk_write(&c, written);
        if (end < last)
            chunk_fetch(t->value + end * t->stride, t->stride, chunk_rows(end, last),
                        t->value_size);
        if (end > before)
            read_chunk(&c, out, state, written);
        chunk_advance(&c, state, written);
    }
    for (int i = 0; i < t->key_size; i++)
        memcpy(recurrence_state(t, last - 1) + i * t->value_size, state + (size_t)i * ld,
               (size_t)t->value_size * sizeof(float));
    denormals_restore(mode);
}

size_t recur_head_floats(int key_size, int value_size)
{
    struct chunk c;
    size_t at = chunk_layout(&c, NULL, key_size, value_size);
    return at + (2 * (size_t)CHUNK + (size_t)key_size) * c.value_ld + (size_t)CHUNK * CHUNK_LD;
}
