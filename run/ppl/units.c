/* Bytes, characters and words of the targets' text, by which models with different tokenizers
 * compare. */
#include "run/ppl/ppl.h"

#include "run/ppl/score.h"

#include <string.h>

/* Ids of a model without a tokenizer are bytes, or have no texts. */
static int take_pieces(struct ppl_model *m, struct error *e)
{
    if (model_text_pieces(&m->pieces, &m->text, m->argument->path, m->tokens->ids, m->tokens->total,
                          e) != 0)
        return -1;
    return m->pieces.count || m->decoder->vocabulary != 256 ? 0 : texts_of_bytes(&m->pieces, e);
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* 1 if the tokenizer put a blank before the text or record, which its first token then begins
 * with. */
static int has_blank_before(const struct ppl_run *r, const struct tokens *t, size_t at,
                            const char *piece)
{
    const struct text *text = &r->text.text;
    size_t record = t->end ? tokens_record(t, at) : 0;

    return text->size && at == (record ? t->end[record - 1] : 0) && *piece == ' ' &&
           text->bytes[record ? text->end[record - 1] : 0] != ' ';
}

static void count(struct ppl_units *u, const struct ppl_run *r, const struct ppl_model *m, size_t i)
{
    struct ppl_target t = ppl_target(r, m, i);
    size_t size = 0, size_before = 0;
    const char *piece = texts_find(&m->pieces, *t.id, &size),
               *before = texts_find(&m->pieces, t.id[-1], &size_before);
    int after_space = !before || !size_before || is_space(before[size_before - 1]);

    if (piece && size && has_blank_before(r, m->tokens, t.position - 1, piece)) {
        piece++;
        size--;
    }
    u->bytes += size;
    for (size_t k = 0; k < size; k++) {
        u->characters += (piece[k] & 0xC0) != 0x80;
        u->words += after_space && !is_space(piece[k]);
        after_space = is_space(piece[k]);
    }
}

int ppl_count_units(struct ppl_run *r, struct error *e)
{
    for (size_t k = 0; k < r->count; k++) {
        struct ppl_model *m = &r->models[k];
        size_t targets = score_targets(r, m);

        if (take_pieces(m, e) != 0)
            return -1;
        for (size_t i = 0; i < targets && m->pieces.count; i++)
            count(&m->units, r, m, i);
    }
    return 0;
}
