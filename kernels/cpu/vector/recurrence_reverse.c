/* Recurrence of one head over one span, reverse; names as in recurrence.h. From the kept state
 * before the span those before its chunks are made again. With X = scale dO and H the gradient of
 * the state after the chunk:
 *     dN = e^(b_C - b) (K H) + P^T X        additive: dV = step * dN
 *     delta: dE = dN + L^T (step * dE), row before row, and dV = step * dE
 *     dK = e^(b_C - b) (N H^T)
 * O and E are both read from the state and the rows before, by rows Y = Q with the gradient X, and
 * by Y = K with X = -dV. Each adds, with A = (X N^T) * G (for E below the diagonal),
 *     dY += e^b (X S^T) + A K        dK += A^T Y        H' = e^(b_C) H + (e^b Y)^T X.
 * The gradient of a log decay is the sum of what passes its row, products that are never
 * subtracted again: from j < t to i >= t P_ij A_ij, from before the chunk to i, from j to after it,
 * and from before to after. The shorter identity by q . dq - k . dk leaves the rounding of large
 * terms where the true value is small. */
#include "kernels/cpu/vector/recurrence.h"

struct reverse {
    struct chunk chunk;
    struct piece piece[CHUNKS];
    float *adjoint; /* H [key_size, value_ld] */
    float *turned; /* H^T, then S^T [value_size, ld] */
    float *written_t; /* [value_size, CHUNK_LD] */
    float *d_key, *d_row; /* [CHUNK, ld] */
    float *d_read, *d_written; /* X of either kind [CHUNK, value_ld] */
    float *weighed; /* A [CHUNK, CHUNK_LD] */
    float *passing; /* of log decays the sum of P * A, times 2^60 as the next two */
    double from[CHUNK], until[CHUNK]; /* what reaches after the chunk, and comes from before it */
};

static size_t layout(struct reverse *v, float *base, int key_size, int value_size)
{
    size_t at = chunk_layout(&v->chunk, base, key_size, value_size), ld = v->chunk.ld,
           value_ld = v->chunk.value_ld, square = (size_t)CHUNK * CHUNK_LD;
    pieces_layout(v->piece, base, &at, key_size, value_ld);
    v->adjoint = recurrence_take(base, &at, (size_t)key_size * value_ld);
    v->turned = recurrence_take(base, &at, (size_t)value_size * ld);
    v->written_t = recurrence_take(base, &at, (size_t)value_size * CHUNK_LD);
    v->d_key = recurrence_take(base, &at, CHUNK * ld);
    v->d_row = recurrence_take(base, &at, CHUNK * ld);
    v->d_read = recurrence_take(base, &at, CHUNK * value_ld);
    v->d_written = recurrence_take(base, &at, CHUNK * value_ld);
    v->weighed = recurrence_take(base, &at, square);
    v->passing = recurrence_take(base, &at, square);
    return at;
}

/* A row of d_query or d_key: x, or zeros if there is none. Zeros are added, too: to one with a sign
 * they make a difference. */
static void give_row(float *to, const struct recurrence_task *t, const float *x)
{
    static const float zeros[RECURRENCE_SIZE_MOST];
    x = x ? x : zeros;
    if (t->adds)
        add_span(to, x, (size_t)t->key_size);
    else
        memcpy(to, x, (size_t)t->key_size * sizeof *to);
}

/* Gradients of rows that nothing reads. */
static void no_gradients(const struct reverse *v, size_t span)
{
    const struct recurrence_task *t = v->chunk.task;
    for (int r = 0; r < v->chunk.rows; r++) {
        size_t row = v->chunk.first + (size_t)r, at = (row - span) * t->d_stride;
        give_row(t->d_query + at, t, NULL);
        give_row(t->d_key + at, t, NULL);
        memset(t->d_value + row * t->stride, 0, (size_t)t->value_size * sizeof(float));
        t->d_log_decay[row * t->gate_stride] = t->d_step[row * t->gate_stride] = 0;
    }
}

