/* Recurrence of one head when the last row alone is read, without a state. The gradient of the
 * state is p_t do^T with p = scale q at the last row, and t downwards
 *     o += (step p . k) v      delta: p -= (step p . k) k      p = e^l p.
 * Reverse needs only the state's product with do, r, with t upwards and r' = e^l r:
 *     x = do . v  (delta: - r' . k)      dv = step (p . k) do      dstep = (p . k) x
 *     dk = step x p  (delta: - step (p . k) r')      dl = p . r'  (delta: - step (p . k) k . r')
 *     r = r' + step x k
 * and in the end dq = scale r. Vectors of key_size in double. Additive p is q times what remains
 * after the rows behind it, so only that factor changes. */
#include "kernels/cpu/vector/recurrence.h"

/* One row of the way down. */
struct step {
    const struct recurrence_task *t;
    double *p; /* [key_size] */
    double kept; /* additive: the true p is this much of p */
};

static struct step step_begin(const struct recurrence_task *t, double *p)
{
    const float *query = t->query + (size_t)(t->keys - 1) * t->stride;
    for (int i = 0; i < t->key_size; i++)
        p[i] = (double)t->scale * query[i];
    return (struct step){t, p, 1};
}

/* p . k of the row; p, or kept, becomes that of the row before. */
static double step_down(struct step *s, size_t row)
{
    const struct recurrence_task *t = s->t;
    const float *key = t->key + row * t->stride;
    size_t dk = (size_t)t->key_size, gate = row * t->gate_stride;
    double along = s->kept * dot_mixed(s->p, key, dk), kept = exp(t->log_decay[gate]);
    if (!t->delta) {
        s->kept *= kept;
        return along;
    }
    add_scaled_span_double(s->p, key, -t->step[gate] * along, dk);
    for (size_t i = 0; i < dk; i++)
        s->p[i] *= kept;
    return along;
}

void recur_last_head(const struct recurrence_task *t)
{
    size_t dv = (size_t)t->value_size, last = (size_t)t->keys - 1;
    double *p = (double *)t->scratch, *out = p + t->key_size;
    const float *value = t->value + last * t->stride;
    unsigned mode = denormals_off();
    struct step s = step_begin(t, p);
    for (size_t j = 0; j < dv; j++)
        out[j] = (double)t->skip * value[j];
    for (size_t row = t->keys; row-- > 0;) {
        double along = step_down(&s, row);
        add_scaled_span_double(out, t->value + row * t->stride,
                               t->step[row * t->gate_stride] * along, dv);
    }
    for (size_t j = 0; j < dv; j++)
        t->o[j] = (float)out[j];
    denormals_restore(mode);
}

/* Doubles that a span keeps: p or, additive, the factor. */
static size_t kept_size(const struct recurrence_task *t)
{
    return t->delta ? (size_t)t->key_size : 1;
}

/* What is carried: r, then of each span p (or the factor) at its last row. */
size_t recur_last_head_carried(int key_size, int delta, int keys)
{
    size_t spans = ((size_t)keys + RECURRENCE_SPAN - 1) / RECURRENCE_SPAN;
    return 2 * ((size_t)key_size + spans * (delta ? (size_t)key_size : 1));
}

static double *kept_at(const struct recurrence_task *t, size_t row)
{
    return (double *)t->carried + t->key_size + row / RECURRENCE_SPAN * kept_size(t);
}

static void keep(double *to, const struct step *s)
{
    if (s->t->delta)
        memcpy(to, s->p, (size_t)s->t->key_size * sizeof *to);
    else
        *to = s->kept;
}

void recur_last_head_begin(const struct recurrence_task *t)
{
    unsigned mode = denormals_off();
    struct step s = step_begin(t, (double *)t->scratch);
    memset(t->carried, 0, (size_t)t->key_size * sizeof(double));
    for (size_t row = t->keys; row-- > 0;) {
        if ((row + 1) % RECURRENCE_SPAN == 0 || row + 1 == (size_t)t->keys)
            keep(kept_at(t, row), &s);
        step_down(&s, row);
    }
    denormals_restore(mode);
}

/* One row of the way up: its p (q and kept if additive) and p . k. */
static void row_reverse(const struct recurrence_task *t, double *r, const double *p, double kept,
                        double along, size_t row, size_t span)
{
    size_t dk = (size_t)t->key_size, dv = (size_t)t->value_size, gate = row * t->gate_stride;
    const float *key = t->key + row * t->stride, *value = t->value + row * t->stride;
    float *d_query = t->d_query + (row - span) * t->d_stride,
          *d_key = t->d_key + (row - span) * t->d_stride, *d_value = t->d_value + row * t->stride;
    double decay = exp(t->log_decay[gate]), step = t->step[gate], back = 0, across, error,
           skip = row + 1 == (size_t)t->keys ? t->skip : 0;
    for (size_t i = 0; i < dk; i++)
        r[i] *= decay;
    across = kept * dot_doubles(p, r, dk);
    if (t->delta)
        back = dot_mixed(r, key, dk);
    error = dot_span_double(t->d_o, value, dv) - back;
    for (size_t j = 0; j < dv; j++)
        d_value[j] = (float)((step * along + skip) * t->d_o[j]);
    t->d_step[gate] = (float)(along * error);
    t->d_log_decay[gate] = (float)(across - step * along * back);
    for (size_t i = 0; i < dk; i++)
        d_key[i] = (float)(step * error * kept * p[i] - (t->delta ? step * along * r[i] : 0));
    add_scaled_span_double(r, key, step * error, dk);
    for (size_t i = 0; i < dk; i++)
        d_query[i] = row + 1 == (size_t)t->keys ? (float)(t->scale * r[i]) : 0;
}

void recur_last_reverse_span(const struct recurrence_task *t, size_t span)
{
    size_t end = smaller(span + RECURRENCE_SPAN, (size_t)t->keys), each = kept_size(t);
    double *along = (double *)t->scratch, *p = along + RECURRENCE_SPAN, *rows = p + t->key_size;
    unsigned mode = denormals_off();
    struct step s = step_begin(t, p);
    if (t->delta)
        memcpy(p, kept_at(t, end - 1), each * sizeof *p);
    else
        s.kept = *kept_at(t, end - 1);
    for (size_t row = end; row-- > span;) {
        keep(rows + (row - span) * each, &s);
        along[row - span] = step_down(&s, row);
    }
    for (size_t row = span; row < end; row++) {
        const double *own = rows + (row - span) * each;
        row_reverse(t, (double *)t->carried, t->delta ? own : p, t->delta ? 1 : *own,
                    along[row - span], row, span);
    }
    denormals_restore(mode);
}

size_t recur_last_head_floats(int key_size, int value_size)
{
    size_t rows = (size_t)RECURRENCE_SPAN + 1;
    return 2 * (RECURRENCE_SPAN + rows * (size_t)key_size + (size_t)value_size);
}
