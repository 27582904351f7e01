/* Recurrences of the cpu set, span after span: one task for each head of each segment, taken by
 * threads in any order. Products that the heads of a key head share are made before. In reverse the
 * gradients of its queries and keys are made for each head, summed over TOGETHER neighbours in
 * their order, then over these sums in theirs; where there are tasks enough, one task has all heads
 * of such a sum, because their gradients are too large for near caches. */
#include "kernels/cpu/state.h"
#include "kernels/cpu/vector/denormals.h"

#include <omp.h>
#include <string.h>

struct recurrence_task cpu_recurrence_task(const struct recurrence *r, const struct buffer *states,
                                           const struct buffer *qkv, const struct buffer *gates,
                                           size_t g, size_t h, int queries, int keys)
{
    size_t dk = (size_t)r->key_size, dv = (size_t)r->value_size, heads = (size_t)r->heads,
           key_heads = (size_t)r->key_heads, decays = (size_t)recurrence_decays(r),
           rows = g * (size_t)keys;
    struct recurrence_task t = {.stride = (size_t)recurrence_width(r),
                                .gate_stride = (size_t)recurrence_gates_width(r),
                                .o_stride = (size_t)recurrence_o_width(r),
                                .key_size = r->key_size,
                                .value_size = r->value_size,
                                .queries = queries,
                                .keys = keys,
                                .delta = r->delta,
                                .scale = (float)r->scale};
    const float *row = (const float *)qkv->data + rows * t.stride,
                *gate = (const float *)gates->data + rows * t.gate_stride;
    t.query = row + h * key_heads / heads * dk;
    t.key = t.query + key_heads * dk;
    t.value = row + 2 * key_heads * dk + h * dv;
    t.log_decay = gate + h * decays;
    t.step = gate + heads * decays + h;
    t.skip = r->skip ? ((const float *)r->skip->data)[h] : 0;
    if (states)
        t.states = (float *)states->data + (g * heads + h) * recurrence_states(keys) * dk * dv;
    return t;
}

/* Floats of scratch: of a thread; of a chunk's pairs; what a head carries from span to span; what
 * it makes for the sum of its group over a span. Pairs that no other head shares are in the
 * thread's share. */
struct room {
    size_t share, pairs, carried, partial;
    int shared;
};

enum { CHUNKS = RECURRENCE_SPAN / RECURRENCE_CHUNK, TOGETHER = 4 };

static struct room room_of(struct kernels *k, const struct recurrence *r, int stateful, int reverse,
                           int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t dk = (size_t)r->key_size, dv = (size_t)r->value_size,
           floats = !stateful ? v->recur_last_floats(r->key_size, r->value_size)
                    : reverse ? v->recur_reverse_floats(r->key_size, r->value_size)
                              : v->recur_floats(r->key_size, r->value_size);
    struct room room = {.share = (floats + 15) / 16 * 16, .shared = r->heads > r->key_heads};
    if (stateful)
        room.pairs = v->recur_pairs_floats(r->key_size);
    if (!room.shared)
        room.share += CHUNKS * room.pairs;
    if (reverse) {
        room.carried = stateful ? dk * dv : v->recur_last_carried(r->key_size, r->delta, keys);
        room.partial = room.shared ? (size_t)RECURRENCE_SPAN * 2 * dk : 0;
    }
    return room;
}

static size_t room_bytes(struct room room, const struct recurrence *r, int segments)
{
    size_t shared = room.shared ? CHUNKS * room.pairs * (size_t)r->key_heads : 0;
    return (room.share * (size_t)omp_get_max_threads() +
            (shared + (room.carried + room.partial) * (size_t)r->heads) * (size_t)segments) *
           sizeof(float);
}

/* The scratch of a call: shares of threads, the pairs of each key head, what heads carry, partial
 * sums. */
struct scratch {
    struct room room;
    float *share, *pairs, *carried, *partial;
};

static int take_scratch(struct scratch *s, struct kernels *k, const struct recurrence *r,
                        struct room room, int segments)
{
    size_t heads = (size_t)segments * (size_t)r->heads;
    *s = (struct scratch){room, cpu_scratch(k, room_bytes(room, r, segments), "a recurrence"), NULL,
                          NULL, NULL};
    if (!s->share)
        return -1;
    s->carried = s->share + room.share * (size_t)omp_get_max_threads();
    s->partial = s->carried + room.carried * heads;
    s->pairs = s->partial + room.partial * heads;
    return 0;
}

