/* A model's predictions for a prompt or a text. */
#include "run/explain/explain.h"

#include "run/kernels.h"
#include "run/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Open objects while measuring. */
struct subject {
    const struct explain_options *options;
    const char *path;
    struct decoder *decoder;
    struct run_text text;
    struct model_text reading;
    struct kernels *kernels;
    struct engine *engine;
    int against[TOKENIZER_READINGS], readings; /* possible tokens for --against */
};

static void close_subject(struct subject *s)
{
    engine_close(s->engine);
    if (s->kernels)
        s->kernels->close(s->kernels);
    model_text_close(&s->reading);
    run_text_free(&s->text);
    decoder_close(s->decoder);
}

/* Editors and echo end a text with a newline, which is not meant as its last token. */
static void drop_newline(struct text *t, const struct explain_options *o, struct progress *p)
{
    if (o->target || t->size < 2 || t->bytes[t->size - 1] != '\n')
        return;
    t->size -= t->size > 2 && t->bytes[t->size - 2] == '\r' ? 2 : 1;
    progress_message(
        p, "%s: the newline at its end is left out (--target-position takes the text as it is)",
        t->name);
}

static int read_text(struct subject *s, struct progress *p, struct error *e)
{
    const struct text_list standard = {&(const char *){"-"}, 1}, none = {0};
    const struct explain_options *o = s->options;
    int is_standard = o->prompt && strcmp(o->prompt, "-") == 0;

    if (!o->prompt || is_standard) {
        if (run_text_read(&s->text, is_standard ? &standard : &o->text,
                          is_standard ? &none : &o->tokens, NULL, e) != 0)
            return -1;
        if (s->text.text.bytes)
            drop_newline(&s->text.text, o, p);
        return 0;
    }
    s->text.text = (struct text){.bytes = strdup(o->prompt),
                                 .size = strlen(o->prompt),
                                 .name = strdup("--prompt")};
    return s->text.text.bytes && s->text.text.name
               ? 0
               : fail_memory(e, (double)strlen(o->prompt), "the prompt");
}

/* The inputs and the target: for a text its last token, for a prompt the likeliest next one, or the
 * requested one. */
static int take_tokens(struct explanation *x, struct subject *s, struct progress *p,
                       struct error *e)
{
    const struct tokens *t = model_text_tokens(&s->reading, &s->text, p, e);
    size_t begins = (size_t)s->reading.bounds.begins, wanted = s->options->target, total, most;
    const char *name;

    if (!t)
        return -1;
    name = t->name ? t->name : "text";
    if (t->rows > 1)
        return fail(e, "%s: has %zu rows of tokens (expected one text: a 1-D file, or one row)",
                    name, t->rows);
    for (size_t i = 0; i < t->total; i++)
        if (t->ids[i] < 0 || t->ids[i] >= s->decoder->vocabulary)
            return fail(e,
                        "%s: id %d at index %zu is not in the vocabulary of %s (expected 0 to %d)",
                        name, (int)t->ids[i], i, s->path, s->decoder->vocabulary - 1);
    total = t->total + begins;
    most = total + (s->options->prompt != NULL);
    if (most < 2)
        return fail(e, "%s: has %s (expected at least 2 tokens: one input and the target)", name,
                    total ? "one token" : "no token");
    if (wanted > most)
        return fail(e, "--target-position %zu: %s has %zu tokens (expected 2 to %zu)", wanted, name,
                    total, most);
    x->count = (wanted ? wanted : most) - 1;
    if (x->count > 1 << 30)
        return fail(e, "%s: has %zu tokens (expected at most %d, or --target-position)", name,
                    total, (1 << 30) + 1);
    x->predicted = x->count == total;
    if (s->decoder->position_limit > 0 && x->count > (size_t)s->decoder->position_limit)
        return fail(e,
                    "%s: has learned positions for %d inputs, and there are %zu (expected a "
                    "shorter text, or --target-position %d at "
                    "most)",
                    s->path, s->decoder->position_limit, x->count, s->decoder->position_limit + 1);
    x->id = calloc(x->count + 1, sizeof *x->id);
    if (!x->id)
        return fail_memory(e, (double)x->count * sizeof *x->id, "the tokens");
    if (begins)
        x->id[0] = s->reading.bounds.bos;
    memcpy(x->id + begins, t->ids, (x->count + 1 - (size_t)x->predicted - begins) * sizeof *x->id);
    return 0;
}

