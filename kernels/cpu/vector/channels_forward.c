/* Recurrence by channel of one head over one span, chunk after chunk. */
#include "kernels/cpu/vector/channels.h"

static void read_chunk(const struct channels *c, float *out, const float *state,
                       const float *written)
{
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld, before = (size_t)(t->keys - t->queries);
    int n = c->rows, dv = t->value_size;
    multiply(out, ld, c->query_before, c->ld, state, ld, n, dv, t->key_size, 0, MASK_NONE);
    multiply(out, ld, c->score, CHUNK_LD, written, ld, n, dv, n, 1, MASK_LEFT);
    for (int r = 0; r < n; r++) {
        size_t row = c->first + (size_t)r;
        const float *value = t->value + row * t->stride, *from = out + (size_t)r * ld;
        float *o = row < before ? NULL : t->o + (row - before) * t->o_stride;
        for (int j = 0; o && j < dv; j++)
            o[j] = t->scale * from[j] + t->skip * value[j];
    }
}

void recur_channels_head(const struct recurrence_task *t, size_t span)
{
    struct channels c;
    size_t at = channels_layout(&c, t->scratch, t->key_size, t->value_size), ld = c.value_ld,
           last = smaller(span + RECURRENCE_SPAN, (size_t)t->keys),
           before = (size_t)(t->keys - t->queries);
    float *written = recurrence_take(t->scratch, &at, CHUNK * ld),
          *out = recurrence_take(t->scratch, &at, CHUNK * ld),
          *erase = recurrence_take(t->scratch, &at, (size_t)CHUNK * CHUNK_LD),
          *state = recurrence_take(t->scratch, &at, (size_t)t->key_size * ld);
    unsigned mode = denormals_off();
    recurrence_load(state, t, span, ld);
    for (size_t first = span; first < last; first += CHUNK) {
        int read;
        channels_begin(&c, t, first);
        read = first + (size_t)c.rows > before;
        channels_pairs(&c, read, t->delta ? erase : NULL);
        channels_write(&c, state, erase, out, written);
        if (read)
            read_chunk(&c, out, state, written);
        channels_advance(&c, state, written);
    }
    for (int i = 0; i < t->key_size; i++)
        memcpy(recurrence_state(t, last - 1) + i * t->value_size, state + (size_t)i * ld,
               (size_t)t->value_size * sizeof(float));
    denormals_restore(mode);
}

size_t recur_channels_head_floats(int key_size, int value_size)
{
    struct channels c;
    size_t at = channels_layout(&c, NULL, key_size, value_size);
    return at + (2 * (size_t)CHUNK + (size_t)key_size) * c.value_ld + (size_t)CHUNK * CHUNK_LD;
}
