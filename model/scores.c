/* Position tables of attention: formulas evaluated by distance, rotary angles by position; made in double, rounded once by the
 * kernel set. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>

struct attention_shape scores_shape(const struct decoder *d, int l, int n)
{
    const struct score *s = &d->blocks[l].score;
    return (struct attention_shape){.heads = d->heads,
                                    .kv_heads = d->kv_heads,
                                    .head_size = d->head_size,
                                    .positions = n,
                                    .window = s->window,
                                    .keep = s->keep,
                                    .scale = s->scale,
                                    .soft_cap = s->soft_cap,
                                    .rotary_size = d->position == POSITION_ROTARY ? d->rotary.size : 0,
                                    .pairing = d->rotary.pairing};
}

double scores_bytes(const struct decoder *d, int n)
{
    return 3.0 * 8 * d->heads * n + 2.0 * 8 * n * d->rotary.size / 2 + 8.0 * n; /* doubles on their way to the set */
}

static double round_to(double x, int type)
{
    return element_round(x, (enum element)type);
}

/* table[heads, n] of a formula that is computed in `type`; *out stays NULL without one. */
static int evaluate(double **out, const struct engine *g, const struct formula *f, enum element type, struct error *e)
{
    const struct formula_rounding rounding = {round_to, (int)type};
    *out = NULL;
    if (!f)
        return 0;
    size_t bytes;
    if (size_multiply(&bytes, (size_t)g->d->heads * sizeof **out, (size_t)g->shape.n) || !(*out = malloc(bytes)))
        return fail_memory(e, 8.0 * g->d->heads * g->shape.n, "position bias table");
    struct formula_error problem;
    if (formula_table_rounded(*out, f, g->d->heads, g->d->head_size, (size_t)g->shape.n, (double)g->shape.n + 1,
                              type == ELEMENT_F64 ? NULL : &rounding, &problem))
        return fail(e, "%s: formula '%s': %s", g->d->path, f->source, problem.message);
    return 0;
}

/* Every query must see a key: its softmax has no value otherwise. Tables [heads, n] or NULL. */
static int check_seen(const struct engine *g, const struct score *s, const double *bias, const double *key_bias, struct error *e)
{
    if (!bias && !key_bias)
        return 0;
    for (int h = 0; h < g->d->heads; h++) {
        const double *by_distance = bias ? bias + (size_t)h * (size_t)g->shape.n : NULL,
                     *by_key = key_bias ? key_bias + (size_t)h * (size_t)g->shape.n : NULL;
        for (int i = 0; i < g->shape.n; i++) {
            int t = 0, end = s->window > 0 && s->keep == 0 && s->window < i + 1 ? s->window : i + 1;
            while (t < end && ((by_distance && by_distance[t] == -INFINITY) || (by_key && by_key[i - t] == -INFINITY) ||
                               (s->window > 0 && t >= s->window && i - t >= s->keep)))
                t++;
            if (t == end)
                return fail(e,
                            "%s: the biases leave position %d no key in head %d: they are -inf at every distance there, or the "
                            "window ends before (expected at least one key, as a finite bias at distance 0)",
                            g->d->path, i + 1, h + 1);
        }
    }
    return 0;
}

/* Radians a position of pair i in a segment of n inputs. */
static double rotary_frequency(const struct rotary *r, int i, int n)
{
    if (!(r->stretch > 0 && n > r->limit))
        return r->frequency[i];
    double base = r->base * pow(r->stretch * n / r->limit - (r->stretch - 1), r->size / (r->size - 2.0));
    return pow(base, -2.0 * i / r->size);
}

/* The table by key position of a score's key_bias; *out stays NULL without one. */
static int evaluate_key_bias(double **out, const struct engine *g, const struct score *s, struct error *e)
{
    if (evaluate(out, g, s->key_bias, s->key_bias_type, e))
        return -1;
    for (size_t i = 0; *out && i < (size_t)g->d->heads * (size_t)g->shape.n; i++)
        (*out)[i] *= s->key_bias_scale;
    return 0;
}

/* table[n] of the factor on queries by their position; *out stays NULL without log-n scaling. */
static int evaluate_factor(double **out, const struct engine *g, const struct score *s, struct error *e)
{
    *out = NULL;
    if (!s->log_length)
        return 0;
    if (!(*out = malloc((size_t)g->shape.n * sizeof **out)))
        return fail_memory(e, 8.0 * g->shape.n, "factors of queries");
    for (int i = 0; i < g->shape.n; i++)
        (*out)[i] = fmax(1, log(i + 1) / log(s->log_length));
    return 0;
}

static int same_score(const struct score *a, const struct score *b)
{
    return a->scale == b->scale && a->soft_cap == b->soft_cap && a->window == b->window && a->keep == b->keep &&
           a->log_length == b->log_length && a->bias == b->bias && a->multiplier == b->multiplier &&
           a->bias_type == b->bias_type && a->key_bias == b->key_bias && a->key_bias_type == b->key_bias_type &&
           a->key_bias_scale == b->key_bias_scale;
}

int scores_create(struct engine *g, struct error *e)
{
    const struct decoder *d = g->d;
    double *cosine = NULL, *sine = NULL, *bias = NULL, *multiplier = NULL, *key_bias = NULL, *factor = NULL;
    int pairs = d->position == POSITION_ROTARY ? d->rotary.size / 2 : 0, result = -1;
    if (pairs) {
        size_t bytes;
        if (size_multiply(&bytes, (size_t)pairs * sizeof *cosine, (size_t)g->shape.n) || !(cosine = malloc(bytes)) ||
            !(sine = malloc(bytes))) {
            fail_memory(e, 16.0 * pairs * g->shape.n, "rotary angles");
            goto end;
        }
        for (size_t m = 0; m < (size_t)g->shape.n; m++)
            for (size_t i = 0; i < (size_t)pairs; i++) {
                double angle = (double)m * rotary_frequency(&d->rotary, (int)i, g->shape.n);
                cosine[m * (size_t)pairs + i] = d->rotary.factor * cos(angle);
                sine[m * (size_t)pairs + i] = d->rotary.factor * sin(angle);
            }
    }
    for (int l = 0; l < d->layers; l++) {
        const struct score *score = &d->blocks[l].score;
        for (int before = 0; before < l && !g->attention[l]; before++)
            if (same_score(&d->blocks[before].score, score))
                g->attention[l] = g->attention[before];
        if (g->attention[l])
            continue;
        struct attention_shape shape = scores_shape(d, l, g->shape.n);
        if (evaluate(&bias, g, score->bias, score->bias_type, e) ||
            evaluate(&multiplier, g, score->multiplier, score->bias_type, e) || evaluate_key_bias(&key_bias, g, score, e) ||
            evaluate_factor(&factor, g, score, e) || check_seen(g, score, bias, key_bias, e))
            goto end;
        shape.bias = bias, shape.multiplier = multiplier, shape.key_bias = key_bias, shape.query_factor = factor;
        shape.cosine = cosine, shape.sine = sine;
        g->attention[l] = g->k->attention_create(g->k, &shape, e);
        if (!g->attention[l])
            goto end;
        free(bias), free(multiplier), free(key_bias), free(factor);
        bias = multiplier = key_bias = factor = NULL;
    }
    result = 0;
end:
    free(cosine), free(sine), free(bias), free(multiplier), free(key_bias), free(factor);
    return result;
}
