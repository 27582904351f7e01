/* Recurrences by channel of the cpu set: as recurrence.c has the others, but no heads share queries
 * and keys, so that a task writes all that its head does. */
#include "kernels/cpu/state.h"

#include <omp.h>
#include <string.h>

/* Floats of scratch: of a thread; of what a head carries from span to span. */
struct room {
    size_t share, carried;
};

static struct room room_of(struct kernels *k, const struct recurrence *r, int stateful, int reverse,
                           int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t floats = !stateful ? v->channels_last_floats(r->key_size, r->value_size)
                    : reverse ? v->channels_reverse_floats(r->key_size, r->value_size)
                              : v->channels_floats(r->key_size, r->value_size);
    struct room room = {.share = (floats + 15) / 16 * 16};
    if (reverse)
        room.carried = stateful ? (size_t)r->key_size * (size_t)r->value_size
                                : v->channels_last_carried(r->key_size, keys);
    return room;
}

static size_t room_bytes(struct room room, const struct recurrence *r, int segments)
{
    return (room.share * (size_t)omp_get_max_threads() +
            room.carried * (size_t)r->heads * (size_t)segments) *
           sizeof(float);
}

void cpu_channels(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                  int segments, int queries, int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t heads = (size_t)r->heads, dv = (size_t)r->value_size;
    struct room room = room_of(k, r, states != NULL, 0, keys);
    float *share = cpu_scratch(k, room_bytes(room, r, segments), "a recurrence");
    if (!share)
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < (size_t)segments * heads; task++) {
        size_t g = task / heads, h = task % heads;
        struct recurrence_task t = cpu_recurrence_task(r, states, qkv, gates, g, h, queries, keys);
        t.o = (float *)o->data + g * (size_t)queries * t.o_stride + h * dv;
        t.scratch = share + room.share * (size_t)omp_get_thread_num();
        if (!states)
            v->channels_last(&t);
        for (size_t span = 0; states && span < (size_t)keys; span += RECURRENCE_SPAN)
            v->channels(&t, span);
    }
}

void cpu_channels_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *r, int segments, int queries, int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t heads = (size_t)r->heads, dk = (size_t)r->key_size, dv = (size_t)r->value_size,
           n = (size_t)keys, all = (size_t)segments * heads,
           spans = (n + RECURRENCE_SPAN - 1) / RECURRENCE_SPAN;
    struct room room = room_of(k, r, states != NULL, 1, keys);
    float *share = cpu_scratch(k, room_bytes(room, r, segments), "a recurrence"),
          *carried = share ? share + room.share * (size_t)omp_get_max_threads() : NULL;
    if (!share)
        return;
    memset(carried, 0, room.carried * all * sizeof *carried);
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < all; task++) {
        size_t g = task / heads, h = task % heads;
        struct recurrence_task t = cpu_recurrence_task(r, states, qkv, gates, g, h, queries, keys);
        float *rows = (float *)d_qkv->data + g * n * t.stride,
              *gate = (float *)d_gates->data + g * n * t.gate_stride;
        t.d_o = (const float *)d_o->data + g * (size_t)queries * t.o_stride + h * dv;
        t.d_query = rows + h * dk;
        t.d_key = t.d_query + heads * dk;
        t.d_value = rows + 2 * heads * dk + h * dv;
        t.d_log_decay = gate + h * dk;
        t.d_step = gate + heads * dk + h;
        t.carried = carried + task * room.carried;
        t.scratch = share + room.share * (size_t)omp_get_thread_num();
        if (!states)
            v->channels_last_begin(&t);
        for (size_t i = 0; i < spans; i++)
            states ? v->channels_reverse(&t, (spans - 1 - i) * RECURRENCE_SPAN)
                   : v->channels_last_reverse(&t, i * RECURRENCE_SPAN);
    }
}

size_t cpu_channels_bytes(struct kernels *k, const struct recurrence *r, int segments, int keys,
                          int stateless)
{
    size_t forward = room_bytes(room_of(k, r, !stateless, 0, keys), r, segments),
           reverse = room_bytes(room_of(k, r, !stateless, 1, keys), r, segments);
    return forward > reverse ? forward : reverse;
}
