/* Text and token files of a run, for one model after the other. */
#include "run/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int run_text_read(struct run_text *r, const struct text_list *text, const struct text_list *tokens,
                  enum token_type type, const struct records_request *records, struct error *e)
{
    return text->count ? text_read_records(&r->text, text->item, text->count, records, e)
                       : tokens_read_raw(&r->tokens, tokens->item, tokens->count, type, e);
}

void run_text_free(struct run_text *r)
{
    text_free(&r->text);
    tokens_free(&r->tokens);
}

/* The tokenizer of a model that reads token ids, if it is needed for something. An unreadable one
 * is not an error: the information may be elsewhere. */
static void open_beside(struct model_text *m, const char *path)
{
    struct error why;

    if (tokenizer_open(&m->tokenizer, path, &why) != 0)
        m->tokenizer = NULL;
}

static int open_tokenizer(struct model_text *m, const struct decoder *d, const char *path,
                          struct error *e)
{
    if (tokenizer_open(&m->tokenizer, path, e) != 0)
        return -1;
    return m->tokenizer || d->vocabulary == 256
               ? 0
               : fail(e,
                      "%s: has a vocabulary of %d and no tokenizer to read text with (expected "
                      "tokenizer.json, vocab.json and "
                      "merges.txt, tokenizer.model, tiktoken.model or qwen.tiktoken with the "
                      "model; or --tokens FILE)",
                      path, d->vocabulary);
}

enum { PARTS_TEXT = 160 };

/* `, which divides it into "zz", "q"`, as many as there is room for; empty if it cannot. */
static void describe_parts(char out[PARTS_TEXT], struct tokenizer *t, const char *text)
{
    struct ids ids = {0};
    struct token_texts texts = {0};
    struct error unused;
    char *spelt = NULL;
    size_t size = 0, used = 0;

    if (tokenizer_encode(t, &ids, text, strlen(text), &unused) == 0 && ids.count > 1 &&
        tokenizer_texts(&texts, t, ids.id, ids.count, &unused) == 0)
        for (size_t i = 0; i < ids.count; i++) {
            const char *one = texts_spell(&texts, ids.id[i], &spelt, &size),
                       *before = i ? ", " : ", which divides it into ";

            if (!one || used + strlen(before) + strlen(one) + 8 > PARTS_TEXT) {
                snprintf(out + used, PARTS_TEXT - used, ", ...");
                break;
            }
            used += (size_t)snprintf(out + used, PARTS_TEXT - used, "%s\"%s\"", before, one);
        }
    free(spelt);
    free(ids.id);
    texts_free(&texts);
}

int model_text_token(int *id, struct model_text *m, const char *path, const char *option,
                     const char *token, int is_text, struct error *e)
{
    size_t length = strlen(token);
    char parts[PARTS_TEXT] = "";

    if (token[strspn(token, "0123456789")] == 0) {
        errno = 0;
        unsigned long whole = strtoul(token, NULL, 10);
        *id = (int)whole;
        return errno == 0 && whole <= INT32_MAX
                   ? 0
                   : fail(e, "%s: %s is not an id (expected 0 to %d)", option, token, INT32_MAX);
    }
    if (!is_text && !m->tokenizer && tokenizer_open(&m->tokenizer, path, e) != 0)
        return -1;
    *id = m->tokenizer             ? tokenizer_token(m->tokenizer, token)
          : is_text && length == 1 ? (unsigned char)*token
                                   : -1;
    if (*id >= 0)
        return 0;
    if (m->tokenizer)
        describe_parts(parts, m->tokenizer, token);
    return m->tokenizer
               ? fail(e,
                      "%s: %s %s is not a token of its tokenizer%s (expected the text of a token, "
                      "or its id%s)",
                      path, option, token, parts,
                      strcmp(option, "--target") == 0 ? "; --answer takes several tokens"
                      : strcmp(option, "target") == 0 ? "; an answer may have several tokens"
                                                      : "")
               : fail(e, "%s: has no tokenizer to find the token of %s %s in (expected an id%s)",
                      path, option, token, is_text ? ", or one byte" : "");
}

int model_text_readings(int id[TOKENIZER_READINGS], struct model_text *m, const char *path,
                        const char *option, const char *token, int is_text, struct error *e)
{
    int count = 0, alone = model_text_token(id, m, path, option, token, is_text, e) == 0;

    if (m->tokenizer && token[strspn(token, "0123456789")])
        count = tokenizer_readings(id, m->tokenizer, token);
    return count ? count : alone ? 1 : -1;
}