/* The thread's share, and where the pairs of head h in segment g are. */
static void take_share(struct recurrence_task *t, const struct scratch *s,
                       const struct recurrence *r, size_t g, size_t h)
{
    size_t key_heads = (size_t)r->key_heads, each = CHUNKS * s->room.pairs;
    t->scratch = s->share + s->room.share * (size_t)omp_get_thread_num();
    t->pairs = s->room.shared ? s->pairs + (g * key_heads + h * key_heads / (size_t)r->heads) * each
                              : t->scratch + s->room.share - each;
}

/* Before the heads of a span: the pairs that they share. */
static void share_pairs(const struct vector_kernels *v, const struct scratch *s,
                        const struct recurrence *r, const struct buffer *qkv,
                        const struct buffer *gates, int segments, int queries, int keys,
                        size_t span)
{
    size_t groups = (size_t)r->key_heads;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < (size_t)segments * groups * CHUNKS; i++) {
        size_t g = i / CHUNKS / groups, h = i / CHUNKS % groups * (size_t)(r->heads / r->key_heads),
               first = span + i % CHUNKS * RECURRENCE_CHUNK;
        struct recurrence_task t = cpu_recurrence_task(r, NULL, qkv, gates, g, h, queries, keys);
        take_share(&t, s, r, g, h);
        if (first < (size_t)keys)
            v->recur_pairs(&t, first);
    }
}

/* Before one head of a span: its pairs, unless they are shared. */
static void own_pairs(const struct vector_kernels *v, const struct scratch *s,
                      const struct recurrence_task *t, size_t span)
{
    for (size_t first = span;
         !s->room.shared && first < span + RECURRENCE_SPAN && first < (size_t)t->keys;
         first += RECURRENCE_CHUNK)
        v->recur_pairs(t, first);
}

static void recur(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                  int segments, int queries, int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t heads = (size_t)r->heads, dv = (size_t)r->value_size;
    struct scratch s;
    if (r->by_channel) {
        cpu_channels(k, o, states, qkv, gates, r, segments, queries, keys);
        return;
    }
    if (take_scratch(&s, k, r, room_of(k, r, states != NULL, 0, keys), segments))
        return;
    for (size_t span = 0; span < (states ? (size_t)keys : 1); span += RECURRENCE_SPAN) {
        if (states && s.room.shared)
            share_pairs(v, &s, r, qkv, gates, segments, queries, keys, span);
#pragma omp parallel for schedule(dynamic)
        for (size_t task = 0; task < (size_t)segments * heads; task++) {
            size_t g = task / heads, h = task % heads;
            struct recurrence_task t = cpu_recurrence_task(r, states, qkv, gates, g, h, queries,
                                                           keys);
            t.o = (float *)o->data + g * (size_t)queries * t.o_stride + h * dv;
            take_share(&t, &s, r, g, h);
            if (!states) {
                v->recur_last(&t);
                continue;
            }
            own_pairs(v, &s, &t, span);
            v->recur(&t, span);
        }
    }
}

/* The queries and keys of d_qkv in a span, from partial [segments, heads, RECURRENCE_SPAN, query |
 * key]: sums over the heads of a group. summed: those of TOGETHER heads are where the first one's
 * would be. */
static void sum_groups(const struct vector_kernels *v, float *d_qkv, const float *partial,
                       const struct recurrence *r, size_t segments, size_t keys, size_t span,
                       int summed)
{
    size_t dk = (size_t)r->key_size, heads = (size_t)r->heads, key_heads = (size_t)r->key_heads,
           each = heads / key_heads, width = (size_t)recurrence_width(r),
           rows = smaller(keys - span, RECURRENCE_SPAN), apart = RECURRENCE_SPAN * 2 * dk;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < segments * rows; i++) {
        size_t g = i / rows, row = i % rows;
        float *out = d_qkv + (g * keys + span + row) * width, some[2 * RECURRENCE_SIZE_MOST];
        unsigned mode = denormals_off(); /* as where a task sums */
        for (size_t h = 0, end; h < heads; h = end) {
            const float *in = partial + (g * heads + h) * apart + row * 2 * dk;
            float *d_query = out + h / each * dk, *d_key = d_query + key_heads * dk;
            end = smaller(h + TOGETHER, (h / each + 1) * each);
            if (!summed) {
                memcpy(some, in, 2 * dk * sizeof *in);
                for (size_t k = h + 1; k < end; k++)
                    v->add(some, in + (k - h) * apart, 2 * dk);
                in = some;
            }
            if (h % each == 0) {
                memcpy(d_query, in, dk * sizeof *in);
                memcpy(d_key, in + dk, dk * sizeof *in);
            } else {
                v->add(d_query, in, dk);
                v->add(d_key, in + dk, dk);
            }
        }
        denormals_restore(mode);
    }
}

