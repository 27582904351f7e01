/* Attention of one head over one segment, reverse: P = e^(z - lse) is recomputed; D = sum(do o); dV
 * += P^T dO, dZ = P (dO V^T - D), dS = dZ times the derivatives of multiplier and soft-cap, dK +=
 * dS^T (scale Q), dQ += scale dS K. */
#include "kernels/cpu/vector/attention_block.h"

/* Replaces one row's dP by dS, and z by P. */
INLINE void reverse_row(float *z, const float *bias, float *ds, const float *slope,
                        const float *multiplier, float lse, float dot, int columns)
{
    v_float origin = v_all(lse), center = v_all(dot);
    for (int c = 0; c < columns; c += WIDTH) {
        v_float score = v_load(z + c);
        if (bias)
            score += v_load(bias + c);
        v_float probability = v_exp_difference(score, origin),
                g = probability * (v_load(ds + c) - center);
        if (multiplier)
            g *= v_load(multiplier + c);
        if (slope)
            g *= v_load(slope + c);
        v_store(z + c, probability);
        v_store(ds + c, g);
    }
}

static void reverse_block(const struct attention_task *t, const struct packed *p,
                          const struct block *b)
{
    struct workspace *w = p->work;
    int causal = b->causal, d = t->head_size, v = t->value_size;
    size_t i = (size_t)b->i * p->ld, block = (size_t)(b->i / GROUP), depth = (size_t)groups(d),
           value_depth = (size_t)groups(v);
    enum product_mask result = causal ? MASK_RESULT : MASK_NONE,
                      left = causal ? MASK_LEFT : MASK_NONE,
                      left_t = causal ? MASK_LEFT_T : MASK_NONE;
    int columns_all = (int)round_up((size_t)b->keys, WIDTH);
    product(w->score, PANEL, LD, p->left.query + i, p->ld, p->right.key_t + (size_t)b->j * depth,
            depth * PANEL, PANEL, b->queries, columns_all, d, 0, 0, result, b->diagonal);
    product(w->d_score, PANEL, LD, p->left.d_o + (size_t)b->i * p->value_ld, p->value_ld,
            p->right.value_t + (size_t)b->j * value_depth, value_depth * PANEL, PANEL, b->queries,
            columns_all, v, 0, 0, result, b->diagonal);
    for (int r = 0; r < b->queries; r++) {
        float *z = w->score + r * LD, *ds = w->d_score + r * LD,
              *slope = t->soft_cap > 0 ? w->slope + r * LD : NULL;
        int columns = row_columns(b, r);
        const float *multiplier = t->multiplier.at
                                      ? t->multiplier.at + (b->first_key - (b->first_query + r))
                                      : NULL,
                    *bias = row_bias(w, t, b, r, columns);
        float lse = p->lse[b->i + r], dot = p->dot[b->i + r];
        finish_row(z, slope, t, b, r, columns);
        if (slope || multiplier)
            reverse_row(z, bias, ds, slope, multiplier, lse, dot, columns);
        else if (bias)
            reverse_row(z, bias, ds, NULL, NULL, lse, dot, columns);
        else
            reverse_row(z, NULL, ds, NULL, NULL, lse, dot, columns);
        if (causal) {
            memset(z + columns, 0, (size_t)(LD - columns) * sizeof(float));
            memset(ds + columns, 0, (size_t)(LD - columns) * sizeof(float));
        }
    }
    const group *probability = group_along_columns(w->score, w->score, LD, b->queries, columns_all),
                *left_ds = group_along_rows(w->slope, w->d_score, LD, b->queries, KEYS),
                *ds = group_along_columns(w->d_score, w->d_score, LD, b->queries, columns_all);
    product(p->second, PANEL, p->value_ld, probability, LD, p->right.d_o + block * p->value_ld,
            PANEL, p->value_ld, b->keys, p->value_width, b->queries, 1, 1, left_t, b->diagonal);
    product(p->first, PANEL, p->ld, ds, LD, p->right.query + block * p->ld, PANEL, p->ld, b->keys,
            p->width, b->queries, 1, 1, left_t, b->diagonal);
    product(p->dq + (size_t)b->i * dq_width(d), QUERIES * PANEL, PANEL, left_ds, LD,
            p->right.key + (size_t)(b->j / GROUP) * p->ld, PANEL, p->ld, b->queries, p->width,
            b->keys, 1, 0, left, b->diagonal);
}

