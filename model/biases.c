#include "model/biases.h"

#include "analyze/formula_window.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one bias, zeroed; NULL with *e. */
static struct layer_bias *add_bias(struct bias_set *a, struct error *e)
{
    struct layer_bias *grown = reallocarray(a->biases, (size_t)a->bias_count + 1, sizeof *grown);

    if (!grown) {
        fail_memory(e, sizeof *grown, "a bias");
        return NULL;
    }
    a->biases = grown;
    memset(&grown[a->bias_count], 0, sizeof *grown);
    return &grown[a->bias_count++];
}

/* A separate formula with the source and the values of `f`, masked from `window` on (0: no mask); f
 * NULL: 0. NULL with *e. */
static struct formula *masked_copy(const struct formula *f, int window, const char *path,
                                   struct error *e)
{
    const char *source = f ? f->source : "none";
    struct formula_error problem = {0, "out of memory"};
    struct formula *copy = NULL;
    char *text = NULL;
    int rc;

    if ((!window ? asprintf(&text, "%s", source)
         : !f    ? asprintf(&text, "window(%d)", window)
                 : asprintf(&text, "t<%d?(%s):-inf", window, source)) < 0)
        text = NULL;
    else
        copy = formula_parse(text, &problem);
    free(text);
    for (int i = 0; copy && f && i < f->parameter_count; i++) {
        const struct formula_parameter *p = &f->parameters[i];

        if (p->count == 0)
            continue;
        rc = p->decimal
                 ? formula_set(copy, p->name, (const char *const *)p->decimal, p->count, &problem)
                 : formula_set_values(copy, p->name, p->value, p->count, &problem);
        if (rc != 0) {
            formula_free(copy);
            copy = NULL;
        }
    }
    if (!copy)
        fail(e, "%s: formula '%.200s': %s", path, source, problem.message);
    return copy;
}

static int same_formula(const struct formula *a, const struct formula *b)
{
    if (a == b)
        return 1;
    if (!a || !b || strcmp(a->source, b->source) != 0 || a->parameter_count != b->parameter_count)
        return 0;
    for (int i = 0; i < a->parameter_count; i++) {
        const struct formula_parameter *p = &a->parameters[i], *q = &b->parameters[i];

        if (p->count != q->count || !p->decimal != !q->decimal ||
            (p->count && memcmp(p->value, q->value, (size_t)p->count * sizeof *p->value) != 0))
            return 0;
        for (int k = 0; p->decimal && k < p->count; k++)
            if (strcmp(p->decimal[k], q->decimal[k]) != 0)
                return 0;
    }
    return 1;
}

static int same_score(const struct score *a, const struct score *b)
{
    return a->window == b->window && a->keep == b->keep && a->chunk == b->chunk &&
           !a->log_length == !b->log_length && a->rotary == b->rotary &&
           (a->query_growth == 0) == (b->query_growth == 0) && !a->multiplier == !b->multiplier &&
           !a->key_bias == !b->key_bias && same_formula(a->bias, b->bias);
}

static void tell_rotary(char *out, size_t size)
{
    snprintf(out, size, "rotary positions turn queries and keys: no bias by distance");
}