int model_text_open(struct model_text *m, const struct decoder *d, const char *path, int is_text,
                    const struct reading_options *o, struct error *e)
{
    int adds;

    m->bounds.bos = d->bos;
    if (is_text && open_tokenizer(m, d, path, e) != 0)
        return -1;
    if (!is_text && o->bos == BOS_ALWAYS)
        open_beside(m, path);
    if (m->tokenizer && tokenizer_bos(m->tokenizer) >= 0)
        m->bounds.bos = tokenizer_bos(m->tokenizer);
    m->bounds.boundary = -1;
    if (o->boundary &&
        model_text_token(&m->bounds.boundary, m, path, "--boundary", o->boundary, is_text, e) != 0)
        return -1;
    adds = is_text && m->tokenizer && tokenizer_adds_bos(m->tokenizer);
    m->bounds.begins = o->bos == BOS_ALWAYS || (o->bos == BOS_AUTO && adds);
    if (!m->bounds.begins || m->bounds.bos >= 0)
        return 0;
    return o->bos == BOS_ALWAYS ? fail(e,
                                       "%s: has no beginning-of-text token for --bos always "
                                       "(expected bos_token in tokenizer_config.json, or in "
                                       "config.json bos_token_id, or bos in our own layout)",
                                       path)
                                : fail(e,
                                       "%s: its tokenizer puts a beginning-of-text token before "
                                       "texts, and names none (expected bos_token in "
                                       "tokenizer_config.json, or --bos never)",
                                       path);
}

void model_text_tell(const struct model_text *m, const char *name, struct progress *p)
{
    if (m->bounds.bos >= 0 && !m->bounds.begins)
        progress_about(p, PROGRESS_MESSAGE, name,
                       "segments begin without its beginning-of-text token %d (--bos always adds "
                       "it)",
                       m->bounds.bos);
}

int text_describe(FILE *f, const char *before, const struct text_notes *n)
{
    const struct documents *d = n->documents;

    if (!n->bounds->begins && !d->count)
        return 0;
    fprintf(f, "%s%s%s", before, n->name ? n->name : "", n->name ? ": " : "");
    if (n->bounds->begins)
        fprintf(f,
                "every segment begins with its beginning-of-text token %d, which counts in the "
                "length%s",
                n->bounds->bos, d->count ? "; " : "");
    if (d->count) {
        fprintf(f, "%zu document%s", d->count, d->count == 1 ? "" : "s");
        if (n->bounds->boundary >= 0)
            fprintf(f, " between tokens %d", n->bounds->boundary);
        fprintf(f, ": %zu used, %zu too short, whose %zu tokens are left out", d->used,
                d->too_short, d->left_out);
    }
    return 1;
}

const struct tokens *model_text_tokens(struct model_text *m, struct run_text *r, struct progress *p,
                                       struct error *e)
{
    size_t broken;

    if (r->tokens.ids)
        return &r->tokens;
    tokens_free(&m->tokens);
    if (tokens_from_text(&m->tokens, &r->text, m->tokenizer, e) != 0)
        return NULL;
    if (m->tokenizer && !r->told && (broken = text_broken(&r->text))) {
        progress_warning(p, "%s: %zu of %zu bytes are not UTF-8, and read as U+FFFD", r->text.name,
                         broken, r->text.size);
        r->told = 1;
    }
    return &m->tokens;
}

int model_text_pieces(struct token_texts *out, struct model_text *m, const char *path,
                      const int32_t *ids, size_t count, struct error *e)
{
    *out = (struct token_texts){0};
    if (!m->tokenizer)
        open_beside(m, path);
    return m->tokenizer ? tokenizer_texts(out, m->tokenizer, ids, count, e) : 0;
}

void model_text_close(struct model_text *m)
{
    tokenizer_close(m->tokenizer);
    tokens_free(&m->tokens);
    m->tokenizer = NULL;
    memset(&m->tokens, 0, sizeof m->tokens);
}

void tokens_digest(char digest[33], const struct tokens *t)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(t->ids, t->total * sizeof *t->ids, t->columns);
    XXH128_canonical_t canonical;

    if (t->end) /* other records are other documents */
        hash = XXH3_128bits_withSeed(t->end, t->documents * sizeof *t->end, hash.low64);
    XXH128_canonicalFromHash(&canonical, hash);
    for (int i = 0; i < 16; i++)
        snprintf(digest + 2 * i, 3, "%02x", canonical.digest[i]);
}
