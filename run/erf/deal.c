#include "run/erf/deal.h"

#include "run/erf/batch.h"
#include "run/erf/deal_parts.h"
#include "run/interrupt.h"
#include "run/ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum rank_state { RANK_STARTING, RANK_WAITING, RANK_MEASURING, RANK_ENDED };

struct deal {
    struct erf_run *r;
    pthread_t thread;
    pthread_mutex_t lock; /* for everything below, and for storing results */
    pthread_cond_t change;
    char *settings; /* required of all ranks */
    enum rank_state *states; /* [ranks] */
    int waiting_for; /* ranks that are measuring, or not yet ended */
    int open; /* there is a target */
    size_t index, target, first; /* its index, and the first segment not dealt yet */
    int most;
    int over, abandoned; /* no more targets; do not wait for anyone */
    int failed;
    struct error failure;
};

void deal_lock(struct erf_run *r)
{
    if (r->deal)
        pthread_mutex_lock(&r->deal->lock);
}

void deal_unlock(struct erf_run *r)
{
    if (r->deal)
        pthread_mutex_unlock(&r->deal->lock);
}

/* ---- on the thread that communicates; the lock is held ---- */

/* Takes the next `bytes` of the message into `to`. */
static int take(void *to, size_t bytes, const struct ranks_message *m, size_t *at)
{
    if (bytes > m->bytes - *at)
        return -1;
    memcpy(to, m->data + *at, bytes);
    *at += bytes;
    return 0;
}

static int keep_measured(struct deal *d, const struct ranks_message *m, struct error *e)
{
    struct deal_chunk c;
    struct batch b;
    struct erf_run *r = d->r;
    size_t at = 0, count, each;
    int rc;

    if (take(&c, sizeof c, m, &at) != 0 || !d->open || c.model != d->index ||
        c.target != d->target || c.count < 1 || c.first >= d->first || c.count > d->first - c.first)
        return fail(e, "rank %d sent what it was not asked for", m->from);
    count = (size_t)c.count;
    if (batch_open(&b, r, &r->models[d->index], erf_fields(&r->models[d->index], d->target)->target,
                   count, e) != 0) {
        batch_close(&b);
        return -1;
    }
    each = b.layers * (b.length - 1);
    if (take(b.norm, count * each * sizeof *b.norm, m, &at) != 0 ||
        take(b.logprob, count * sizeof *b.logprob, m, &at) != 0 ||
        take(b.completeness, count * sizeof *b.completeness, m, &at) != 0 ||
        take(b.near_ties, count * sizeof *b.near_ties, m, &at) != 0 || at != m->bytes)
        rc = fail(e, "rank %d sent %zu bytes for %zu segments (expected another size)", m->from,
                  m->bytes, count);
    else
        rc = batch_keep(r, d->index, d->target, &b, (size_t)c.first, (int)count, e);
    batch_close(&b);
    return rc;
}

static int take_message(struct deal *d, const struct ranks_message *m, struct error *e)
{
    int rc = 0;

    switch (m->kind) {
    case DEAL_READY: rc = deal_compare(d->settings, m, e); break;
    case DEAL_MEASURED: rc = keep_measured(d, m, e); break;
    case DEAL_FAILED:
        rc = fail(e, "rank %d: %.*s", m->from, (int)m->bytes, m->data ? (const char *)m->data : "");
        break;
    default: rc = fail(e, "rank %d sent a message of kind %u", m->from, m->kind);
    }
    d->states[m->from] = RANK_WAITING;
    return rc;
}

/* Gives every waiting rank the next chunk, or tells it that there is no more. */
static int deal_all(struct deal *d, struct error *e)
{
    struct erf_model *m = &d->r->models[d->index];

    for (int to = 1; to < ranks_here()->count; to++) {
        struct deal_chunk c = {.model = d->index, .target = d->target};
        int count = 0;

        if (d->states[to] != RANK_WAITING)
            continue;
        if (d->open && !d->failed && !interrupt_wanted())
            count = batch_next(m, erf_fields(m, d->target), &d->first, d->most);
        if (count > 0) {
            c.first = d->first;
            c.count = (uint64_t)count;
            d->first += (size_t)count;
            d->states[to] = RANK_MEASURING;
            if (ranks_send(to, DEAL_CHUNK, &c, sizeof c, e) != 0)
                return -1;
        } else if (d->over) {
            d->states[to] = RANK_ENDED;
            if (ranks_send(to, DEAL_END, NULL, 0, e) != 0)
                return -1;
        }
    }
    return 0;
}

