/* Recurrence by channel of one head over one span, reverse; names as in channels.h, and the order
 * of work that of recurrence_reverse.c. With X = scale dO, H the gradient of the state after the
 * chunk and F = e^(b_C - b) by channel: dN = (F * K) H + P^T X        additive: dV = step * dN
 *     delta: dE = dN + L^T (step * dE), row before row, and dV = step * dE
 * O and E are read by rows Y = Q with the gradient X, and by Y = K with X = -dV. Each adds, with A
 * = X N^T (for E below the diagonal), dY_i += e^(b_i) * (X S^T)_i + sum over j of A_ij G_ij * K_j
 *     dK_j += F_j * (N H^T)_j + sum over i of A_ij G_ij * Y_i
 *     H' = e^(b_C) * H + (e^b * Y)^T X.
 * A log decay's gradient is the sum of what passes its row, by channel: from j < t to i >= t A_ij
 * G_ij * Y_i * K_j; from before the chunk to i >= t; from j < t to after it; and from before to
 * after. All are products that are never subtracted again. */
#include "kernels/cpu/vector/channels.h"

/* [CHUNK, ld] unless said. */
struct reverse {
    struct channels chunk;
    struct piece piece[CHUNKS];
    float *adjoint; /* H [key_size, value_ld] */
    float *turned; /* H^T, then S^T [value_size, ld] */
    float *written_t; /* [value_size, CHUNK_LD] */
    float *d_read, *d_written; /* X of either kind [CHUNK, value_ld] */
    float *scaled; /* [CHUNK, value_ld] */
    float *read, *erased; /* A of either kind [CHUNK, CHUNK_LD] */
    float *d_query, *d_row, *d_key; /* dQ, dK of K as a reader, dK as what is written */
    float *after; /* what a block, or H, gives to earlier rows' keys */
    float *inward; /* of log decays what comes from before the chunk, or a block */
    float *d_decay;
};

static size_t layout(struct reverse *v, float *base, int key_size, int value_size)
{
    size_t at = channels_layout(&v->chunk, base, key_size, value_size), ld = v->chunk.ld,
           value_ld = v->chunk.value_ld, square = (size_t)CHUNK * CHUNK_LD;
    float **const squares[] = {&v->read, &v->erased},
                  **const rows[] = {&v->d_query, &v->d_row,  &v->d_key,
                                    &v->after,   &v->inward, &v->d_decay},
                  **const values[] = {&v->d_read, &v->d_written, &v->scaled};
    pieces_layout(v->piece, base, &at, key_size, value_ld);
    v->adjoint = recurrence_take(base, &at, (size_t)key_size * value_ld);
    v->turned = recurrence_take(base, &at, (size_t)value_size * ld);
    v->written_t = recurrence_take(base, &at, (size_t)value_size * CHUNK_LD);
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = recurrence_take(base, &at, square);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = recurrence_take(base, &at, CHUNK * ld);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = recurrence_take(base, &at, CHUNK * value_ld);
    return at;
}

/* Rows of the chunk to the gradients of queries, keys and log decays; NULL: zeros. */
static void store_rows(const struct reverse *v, const float *d_query, const float *d_key,
                       const float *d_decay)
{
    const struct recurrence_task *t = v->chunk.task;
    size_t ld = v->chunk.ld, size = (size_t)t->key_size * sizeof(float);
    for (int r = 0; r < v->chunk.rows; r++) {
        size_t row = v->chunk.first + (size_t)r;
        float *const to[] = {t->d_query + row * t->stride, t->d_key + row * t->stride,
                             t->d_log_decay + row * t->gate_stride};
        const float *const from[] = {d_query, d_key, d_decay};
        for (int i = 0; i < 3; i++)
            if (from[i])
                memcpy(to[i], from[i] + (size_t)r * ld, size);
            else
                memset(to[i], 0, size);
    }
}

/* Gradients of rows that nothing reads. */
static void no_gradients(const struct reverse *v)
{
    const struct recurrence_task *t = v->chunk.task;
    store_rows(v, NULL, NULL, NULL);
    for (int r = 0; r < v->chunk.rows; r++) {
        size_t row = v->chunk.first + (size_t)r;
        memset(t->d_value + row * t->stride, 0, (size_t)t->value_size * sizeof(float));
        t->d_step[row * t->gate_stride] = 0;
    }
}

