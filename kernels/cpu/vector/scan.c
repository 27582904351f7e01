/* Scans (ops.h) of some channels, WIDTH at a time, each with its states in vectors. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"

/* WIDTH floats, or the first `count`. */
INLINE v_float load(const float *x, size_t count)
{
    return count < WIDTH ? v_load_part(x, count) : v_load(x);
}

INLINE void store(float *y, v_float x, size_t count)
{
    if (count < WIDTH)
        v_store_part(y, x, count);
    else
        v_store(y, x);
}

/* dt of a row, and what it writes. */
INLINE v_float row_time(v_float *written, const struct scan_task *t, size_t row, size_t c)
{
    v_float x = load(t->x + row * t->stride + c, t->width - c),
            dt = load(t->steps + row * t->stride + c, t->width - c);
    if (t->selective)
        dt = v_softplus(dt);
    *written = t->selective ? dt * x : x;
    return dt;
}

/* The states [size, WIDTH] after a row, from those before it; the two may be one. kept: their
 * factors, or NULL. */
INLINE void row_step(float *next, float *kept, const float *h, const struct scan_task *t,
                     size_t row, size_t c, v_float dt, v_float written)
{
    const float *b = t->bc + row * t->bc_stride;
    for (size_t n = 0; n < t->size; n++) {
        v_float factor = v_factor(-dt * load(t->rate + n * t->rate_stride + c, t->width - c)),
                state = v_load(h + n * WIDTH);
        v_store(next + n * WIDTH, v_fma(written, v_all(b[n]), v_keep(factor, state)));
        if (kept)
            v_store(kept + n * WIDTH, factor);
    }
}

static void vector_forward(const struct scan_task *t, size_t c)
{
    size_t first = t->keys - t->queries, count = t->width - c;
    float *h = t->scratch;
    memset(h, 0, t->size * WIDTH * sizeof *h);
    for (size_t row = 0; row < t->keys; row++) {
        v_float written, dt = row_time(&written, t, row, c);
        row_step(h, NULL, h, t, row, c, dt, written);
        if (row >= first) {
            const float *read = t->bc + row * t->bc_stride + t->size;
            v_float sum = load(t->skip + c, count) * load(t->x + row * t->stride + c, count);
            for (size_t n = 0; n < t->size; n++)
                sum = v_fma(v_all(read[n]), v_load(h + n * WIDTH), sum);
            store(t->o + (row - first) * t->stride + c, sum, count);
        }
        if (t->states && (row + 1) % SCAN_SPAN == 0 && row + 1 < t->keys)
            for (size_t n = 0; n < t->size; n++)
                store(t->states + (row / SCAN_SPAN * t->size + n) * t->stride + c,
                      v_load(h + n * WIDTH), count);
    }
}

void scan_channels(const struct scan_task *t)
{
    unsigned mode = denormals_off();
    for (size_t c = 0; c < t->width; c += WIDTH)
        vector_forward(t, c);
    denormals_restore(mode);
}

/* Scratch of reverse: of the rows of a span; sums of all vectors. */
struct space {
    float *states; /* [SCAN_SPAN + 1, size, WIDTH] */
    float *kept; /* [SCAN_SPAN, size, WIDTH] */
    float *time; /* [SCAN_SPAN, WIDTH] */
    float *adjoint; /* [size, WIDTH] */
    float *sums; /* [SCAN_SPAN, 2 size, WIDTH] */
};

static struct space space_of(const struct scan_task *t)
{
    struct space s = {.states = t->scratch};
    s.kept = s.states + (SCAN_SPAN + 1) * t->size * WIDTH;
    s.time = s.kept + SCAN_SPAN * t->size * WIDTH;
    s.adjoint = s.time + SCAN_SPAN * WIDTH;
    s.sums = s.adjoint + t->size * WIDTH;
    return s;
}

size_t scan_channels_floats(size_t size)
{
    return ((4 * SCAN_SPAN + 2) * size + SCAN_SPAN) * WIDTH;
}

