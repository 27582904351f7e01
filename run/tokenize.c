#include "run/tokenize.h"

#include "run/interrupt.h"
#include "run/models.h"
#include "run/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int tell_progress(void *context, size_t done, struct error *e)
{
    struct progress *p = context;

    if (interrupt_wanted())
        return fail(e, "interrupted");
    if (done > p->done)
        progress_step(p, done - p->done, "tokens");
    return 0;
}

/* The tokenizer, or the model that needs none. */
static int open_reader(struct model_text *m, const char *model, int strict, struct progress *p,
                       struct error *e)
{
    struct decoder *d;
    int rc;

    if (tokenizer_open(&m->tokenizer, model, e) != 0 || m->tokenizer)
        return m->tokenizer ? 0 : -1;
    d = model_open(model, NULL, strict, p, e);
    rc = d ? model_text_open(m, d, model, 1, &(struct reading_options){.bos = BOS_NEVER}, e) : -1;
    decoder_close(d);
    return rc;
}

/* The ids with the boundary after each record. */
static int put_boundaries(struct tokens *out, const struct tokens *t, int boundary, struct error *e)
{
    size_t at = 0;

    *out = (struct tokens){.total = t->total + t->documents};
    out->ids = reallocarray(NULL, out->total, sizeof *out->ids);
    if (!out->ids)
        return fail_memory(e, (double)out->total * sizeof *out->ids, "the tokens");
    for (size_t i = 0, from = 0; i < t->documents; from = t->end[i++]) {
        memcpy(out->ids + at, t->ids + from, (t->end[i] - from) * sizeof *out->ids);
        at += t->end[i] - from;
        out->ids[at++] = boundary;
    }
    return 0;
}

/* The token of --boundary if there are records, which need it. */
static int take_boundary(int *boundary, struct model_text *reader, const char *model,
                         const struct text *text, const struct tokenize_options *o, struct error *e)
{
    if (text->end && !o->boundary)
        return fail(e,
                    "%s: its records would run into one another (expected --boundary TOKEN, which "
                    "is put after each)",
                    text->name);
    if (!text->end && o->boundary)
        return fail(e, "%s: is one text, and --boundary separates records (expected JSON lines)",
                    text->name);
    return !o->boundary
               ? 0
               : model_text_token(boundary, reader, model, "--boundary", o->boundary, 1, e);
}

int tokenize_run(struct tokenized *done, const struct tokenize_options *o, struct progress *p,
                 struct error *e)
{
    struct model_text reader = {0};
    struct run_text text = {0};
    const struct text_list files = {&(const char *){o->file}, 1}, none = {0};
    const struct tokens *tokens;
    struct tokens divided = {0};
    char *model;
    double start;
    int rc = -1, boundary = -1;

    if (!o->force && access(o->out, F_OK) == 0)
        return fail(e, "%s: exists (expected --force to overwrite it, or another name)", o->out);
    model = model_find(o->model, p, e);
    if (!model || open_reader(&reader, model, o->strict, p, e) != 0 ||
        run_text_read(&text, &files, &none, TOKENS_BY_CONTENT,
                      &(struct records_request){.field = o->field}, e) != 0 ||
        take_boundary(&boundary, &reader, model, &text.text, o, e) != 0)
        goto end;
    interrupt_watch();
    progress_start(p, text.text.size, 0);
    if (reader.tokenizer)
        tokenizer_watch(reader.tokenizer, tell_progress, p);
    start = progress_seconds(p);
    tokens = model_text_tokens(&reader, &text, p, e);
    done->seconds = progress_seconds(p) - start;
    progress_end(p);
    if (tokens && tokens->end)
        tokens = put_boundaries(&divided, tokens, boundary, e) == 0 ? &divided : NULL;
    if (!tokens || tokens_write(o->out, tokens, e) != 0)
        goto end;
    done->tokens = tokens->total;
    done->bytes = text.text.size;
    rc = 0;
end:
    free(model);
    tokens_free(&divided);
    model_text_close(&reader);
    run_text_free(&text);
    return rc;
}
