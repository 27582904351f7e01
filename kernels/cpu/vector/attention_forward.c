/* Attention of one head over one segment, forward (online softmax): for a block of queries, key
 * blocks from the diagonal to the farthest; a running maximum m and sum l per row; the output so
 * far is scaled by e^(m_old - m_new) when the maximum grows. lse = m + ln l, with the head's sink
 * as one more score, added last. */
#include "kernels/cpu/vector/attention_block.h"

enum { STRIP = 2 * TILE_ROWS }; /* rows, by measurement */

size_t attention_scratch_floats(int head_size, int value_size, int queries, int keys, int reverse)
{
    struct packed p;
    return pack_layout(&p, NULL, head_size, value_size, queries, keys, reverse);
}

/* Adds the bias (NULL: none) to one row of scores; returns the largest of them and `largest`. */
INLINE float finish_scores(float *z, const float *bias, float largest, int columns)
{
    v_float top = v_all(largest);
    if (bias)
        for (int c = 0; c < columns; c += WIDTH) {
            v_float score = v_load(z + c) + v_load(bias + c);
            v_store(z + c, score);
            top = v_max(score, top);
        }
    else
        for (int c = 0; c < columns; c += WIDTH)
            top = v_max(v_load(z + c), top);
    return v_largest(top);
}

/* Scales a row's sums from its old maximum to the new one. */
static void rescale(float *o, float *sum, float largest, float grown, int width)
{
    float factor[WIDTH];
    v_store(factor, largest == -INFINITY ? v_all(0) : v_exp(v_all(largest - grown)));
    v_float f = v_all(factor[0]);
    v_store(sum, v_load(sum) * f);
    for (int c = 0; c < width; c += WIDTH)
        v_store(o + c, v_load(o + c) * f);
}

/* Replaces one row's scores by probabilities, and returns their sum. */
INLINE void exponentials(float *z, float *sum, float largest, int columns)
{
    v_float origin = v_all(largest == -INFINITY ? 0 : largest),
            total = v_load(sum); /* all masked so far: e^(-inf - 0) = 0 */
    for (int c = 0; c < columns; c += WIDTH) {
        v_float e = v_exp_difference(v_load(z + c), origin);
        v_store(z + c, e);
        total += e;
    }
    v_store(sum, total);
}

/* A strip of rows at a time, so that its scores are still in the nearest cache when read again. */
static void forward_block(const struct attention_task *t, const struct packed *p,
                          const struct block *b)
{
    struct workspace *w = p->work;
    int causal = b->causal, d = t->head_size, columns_all = (int)round_up((size_t)b->keys, WIDTH);
    float grown[STRIP];
    for (int first = 0, rows; first < b->queries; first += rows) {
        rows = b->queries - first < STRIP ? b->queries - first : STRIP;
        int diagonal = b->diagonal + first;
        product(w->score, PANEL, LD, p->left.query + (size_t)(b->i + first) * p->ld, p->ld,
                p->right.key_t + (size_t)b->j * (size_t)groups(d), (size_t)groups(d) * PANEL, PANEL,
                rows, columns_all, d, 0, 0, causal ? MASK_RESULT : MASK_NONE, diagonal);
        for (int r = 0; r < rows;
             r++) { /* row after row: the maxima do not wait for the exponentials */
            float *z = w->score + r * LD;
            int columns = row_columns(b, first + r);
            finish_row(z, NULL, t, b, first + r, columns);
            grown[r] = finish_scores(z, row_bias(w, t, b, first + r, columns),
                                     w->largest[first + r], columns);
        }
        for (int r = 0; r < rows; r++) {
            float *z = w->score + r * LD, *largest = &w->largest[first + r],
                  *sum = w->sum + (first + r) * WIDTH;
            int columns = row_columns(b, first + r);
            if (grown[r] != *largest)
                rescale(p->first + (size_t)(first + r) * p->value_ld, sum, *largest, grown[r],
                        p->value_width);
            *largest = grown[r];
            exponentials(z, sum, grown[r], columns);
            if (causal)
                memset(z + columns, 0, (size_t)(LD - columns) * sizeof(float));
        }
        const group *probability = group_along_rows(w->score, w->score, LD, rows, KEYS);
        product(p->first + (size_t)first * p->value_ld, PANEL, p->value_ld, probability, LD,
                p->right.value + (size_t)(b->j / GROUP) * p->value_ld, PANEL, p->value_ld, rows,
                p->value_width, b->keys, 1, 0, causal ? MASK_LEFT : MASK_NONE, diagonal);
    }
}

/* lse of a row whose scores minus `largest` have exponentials with sum `total`; output's factor. */
static float finish_lse(float *factor, float largest, float total, float sink)
{
    *factor = total == 0 ? 0 : 1 / total;
    if (sink == -INFINITY)
        return total == 0 ? -INFINITY : (float)((double)largest + log((double)total));
    if (total == 0)
        return sink;
    double all = (double)total + exp((double)sink - (double)largest);
    *factor = (float)(1 / all);
    return (float)(isinf(all) ? sink : (double)largest + log(all));
}

void attention_forward(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, v = t->value_size, padded = (int)round_up((size_t)t->keys, KEYS);
    tiles_begin();
    pack_layout(&p, t->scratch, d, v, t->queries, t->keys, 0);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale,
              (struct sizes){p.query_size, QUERIES, 0});
    pack_rows(p.value, p.value_ld, t->value, t->kv_stride, t->keys, padded, v, 1,
              (struct sizes){p.key_size, KEYS, 1});
    pack_transposed(p.key_t, t->key, t->kv_stride, t->keys, padded, d,
                    (struct sizes){p.key_size, KEYS, 0});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    p.left.query = group_along_rows(p.query, p.query, p.ld, t->queries,
                                    (int)round_up((size_t)d, PANEL));
    p.right.key_t = group_panels(p.key_t, padded, d);
    p.right.value = group_along_columns(p.value, p.value, p.value_ld, padded, p.value_width);
    struct workspace *w = p.work;
    for (int i = 0; i < t->queries; i += QUERIES) {
        struct block b = block_at(t, i, 0);
        int last = b.first_query + b.queries - 1 -
                   (t->positions - t->keys); /* the farthest key seen */
        memset(p.first, 0, (size_t)b.queries * p.value_ld * sizeof(float));
        memset(w->sum, 0, sizeof w->sum);
        for (int r = 0; r < b.queries; r++)
            w->largest[r] = -INFINITY;
        for (int j = last / KEYS * KEYS; j >= 0; j -= KEYS) {
            float smallest = INFINITY;
            for (int r = 0; r < b.queries; r++)
                smallest = w->largest[r] < smallest ? w->largest[r] : smallest;
            b = block_at(t, i, j);
            if (!block_is_zero(t, &p, &b, smallest))
                forward_block(t, &p, &b);
        }
        for (int r = 0; r < b.queries; r++) {
            float total = v_sum(v_load(w->sum + r * WIDTH)), factor;
            float *out = t->o + (size_t)(i + r) * t->o_stride;
            t->lse[i + r] = finish_lse(&factor, w->largest[r], total, t->sink);
            for (int c = 0; c < v; c++)
                out[c] = p.first[(size_t)r * p.value_ld + (size_t)c] * factor;
        }
    }
    tiles_end();
    denormals_restore(mode);
}