/* X of the rows that are read, zeros elsewhere. */
static void load_d_read(const struct reverse *v)
{
    const struct channels *c = &v->chunk;
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

/* dN, and of it the gradients of values and steps; then d_written is -step * dN. */
static void write_reverse(const struct reverse *v, const struct piece *p, int read, int passed)
{
    const struct channels *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    size_t ld = c->value_ld, before = (size_t)(t->keys - t->queries);
    int n = c->rows, dv = t->value_size;
    float *d = v->d_written;
    if (passed)
        multiply(d, ld, c->past, c->ld, v->adjoint, ld, n, dv, t->key_size, 0, MASK_NONE);
    else
        memset(d, 0, (size_t)n * ld * sizeof(float));
    if (read)
        multiply_transposed(d, ld, c->score, CHUNK_LD, v->d_read, ld, n, dv, n, 1, MASK_LEFT_T);
    if (t->delta)
        chunk_solve_reverse(t, c->first, n, ld, p->erase, d, v->scaled);
    for (int r = 0; r < n; r++) {
        size_t row = c->first + (size_t)r;
        const float *d_o = row < before ? NULL : t->d_o + (row - before) * t->o_stride,
                    *factor = t->delta ? p->error + (size_t)r * ld : t->value + row * t->stride;
        float *from = d + (size_t)r * ld, *to = t->d_value + row * t->stride,
              step = t->step[row * t->gate_stride];
        t->d_step[row * t->gate_stride] = dot_span(from, factor, (size_t)dv);
        for (int j = 0; j < dv; j++) {
            float moved = step * from[j];
            to[j] = moved + (d_o ? t->skip * d_o[j] : 0);
            from[j] = -moved;
        }
    }
}

/* One kind of reading: A, and dY of what is from before the chunk, with its part of log decays. */
static void read_reverse(const struct reverse *v, float *pairs, float *d_row, const float *y_before,
                         const float *x, int strict)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld;
    int n = c->rows, dk = c->task->key_size, dv = c->task->value_size;
    multiply(pairs, CHUNK_LD, x, c->value_ld, v->written_t, CHUNK_LD, n, n, dv, 0, MASK_RESULT);
    chunk_clear(pairs, n, strict);
    multiply(d_row, ld, x, c->value_ld, v->turned, ld, n, dk, dv, 0, MASK_NONE);
    for (int r = 0; r < n; r++) {
        const float *start = c->start + (size_t)(r / CHUNK_BLOCK) * ld;
        for (int j = 0; j < dk; j += WIDTH) {
            size_t at = (size_t)r * ld + (size_t)j;
            v_float d = v_load(d_row + at);
            v_store(v->inward + at, v_fma(v_load(y_before + at), d, v_load(v->inward + at)));
            v_store(d_row + at, v_load(start + j) * d);
        }
    }
}

/* Rows first .. end: log decays get the sums of `inward` from their row to the last. */
static void pass_inward(const struct reverse *v, int first, int end)
{
    size_t ld = v->chunk.ld;
    for (size_t j = 0; j < (size_t)v->chunk.task->key_size; j += WIDTH) {
        v_float sum = {0};
        for (int r = end; r-- > first;) {
            size_t at = (size_t)r * ld + j;
            sum += v_load(v->inward + at);
            v_store(v->d_decay + at, v_load(v->d_decay + at) + sum);
        }
    }
}

/* What is later than rows 0 .. end - 1 gives their keys v->after, times the decays of c->fade:
 * their gradients, and what passes the rows behind each. */
static void pass_outward(const struct reverse *v, int end)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld;
    for (size_t j = 0; j < (size_t)c->task->key_size; j += WIDTH) {
        v_float sum = {0};
        for (int r = 0; r < end; r++) {
            size_t at = (size_t)r * ld + j;
            v_float d = v_load(c->fade + at) * v_load(v->after + at);
            v_store(v->d_key + at, v_load(v->d_key + at) + d);
            v_store(v->d_decay + at, v_load(v->d_decay + at) + sum);
            sum = v_fma(v_load(c->key + at), d, sum);
        }
    }
}