/* One row of one vector. */
INLINE void row_reverse(const struct space *s, const struct scan_task *t, size_t row, size_t span,
                        size_t c)
{
    size_t at = row - span, first = t->keys - t->queries, count = t->width - c, size = t->size;
    const float *b = t->bc + row * t->bc_stride, *h = s->states + at * size * WIDTH,
                *kept = s->kept + at * size * WIDTH;
    float *sums = s->sums + at * 2 * size * WIDTH;
    v_float dt = v_load(s->time + at * WIDTH), x = load(t->x + row * t->stride + c, count),
            written = t->selective ? dt * x : x, back = v_all(0), through = v_all(0),
            d = row >= first ? load(t->d_o + (row - first) * t->stride + c, count) : v_all(0);
    for (size_t n = 0; n < size; n++) {
        v_float state = v_load(h + n * WIDTH), factor = v_load(kept + n * WIDTH),
                g = v_fma(v_all(b[size + n]), d, v_load(s->adjoint + n * WIDTH));
        back = v_fma(v_all(b[n]), g, back);
        through = v_fma(load(t->rate + n * t->rate_stride + c, count) * g, v_keep(factor, state),
                        through);
        if (t->d_bc) {
            v_store(sums + n * WIDTH, v_fma(written, g, v_load(sums + n * WIDTH)));
            v_store(sums + (size + n) * WIDTH,
                    v_fma(v_load(h + (size + n) * WIDTH), d, v_load(sums + (size + n) * WIDTH)));
        }
        v_store(s->adjoint + n * WIDTH, v_keep(factor, g));
    }
    v_float d_x = (t->selective ? dt * back : back) + load(t->skip + c, count) * d,
            d_step = -through;
    if (t->selective) {
        v_float rest;
        d_step = v_sigmoid(&rest, load(t->steps + row * t->stride + c, count)) *
                 v_fma(x, back, d_step);
    }
    store(t->d_x + row * t->stride + c, d_x, count);
    store(t->d_steps + row * t->stride + c, d_step, count);
}

static void vector_reverse(const struct space *s, const struct scan_task *t, size_t span, size_t c)
{
    size_t end = smaller(span + SCAN_SPAN, t->keys), size = t->size, count = t->width - c;
    for (size_t n = 0; n < size; n++) {
        v_float state = v_all(0);
        if (span)
            state = load(t->states + ((span / SCAN_SPAN - 1) * size + n) * t->stride + c, count);
        v_store(s->states + n * WIDTH, state);
        v_store(s->adjoint + n * WIDTH, load(t->carried + n * SCAN_GROUP + c, count));
    }
    for (size_t row = span; row < end; row++) {
        float *h = s->states + (row - span) * size * WIDTH;
        v_float written, dt = row_time(&written, t, row, c);
        v_store(s->time + (row - span) * WIDTH, dt);
        row_step(h + size * WIDTH, s->kept + (row - span) * size * WIDTH, h, t, row, c, dt,
                 written);
    }
    for (size_t row = end; row-- > span;)
        row_reverse(s, t, row, span, c);
    for (size_t n = 0; n < size; n++)
        store(t->carried + n * SCAN_GROUP + c, v_load(s->adjoint + n * WIDTH), count);
}

void scan_channels_reverse(const struct scan_task *t, size_t span)
{
    struct space s = space_of(t);
    size_t sums = (smaller(span + SCAN_SPAN, t->keys) - span) * 2 * t->size;
    unsigned mode = denormals_off();
    memset(s.sums, 0, (t->d_bc ? sums : 0) * WIDTH * sizeof *s.sums);
    for (size_t c = 0; c < t->width; c += WIDTH)
        vector_reverse(&s, t, span, c);
    for (size_t i = 0; t->d_bc && i < sums; i++)
        t->d_bc[i] = v_sum(v_load(s.sums + i * WIDTH));
    denormals_restore(mode);
}
