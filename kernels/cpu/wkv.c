/* Means by channel of the cpu set: a task is WKV_GROUP channels of one segment. */
#include "kernels/cpu/state.h"

#include <omp.h>

static size_t groups_of(const struct wkv *w)
{
    return ((size_t)w->channels + WKV_GROUP - 1) / WKV_GROUP;
}

/* What forward and reverse of task i share; *row and *query: where its rows and queries begin. */
static struct wkv_task task_of(size_t *row, size_t *query, const struct wkv *w,
                               const struct buffer *k, const struct buffer *v, size_t i,
                               int queries, int rows)
{
    size_t channels = (size_t)w->channels, segment = i / groups_of(w),
           c = i % groups_of(w) * WKV_GROUP;
    *row = segment * (size_t)rows * channels + c;
    *query = segment * (size_t)queries * channels + c;
    return (struct wkv_task){.k = (const float *)k->data + *row,
                             .v = (const float *)v->data + *row,
                             .rate = (const float *)w->rate->data + c,
                             .first = (const float *)w->first->data + c,
                             .stride = channels,
                             .width = channels - c < WKV_GROUP ? channels - c : WKV_GROUP,
                             .queries = (size_t)queries,
                             .rows = (size_t)rows};
}

static void wkv(struct kernels *set, struct buffer *o, struct buffer *log_sum,
                const struct buffer *k, const struct buffer *v, const struct wkv *w, int segments,
                int queries, int rows)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < (size_t)segments * groups_of(w); i++) {
        size_t row, query;
        struct wkv_task t = task_of(&row, &query, w, k, v, i, queries, rows);
        t.o = (float *)o->data + query;
        t.log_sum = log_sum ? (float *)log_sum->data + query : NULL;
        cpu_state(set)->vector->wkv(&t);
    }
}

static void wkv_reverse(struct kernels *set, struct buffer *d_k, struct buffer *d_v,
                        const struct buffer *d_o, const struct buffer *o,
                        const struct buffer *log_sum, const struct buffer *k,
                        const struct buffer *v, const struct wkv *w, int segments, int queries,
                        int rows)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < (size_t)segments * groups_of(w); i++) {
        size_t row, query;
        struct wkv_task t = task_of(&row, &query, w, k, v, i, queries, rows);
        t.o = (float *)o->data + query, t.log_sum = (float *)log_sum->data + query;
        t.d_o = (const float *)d_o->data + query;
        t.d_k = (float *)d_k->data + row, t.d_v = (float *)d_v->data + row;
        cpu_state(set)->vector->wkv_reverse(&t);
    }
}

void cpu_fill_wkv(struct kernels *set)
{
    set->wkv = wkv;
    set->wkv_reverse = wkv_reverse;
}
