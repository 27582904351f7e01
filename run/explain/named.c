/* Tokens that a user named, by an id or by a text that may mean several. */
#include "run/explain/parts.h"

#include <stdlib.h>
#include <string.h>

static int is_digits(const char *text)
{
    return text[strspn(text, "0123456789")] == 0;
}

/* The readings of digits that are a text. */
static int find_digits(int id[TOKENIZER_READINGS], const struct model_text *m, const char *where,
                       const char *option, const char *written, struct error *e)
{
    int count = m->tokenizer ? tokenizer_readings(id, m->tokenizer, written) : !written[1];

    if (!m->tokenizer)
        id[0] = (unsigned char)*written;
    return count ? count
                 : fail(e,
                        "%s: the text %s of %s is not a token (expected a token's text, or a "
                        "number for an id)",
                        where, written, option);
}

int named_find(struct named_token *n, struct explainer *x, const char *where, const char *option,
               const char *written, int digits, struct error *e)
{
    const int is_text = !x->options->tokens.count;

    *n = (struct named_token){.option = option, .written = written};
    if (!written)
        return 0;
    n->readings = !digits && is_digits(written)
                      ? find_digits(n->id, &x->reading, where, option, written, e)
                      : model_text_readings(n->id, &x->reading, where, option, written, is_text, e);
    if (n->readings < 0)
        return -1;
    for (int i = 0; i < n->readings; i++)
        if (n->id[i] >= x->decoder->vocabulary)
            return fail(e, "%s: %s %s is not in its vocabulary (expected an id from 0 to %d)",
                        where, option, written, x->decoder->vocabulary - 1);
    return 0;
}

int32_t named_choose(const struct named_token *n, const double *logprob, int32_t taken)
{
    int32_t best = n->id[0];

    for (int i = 1; i < n->readings; i++)
        if (n->id[i] != taken && (best == taken || logprob[n->id[i]] > logprob[best]))
            best = n->id[i];
    return best;
}

int named_tell(const struct named_token *n, const struct explanation *x, int32_t id,
               struct progress *p, struct error *e)
{
    char room[16], others[96] = "", *quoted;
    size_t size;
    const char *text = n->written ? explanation_piece(x, id, &size, room) : NULL;

    if (n->readings < 2 && (!text || is_digits(n->written) ||
                            (size == strlen(n->written) && memcmp(text, n->written, size) == 0)))
        return 0;
    if (!(quoted = explanation_quoted(x, id)))
        return fail(e, "out of memory for a token");
    for (int i = 0; i < n->readings; i++)
        if (n->id[i] != id)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s%d",
                     *others ? ", " : ", the likelier of those that it may mean; by an id: ",
                     n->id[i]);
    progress_message(p, "%s %s: %s (id %d) is taken%s", n->option, n->written, quoted, (int)id,
                     others);
    free(quoted);
    return 0;
}