void attention_reverse_head(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, v = t->value_size, padded = (int)round_up((size_t)t->keys, KEYS),
        offset = t->keys - t->queries;
    tiles_begin();
    pack_layout(&p, t->scratch, d, v, t->queries, t->keys, 1);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale,
              (struct sizes){p.query_size, QUERIES, 0});
    pack_rows(p.d_o, p.value_ld, t->d_o, t->o_stride, t->queries, t->queries, v, 1,
              (struct sizes){p.query_size, QUERIES, 1});
    pack_rows(p.key, p.ld, t->key, t->kv_stride, t->keys, padded, d, 1,
              (struct sizes){p.key_size, KEYS, 0});
    pack_transposed(p.key_t, p.key, p.ld, t->keys, padded, d, (struct sizes){0});
    pack_transposed(p.value_t, t->value, t->kv_stride, t->keys, padded, v,
                    (struct sizes){p.key_size, KEYS, 1});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    memset(p.dq, 0, (size_t)query_blocks * QUERIES * dq_width(d) * sizeof(float));
    for (int i = 0; i < t->queries; i++) {
        prefetch_ahead(t->o, t->o_stride, i, t->queries, v);
        p.dot[i] = (float)dot_span_double(p.d_o + (size_t)i * p.value_ld,
                                          t->o + (size_t)i * t->o_stride, (size_t)v);
        p.lse[i] = t->lse[i] == -INFINITY ? 0 : t->lse[i]; /* no visible keys: z -inf, P 0 */
    }
    p.left.query = group_along_rows(p.query_room, p.query, p.ld, t->queries,
                                    (int)round_up((size_t)d, PANEL));
    p.left.d_o = group_along_rows(p.d_o_room, p.d_o, p.value_ld, t->queries,
                                  (int)round_up((size_t)v, PANEL));
    p.right.query = group_along_columns(p.query, p.query, p.ld, t->queries, p.width);
    p.right.d_o = group_along_columns(p.d_o, p.d_o, p.value_ld, t->queries, p.value_width);
    p.right.key = group_along_columns(p.key, p.key, p.ld, padded, p.width);
    p.right.key_t = group_panels(p.key_t, padded, d);
    p.right.value_t = group_panels(p.value_t, padded, v);
    for (int j = 0; j < t->keys; j += KEYS) {
        struct block b = block_at(t, 0, j);
        memset(p.first, 0, (size_t)b.keys * p.ld * sizeof(float));
        memset(p.second, 0, (size_t)b.keys * p.value_ld * sizeof(float));
        int first = j - offset > 0 ? (j - offset) / QUERIES * QUERIES
                                   : 0; /* the first block of queries that sees any of these keys */
        for (int i = first; i < t->queries; i += QUERIES) {
            float smallest = INFINITY;
            b = block_at(t, i, j);
            for (int r = 0; r < b.queries; r++)
                smallest = p.lse[i + r] < smallest ? p.lse[i + r] : smallest;
            if (!block_is_zero(t, &p, &b, smallest))
                reverse_block(t, &p, &b);
        }
        for (int c = 0; c < b.keys; c++) {
            memcpy(t->d_key + (size_t)(j + c) * t->d_kv_stride, p.first + (size_t)c * p.ld,
                   (size_t)d * sizeof(float));
            memcpy(t->d_value + (size_t)(j + c) * t->d_kv_stride, p.second + (size_t)c * p.value_ld,
                   (size_t)v * sizeof(float));
        }
    }
    for (int i = 0; i < t->queries; i++) {
        float *out = t->dq + (size_t)i * t->q_stride;
        const float *from = p.dq + (size_t)(i - i % QUERIES) * dq_width(d) + i % QUERIES * PANEL;
        for (int c = 0; c < d; c++)
            out[c] = t->scale * from[c / PANEL * (QUERIES * PANEL) + c % PANEL];
    }
    tiles_end();
    denormals_restore(mode);
}
