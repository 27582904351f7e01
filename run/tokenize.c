#include "run/tokenize.h"

#include "run/interrupt.h"
#include "run/models.h"
#include "run/text.h"

#include <stdlib.h>
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

int tokenize_run(struct tokenized *done, const struct tokenize_options *o, struct progress *p,
                 struct error *e)
{
    struct model_text reader = {0};
    struct run_text text = {0};
    const struct text_list files = {&(const char *){o->file}, 1}, none = {0};
    const struct tokens *tokens;
    char *model;
    double start;
    int rc = -1;

    if (!o->force && access(o->out, F_OK) == 0)
        return fail(e, "%s: exists (expected --force to overwrite it, or another name)", o->out);
    model = model_find(o->model, p, e);
    if (!model || open_reader(&reader, model, o->strict, p, e) != 0 ||
        run_text_read(&text, &files, &none, e) != 0)
        goto end;
    interrupt_watch();
    progress_start(p, text.text.size, 0);
    if (reader.tokenizer)
        tokenizer_watch(reader.tokenizer, tell_progress, p);
    start = progress_seconds(p);
    tokens = model_text_tokens(&reader, &text, p, e);
    done->seconds = progress_seconds(p) - start;
    progress_end(p);
    if (!tokens || tokens_write(o->out, tokens, e) != 0)
        goto end;
    done->tokens = tokens->total;
    done->bytes = text.text.size;
    rc = 0;
end:
    free(model);
    model_text_close(&reader);
    run_text_free(&text);
    return rc;
}
