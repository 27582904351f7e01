/* Position tables of attention: formulas evaluated by distance, rotary angles by position; computed
 * in double, rounded once by the kernel set. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attention_shape scores_shape(const struct decoder *d, int l, int n)
{
    const struct block *b = &d->blocks[l];
    const struct score *s = &b->score;
    const struct rotary *rotary = shape_rotates(d, l) ? &d->rotary[s->rotary] : NULL;
    return (struct attention_shape){.heads = d->heads,
                                    .kv_heads = block_kv_heads(d, b),
                                    .head_size = block_head_size(d, b),
                                    .value_size = block_value_size(d, b),
                                    .positions = n,
                                    .window = s->window,
                                    .keep = s->keep,
                                    .chunk = s->chunk,
                                    .scale = s->scale * (rotary ? rotary->score_factor : 1),
                                    .soft_cap = s->soft_cap,
                                    .rotary_size = rotary ? rotary->size : 0,
                                    .rotary_first = rotary ? rotary->first : 0,
                                    .pairing = rotary ? rotary->pairing : PAIRING_HALF};
}

static double round_to(double x, int type)
{
    return element_round(x, (enum element)type);
}

/* table[heads, n] of a formula that is computed in `type`; *out stays NULL without one. */
static int evaluate(double **out, const struct engine *g, const struct formula *f,
                    enum element type, struct error *e)
{
    const struct formula_rounding rounding = {round_to, (int)type};
    *out = NULL;
    if (!f)
        return 0;
    size_t bytes;
    if (size_multiply(&bytes, (size_t)g->d->heads * sizeof **out, (size_t)g->shape.n) ||
        !(*out = malloc(bytes)))
        return fail_memory(e, 8.0 * g->d->heads * g->shape.n, "position bias table");
    struct formula_error problem;
    if (formula_table_rounded(*out, f, g->d->heads, g->d->head_size, (size_t)g->shape.n,
                              (double)g->shape.n + 1, type == ELEMENT_F64 ? NULL : &rounding,
                              &problem))
        return fail(e, "%s: formula '%s': %s", g->d->path, f->source, problem.message);
    return 0;
}

/* Every query must see a key: otherwise its softmax has no value. Tables [heads, n] or NULL. */
static int check_seen(const struct engine *g, const struct score *s, const double *bias,
                      const double *key_bias, struct error *e)
{
    if (!bias && !key_bias)
        return 0;
    for (int h = 0; h < g->d->heads; h++) {
        const double *by_distance = bias ? bias + (size_t)h * (size_t)g->shape.n : NULL,
                     *by_key = key_bias ? key_bias + (size_t)h * (size_t)g->shape.n : NULL;
        for (int i = 0; i < g->shape.n; i++) {
            int t = 0, end = s->window > 0 && s->keep == 0 && s->window < i + 1
                                 ? s->window
                                 : i + 1 - attention_chunk_begin(i, s->chunk);
            while (t < end && ((by_distance && by_distance[t] == -INFINITY) ||
                               (by_key && by_key[i - t] == -INFINITY) ||
                               (s->window > 0 && t >= s->window && i - t >= s->keep)))
                t++;
            if (t == end)
                return fail(
                    e,
                    "%s: position %d has no key left in head %d: its biases are -inf at every "
                    "distance, or the window or chunk "
                    "ends before (expected at least one key, such as a finite bias at distance 0)",
                    g->d->path, i + 1, h + 1);
        }
    }
    return 0;
}

/* The table by key position of a score's key_bias; *out stays NULL without one. */
static int evaluate_key_bias(double **out, const struct engine *g, const struct score *s,
                             struct error *e)
{
    if (evaluate(out, g, s->key_bias, s->key_bias_type, e))
        return -1;
    for (size_t i = 0; *out && i < (size_t)g->d->heads * (size_t)g->shape.n; i++)
        (*out)[i] *= s->key_bias_scale;
    return 0;
}

/* table[n] of the factor on queries by their position; *out stays NULL without one. */
static int evaluate_factor(double **out, const struct engine *g, const struct score *s,
                           struct error *e)
{
    *out = NULL;
    if (!s->log_length && s->query_growth == 0)
        return 0;
    if (!(*out = malloc((size_t)g->shape.n * sizeof **out)))
        return fail_memory(e, 8.0 * g->shape.n, "factors of queries");
    for (int i = 0; i < g->shape.n; i++)
        (*out)[i] = (s->log_length ? fmax(1, log(i + 1) / log(s->log_length)) : 1) *
                    (s->query_growth != 0
                         ? 1 + s->query_growth *
                                   log(1 + floor((i + s->query_first) / s->query_period))
                         : 1);
    return 0;
}

static int same_score(const struct block *of_a, const struct block *of_b)
{
    const struct score *a = &of_a->score, *b = &of_b->score;
    return of_a->kv_heads == of_b->kv_heads && of_a->head_size == of_b->head_size &&
           a->scale == b->scale && a->soft_cap == b->soft_cap && a->window == b->window &&
           a->keep == b->keep && a->chunk == b->chunk && a->log_length == b->log_length &&
           a->query_growth == b->query_growth && a->query_period == b->query_period &&
           a->query_first == b->query_first && a->rotary == b->rotary && a->bias == b->bias &&
           a->multiplier == b->multiplier && a->bias_type == b->bias_type &&
           a->key_bias == b->key_bias && a->key_bias_type == b->key_bias_type &&
           a->key_bias_scale == b->key_bias_scale;
}

