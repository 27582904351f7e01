/* Attention of one head over one segment, summed by distance: probabilities from lse, as in
 * reverse. */
#include "kernels/cpu/vector/attention_block.h"

/* Adds a block's probabilities, summed along its diagonals, to mass[keys] by distance. `lse`
 * [queries] of its rows. */
static void mass_block(double *mass, const struct attention_task *t, const struct packed *p,
                       const struct block *b, const float *lse)
{
    struct workspace *w = p->work;
    float *diagonal = p->second; /* [QUERIES + LD]: entry (r, c) belongs to QUERIES - 1 - r + c */
    int d = t->head_size;
    product(w->score, PANEL, LD, p->left.query + (size_t)b->i * p->ld, p->ld,
            p->right.key_t + (size_t)b->j * (size_t)groups(d), (size_t)groups(d) * PANEL, PANEL,
            b->queries, (int)round_up((size_t)b->keys, WIDTH), d, 0, 0,
            b->causal ? MASK_RESULT : MASK_NONE, b->diagonal);
    memset(diagonal, 0, (QUERIES + LD) * sizeof(float));
    for (int r = 0; r < b->queries; r++) {
        float *z = w->score + r * LD, *to = diagonal + QUERIES - 1 - r;
        int columns = row_columns(b, r);
        const float *bias = row_bias(w, t, b, r, columns);
        v_float origin = v_all(lse[r] == -INFINITY ? 0
                                                   : lse[r]); /* no visible keys: every z is -inf */
        finish_row(z, NULL, t, b, r, columns);
        for (int c = 0; c < columns; c += WIDTH) {
            v_float score = v_load(z + c);
            if (bias)
                score += v_load(bias + c);
            v_store(to + c, v_load(to + c) + v_exp_difference(score, origin));
        }
    }
    for (int at = 0; at < QUERIES - 1 + b->keys; at++) {
        int distance = b->diagonal + QUERIES - 1 - at;
        if (distance >= 0 && distance < t->keys)
            mass[distance] += diagonal[at];
    }
}

void attention_mass_head(const struct attention_task *t)
{
    struct packed p;
    unsigned mode = denormals_off();
    int d = t->head_size, padded = (int)round_up((size_t)t->keys, KEYS);
    tiles_begin();
    pack_layout(&p, t->scratch, d, t->value_size, t->queries, t->keys, 0);
    int query_blocks = clear_sizes(&p, t);
    pack_rows(p.query, p.ld, t->q, t->q_stride, t->queries, t->queries, d, t->scale,
              (struct sizes){p.query_size, QUERIES, 0});
    pack_transposed(p.key_t, t->key, t->kv_stride, t->keys, padded, d,
                    (struct sizes){p.key_size, KEYS, 0});
    sizes_finish(p.query_size, query_blocks);
    sizes_finish(p.key_size, padded / KEYS);
    p.left.query = group_along_rows(p.query, p.query, p.ld, t->queries,
                                    (int)round_up((size_t)d, PANEL));
    p.right.key_t = group_panels(p.key_t, padded, d);
    memset(t->mass, 0, (size_t)t->keys * sizeof *t->mass);
    for (int i = 0; i < t->queries; i += QUERIES) {
        struct block b = block_at(t, i, 0);
        int last = b.first_query + b.queries - 1 -
                   (t->positions - t->keys); /* the farthest key seen */
        float smallest = INFINITY;
        for (int r = 0; r < b.queries; r++)
            smallest = t->lse[i + r] < smallest ? t->lse[i + r] : smallest;
        for (int j = last / KEYS * KEYS; j >= 0; j -= KEYS) {
            b = block_at(t, i, j);
            if (!block_is_zero(t, &p, &b, smallest))
                mass_block(t->mass, t, &p, &b, t->lse + i);
        }
    }
    tiles_end();
    denormals_restore(mode);
}