/* Pairs of rows of one block. */
static void near_reverse(const struct reverse *v, int block, int read, int erased)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld;
    int end = (block + 1) * CHUNK_BLOCK < c->rows ? (block + 1) * CHUNK_BLOCK : c->rows;
    for (size_t d = 0; d < (size_t)c->task->key_size; d += WIDTH)
        for (int j = block * CHUNK_BLOCK; j < end; j++) {
            v_float key = v_load(c->key + (size_t)j * ld + d), decay = v_all(1), d_key = {0},
                    passing[CHUNK_BLOCK], sum = {0};
            for (int i = j; i < end; i++) {
                size_t at = (size_t)i * ld + d;
                v_float reading = {0};
                if (i > j)
                    decay *= v_load(c->kept + at);
                v_float faded = decay * key;
                if (read) {
                    v_float a = v_all(v->read[i * CHUNK_LD + j]);
                    v_store(v->d_query + at, v_fma(a, faded, v_load(v->d_query + at)));
                    reading = a * v_load(c->query + at);
                }
                if (erased && i > j) {
                    v_float a = v_all(v->erased[i * CHUNK_LD + j]);
                    v_store(v->d_row + at, v_fma(a, faded, v_load(v->d_row + at)));
                    reading = v_fma(a, v_load(c->key + at), reading);
                }
                d_key = v_fma(decay, reading, d_key);
                passing[i - block * CHUNK_BLOCK] = faded * reading;
            }
            v_store(v->d_key + (size_t)j * ld + d, v_load(v->d_key + (size_t)j * ld + d) + d_key);
            for (int i = end - 1; i > j; i--) {
                size_t at = (size_t)i * ld + d;
                sum += passing[i - block * CHUNK_BLOCK];
                v_store(v->d_decay + at, v_load(v->d_decay + at) + sum);
            }
        }
}

/* d_row of a block's rows from the earlier blocks, whose keys c->past has; `within` not yet. */
static void add_past(const struct reverse *v, float *d_row, const float *pairs, const float *y,
                     int first, int end)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld;
    int dk = c->task->key_size;
    float *own = v->after; /* [CHUNK_BLOCK, ld] of it for a moment */
    multiply(own, ld, pairs + first * CHUNK_LD, CHUNK_LD, c->past, ld, end - first, dk, first, 0,
             MASK_NONE);
    for (int r = first; r < end; r++)
        for (int j = 0; j < dk; j += WIDTH) {
            size_t at = (size_t)r * ld + (size_t)j;
            v_float d = v_load(own + (size_t)(r - first) * ld + (size_t)j);
            v_store(v->inward + at, v_fma(v_load(y + at), d, v_load(v->inward + at)));
            v_store(d_row + at, v_load(d_row + at) + d);
        }
}

/* Pairs of one block's rows with each other, and with earlier blocks' keys. */
static void block_reverse(const struct reverse *v, int block, int read, int erased)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld, first_at = (size_t)(block * CHUNK_BLOCK) * ld;
    int first = block * CHUNK_BLOCK, dk = c->task->key_size,
        end = first + CHUNK_BLOCK < c->rows ? first + CHUNK_BLOCK : c->rows;
    if (block) {
        channels_fade(c, block);
        memset(v->inward + first_at, 0, (size_t)(end - first) * ld * sizeof(float));
        if (read)
            add_past(v, v->d_query, v->read, c->query_near, first, end);
        if (erased)
            add_past(v, v->d_row, v->erased, c->key_near, first, end);
        pass_inward(v, first, end);
        if (read)
            multiply_transposed(v->after, ld, v->read + first * CHUNK_LD, CHUNK_LD,
                                c->query_near + first_at, ld, first, dk, end - first, 0, MASK_NONE);
        if (erased)
            multiply_transposed(v->after, ld, v->erased + first * CHUNK_LD, CHUNK_LD,
                                c->key_near + first_at, ld, first, dk, end - first, read,
                                MASK_NONE);
        if (read || erased)
            pass_outward(v, first);
    }
    for (int r = first; r < end; r++) {
        size_t at = (size_t)r * ld;
        if (read)
            channels_multiply(v->d_query + at, v->d_query + at, c->within + at, ld);
        if (erased)
            channels_multiply(v->d_row + at, v->d_row + at, c->within + at, ld);
    }
    near_reverse(v, block, read, erased);
}

/* What of log decays passes the whole chunk, to all rows of d_decay. */
static void pass_through(const struct reverse *v, const struct piece *p, int passed)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->ld;
    int dk = c->task->key_size;
    memset(v->d_decay, 0, (size_t)c->rows * ld * sizeof(float));
    for (int i = 0; passed && i < dk; i++)
        v->d_decay[i] = c->end[i] * dot_span(v->adjoint + (size_t)i * c->value_ld,
                                             p->state + (size_t)i * c->value_ld,
                                             (size_t)c->task->value_size);
    for (int r = 1; r < c->rows; r++)
        memcpy(v->d_decay + (size_t)r * ld, v->d_decay, ld * sizeof(float));
}

