/* Text and token files of a run, for one model after the other. */
#include "run/text.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

int run_text_read(struct run_text *r, const struct text_list *text, const struct text_list *tokens, struct error *e)
{
    return text->count ? text_read(&r->text, text->item, text->count, e)
                       : tokens_read_files(&r->tokens, tokens->item, tokens->count, e);
}

void run_text_free(struct run_text *r)
{
    text_free(&r->text);
    tokens_free(&r->tokens);
}

int model_text_open(struct model_text *m, const struct decoder *d, const char *path, int is_text, struct error *e)
{
    m->bos = d->bos;
    if (!is_text)
        return 0;
    if (tokenizer_open(&m->tokenizer, path, e) != 0)
        return -1;
    if (!m->tokenizer)
        return d->vocabulary == 256 ? 0
                                    : fail(e,
                                           "%s: has a vocabulary of %d and no tokenizer to read text with (expected "
                                           "tokenizer.json, or vocab.json and merges.txt, with the model; or --tokens FILE)",
                                           path, d->vocabulary);
    m->adds_bos = tokenizer_adds_bos(m->tokenizer);
    if (tokenizer_bos(m->tokenizer) >= 0)
        m->bos = tokenizer_bos(m->tokenizer);
    if (m->adds_bos && m->bos < 0)
        return fail(e,
                    "%s: its tokenizer puts a beginning-of-text token before texts, and names none (expected bos_token in "
                    "tokenizer_config.json)",
                    path);
    return 0;
}

const struct tokens *model_text_tokens(struct model_text *m, const struct run_text *r, struct error *e)
{
    if (r->tokens.ids)
        return &r->tokens;
    tokens_free(&m->tokens);
    return tokens_from_text(&m->tokens, &r->text, m->tokenizer, e) == 0 ? &m->tokens : NULL;
}

void model_text_close(struct model_text *m)
{
    tokenizer_close(m->tokenizer);
    tokens_free(&m->tokens);
    memset(m, 0, sizeof *m);
}

void tokens_digest(char digest[33], const struct tokens *t)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(t->ids, t->total * sizeof *t->ids, t->columns);
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, hash);
    for (int i = 0; i < 16; i++)
        snprintf(digest + 2 * i, 3, "%02x", canonical.digest[i]);
}