static int open_subject(struct subject *s, struct explain_run *r, struct error *e)
{
    const struct explain_options *o = s->options;
    struct explanation *x = &r->found;

    s->decoder = model_open(s->path, r->argument->adapter_path, o->strict, r->progress, e);
    if (!s->decoder ||
        (!model_take_length(s->decoder, o->train_length) && models_refuse_length(e) != 0) ||
        run_override(s->decoder, &o->encoding, e) != 0 ||
        model_text_open(&s->reading, s->decoder, s->path, !o->tokens.count, &o->reading, e) != 0 ||
        read_text(s, r->progress, e) != 0 || take_tokens(x, s, r->progress, e) != 0)
        return -1;
    if (o->against) {
        s->readings = model_text_readings(s->against, &s->reading, s->path, "--against", o->against,
                                          !o->tokens.count, e);
        if (s->readings < 0)
            return -1;
        for (int i = 0; i < s->readings; i++)
            if (s->against[i] >= s->decoder->vocabulary)
                return fail(
                    e, "%s: --against %s is not in its vocabulary (expected an id from 0 to %d)",
                    s->path, o->against, s->decoder->vocabulary - 1);
        x->contrast = 1;
        x->against.id = s->against[0];
    }
    model_tell_length(s->decoder, x->count, r->progress);
    model_text_tell(&s->reading, r->argument->name, r->progress);
    return 0;
}

static int open_engine(struct subject *s, struct explain_run *r, struct error *e)
{
    const struct explain_options *o = s->options;
    struct engine_request request = {.kind = REQUEST_GRADIENT,
                                     .positions = (int)r->found.count,
                                     .memory = o->machine.memory,
                                     .batch = 1,
                                     .segments = 1,
                                     .gradient = {.attribution = o->attribution,
                                                  .noise_seed = o->seed,
                                                  .contrast = r->found.contrast,
                                                  .against = r->found.against.id}};
    char text[MEMORY_PLAN_TEXT];

    run_keep(&request.gradient, &o->machine);
    if (o->attribution == ATTRIBUTION_SMOOTH &&
        !isfinite(request.gradient.noise = SMOOTH_NOISE * attribution_embedding_size(s->decoder)))
        return fail_memory(e, (double)s->decoder->embedding_width * 8, "a row of the embedding");
    s->kernels = run_kernels(o->machine.device, o->machine.dtype, r->progress, e);
    if (!s->kernels)
        return -1;
    s->engine = engine_create(s->kernels, s->decoder, &request, e);
    if (!s->engine)
        return -1;
    progress_message(r->progress, "%s: %s", r->argument->name,
                     memory_plan_text(text, engine_plan(s->engine)));
    return 0;
}

/* The likeliest id that is not among the first `count` of `taken`, and not `target`. */
static int32_t likeliest(const double *logprob, int vocabulary, const struct prediction *taken,
                         size_t count, int32_t target)
{
    int32_t best = -1;

    for (int32_t t = 0; t < vocabulary; t++) {
        size_t k = 0;

        if (t == target || isnan(logprob[t]) || (best >= 0 && logprob[t] <= logprob[best]))
            continue;
        while (k < count && taken[k].id != t)
            k++;
        best = k == count ? t : best;
    }
    return best;
}

static void take_alternatives(struct explanation *x, const double *logprob, int vocabulary)
{
    for (x->alternative_count = 0; x->alternative_count < ALTERNATIVES; x->alternative_count++) {
        int32_t id = likeliest(logprob, vocabulary, x->alternative, x->alternative_count,
                               x->target.id);

        if (id < 0)
            return;
        x->alternative[x->alternative_count] = (struct prediction){id, logprob[id]};
    }
}

/* Of the possible tokens for --against, the likeliest that is not the target. */
static int choose_against(struct subject *s, struct explanation *x, const double *logprob,
                          struct error *e)
{
    for (int i = 1; i < s->readings; i++)
        if (s->against[i] != x->target.id &&
            (x->against.id == x->target.id || logprob[s->against[i]] > logprob[x->against.id]))
            x->against.id = s->against[i];
    return engine_contrast(s->engine, &x->against.id, 1, e);
}

