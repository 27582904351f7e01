/* The result of a whole run from those of its shards. */
#include "io/element.h"
#include "run/attention/attention.h"
#include "run/erf/reduce.h"
#include "run/erf/shard.h"
#include "run/command.h"
#include "run/merge/shards.h"
#include "run/models.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the run's description ---- */

/* Checks that models and layers are those of the command that the result will record; *by_layer is
 * its option for layers. */
static int check_command(const struct result *r, const char *path, int *by_layer, struct error *e)
{
    struct text_list texts = {0}, adapters = {0};
    struct model_argument *models = NULL;
    const char *layer;
    char **words;
    int count, operands = 2, rc = 0;
    struct error why;

    if (command_words(&words, &count, r->command, e) != 0)
        return -1;
    layer = command_value(words, count, "--layer");
    *by_layer = layer != NULL;
    for (; operands < count && strncmp(words[operands], "--", 2) != 0 && rc == 0; operands++)
        rc = text_list_add(&texts, words[operands], e);
    if (rc == 0 && (!texts.count || !command_value(words, count, "--shard") ||
                    command_values(&adapters, words, count, "--adapter", e) != 0 ||
                    model_arguments(&models, &texts, &adapters, &why) != 0))
        rc = fail(e, "%s: its command is not understood: %.200s", path, r->command);
    for (size_t i = 0; rc == 0 && i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        size_t layers = result_layers(m);

        if (i >= (size_t)texts.count || strcmp(m->name, models[i].name) != 0)
            rc = fail(e, "%s: its models are not those of its command (expected %s)", path,
                      i < (size_t)texts.count ? models[i].name : "no more");
        else if (layer && strcmp(layer, "all") == 0
                     ? layers != m->layers
                     : layers != (layer && strcmp(layer, "0") != 0 ? 2 : 1))
            rc = fail(e, "%s: does not hold what its command says about the layers of %s", path,
                      m->name);
    }
    model_arguments_free(models, texts.count);
    text_list_free(&texts);
    text_list_free(&adapters);
    free(words);
    return rc;
}

/* The texts of the first shard that are not the run's. */
static int rename_run(struct result *out, struct error *e)
{
    char *command = command_of_run(out->command, e), *version = strdup(REACH_VERSION);

    if (!command || !version) {
        free(command);
        free(version);
        return fail(e, "out of memory for the run");
    }
    free(out->command);
    free(out->version);
    out->command = command;
    out->version = version;
    out->shard = out->shards = 0;
    return 0;
}

/* Allocates all segments of the run; the attributes are made again. */
static int lay_out(struct result_model *m, int completeness, struct error *e)
{
    size_t ids;

    m->segments = m->run_segments;
    m->first = 0;
    m->pieces = (struct token_texts){0}; /* of one shard, and without its data */
    if (size_multiply(&ids, m->segments, m->fields[0].target) != 0 ||
        !(m->tokens = calloc(ids, sizeof *m->tokens)))
        return fail_memory(e, (double)m->segments * (double)m->fields[0].target * sizeof *m->tokens,
                           "the token ids");
    if (!(m->start = calloc(m->segments, sizeof *m->start)))
        return fail_memory(e, (double)m->segments * sizeof *m->start, "the segments");
    for (size_t k = 0; k < m->field_count; k++) {
        result_attributes_free(&m->fields[k]);
        m->fields[k].near_ties = 0; /* of one shard */
        if (result_field_room(&m->fields[k], m->segments, completeness, e) != 0)
            return -1;
    }
    return m->attention.layers ? result_attention_room(&m->attention, e) : 0;
}

/* ---- the data ---- */

/* A segment's usability must be as its shard found it, or numbers have been changed or lost. */
static int check_segments(const struct shard *s, const struct result_model *m,
                          const struct result_field *f, struct error *e)
{
    size_t n = f->positions;
    double *share = calloc(n, sizeof *share);
    int rc = share ? 0 : fail_memory(e, (double)n * sizeof *share, "a segment");

    for (size_t i = 0; i < m->segments && rc == 0; i++) {
        int usable = isfinite(f->logprob[i]) && curve_share(share, f->norm + i * n, n) == 0;

        if (usable != (f->status[i] == SEGMENT_DONE))
            rc = fail(e,
                      "%s: %s, target %zu, layer %zu: the status of segment %zu is %d, and its "
                      "norms and log p are%s usable "
                      "(expected %s)",
                      s->path, m->name, n + 1, f->layer, i, f->status[i], usable ? "" : " not",
                      usable ? "1" : "2");
    }
    free(share);
    return rc;
}

/* Copies one field of a shard to its place. */
static int join_field(struct result_field *out, const struct shard *s, const struct result_model *m,
                      const struct result_field *f, size_t first, struct error *e)
{
    size_t n = f->positions;

    if (out->target != f->target || out->layer != f->layer ||
        !out->completeness != !f->completeness)
        return fail(e, "%s: does not hold what its command says about %s, target %zu, layer %zu",
                    s->path, m->name, out->target, out->layer);
    memcpy(out->norm + first * n, f->norm, m->segments * n * sizeof *f->norm);
    memcpy(out->logprob + first, f->logprob, m->segments * sizeof *f->logprob);
    out->near_ties += f->near_ties;
    if (f->completeness)
        memcpy(out->completeness + 2 * first, f->completeness,
               2 * m->segments * sizeof *f->completeness);
    return check_segments(s, m, f, e);
}