static void recur_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *r, int segments, int queries, int keys)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t heads = (size_t)r->heads, dk = (size_t)r->key_size, dv = (size_t)r->value_size,
           n = (size_t)keys, spans = (n + RECURRENCE_SPAN - 1) / RECURRENCE_SPAN,
           groups = (size_t)r->key_heads, each = heads / groups, step = TOGETHER,
           per = (each + step - 1) / step, tasks = (size_t)segments * groups * per;
    if (!states || tasks < 2 * (size_t)omp_get_max_threads())
        step = 1, per = each, tasks = (size_t)segments * heads;
    struct scratch s;
    if (r->by_channel) {
        cpu_channels_reverse(k, d_qkv, d_gates, d_o, states, qkv, gates, r, segments, queries,
                             keys);
        return;
    }
    if (take_scratch(&s, k, r, room_of(k, r, states != NULL, 1, keys), segments))
        return;
    memset(s.carried, 0, s.room.carried * (size_t)segments * heads * sizeof *s.carried);
    for (size_t i = 0; i < spans; i++) {
        size_t span = (states ? spans - 1 - i : i) * RECURRENCE_SPAN;
        if (states && s.room.shared)
            share_pairs(v, &s, r, qkv, gates, segments, queries, keys, span);
#pragma omp parallel for schedule(dynamic)
        for (size_t task = 0; task < tasks; task++) {
            size_t g = task / groups / per, group = task / per % groups,
                   first = group * each + task % per * step;
            for (size_t h = first; h < smaller(first + step, (group + 1) * each); h++) {
                struct recurrence_task t = cpu_recurrence_task(r, states, qkv, gates, g, h, queries,
                                                               keys);
                float *rows = (float *)d_qkv->data + g * n * t.stride;
                t.d_o = (const float *)d_o->data + g * (size_t)queries * t.o_stride + h * dv;
                t.d_stride = s.room.partial ? 2 * dk : t.stride;
                t.d_query = s.room.partial ? s.partial + (g * heads + first) * s.room.partial
                                           : rows + span * t.stride + h * dk;
                t.d_key = t.d_query + (s.room.partial ? dk : heads * dk);
                t.adds = h > first;
                t.d_value = rows + 2 * groups * dk + h * dv;
                t.d_log_decay = (float *)d_gates->data + g * n * t.gate_stride + h;
                t.d_step = t.d_log_decay + heads;
                t.carried = s.carried + (g * heads + h) * s.room.carried;
                take_share(&t, &s, r, g, h);
                if (states) {
                    own_pairs(v, &s, &t, span);
                    v->recur_reverse(&t, span);
                    continue;
                }
                if (i == 0)
                    v->recur_last_begin(&t);
                v->recur_last_reverse(&t, span);
            }
        }
        if (s.room.partial)
            sum_groups(v, d_qkv->data, s.partial, r, (size_t)segments, n, span, step > 1);
    }
}

static size_t recurrence_bytes(struct kernels *k, const struct recurrence *r, int segments,
                               int keys, int stateless)
{
    if (r->by_channel)
        return cpu_channels_bytes(k, r, segments, keys, stateless);
    size_t forward = room_bytes(room_of(k, r, !stateless, 0, keys), r, segments),
           reverse = room_bytes(room_of(k, r, !stateless, 1, keys), r, segments);
    return forward > reverse ? forward : reverse;
}

void cpu_fill_recurrence(struct kernels *k)
{
    k->recur = recur;
    k->recur_reverse = recur_reverse;
    k->recurrence_bytes = recurrence_bytes;
}