/* dN, and of it the gradients of values and steps; then d_written is -step * dN. */
static void write_reverse(const struct reverse *v, const struct piece *p, int read, int passed)
{
    const struct chunk *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld, before = (size_t)(t->keys - t->queries);
    int n = c->rows, dv = t->value_size;
    float *d = v->d_written;
    if (passed) {
        multiply(d, ld, c->key, c->ld, v->adjoint, ld, n, dv, t->key_size, 0, MASK_NONE);
        chunk_scale(d, ld, c->after, n, dv);
    } else {
        memset(d, 0, (size_t)n * ld * sizeof(float));
    }
    if (read)
        multiply_transposed(d, ld, c->score, CHUNK_LD, v->d_read, ld, n, dv, n, 1, MASK_LEFT_T);
    if (t->delta)
        chunk_solve_reverse(t, c->first, n, ld, p->erase, d, c->faded);
    for (int r = 0; r < n; r++) {
        size_t row = c->first + (size_t)r;
        const float *d_o = row < before ? NULL : t->d_o + (row - before) * t->o_stride,
                    *factor = t->delta ? p->error + (size_t)r * ld : chunk_value(c, r);
        float *from = d + (size_t)r * ld, *to = t->d_value + row * t->stride,
              step = chunk_step(c, r), skip = t->skip;
        t->d_step[row * t->gate_stride] = dot_span(from, factor, (size_t)dv);
        for (int j = 0; j < dv; j++) {
            float moved = step * from[j];
            to[j] = moved + (d_o ? skip * d_o[j] : 0);
            from[j] = -moved;
        }
    }
}

/* One kind of reading: d_row = dY, and what it adds to d_key. pairs: Q K^T, or K K^T, which
 * `strict` is of. What passes a row is 2^60 of itself, which holds up to 3e20. */
static void read_reverse(struct reverse *v, const float *pairs, const float *y, const float *x,
                         int strict)
{
    const struct chunk *c = &v->chunk;
    size_t ld = c->ld;
    int n = c->rows, dk = c->task->key_size, dv = c->task->value_size;
    multiply(v->weighed, CHUNK_LD, x, c->value_ld, v->written_t, CHUNK_LD, n, n, dv, 0,
             MASK_RESULT);
    for (int r = 0; r < n; r++)
        for (int j = 0; j <= r; j += WIDTH) {
            int at = r * CHUNK_LD + j;
            v_float far = v_load(c->decay + at) * v_load(v->weighed + at);
            v_store(v->passing + at, v_fma(far, v_load(pairs + at), v_load(v->passing + at)));
            v_store(v->weighed + at, NEAR * far);
        }
    chunk_clear(v->weighed, n, strict);
    multiply(v->d_row, ld, x, c->value_ld, v->turned, ld, n, dk, dv, 0, MASK_NONE);
    for (int r = 0; r < n; r++)
        v->until[r] += (double)c->far_before[r] *
                       dot_span(y + (size_t)r * ld, v->d_row + (size_t)r * ld, (size_t)dk);
    chunk_scale(v->d_row, ld, c->before, n, dk);
    multiply(v->d_row, ld, v->weighed, CHUNK_LD, c->key, ld, n, dk, n, 1, MASK_LEFT);
    multiply_transposed(v->d_key, ld, v->weighed, CHUNK_LD, y, ld, n, dk, n, 1, MASK_LEFT_T);
}

/* d_log_decay of the chunk's rows; through: what passes all of it. */
static void decay_reverse(const struct reverse *v, double through)
{
    const struct chunk *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    float column[CHUNK] = {0}; /* sum over the rows so far of P * A */
    double from[CHUNK], until = 0;
    for (int r = 0; r < c->rows; r++)
        from[r] = r ? from[r - 1] + v->from[r - 1] : 0;
    for (int r = c->rows; r-- > 0;) {
        v_double low = {0}, high = {0};
        for (int j = 0; j < r; j += WIDTH)
            v_store(column + j, v_load(column + j) + v_load(v->passing + r * CHUNK_LD + j));
        column[r] = 0;
        for (int j = 0; j < r; j += WIDTH) {
            low += v_low(v_load(column + j));
            high += v_high(v_load(column + j));
        }
        until += v->until[r];
        t->d_log_decay[(c->first + (size_t)r) * t->gate_stride] =
            (float)(NEAR * (v_sum_double(low + high) + from[r] + until + through));
    }
}