static int join_attention(struct result_model *out, const struct shard *s,
                          const struct result_model *m, struct error *e)
{
    const struct result_attention *a = &m->attention;

    if (!a->theory && !a->layers)
        return 0;
    if (!a->high || !a->low || a->layers != out->attention.layers ||
        a->heads != out->attention.heads ||
        a->recurrence_heads != out->attention.recurrence_heads ||
        (a->recurrence_heads && (!a->decay_high || !a->decay_low)))
        return fail(e, "%s: %s lacks the attention of its %zu layers and %zu heads", s->path,
                    m->name, m->layers, m->heads);
    if (a->measured > m->segments || a->used > a->measured)
        return fail(e, "%s: attention_used of %s is %zu, of %zu segments (expected no more)",
                    s->path, m->name, a->used, a->measured);
    attention_join(&out->attention, a);
    return 0;
}

/* Ids and texts, which the result has if all shards have them. */
static int join_tokens(struct result_model *out, const struct result_model *m, size_t first,
                       struct error *e)
{
    size_t length = out->fields[0].target;

    if (!m->tokens) {
        free(out->tokens);
        out->tokens = NULL;
        texts_free(&out->pieces);
    }
    if (!out->tokens)
        return 0;
    memcpy(out->tokens + first * length, m->tokens, m->segments * length * sizeof *m->tokens);
    return texts_add(&out->pieces, &m->pieces, e);
}

static int join_model(struct result_model *out, const struct shard *s, const struct result_model *m,
                      struct error *e)
{
    size_t first, count = erf_shard(&first, out->run_segments, s->heads.shard, s->heads.shards);

    if (strcmp(m->name, out->name) != 0 || m->segments != count ||
        m->field_count != out->field_count)
        return fail(e, "%s: does not hold what its command says about %s", s->path, out->name);
    out->wide |= m->wide;
    memcpy(out->start + first, m->start, count * sizeof *m->start);
    for (size_t k = 0; k < out->field_count; k++)
        if (join_field(&out->fields[k], s, m, &m->fields[k], first, e) != 0)
            return -1;
    return join_tokens(out, m, first, e) != 0 ? -1 : join_attention(out, s, m, e);
}

static int join_shard(struct result *out, const struct shard *s, struct error *e)
{
    struct result in;
    int rc;

    if (result_read(s->path, &in, e) != 0)
        return -1;
    rc = in.model_count == out->model_count
             ? 0
             : fail(e, "%s: holds more than its command says", s->path);
    for (size_t i = 0; i < out->model_count && rc == 0; i++)
        rc = join_model(&out->models[i], s, &in.models[i], e);
    result_free(&in);
    return rc;
}

static int reduce(const struct result *out, struct result_model *m, struct error *e)
{
    int rc = erf_reduce(out, m, m->fields, m->field_count, e);

    if (rc == ERF_UNUSABLE)
        return fail(e, "%s: none of %zu segments is usable", m->path, m->segments);
    if (rc != 0 || !m->attention.layers)
        return rc;
    return attention_reduce(out, m, e) != 0 ||
                   attention_theory_read(out, m, m->attention.theory, e) != 0 ||
                   attention_correlate(out, m, e) != 0
               ? -1
               : 0;
}

int shards_join(struct result *out, struct shard *s, int count, struct error *e)
{
    size_t shard = s->heads.shard, shards = s->heads.shards;
    int completeness, by_layer;

    if (check_command(&s->heads, s->path, &by_layer, e) != 0)
        return -1;
    for (size_t i = 0; i < s->heads.model_count; i++) {
        const struct result_model *m = &s->heads.models[i];

        if (m->attention.layers &&
            (m->attention.layers != m->layers || m->attention.heads != m->heads))
            return fail(
                e,
                "%s: holds the attention of %zu layers and %zu heads of %s (expected %zu and %zu)",
                s->path, m->attention.layers, m->attention.heads, m->name, m->layers, m->heads);
        if (m->attention.layers && !m->attention.theory)
            return fail(e, "%s: %s has no attribute attention_trf", s->path, m->name);
    }
    *out = s->heads;
    s->heads = (struct result){.shard = shard, .shards = shards};
    out->by_layer = by_layer;
    completeness = out->attribution_baseline != NULL;
    if (rename_run(out, e) != 0)
        return -1;
    for (size_t i = 0; i < out->model_count; i++) {
        out->models[i].attention.measured = out->models[i].attention.used = 0;
        if (lay_out(&out->models[i], completeness, e) != 0)
            return -1;
    }
    for (int i = 0; i < count; i++)
        if (join_shard(out, &s[i], e) != 0)
            return -1;
    for (size_t i = 0; i < out->model_count; i++)
        if (reduce(out, &out->models[i], e) != 0)
            return -1;
    return 0;
}