/* The first layer whose attention is that of layer l: l if there is none before. */
static int first_alike(const struct decoder *d, int l)
{
    int first = 0;
    while (first < l &&
           !(block_attends(&d->blocks[first]) && same_score(&d->blocks[first], &d->blocks[l])))
        first++;
    return first;
}

/* cosine and sine [n, size / 2] of a layer's rotation; caller frees, also on failure. */
static int evaluate_angles(double **cosine, double **sine, const struct rotary *r, int n,
                           struct error *e)
{
    size_t pairs = (size_t)r->size / 2, bytes;
    *cosine = *sine = NULL;
    if (size_multiply(&bytes, pairs * sizeof **cosine, (size_t)n) || !(*cosine = malloc(bytes)) ||
        !(*sine = malloc(bytes)))
        return fail_memory(e, 16.0 * (double)pairs * n, "rotary angles");
    double factor = r->beyond && n > r->limit ? r->beyond_factor : r->factor;
    for (size_t m = 0; m < (size_t)n; m++)
        for (size_t i = 0; i < pairs; i++) {
            double angle = (r->backwards ? -(double)m : (double)m) * rotary_frequency(r, (int)i, n);
            (*cosine)[m * pairs + i] = factor * cos(angle);
            (*sine)[m * pairs + i] = factor * sin(angle);
        }
    return 0;
}

double scores_bytes(double *passing, const struct decoder *d, int n)
{
    double kept = 0, most = 0, angles = 0;
    for (int i = 0; i < ROTARIES && d->position == POSITION_ROTARY; i++)
        angles += d->rotary[i].size;
    for (int l = 0; l < d->layers; l++) {
        const struct score *s = &d->blocks[l].score;
        if (!block_attends(&d->blocks[l]) || first_alike(d, l) < l)
            continue;
        double heads = d->heads, others = heads * ((s->multiplier != NULL) + (s->key_bias != NULL)),
               turned = shape_rotates(d, l) ? d->rotary[s->rotary].size : 0,
               factor = s->log_length != 0 || s->query_growth != 0,
               made = (s->bias ? heads : 0) + others + factor, /* doubles a position */
            own = (s->bias ? heads : 1) * (s->window > 0 && s->keep > 0 ? 2 : 1) + others +
                  2 * turned; /* floats */
        kept += n * (8 * (made + turned) + 4 * own);
        most = fmax(most, made);
    }
    *passing = 8 * n * (most + angles);
    return kept;
}

int scores_create(struct engine *g, struct error *e)
{
    const struct decoder *d = g->d;
    double *cosine[ROTARIES] = {NULL}, *sine[ROTARIES] = {NULL}, *bias = NULL, *multiplier = NULL,
           *key_bias = NULL, *factor = NULL;
    int result = -1;
    for (int i = 0; i < ROTARIES && d->position == POSITION_ROTARY; i++)
        if (d->rotary[i].size &&
            evaluate_angles(&cosine[i], &sine[i], &d->rotary[i], g->shape.n, e))
            goto end;
    for (int l = 0; l < d->layers; l++) {
        const struct score *score = &d->blocks[l].score;
        if (!block_attends(&d->blocks[l]))
            continue;
        if (first_alike(d, l) < l) {
            g->attention[l] = g->attention[first_alike(d, l)];
            continue;
        }
        struct attention_shape shape = scores_shape(d, l, g->shape.n);
        if (evaluate(&bias, g, score->bias, score->bias_type, e) ||
            evaluate(&multiplier, g, score->multiplier, score->bias_type, e) ||
            evaluate_key_bias(&key_bias, g, score, e) || evaluate_factor(&factor, g, score, e) ||
            check_seen(g, score, bias, key_bias, e))
            goto end;
        shape.bias = bias, shape.multiplier = multiplier, shape.key_bias = key_bias,
        shape.query_factor = factor;
        if (shape.rotary_size)
            shape.cosine = cosine[score->rotary], shape.sine = sine[score->rotary];
        g->attention[l] = g->k->attention_create(g->k, &shape, e);
        if (!g->attention[l])
            goto end;
        free(bias), free(multiplier), free(key_bias), free(factor);
        bias = multiplier = key_bias = factor = NULL;
    }
    result = 0;
end:
    for (int i = 0; i < ROTARIES; i++)
        free(cosine[i]), free(sine[i]);
    free(bias), free(multiplier), free(key_bias), free(factor);
    return result;
}

void scores_close(struct engine *g)
{
    for (int l = 0; l < g->d->layers; l++) {
        int shared = 0;
        for (int before = 0; before < l; before++)
            shared |= g->attention[before] == g->attention[l];
        if (g->attention[l] && !shared)
            g->k->attention_free(g->k, g->attention[l]);
    }
    memset(g->attention, 0, (size_t)g->d->layers * sizeof *g->attention);
}
