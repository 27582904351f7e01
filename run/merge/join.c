/* The run that was divided into shards, made again from what the results say: no model and no text is needed. */
#include "run/merge/shards.h"

#include "analyze/curve.h"
#include "run/attention/attention.h"
#include "run/erf/parts.h"
#include "run/erf/reduce.h"
#include "run/erf/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command ---- */

int command_words(char ***words, int *count, const char *command, struct error *e)
{
    size_t length = strlen(command), most = length / 2 + 2; /* a word and a blank */
    char *to;

    *count = 0;
    *words = malloc(most * sizeof **words + length + 1);
    if (!*words)
        return fail_memory(e, (double)(most * sizeof **words), "a command");
    to = (char *)(*words + most);
    while (*command) {
        int quoted = 0;

        command += strspn(command, " ");
        if (!*command)
            break;
        (*words)[(*count)++] = to;
        for (; *command && (quoted || *command != ' '); command++) {
            if (*command == '\'')
                quoted = !quoted;
            else if (*command == '\\' && !quoted && command[1])
                *to++ = *++command;
            else
                *to++ = *command;
        }
        *to++ = 0;
    }
    return 0;
}

/* ---- the models ---- */

static void close_nothing(struct kernels *k)
{
    free(k);
}

/* Stands for the kernels that the shards were measured with: their name and type. */
static struct kernels *named_kernels(const struct shard *s, struct error *e)
{
    const struct result_model *m = &s->heads.models[0];
    const char *name = shard_text(s, m, "kernels", e), *dtype = name ? shard_text(s, m, "dtype", e) : NULL;
    struct kernels *k = dtype ? calloc(1, sizeof *k) : NULL;

    if (!k) {
        if (dtype)
            fail(e, "out of memory");
        return NULL;
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(k->dtype, sizeof k->dtype, "%s", dtype);
    k->close = close_nothing;
    return k;
}

static int copy_text(char *out, size_t size, const struct shard *s, const struct result_model *m, const char *name,
                     struct error *e)
{
    const char *value = shard_text(s, m, name, e);

    if (!value)
        return -1;
    if (strlen(value) >= size)
        return fail(e, "%s: the attribute %s of %s is too long", s->path, name, m->name);
    memcpy(out, value, strlen(value) + 1);
    return 0;
}

static int copy_whole(int *out, const struct shard *s, const struct result_model *m, const char *name, long low, struct error *e)
{
    long value;

    if (shard_whole(&value, s, m, name, low, 1L << 30, e) != 0)
        return -1;
    *out = (int)value;
    return 0;
}

/* A decoder of which only the description is there. */
static struct decoder *describe_decoder(const struct shard *s, const struct result_model *m, struct error *e)
{
    struct decoder *d = calloc(1, sizeof *d);

    if (!d)
        fail(e, "out of memory");
    else if (copy_text(d->family, sizeof d->family, s, m, "family", e) == 0 &&
             copy_text(d->position_text, sizeof d->position_text, s, m, "position_encoding", e) == 0 &&
             copy_whole(&d->layers, s, m, "layers", 1, e) == 0 && copy_whole(&d->heads, s, m, "heads", 1, e) == 0 &&
             copy_whole(&d->kv_heads, s, m, "kv_heads", 1, e) == 0 && copy_whole(&d->head_size, s, m, "head_size", 1, e) == 0 &&
             copy_whole(&d->hidden, s, m, "hidden", 1, e) == 0 && copy_whole(&d->vocabulary, s, m, "vocabulary", 1, e) == 0 &&
             (!result_attribute(result_main(m), "not_understood") ||
              copy_text(d->not_understood, sizeof d->not_understood, s, m, "not_understood", e) == 0) &&
             ((d->blocks = calloc((size_t)d->layers, sizeof *d->blocks)) || fail(e, "out of memory") == 0))
        return d;
    decoder_close(d);
    return NULL;
}

static int open_model(struct erf_model *m, const struct erf_options *o, const struct shard *s, const struct result_model *from,
                      struct error *e)
{
    struct segments *cut = &m->segments;
    long length, stride, segments;

