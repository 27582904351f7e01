/* Gates of which only the largest are left (decoder.h: gate_cut), forward and in reverse.
 *
 * With u = (g - mean) / s the gate is s max(0, u - multiple), and s = u.g / m for a row of m. */
#include "model/engine_parts.h"

/* g->cut_a = u, and g->spread = s. */
static void standardise(struct engine *g, int l, struct rows rows)
{
    struct kernels *k = g->k;
    struct layer *s = &g->layers[l];
    struct norm plain = g->blocks[l].gate_cut.norm;
    const int width = mlp_width(&g->d->blocks[l]);
    plain.shift = NULL;
    k->norm(k, g->cut_a, s->gate_statistics, s->gate_raw, &plain, rows, width);
    k->combine_reverse(k, g->spread, g->cut_a, s->gate_raw, NULL, rows, 1, width);
    k->scale(k, g->spread, 1.0 / width, rows, 1);
}

/* g->cut_a = u - multiple. */
static void shift(struct engine *g, int l, struct rows rows)
{
    struct layer *s = &g->layers[l];
    g->k->norm(g->k, g->cut_a, s->gate_statistics, s->gate_raw, &g->blocks[l].gate_cut.norm, rows,
               mlp_width(&g->d->blocks[l]));
}

void cut_forward(struct engine *g, int l, struct rows rows)
{
    struct kernels *k = g->k;
    const int width = mlp_width(&g->d->blocks[l]);
    standardise(g, l, rows);
    shift(g, l, rows);
    k->activate(k, g->cut_a, g->cut_a, NULL, ACTIVATION_RELU, rows, width);
    k->combine(k, g->layers[l].gate, g->cut_a, NULL, g->spread, rows, 1, width, 0);
}

void cut_reverse(struct engine *g, int l, struct rows rows)
{
    struct kernels *k = g->k;
    const struct layer *s = &g->layers[l];
    struct norm plain = g->blocks[l].gate_cut.norm;
    const int width = mlp_width(&g->d->blocks[l]);
    plain.shift = NULL;
    standardise(g, l, rows);
    shift(g, l, rows);
    k->activate(k, g->cut_b, g->cut_a, NULL, ACTIVATION_RELU, rows, width);
    k->combine_reverse(k, g->d_spread, g->da_gate, g->cut_b, NULL, rows, 1, width);
    k->combine(k, g->cut_b, g->da_gate, NULL, g->spread, rows, 1, width, 0);
    k->activate_reverse(k, g->cut_b, NULL, g->cut_b, g->cut_a, NULL, ACTIVATION_RELU, rows, width);
    k->norm_reverse(k, g->cut_d, NULL, g->cut_b, s->gate_raw, s->gate_statistics, &plain, rows,
                    width, 0);
    standardise(g, l, rows); /* u again, for the derivative of s: u / m */
    k->scale(k, g->d_spread, 1.0 / width, rows, 1);
    k->combine(k, g->cut_d, g->cut_a, NULL, g->d_spread, rows, 1, width, 1);
}