/* The number of ranks in a state. */
static int count_in(const struct deal *d, enum rank_state state)
{
    int count = 0;

    for (int i = 1; i < ranks_here()->count; i++)
        count += d->states[i] == state;
    return count;
}

static void *speak(void *argument)
{
    struct deal *d = argument;
    int over = 0;

    while (!over) {
        struct ranks_message m = {0};
        struct error e;
        int found = ranks_receive(&m, &e);

        pthread_mutex_lock(&d->lock);
        if (found < 0 || (found > 0 && take_message(d, &m, &e) != 0) || deal_all(d, &e) != 0) {
            if (!d->failed)
                d->failure = e;
            d->failed = 1;
        }
        over = d->abandoned || d->failed ||
               (d->over && count_in(d, RANK_ENDED) == ranks_here()->count - 1);
        if (found || over)
            pthread_cond_broadcast(&d->change);
        pthread_mutex_unlock(&d->lock);
        free(m.data);
        if (!found && !over)
            ranks_nap();
    }
    return NULL;
}

/* ---- on the thread that measures ---- */

int deal_open(struct erf_run *r, struct error *e)
{
    struct deal *d;
    int ranks = ranks_here()->count;

    if (ranks == 1)
        return 0;
    d = calloc(1, sizeof *d);
    if (!d || !(d->states = calloc((size_t)ranks, sizeof *d->states)) ||
        !(d->settings = erf_settings_text(r))) {
        if (d)
            free(d->states);
        free(d);
        return fail_memory(e, (double)sizeof *d, "other ranks");
    }
    d->r = r;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->change, NULL);
    r->deal = d;
    if (pthread_create(&d->thread, NULL, speak, d) == 0)
        return 0;
    r->deal = NULL;
    free(d->settings);
    free(d->states);
    free(d);
    return fail(e, "the thread for other ranks cannot be started");
}

int deal_close(struct erf_run *r, int failed, struct error *e)
{
    struct deal *d = r->deal;
    int rc = 0;

    if (!d)
        return 0;
    deal_lock(r);
    d->over = 1;
    d->abandoned = failed;
    deal_unlock(r);
    pthread_join(d->thread, NULL);
    if (!failed && d->failed)
        rc = fail(e, "%s", d->failure.text);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->change);
    free(d->settings);
    free(d->states);
    free(d);
    r->deal = NULL;
    return rc;
}

void deal_begin(struct erf_run *r, size_t index, size_t target, int most)
{
    struct deal *d = r->deal;

    if (!d)
        return;
    deal_lock(r);
    d->index = index, d->target = target, d->first = 0, d->most = most;
    d->open = 1;
    deal_unlock(r);
}

/* Checks for a signal now and then, since a signal wakes nobody. */
static void wait_a_little(struct deal *d)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&d->change, &d->lock, &until);
}

int deal_end(struct erf_run *r, struct error *e)
{
    struct deal *d = r->deal;
    int rc = 0;

    if (!d)
        return 0;
    deal_lock(r);
    while (!d->failed && !interrupt_wanted() && count_in(d, RANK_MEASURING) > 0)
        wait_a_little(d);
    d->open = 0;
    if (d->failed)
        rc = fail(e, "%s", d->failure.text);
    deal_unlock(r);
    return rc;
}

int deal_take(struct erf_run *r, const struct erf_model *m, const struct result_field *f,
              size_t *first, size_t *from, int most)
{
    int count;

    deal_lock(r);
    if (r->deal)
        *first = r->deal->first;
    count = r->deal && r->deal->failed ? 0 : batch_next(m, f, first, most);
    *from = *first;
    *first += (size_t)count;
    if (r->deal)
        r->deal->first = *first;
    deal_unlock(r);
    return count;
}