/* H before the chunk; scales X of either kind. */
static void pass_adjoint(const struct reverse *v, int read)
{
    const struct chunk *c = &v->chunk;
    size_t ld = c->value_ld;
    int n = c->rows, dk = c->task->key_size, dv = c->task->value_size;
    float end = c->before[n - 1];
    for (int r = 0; r < dk; r++)
        for (int j = 0; j < dv; j += WIDTH)
            v_store(v->adjoint + (size_t)r * ld + j, end * v_load(v->adjoint + (size_t)r * ld + j));
    if (read) {
        chunk_scale(v->d_read, ld, c->before, n, dv);
        multiply_transposed(v->adjoint, ld, c->query, c->ld, v->d_read, ld, dk, dv, n, 1,
                            MASK_NONE);
    }
    if (c->task->delta) {
        chunk_scale(v->d_written, ld, c->before, n, dv);
        multiply_transposed(v->adjoint, ld, c->key, c->ld, v->d_written, ld, dk, dv, n, 1,
                            MASK_NONE);
    }
}

/* X of the rows that are read, zeros elsewhere. */
static void load_d_read(const struct reverse *v)
{
    const struct chunk *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    size_t before = (size_t)(t->keys - t->queries);
    for (int r = 0; r < c->rows; r++) {
        size_t row = c->first + (size_t)r;
        float *x = v->d_read + (size_t)r * c->value_ld;
        if (row < before)
            memset(x, 0, c->value_ld * sizeof(float));
        else
            chunk_copy(x, c->value_ld, t->d_o + (row - before) * t->o_stride, 0, 1, t->value_size,
                       t->scale);
    }
}

/* d_key of what passes to later chunks, and what of log decays does. */
static double pass_reverse(struct reverse *v, const struct piece *p, int passed)
{
    const struct chunk *c = &v->chunk;
    size_t ld = c->ld, value_ld = c->value_ld;
    int n = c->rows, dk = c->task->key_size, dv = c->task->value_size;
    double through = 0;
    if (!passed) {
        memset(v->d_key, 0, (size_t)n * ld * sizeof(float));
        memset(v->from, 0, sizeof v->from);
        return 0;
    }
    chunk_transpose(v->turned, ld, v->adjoint, value_ld, dk, dv);
    multiply(v->d_key, ld, p->written, value_ld, v->turned, ld, n, dk, dv, 0, MASK_NONE);
    for (int r = 0; r < n; r++)
        v->from[r] = (double)c->far_after[r] *
                     dot_span(c->key + (size_t)r * ld, v->d_key + (size_t)r * ld, (size_t)dk);
    chunk_scale(v->d_key, ld, c->after, n, dk);
    for (int r = 0; r < dk; r++)
        through += dot_span(v->adjoint + (size_t)r * value_ld, p->state + (size_t)r * value_ld,
                            (size_t)dv);
    return c->far_before[n - 1] * through;
}