    if (!(m->decoder = describe_decoder(s, from, e)) || copy_text(m->digest, sizeof m->digest, s, from, "digest", e) != 0 ||
        copy_text(m->tokens_digest, sizeof m->tokens_digest, s, from, "tokens_digest", e) != 0 ||
        copy_whole(&m->bos, s, from, "bos", 0, e) != 0 || copy_whole(&cut->overlapping, s, from, "overlapping", 0, e) != 0 ||
        shard_whole(&stride, s, from, "stride", 0, 1L << 40, e) != 0 ||
        shard_whole(&length, s, from, "length", 2, 1L << 30, e) != 0 ||
        shard_whole(&segments, s, from, "run_segments", 1, 1L << 40, e) != 0)
        return -1;
    cut->length = (size_t)length;
    cut->stride = (size_t)stride;
    cut->count = m->run_segments = (size_t)segments;
    if ((o->layer == LAYER_ALL && (size_t)m->decoder->layers > from->field_count) ||
        (o->attention &&
         (from->attention.layers != (size_t)m->decoder->layers || from->attention.heads != (size_t)m->decoder->heads)))
        return fail(e, "%s: does not hold what its command says of the %d layers and %d heads of %s", s->path, m->decoder->layers,
                    m->decoder->heads, from->name);
    if (result_main(from)->positions != cut->length - 1)
        return fail(e, "%s: %s has norms of %zu positions (expected %zu)", s->path, from->name, result_main(from)->positions,
                    cut->length - 1);
    if (!(cut->start = calloc(cut->count, sizeof *cut->start)))
        return fail_memory(e, (double)cut->count * sizeof *cut->start, "the segments");
    return 0;
}

int merge_open(struct erf_run *r, struct erf_options *o, char ***words, const struct shard *s, struct error *e)
{
    int count;

    *words = NULL;
    if (command_words(words, &count, s->heads.command, e) != 0)
        return -1;
    if (count < 2 || erf_options_parse(o, count - 2, *words + 2, e) != 0 ||
        model_arguments((struct model_argument **)&r->arguments, &o->models, e) != 0)
        return fail(e, "%s: its command is not understood: %.200s", s->path, s->heads.command);
    o->shard = o->shards = 0;
    r->count = (size_t)o->models.count;
    r->command = erf_options_command(o);
    r->models = calloc(r->count, sizeof *r->models);
    r->result.models = calloc(r->count, sizeof *r->result.models);
    if (!r->command || !r->models || !r->result.models)
        return fail(e, "out of memory for the run");
    r->result.model_count = r->count;
    if (!(r->kernels = named_kernels(s, e)))
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct result_model *from = i < s->heads.model_count ? &s->heads.models[i] : NULL;

        if (!from || strcmp(from->name, r->arguments[i].name) != 0)
            return fail(e, "%s: its models are not those of its command (expected %s)", s->path, r->arguments[i].name);
        r->models[i].argument = &r->arguments[i];
        r->models[i].out = &r->result.models[i];
        if (open_model(&r->models[i], o, s, from, e) != 0)
            return -1;
        if (r->models[i].segments.length != r->models[0].segments.length)
            return fail(e, "%s: its models have segments of different lengths", s->path);
    }
    r->positions = r->models[0].segments.length - 1;
    if (erf_lay_out(r, e) != 0 || erf_identify(r, e) != 0)
        return -1;
    for (size_t i = 0; i < r->count; i++) { /* what needs more of a decoder than its description */
        r->result.models[i].cone = s->heads.models[i].cone;
        r->result.models[i].train_length = s->heads.models[i].train_length;
        r->result.models[i].noise = s->heads.models[i].noise;
    }
    return 0;
}

/* ---- the data ---- */

/* Copies one field of a shard to its place. */
static int take_field(struct result_model *m, struct result_field *f, const struct result_model *model,
                      const struct result_field *from, size_t first)
{
    size_t n = f->positions;

    memcpy(f->norm + first * n, from->norm, model->segments * n * sizeof *f->norm);
    memcpy(f->logprob + first, from->logprob, model->segments * sizeof *f->logprob);
    memcpy(m->start + first, model->start, model->segments * sizeof *model->start);
    if (!f->completeness)
        return 0;
    if (!from->completeness)
        return -1;
    memcpy(f->completeness + 2 * first, from->completeness, 2 * model->segments * sizeof *f->completeness);
    return 0;
}

