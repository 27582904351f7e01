/* Recurrence of one head over one segment, chunk after chunk. */
#include "kernels/cpu/vector/recurrence.h"

static void read_chunk(struct chunk *c, float *out, const float *state, const float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld, before = (size_t)(t->keys - t->queries);
    int n = c->rows, dv = t->value_size;
    chunk_read(c, c->score);
    multiply(out, ld, c->query, c->ld, state, ld, n, dv, t->key_size, 0, MASK_NONE);
    chunk_scale(out, ld, c->before, n, dv);
    multiply(out, ld, c->score, CHUNK_LD, written, ld, n, dv, n, 1, MASK_LEFT);
    for (int r = 0; r < n; r++) {
        size_t row = c->first + (size_t)r;
        const float *value = chunk_value(c, r), *from = out + (size_t)r * ld;
        float *o = row < before ? NULL : t->o + (row - before) * t->o_stride;
        for (int j = 0; o && j < dv; j++)
            o[j] = t->scale * from[j] + t->skip * value[j];
    }
}

void recur_head(const struct recurrence_task *t)
{
    struct chunk c;
    size_t at = chunk_layout(&c, t->scratch, t->key_size, t->value_size), ld = c.value_ld,
           keys = (size_t)t->keys, before = (size_t)(t->keys - t->queries);
    float *written = recurrence_take(t->scratch, &at, CHUNK * ld),
          *out = recurrence_take(t->scratch, &at, CHUNK * ld),
          *erase = recurrence_take(t->scratch, &at, (size_t)CHUNK * CHUNK_LD),
          *state = recurrence_take(t->scratch, &at, (size_t)t->key_size * ld);
    unsigned mode = denormals_off();
    memset(state, 0, (size_t)t->key_size * ld * sizeof(float));
    for (size_t first = 0, end; first < keys; first = end) {
        chunk_begin(&c, t, first);
        end = first + (size_t)c.rows;
        if (t->delta || end > before)
            chunk_transpose(c.key_t, CHUNK_LD, c.key, c.ld, c.rows, t->key_size);
        if (t->delta)
            chunk_correct(&c, state, erase, erase, out, written);
        else
            chunk_write(&c, written);
        if (end > before)
            read_chunk(&c, out, state, written);
        chunk_advance(&c, state, written);
        if (end % RECURRENCE_SPAN == 0 || end == keys)
            for (int i = 0; i < t->key_size; i++)
                memcpy(recurrence_state(t, end - 1) + i * t->value_size, state + (size_t)i * ld,
                       (size_t)t->value_size * sizeof(float));
    }
    denormals_restore(mode);
}

size_t recur_head_floats(int key_size, int value_size)
{
    struct chunk c;
    size_t at = chunk_layout(&c, NULL, key_size, value_size);
    return at + (2 * (size_t)CHUNK + (size_t)key_size) * c.value_ld + (size_t)CHUNK * CHUNK_LD;
}