/* Log p of the whole vocabulary takes one row, in `logprob`. */
static int measure(struct subject *s, struct explanation *x, double *logprob, struct error *e)
{
    struct engine *g = s->engine;
    struct completeness unused;
    int vocabulary = s->decoder->vocabulary;

    if ((x->predicted || s->readings > 1) &&
        (engine_forward(g, x->id, 1, e) != 0 || engine_predict(g, logprob, 0, 1, e) != 0))
        return -1;
    if (x->predicted) {
        x->id[x->count] = likeliest(logprob, vocabulary, NULL, 0, -1);
        if (x->id[x->count] < 0)
            return fail(e, "%s: the output of the head is not finite (expected finite numbers)",
                        s->path);
    }
    x->target.id = x->id[x->count];
    if (s->readings > 1 && choose_against(s, x, logprob, e) != 0)
        return -1;
    if (x->contrast && x->against.id == x->target.id)
        return fail(e, "%s: --against %s is the target itself (expected another token)", s->path,
                    s->options->against);
    if ((s->options->attribution == ATTRIBUTION_GRAD
             ? engine_measure(g, x->norm, &x->target.logprob, x->id, 1, e)
             : engine_attribute(g, x->norm, &x->target.logprob, &unused, x->id, 0, 1, e)) != 0 ||
        engine_predict(g, logprob, 0, 1, e) != 0)
        return -1;
    x->against.logprob = x->contrast ? logprob[x->against.id] : NAN;
    take_alternatives(x, logprob, vocabulary);
    return tensors_unchanged(s->decoder->tensors, e);
}

/* The texts of all tokens shown. */
static int take_pieces(struct explanation *x, struct subject *s, struct error *e)
{
    int32_t others[ALTERNATIVES + 1];
    struct token_texts more;
    size_t count = 0;
    int rc;

    if (model_text_pieces(&x->pieces, &s->reading, s->path, x->id, x->count + 1, e) != 0)
        return -1;
    if (!s->reading.tokenizer) /* ids without texts are shown as <ID> */
        return s->decoder->vocabulary == 256 ? texts_of_bytes(&x->pieces, e) : 0;
    for (size_t i = 0; i < x->alternative_count; i++)
        others[count++] = x->alternative[i].id;
    if (x->contrast)
        others[count++] = x->against.id;
    if (tokenizer_texts(&more, s->reading.tokenizer, others, count, e) != 0)
        return -1;
    rc = texts_add(&x->pieces, &more, e);
    texts_free(&more);
    return rc;
}

/* The token used for --against, if it differs from the text, or is one of several. */
static int tell_against(struct explanation *x, const struct subject *s, struct progress *p,
                        struct error *e)
{
    const char *written = s->options->against;
    char room[16], others[96] = "", *quoted;
    size_t size;
    const char *text = x->contrast ? explanation_piece(x, x->against.id, &size, room) : NULL;

    if (s->readings < 2 && (!text || !written[strspn(written, "0123456789")] ||
                            (size == strlen(written) && memcmp(text, written, size) == 0)))
        return 0;
    if (!(quoted = explanation_quoted(x, x->against.id)))
        return fail(e, "out of memory for a token");
    for (int i = 0; i < s->readings; i++)
        if (s->against[i] != x->against.id)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s%d",
                     *others ? ", " : ", the likelier of those that it may mean; by an id: ",
                     s->against[i]);
    progress_message(p, "--against %s: %s (id %d) is taken%s", written, quoted, (int)x->against.id,
                     others);
    free(quoted);
    return 0;
}

int explain_measure(struct explain_run *r, struct error *e)
{
    struct subject s = {.options = r->options, .path = r->argument->path};
    struct explanation *x = &r->found;
    double *logprob = NULL;
    int rc = -1;

    x->model = strdup(r->argument->name);
    x->path = strdup(s.path);
    x->attribution = attribution_names[r->options->attribution];
    if (!x->model || !x->path) {
        fail(e, "out of memory for the run");
        goto end;
    }
    if (open_subject(&s, r, e) != 0 || open_engine(&s, r, e) != 0)
        goto end;
    x->position_encoding = strdup(s.decoder->position_text);
    x->norm = calloc(x->count, sizeof *x->norm);
    logprob = calloc((size_t)s.decoder->vocabulary, sizeof *logprob);
    if (!x->position_encoding || !x->norm || !logprob)
        fail_memory(e, ((double)x->count + s.decoder->vocabulary) * sizeof *logprob, "the norms");
    else if (measure(&s, x, logprob, e) == 0)
        rc = take_pieces(x, &s, e) != 0 ? -1 : tell_against(x, &s, r->progress, e);
    run_tell_products(s.kernels, r->progress);
end:
    free(logprob);
    close_subject(&s);
    return rc;
}