/* Why a layer's encoding has no series; empty if it has one. */
static void tell_reason(char *out, size_t size, const struct decoder *d, const struct score *s)
{
    out[0] = 0;
    switch (d->position) {
    case POSITION_NONE: break;
    case POSITION_SINUSOIDAL:
        snprintf(out, size,
                 "sinusoidal positions are added to the embeddings: no bias by distance");
        break;
    case POSITION_LEARNED:
        snprintf(out, size, "learned positions are added to the embeddings: no bias by distance");
        break;
    case POSITION_ROTARY:
        if (s->rotary != ROTARY_NONE)
            tell_rotary(out, size);
        break;
    }
    if (out[0] == 0 && s->multiplier)
        snprintf(out, size,
                 "the scores are multiplied by %.60s: how far that reaches depends on the scores",
                 s->multiplier->source);
    else if (out[0] == 0 && s->key_bias)
        snprintf(out, size, "the bias %.60s depends on the key's position, not on the distance",
                 s->key_bias->source);
    else if (out[0] == 0 && s->keep)
        snprintf(out, size,
                 "the first %d keys stay visible besides the window: they depend on position, not "
                 "on distance",
                 s->keep);
    else if (out[0] == 0 && s->chunk)
        snprintf(out, size,
                 "keys are seen in chunks of %d: how far that reaches depends on the position",
                 s->chunk);
    else if (out[0] == 0 && (s->log_length || s->query_growth != 0))
        snprintf(out, size,
                 "queries are scaled by the logarithm of their position: how far that reaches "
                 "depends on the scores");
}

/* A copy with its own lists. */
static int copy_rotary(struct rotary *out, const struct rotary *r, struct error *e)
{
    size_t bytes = (size_t)r->size / 2 * sizeof *r->frequency;

    *out = *r;
    out->frequency = malloc(bytes + 1);
    out->beyond = r->beyond ? malloc(bytes + 1) : NULL;
    if (!out->frequency || (r->beyond && !out->beyond))
        return fail_memory(e, (double)bytes, "rotary frequencies");
    memcpy(out->frequency, r->frequency, bytes);
    if (r->beyond)
        memcpy(out->beyond, r->beyond, bytes);
    return 0;
}

static double rate_of(const struct block *b, int head)
{
    const view *rate = &b->mixer.recurrence.rate;

    return element_read(rate->data, rate->type, (size_t)head * rate->row_stride);
}

/* 1 if a recurrence has fixed decays, and no attention beside it. */
static int only_decays(const struct block *b)
{
    return block_decays_fixed(b) && !block_attends(b);
}

static int same_decays(const struct block *a, const struct block *b)
{
    int heads = a->mixer.recurrence.heads;

    if (only_decays(a) != only_decays(b) || (only_decays(a) && heads != b->mixer.recurrence.heads))
        return 0;
    for (int h = 0; only_decays(a) && h < heads; h++)
        if (rate_of(a, h) != rate_of(b, h))
            return 0;
    return 1;
}

/* 1 if layers have the same bias, or the same other mixer. */
static int is_alike(const struct block *a, const struct block *b)
{
    return a->mixer.ways == b->mixer.ways && same_decays(a, b) &&
           (block_attends(a) ? same_score(&a->score, &b->score)
                             : block_window(a) == block_window(b));
}

/* What a key t tokens back counts in a head with the fixed decay e^-k is e^(-k t): its bias is -k
 * t. NULL with *e. */
static struct formula *decay_formula(const struct block *b, const char *path, struct error *e)
{
    int heads = b->mixer.recurrence.heads;
    struct formula_error problem = {0, "out of memory"};
    struct formula *f = formula_parse("-k*t", &problem);
    double *rates = malloc((size_t)heads * sizeof *rates);

    for (int h = 0; rates && h < heads; h++)
        rates[h] = rate_of(b, h);
    if (!f || !rates || formula_set_values(f, "k", rates, heads, &problem) != 0) {
        fail(e, "%s: decays: %s", path, problem.message);
        formula_free(f);
        f = NULL;
    }
    free(rates);
    return f;
}