/* H before the chunk. */
static void pass_adjoint(const struct reverse *v, int read)
{
    const struct channels *c = &v->chunk;
    size_t ld = c->value_ld;
    int n = c->rows, dk = c->task->key_size, dv = c->task->value_size;
    channels_decay(c, v->adjoint);
    if (read)
        multiply_transposed(v->adjoint, ld, c->query_before, c->ld, v->d_read, ld, dk, dv, n, 1,
                            MASK_NONE);
    if (c->task->delta)
        multiply_transposed(v->adjoint, ld, c->key_before, c->ld, v->d_written, ld, dk, dv, n, 1,
                            MASK_NONE);
}

static void chunk_reverse(struct reverse *v, const struct piece *p)
{
    struct channels *c = &v->chunk;
    const struct recurrence_task *t = c->task;
    size_t ld = c->ld, all = (size_t)c->rows * ld * sizeof(float);
    int n = c->rows, dk = t->key_size, dv = t->value_size, delta = t->delta,
        read = c->first + (size_t)n > (size_t)(t->keys - t->queries),
        passed = !chunk_is_zero(v->adjoint, c->value_ld, dk, dv);
    if (!read && !passed) {
        no_gradients(v);
        return;
    }
    if (read)
        load_d_read(v);
    channels_pairs(c, read, NULL);
    write_reverse(v, p, read, passed);
    chunk_transpose(v->written_t, CHUNK_LD, p->written, c->value_ld, n, dv);
    chunk_transpose(v->turned, ld, p->state, c->value_ld, dk, dv);
    memset(v->inward, 0, all);
    memset(v->d_key, 0, all);
    pass_through(v, p, passed);
    if (read)
        read_reverse(v, v->read, v->d_query, c->query_before, v->d_read, 0);
    if (delta)
        read_reverse(v, v->erased, v->d_row, c->key_before, v->d_written, 1);
    pass_inward(v, 0, n);
    for (int block = 0; block < c->blocks; block++)
        block_reverse(v, block, read, delta);
    if (passed) {
        channels_fade(c, c->blocks);
        chunk_transpose(v->turned, ld, v->adjoint, c->value_ld, dk, dv);
        multiply(v->after, ld, p->written, c->value_ld, v->turned, ld, n, dk, dv, 0, MASK_NONE);
        pass_outward(v, n);
    }
    for (int r = 0; delta && r < n; r++)
        for (int j = 0; j < dk; j += WIDTH) {
            size_t at = (size_t)r * ld + (size_t)j;
            v_store(v->d_key + at, v_load(v->d_key + at) + v_load(v->d_row + at));
        }
    store_rows(v, read ? v->d_query : NULL, v->d_key, v->d_decay);
    pass_adjoint(v, read);
}

void recur_channels_reverse_span(const struct recurrence_task *t, size_t span)
{
    struct reverse v;
    struct channels *c = &v.chunk;
    layout(&v, t->scratch, t->key_size, t->value_size);
    size_t dv = (size_t)t->value_size, ld = c->value_ld,
           end = smaller(span + RECURRENCE_SPAN, (size_t)t->keys);
    unsigned mode = denormals_off();
    chunk_copy(v.adjoint, ld, t->carried, dv, t->key_size, t->value_size, 1);
    recurrence_load(v.piece[0].state, t, span, ld);
    for (size_t first = span; first < end; first += CHUNK) {
        struct piece *p = &v.piece[(first - span) / CHUNK];
        channels_begin(c, t, first);
        channels_pairs(c, 0, t->delta ? p->erase : NULL);
        channels_write(c, p->state, p->erase, p->error, p->written);
        if (first + CHUNK < end) {
            memcpy(p[1].state, p->state, (size_t)t->key_size * ld * sizeof(float));
            channels_advance(c, p[1].state, p->written);
        }
    }
    for (size_t i = (end - span + CHUNK - 1) / CHUNK; i-- > 0;) {
        if (span + i * CHUNK != c->first)
            channels_begin(c, t, span + i * CHUNK);
        chunk_reverse(&v, &v.piece[i]);
    }
    for (int i = 0; i < t->key_size; i++)
        memcpy(t->carried + (size_t)i * dv, v.adjoint + (size_t)i * ld, dv * sizeof(float));
    denormals_restore(mode);
}

size_t recur_channels_reverse_span_floats(int key_size, int value_size)
{
    struct reverse v;
    return layout(&v, NULL, key_size, value_size);
}