/* Each segment is usable or not as its shard found it: other numbers stand there now, or none. */
static int check_segments(const struct shard *s, const struct result_model *m, const struct result_field *from, struct error *e)
{
    size_t n = from->positions;
    double *share = calloc(n, sizeof *share);
    int rc = share ? 0 : fail_memory(e, (double)n * sizeof *share, "a segment");

    for (size_t i = 0; i < m->segments && rc == 0; i++) {
        int usable = isfinite(from->logprob[i]) && curve_share(share, from->norm + i * n, n) == 0;

        if (usable != (from->status[i] == SEGMENT_DONE))
            rc = fail(e,
                      "%s: %s, target %zu, layer %zu: the status of segment %zu is %d, and its norms and log p are%s such as are "
                      "used (expected %s)",
                      s->path, m->name, n + 1, from->layer, i, from->status[i], usable ? "" : " not", usable ? "1" : "2");
    }
    free(share);
    return rc;
}

static int take_attention(struct result_model *m, const struct shard *s, const struct result_model *from, struct error *e)
{
    struct result_attention *a = &m->attention;
    const struct result_attention *part = &from->attention;

    if (!part->high || !part->low || part->layers != a->layers || part->heads != a->heads)
        return fail(e, "%s: %s lacks the attention of its %zu layers and %zu heads", s->path, from->name, a->layers, a->heads);
    if (part->measured > from->segments || part->used > part->measured)
        return fail(e, "%s: attention_segments and attention_used of %s are %zu and %zu (expected %zu at most)", s->path,
                    from->name, part->measured, part->used, from->segments);
    attention_join(a, part);
    return 0;
}

static int fill_from(struct erf_run *r, const struct shard *s, struct error *e)
{
    struct result in;
    int rc = -1;

    if (result_read(s->path, &in, e) != 0)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct result_model *model = i < in.model_count ? &in.models[i] : NULL;
        struct erf_model *m = &r->models[i];
        size_t at = 0, first, count = erf_shard(&first, m->run_segments, (size_t)s->number, (size_t)s->of);

        for (; at < m->out->field_count; at++) {
            struct result_field *f = &m->out->fields[at];
            const struct result_field *from = model && at < model->field_count ? &model->fields[at] : NULL;

            if (!from || strcmp(model->name, m->argument->name) != 0 || from->target != f->target || from->layer != f->layer ||
                from->positions != f->positions || model->segments != count || take_field(m->out, f, model, from, first) != 0) {
                fail(e, "%s: does not hold what its command says of %s, target %zu, layer %zu", s->path, m->argument->name,
                     f->target, f->layer);
                goto end;
            }
            if (check_segments(s, model, from, e) != 0 ||
                (at == 0 && r->options->attention && take_attention(m->out, s, model, e) != 0))
                goto end;
        }
        if (at != model->field_count) {
            fail(e, "%s: holds more than its command says", s->path);
            goto end;
        }
    }
    rc = in.model_count == r->count ? 0 : fail(e, "%s: holds more than its command says", s->path);
end:
    result_free(&in);
    return rc;
}

int merge_fill(struct erf_run *r, const struct shard *shards, int count, struct error *e)
{
    for (int i = 0; i < count; i++)
        if (fill_from(r, &shards[i], e) != 0)
            return -1;
    for (size_t i = 0; i < r->count; i++) {
        struct erf_model *m = &r->models[i];
        const char *theory;

        int rc = erf_reduce(&r->result, m->out, m->out->fields, m->out->field_count, e);

        if (rc != 0)
            return rc == ERF_UNUSABLE ? fail(e, "%s: none of %zu segments is usable", m->argument->name, m->segments.count) : -1;
        if (!r->options->attention)
            continue;
        theory = shard_text(&shards[0], &shards[0].heads.models[i], "attention_trf", e);
        if (!theory || attention_reduce(&r->result, m->out, e) != 0 ||
            attention_theory_read(&r->result, m->out, theory, e) != 0 || attention_correlate(&r->result, m->out, e) != 0)
            return -1;
    }
    return 0;
}