int biases_of_decoder(struct bias_set *out, const struct decoder *d, struct error *e)
{
    long cone = 1;

    out->heads = d->heads;
    out->head_size = d->head_size;
    out->layers = d->layers;
    out->train_length = d->train_length;
    snprintf(out->position, sizeof out->position, "%s", d->position_text);
    out->bias_of_layer = calloc((size_t)d->layers, sizeof *out->bias_of_layer);
    if (!out->bias_of_layer)
        return fail_memory(e, (double)d->layers * sizeof *out->bias_of_layer, "the layers");
    for (int l = 0; l < d->layers; l++) {
        const struct block *block = &d->blocks[l];
        const struct score *s = &block->score;
        struct layer_bias *b;
        int before = 0;

        cone = cone && block_window(block) && !s->keep ? cone + block_window(block) - 1 : 0;
        while (before < l && !is_alike(&d->blocks[before], block))
            before++;
        if (before < l) {
            out->bias_of_layer[l] = out->bias_of_layer[before];
            continue;
        }
        b = add_bias(out, e);
        if (!b)
            return -1;
        out->bias_of_layer[l] = out->bias_count - 1;
        if (only_decays(block) && block->mixer.recurrence.heads == d->heads) {
            b->decays = 1;
            b->formula = decay_formula(block, d->path, e);
            if (!b->formula)
                return -1;
            continue;
        }
        if (!block_attends(block) || block_recurs(block)) {
            if (block_recurs(block))
                snprintf(b->reason, sizeof b->reason,
                         block_attends(block) ? "beside its attention the layer has a recurrence, "
                                                "which reads all inputs"
                                              : "the layer has no attention: a recurrence, which "
                                                "reads all inputs");
            else if (!block_mixes(block))
                snprintf(b->reason, sizeof b->reason,
                         "the layer has no attention: each row by itself");
            else
                snprintf(b->reason, sizeof b->reason,
                         "the layer has no attention: a convolution of %d inputs",
                         block_window(block));
            continue;
        }
        tell_reason(b->reason, sizeof b->reason, d, s);
        b->head_size = block_head_size(d, &d->blocks[l]);
        if (d->position == POSITION_ROTARY && s->rotary != ROTARY_NONE &&
            copy_rotary(&b->rotary, &d->rotary[s->rotary], e) != 0)
            return -1;
        if (b->reason[0] && (!s->window || s->keep)) /* kept keys are outside any window */
            continue;
        b->formula = masked_copy(b->reason[0] ? NULL : s->bias, s->window, d->path, e);
        if (!b->formula)
            return -1;
        b->window = formula_window(b->formula, d->heads);
        out->uses_length |= formula_has_variable(b->formula, VARIABLE_LENGTH);
    }
    out->cone = cone;
    return 0;
}

int biases_of_rope(struct bias_set *out, const char *text, struct error *e)
{
    struct layer_bias *b = add_bias(out, e);

    if (!b || rope_by_hand(&b->rotary, &out->head_size, out->position, sizeof out->position, text,
                           e) != 0)
        return -1;
    b->head_size = out->head_size;
    tell_rotary(b->reason, sizeof b->reason);
    out->heads = 1;
    return 0;
}

int biases_of_formula(struct bias_set *out, struct formula *f, int heads, int head_size,
                      struct error *e)
{
    struct layer_bias *b = add_bias(out, e);

    if (!b) {
        formula_free(f);
        return -1;
    }
    b->formula = f;
    b->window = formula_window(f, heads);
    out->heads = heads;
    out->head_size = head_size;
    out->uses_length = formula_has_variable(f, VARIABLE_LENGTH);
    return 0;
}

void biases_free(struct bias_set *s)
{
    for (int i = 0; i < s->bias_count; i++) {
        formula_free(s->biases[i].formula);
        free(s->biases[i].rotary.frequency);
        free(s->biases[i].rotary.beyond);
    }
    free(s->biases);
    free(s->bias_of_layer);
    memset(s, 0, sizeof *s);
}

int bias_rows(const struct bias_set *s, const struct layer_bias *b)
{
    return b->formula && b->formula->uses_head ? s->heads : 1;
}