static void chunk_reverse(struct reverse *v, const struct piece *p, size_t span)
{
    struct chunk *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    size_t ld = c->ld;
    int n = c->rows, dk = t->key_size, dv = t->value_size,
        read = c->first + (size_t)n > (size_t)(t->keys - t->queries),
        passed = !chunk_is_zero(v->adjoint, c->value_ld, dk, dv);
    double through;
    if (!read && !passed) {
        no_gradients(v, span);
        return;
    }
    if (read) {
        load_d_read(v);
        chunk_weigh(c->score, c->query_key, c->decay, NEAR, n, 0);
    }
    write_reverse(v, p, read, passed);
    through = pass_reverse(v, p, passed);
    chunk_transpose(v->written_t, CHUNK_LD, p->written, c->value_ld, n, dv);
    chunk_transpose(v->turned, ld, p->state, c->value_ld, dk, dv);
    memset(v->until, 0, sizeof v->until);
    memset(v->passing, 0, (size_t)n * CHUNK_LD * sizeof(float));
    if (t->delta) {
        read_reverse(v, c->key_key, c->key, v->d_written, 1);
        for (int r = 0; r < n; r++)
            for (int j = 0; j < dk; j += WIDTH) {
                size_t at = (size_t)r * ld + (size_t)j;
                v_store(v->d_key + at, v_load(v->d_key + at) + v_load(v->d_row + at));
            }
    }
    if (read)
        read_reverse(v, c->query_key, c->query, v->d_read, 0);
    for (int r = 0; r < n; r++) {
        size_t at = (c->first + (size_t)r - span) * t->d_stride;
        give_row(t->d_query + at, t, read ? v->d_row + (size_t)r * ld : NULL);
        give_row(t->d_key + at, t, v->d_key + (size_t)r * ld);
    }
    decay_reverse(v, through);
    pass_adjoint(v, read);
}

/* Asks for the rows of dO of the chunk at row `first`, and for those of dV to write. */
static void fetch_gradients(const struct recurrence_task *t, size_t first, size_t end)
{
    size_t before = (size_t)(t->keys - t->queries), rows = chunk_rows(first, end),
           unread = first < before ? smaller(before - first, rows) : 0;
    if (unread < rows)
        chunk_fetch(t->d_o + (first + unread - before) * t->o_stride, t->o_stride, rows - unread,
                    t->value_size);
    chunk_fetch_to_write(t->d_value + first * t->stride, t->stride, rows, t->value_size);
}

void recur_reverse_span(const struct recurrence_task *t, size_t span)
{
    struct reverse v;
    struct chunk *c = &v.chunk;
    layout(&v, t->scratch, t->key_size, t->value_size);
    size_t dv = (size_t)t->value_size, ld = c->value_ld,
           end = smaller(span + RECURRENCE_SPAN, (size_t)t->keys);
    unsigned mode = denormals_off();
    chunk_fetch(t->value + span * t->stride, t->stride, chunk_rows(span, end), t->value_size);
    chunk_copy(v.adjoint, ld, t->carried, dv, t->key_size, t->value_size, 1);
    recurrence_load(v.piece[0].state, t, span, ld);
    for (size_t first = span; first < end; first += CHUNK) {
        struct piece *p = &v.piece[(first - span) / CHUNK];
        chunk_begin(c, t, first);
        if (t->delta)
            chunk_correct(c, p->state, p->erase, p->error, p->written);
        else
            chunk_write(c, p->written);
        chunk_fetch(t->value + (first + CHUNK) * t->stride, t->stride,
                    chunk_rows(first + CHUNK, end), t->value_size);
        if (first + CHUNK < end) {
            memcpy(p[1].state, p->state, (size_t)t->key_size * ld * sizeof(float));
            chunk_advance(c, p[1].state, p->written);
        }
    }
    fetch_gradients(t, c->first, end);
    for (size_t i = (end - span + CHUNK - 1) / CHUNK; i-- > 0;) {
        if (span + i * CHUNK != c->first)
            chunk_begin(c, t, span + i * CHUNK);
        if (i)
            fetch_gradients(t, c->first - CHUNK, c->first);
        chunk_reverse(&v, &v.piece[i], span);
    }
    for (int i = 0; i < t->key_size; i++)
        memcpy(t->carried + (size_t)i * dv, v.adjoint + (size_t)i * ld, dv * sizeof(float));
    denormals_restore(mode);
}

size_t recur_reverse_span_floats(int key_size, int value_size)
{
    struct reverse v;
    return layout(&v, NULL, key_size, value_size);
}
