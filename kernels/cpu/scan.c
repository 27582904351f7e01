/* Scans of the cpu set: a task is SCAN_GROUP channels of one group of one segment, taken by threads
 * in any order. What channels give for B and C is summed in a task, then over the tasks in order,
 * span after span.
 */
#include "kernels/cpu/state.h"

#include <omp.h>
#include <string.h>

/* Where the scratch of a call has what, in floats: the shares of threads are first. */
struct scratch {
    size_t tasks, share; /* of a group of channels; a thread's */
    size_t carried, partial; /* the gradients of each task's states; its sums for B and C */
    size_t ones, zeros; /* in place of absent parameters */
    size_t all;
    float *own;
};

static struct scratch scratch_of(struct kernels *k, const struct scan *v, int segments, int reverse)
{
    size_t size = (size_t)v->size, groups = (size_t)scan_groups(v),
           each = ((size_t)v->channels / groups + SCAN_GROUP - 1) / SCAN_GROUP,
           tasks = reverse ? (size_t)segments * groups * each : 0;
    struct scratch s = {.tasks = each,
                        .share = (cpu_state(k)->vector->scan_floats(size) + 15) / 16 * 16};
    s.carried = s.share * (size_t)omp_get_max_threads();
    s.partial = s.carried + tasks * size * SCAN_GROUP;
    s.ones = s.partial + tasks * SCAN_SPAN * 2 * size;
    s.zeros = s.ones + 2 * size + SCAN_GROUP;
    s.all = s.zeros + SCAN_GROUP;
    return s;
}

static int take_scratch(struct scratch *s, struct kernels *k, const struct scan *v, int segments,
                        int reverse)
{
    *s = scratch_of(k, v, segments, reverse);
    s->own = cpu_scratch(k, s->all * sizeof *s->own, "a scan");
    for (size_t i = s->ones; s->own && i < s->all; i++)
        s->own[i] = i < s->zeros;
    return s->own ? 0 : -1;
}

/* Tasks of all segments. */
static size_t task_count(const struct scratch *s, const struct scan *v, int segments)
{
    return (size_t)segments * (size_t)scan_groups(v) * s->tasks;
}

/* The segment of task i, its group, and its first channel. */
struct place {
    size_t segment, group, channel;
};

static struct place place_of(const struct scratch *s, const struct scan *v, size_t i)
{
    size_t groups = (size_t)scan_groups(v), group = i / s->tasks % groups;
    return (struct place){i / s->tasks / groups, group,
                          group * ((size_t)v->channels / groups) + i % s->tasks * SCAN_GROUP};
}

/* What forward and reverse of task i share. */
static struct scan_task task_of(const struct scratch *s, const struct scan *v,
                                const struct buffer *states, const struct buffer *x,
                                const struct buffer *steps, const struct buffer *bc, size_t i,
                                int queries, int keys)
{
    struct place at = place_of(s, v, i);
    size_t channels = (size_t)v->channels, size = (size_t)v->size, c = at.channel,
           each = channels / (size_t)scan_groups(v), first = at.segment * (size_t)keys,
           bc_width = (size_t)scan_factors_width(v);
    return (struct scan_task){
        .x = (const float *)x->data + first * channels + c,
        .steps = (const float *)steps->data + first * channels + c,
        .bc = bc ? (const float *)bc->data + first * bc_width + at.group * 2 * size
                 : s->own + s->ones,
        .rate = v->rate ? (const float *)v->rate->data + c : s->own + s->ones,
        .skip = v->skip ? (const float *)v->skip->data + c : s->own + s->zeros,
        .states = states
                      ? (float *)states->data + at.segment * scan_states(keys) * size * channels + c
                      : NULL,
        .carried = s->own + s->carried + i * size * SCAN_GROUP,
        .stride = channels,
        .bc_stride = bc ? bc_width : 0,
        .rate_stride = v->rate ? channels : 0,
        .width = smaller(SCAN_GROUP, (at.group + 1) * each - c),
        .size = size,
        .queries = (size_t)queries,
        .keys = (size_t)keys,
        .selective = v->selective,
        .scratch = s->own + s->share * (size_t)omp_get_thread_num()};
}

static void scan(struct kernels *k, struct buffer *o, struct buffer *states, const struct buffer *x,
                 const struct buffer *steps, const struct buffer *bc, const struct scan *v,
                 int segments, int queries, int keys)
{
    struct scratch s;
    if (take_scratch(&s, k, v, segments, 0))
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < task_count(&s, v, segments); i++) {
        struct scan_task t = task_of(&s, v, states, x, steps, bc, i, queries, keys);
        struct place at = place_of(&s, v, i);
        t.o = (float *)o->data + at.segment * (size_t)queries * t.stride + at.channel;
        cpu_state(k)->vector->scan(&t);
    }
}

/* The rows of d_bc in a span: of each group sums over its tasks. */
static void sum_tasks(const struct vector_kernels *vector, const struct scratch *s,
                      const struct scan *v, float *d_bc, size_t segments, size_t keys, size_t span)
{
    size_t groups = (size_t)scan_groups(v), width = 2 * (size_t)v->size,
           rows = smaller(keys - span, SCAN_SPAN);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < segments * groups; i++) {
        const float *in = s->own + s->partial + i * s->tasks * SCAN_SPAN * width;
        float *out = d_bc + ((i / groups * keys + span) * groups + i % groups) * width;
        for (size_t row = 0; row < rows; row++, in += width, out += groups * width) {
            memcpy(out, in, width * sizeof *out);
            for (size_t task = 1; task < s->tasks; task++)
                vector->add(out, in + task * SCAN_SPAN * width, width);
        }
    }
}

static void scan_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_steps,
                         struct buffer *d_bc, const struct buffer *d_o, const struct buffer *states,
                         const struct buffer *x, const struct buffer *steps,
                         const struct buffer *bc, const struct scan *v, int segments, int queries,
                         int keys)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    size_t n = (size_t)keys, width = 2 * (size_t)v->size, spans = scan_states(keys) + 1;
    struct scratch s;
    if (take_scratch(&s, k, v, segments, 1))
        return;
    size_t tasks = task_count(&s, v, segments);
    memset(s.own + s.carried, 0, (s.partial - s.carried) * sizeof *s.own);
    for (size_t span = spans * SCAN_SPAN; span > 0;) {
        span -= SCAN_SPAN;
#pragma omp parallel for schedule(dynamic)
        for (size_t i = 0; i < tasks; i++) {
            struct scan_task t = task_of(&s, v, states, x, steps, bc, i, queries, keys);
            struct place at = place_of(&s, v, i);
            size_t segment = at.segment, c = at.channel;
            t.d_o = (const float *)d_o->data + segment * (size_t)queries * t.stride + c;
            t.d_x = (float *)d_x->data + segment * n * t.stride + c;
            t.d_steps = (float *)d_steps->data + segment * n * t.stride + c;
            t.d_bc = d_bc ? s.own + s.partial + i * SCAN_SPAN * width : NULL;
            vector->scan_reverse(&t, span);
        }
        if (d_bc)
            sum_tasks(vector, &s, v, d_bc->data, (size_t)segments, n, span);
    }
}

static size_t scan_bytes(struct kernels *k, const struct scan *v, int segments, int keys)
{
    (void)keys;
    return scratch_of(k, v, segments, 1).all * sizeof(float);
}

void cpu_fill_scan(struct kernels *k)
{
    k->scan = scan;
    k->scan_reverse = scan_reverse;
    k->scan_bytes = scan_bytes;
}