void bias_layers_text(char *out, size_t size, const struct bias_set *s, int index)
{
    static const char rest[] = ", ...";
    size_t used = 0;
    int members = 0;

    out[0] = 0;
    for (int l = 0; l < s->layers; l++)
        members += s->bias_of_layer[l] == index;
    if (members == s->layers)
        return;
    used = (size_t)snprintf(out, size, members == 1 ? "layer" : "layers");
    for (int first = 0, last, any = 0; first < s->layers && used < size; first = last + 1) {
        char item[32];
        last = first;
        if (s->bias_of_layer[first] != index)
            continue;
        while (last + 1 < s->layers && s->bias_of_layer[last + 1] == index)
            last++;
        size_t length = (size_t)snprintf(item, sizeof item, "%s%d", any ? ", " : " ", first + 1);
        if (last > first)
            length += (size_t)snprintf(item + length, sizeof item - length, "-%d", last + 1);
        if (used + length + sizeof rest > size) { /* no number is cut */
            snprintf(out + used, size - used, "%s", any ? rest : rest + 1);
            return;
        }
        memcpy(out + used, item, length + 1);
        used += length, any = 1;
    }
}

int bias_table(double *table, const struct bias_set *s, const struct layer_bias *b,
               size_t distances, const char *label, struct error *e)
{
    struct formula_error problem;
    int rows = bias_rows(s, b);

    if (rows == s->heads) {
        if (formula_table(table, b->formula, rows, s->head_size, distances, (double)distances,
                          &problem) != 0)
            return fail(e, "%s: %s", label, problem.message);
        return 0;
    }
    for (size_t t = 0; t < distances; t++) { /* equal heads: head 1 is used for all */
        struct formula_point at = {.t = (double)t,
                                   .h = 1,
                                   .heads = s->heads,
                                   .head_size = s->head_size,
                                   .length = (double)distances};

        table[t] = formula_evaluate(b->formula, &at);
        if (isnan(table[t]) || table[t] == INFINITY)
            return fail(e, "%s: the value at distance %zu is %s (expected a number or -inf)", label,
                        t, isnan(table[t]) ? "not a number, or takes too many steps" : "+inf");
    }
    return 0;
}

int decoder_window(const struct decoder *d)
{
    for (int l = 1; l < d->layers; l++)
        if (!block_attends(&d->blocks[l]) || block_window(&d->blocks[l]) != block_window(d->blocks))
            return 0;
    return block_attends(d->blocks) ? block_window(d->blocks) : 0;
}

static int same_keys(const struct block *a, const struct block *b)
{
    return block_window(a) == block_window(b) && a->score.window == b->score.window &&
           a->mixer.ways == b->mixer.ways && a->score.chunk == b->score.chunk;
}

/* What a block reads, in words. */
static void put_keys(FILE *f, const struct block *b)
{
    if (block_recurs(b) && !block_attends(b))
        fputs("recurrence", f);
    else if (!block_mixes(b))
        fputs("each row by itself", f);
    else if (!block_attends(b))
        fprintf(f, "convolution of %d", block_window(b));
    else if (b->score.window)
        fprintf(f, "%d", b->score.window);
    else if (b->score.chunk)
        fprintf(f, "chunks of %d", b->score.chunk);
    else
        fputs("none", f);
    if (block_recurs(b) && block_attends(b))
        fputs(" beside a recurrence", f);
}

char *decoder_windows_text(const struct decoder *d)
{
    char *text = NULL, of[64];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int *kind = calloc((size_t)d->layers, sizeof *kind); /* of each layer: the first of its kind */
    const struct bias_set kinds = {.layers = d->layers, .bias_of_layer = kind};

    for (int l = 0; kind && l < d->layers; l++)
        while (!same_keys(&d->blocks[kind[l]], &d->blocks[l]))
            kind[l]++;
    for (int l = 0; f && kind && l < d->layers; l++) {
        if (kind[l] != l)
            continue;
        fputs(l ? ", " : "", f);
        put_keys(f, &d->blocks[l]);
        bias_layers_text(of, sizeof of, &kinds, l);
        if (*of)
            fprintf(f, " (%s)", of);
    }
    if (!f || fclose(f) != 0 || !kind) {
        free(text);
        text = NULL;
    }
    free(kind);
    return text;
}
