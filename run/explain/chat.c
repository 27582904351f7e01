/* Prompts of models that expect messages. */
#include "run/explain/parts.h"

#include "io/tokenizer/chat.h"

#include <stdlib.h>

/* 1 if one of the ids is among those that the inputs have, other than at their beginning where the
 * program has put one. */
static int has_any(const struct question *q, const int *id, size_t ids, int begun)
{
    for (size_t i = (size_t)begun; i < q->count; i++)
        for (size_t k = 0; k < ids; k++)
            if (q->id[i] == id[k])
                return 1;
    return 0;
}

void explain_tell_chat(struct explainer *x, const struct questions *q)
{
    struct chat chat;
    struct error unused; /* a template that cannot be read is not needed here */
    size_t count = 0, plain = 0;
    int *id;

    if (!x->reading.tokenizer || chat_read(&chat, x->argument->path, &unused) != 0)
        return;
    id = calloc(chat.token_count + 1, sizeof *id);
    for (size_t i = 0; id && i < chat.token_count; i++)
        if (chat.token[i].text &&
            (id[count] = tokenizer_token(x->reading.tokenizer, chat.token[i].text)) >= 0)
            count++;
    for (size_t i = 0; id && i < q->count; i++)
        plain += !has_any(&q->item[i], id, count, x->reading.bounds.begins);
    if (chat.template_count && plain)
        progress_message(x->progress,
                         "%s: has a chat template, and prompts are taken as they are (`reach info "
                         "%s --chat` shows how its turns are written; messages= in Python writes "
                         "them)",
                         x->argument->name, x->argument->path);
    free(id);
    chat_free(&chat);
}
