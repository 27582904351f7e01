/* Recurrence by channel of one head when the last row alone is read, without a state; as
 * recurrence_last.c, with p = e^l * p and r' = e^l * r by channel, and
 *     dl = (p  (delta: - step (p . k) k)) * r'. */
#include "kernels/cpu/vector/recurrence.h"

static void begin(const struct recurrence_task *t, double *p)
{
    const float *query = t->query + (size_t)(t->keys - 1) * t->stride;
    for (int i = 0; i < t->key_size; i++)
        p[i] = (double)t->scale * query[i];
}

static void decay(const struct recurrence_task *t, double *x, size_t row)
{
    const float *log_decay = t->log_decay + row * t->gate_stride;
    for (int i = 0; i < t->key_size; i++)
        x[i] *= exp(log_decay[i]);
}

/* p . k of the row; p becomes that of the row before. */
static double step_down(const struct recurrence_task *t, double *p, size_t row)
{
    const float *key = t->key + row * t->stride;
    size_t dk = (size_t)t->key_size;
    double along = dot_mixed(p, key, dk);
    if (t->delta)
        add_scaled_span_double(p, key, -t->step[row * t->gate_stride] * along, dk);
    decay(t, p, row);
    return along;
}

void recur_channels_last(const struct recurrence_task *t)
{
    size_t dv = (size_t)t->value_size, last = (size_t)t->keys - 1;
    double *p = (double *)t->scratch, *out = p + t->key_size;
    const float *value = t->value + last * t->stride;
    unsigned mode = denormals_off();
    begin(t, p);
    for (size_t j = 0; j < dv; j++)
        out[j] = (double)t->skip * value[j];
    for (size_t row = t->keys; row-- > 0;) {
        double along = step_down(t, p, row);
        add_scaled_span_double(out, t->value + row * t->stride,
                               t->step[row * t->gate_stride] * along, dv);
    }
    for (size_t j = 0; j < dv; j++)
        t->o[j] = (float)out[j];
    denormals_restore(mode);
}

/* What is carried: r, then of each span p at its last row. */
size_t recur_channels_last_carried(int key_size, int keys)
{
    size_t spans = ((size_t)keys + RECURRENCE_SPAN - 1) / RECURRENCE_SPAN;
    return 2 * (1 + spans) * (size_t)key_size;
}

static double *kept_at(const struct recurrence_task *t, size_t row)
{
    return (double *)t->carried + (1 + row / RECURRENCE_SPAN) * (size_t)t->key_size;
}

void recur_channels_last_begin(const struct recurrence_task *t)
{
    size_t size = (size_t)t->key_size * sizeof(double);
    double *p = (double *)t->scratch;
    unsigned mode = denormals_off();
    begin(t, p);
    memset(t->carried, 0, size);
    for (size_t row = t->keys; row-- > 0;) {
        if ((row + 1) % RECURRENCE_SPAN == 0 || row + 1 == (size_t)t->keys)
            memcpy(kept_at(t, row), p, size);
        step_down(t, p, row);
    }
    denormals_restore(mode);
}

/* One row of the way up: its p and p . k. */
static void row_reverse(const struct recurrence_task *t, double *r, const double *p, double along,
                        size_t row)
{
    size_t dk = (size_t)t->key_size, dv = (size_t)t->value_size, gate = row * t->gate_stride;
    const float *key = t->key + row * t->stride, *value = t->value + row * t->stride;
    float *d_query = t->d_query + row * t->stride, *d_key = t->d_key + row * t->stride,
          *d_value = t->d_value + row * t->stride, *d_log_decay = t->d_log_decay + gate;
    int last = row + 1 == (size_t)t->keys;
    double step = t->step[gate], erased = t->delta ? step * along : 0, error;
    decay(t, r, row);
    error = dot_span_double(t->d_o, value, dv) - (t->delta ? dot_mixed(r, key, dk) : 0);
    for (size_t j = 0; j < dv; j++)
        d_value[j] = (float)((step * along + (last ? t->skip : 0)) * t->d_o[j]);
    t->d_step[gate] = (float)(along * error);
    for (size_t i = 0; i < dk; i++) {
        d_key[i] = (float)(step * error * p[i] - erased * r[i]);
        d_log_decay[i] = (float)((p[i] - erased * key[i]) * r[i]);
    }
    add_scaled_span_double(r, key, step * error, dk);
    for (size_t i = 0; i < dk; i++)
        d_query[i] = last ? (float)(t->scale * r[i]) : 0;
}

void recur_channels_last_span(const struct recurrence_task *t, size_t span)
{
    size_t end = smaller(span + RECURRENCE_SPAN, (size_t)t->keys), dk = (size_t)t->key_size;
    double *along = (double *)t->scratch, *p = along + RECURRENCE_SPAN, *rows = p + dk;
    unsigned mode = denormals_off();
    memcpy(p, kept_at(t, end - 1), dk * sizeof *p);
    for (size_t row = end; row-- > span;) {
        memcpy(rows + (row - span) * dk, p, dk * sizeof *p);
        along[row - span] = step_down(t, p, row);
    }
    for (size_t row = span; row < end; row++)
        row_reverse(t, (double *)t->carried, rows + (row - span) * dk, along[row - span], row);
    denormals_restore(mode);
}

size_t recur_channels_last_floats(int key_size, int value_size)
{
    size_t rows = (size_t)RECURRENCE_SPAN + 1;
    return 2 * (RECURRENCE_SPAN + rows * (size_t)key_size + (size_t)value_size);
}
