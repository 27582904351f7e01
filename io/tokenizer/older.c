/* Tokenizers without a tokenizer.json: vocab.json with merges.txt, and tokenizer.model. */
#include "io/tokenizer/parts.h"

#include "io/formats/json.h"

#include <stdlib.h>
#include <string.h>

/* -- vocab.json and merges.txt -- */

static int read_merge_lines(struct tokenizer *t, struct source merges, struct error *e)
{
    if (utf8_sound((struct span){merges.text, merges.size}) != merges.size)
        return fail(e, "is not UTF-8");
    for (const char *at = merges.text, *end = at + merges.size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        struct span line = {at, (size_t)(stop - at)};
        if (line.size && line.text[line.size - 1] == '\r')
            line.size--;
        at = newline ? newline + 1 : end;
        if (tokenizer_merge(t, line, e))
            return -1;
    }
    return 0;
}

struct tokenizer *tokenizer_parse_merges(struct source vocabulary, struct source merges,
                                         const struct source *settings, struct error *e)
{
    struct error inner = {""};
    struct tokenizer *t = NULL;
    json_t *other = NULL, *root = json_parse_lenient(vocabulary.path, "the file", vocabulary.text,
                                                     vocabulary.size, e);
    if (!root || (settings && !(other = json_parse_lenient(settings->path, "the file",
                                                           settings->text, settings->size, e))))
        goto failed;
    if (!(t = tokenizer_create(merges.size / 8, &inner)) ||
        tokenizer_read_vocabulary(t, root, &inner)) {
        tokenizer_name_file(vocabulary.path, &inner, e);
        goto failed;
    }
    if (read_merge_lines(t, merges, &inner)) {
        tokenizer_name_file(merges.path, &inner, e);
        goto failed;
    }
    t->next_added = (int64_t)t->bpe.vocabulary.count;
    if (read_class(t, other, &inner)) {
        tokenizer_name_file(settings ? settings->path : vocabulary.path, &inner, e);
        goto failed;
    }
    tokenizer_finish(t);
    goto end;
failed:
    tokenizer_close(t);
    t = NULL;
end:
    json_decref(root);
    json_decref(other);
    return t;
}

/* -- tokenizer.model -- */

/* These classes' names, if the settings give none; SentencePiece does not find them in text. */
static void name_controls(json_t *settings, const struct pieces *p, const struct tokenizer *t)
{
    static const char *const names[][2] = {{"bos_token", "<s>"},
                                           {"eos_token", "</s>"},
                                           {"unk_token", "<unk>"}};
    for (int i = 0; i < 3 && member(settings, "tokenizer_class"); i++) {
        int32_t id = map_find(&t->bpe.vocabulary, names[i][1], strlen(names[i][1]));
        if (id != MAP_ABSENT &&
            (p->piece[id].type == PIECE_CONTROL || p->piece[id].type == PIECE_UNKNOWN) &&
            !json_object_get(settings, names[i][0]))
            json_object_set_new(settings, names[i][0], json_string(names[i][1]));
    }
}

struct tokenizer *tokenizer_parse_pieces(struct source model, const struct source *settings,
                                         struct error *e)
{
    struct error inner = {""};
    struct pieces pieces = {0};
    struct tokenizer *t = NULL;
    json_t *other = NULL;
    int result = pieces_parse(&pieces, (struct span){model.text, model.size}, &inner);
    if (result || !(t = tokenizer_create(pieces.count, &inner)) ||
        tokenizer_add_pieces(t, &pieces, &inner)) {
        tokenizer_name_file(model.path, &inner, e);
        result = -1;
    } else {
        t->next_added = (int64_t)pieces.count;
        int32_t bos = map_find(&t->bpe.vocabulary, pieces.bos.text, pieces.bos.size);
        t->bos = bos != MAP_ABSENT && pieces.piece[bos].type == PIECE_CONTROL ? bos : -1;
    }
    if (result == 0 && settings) {
        if (!(other = json_parse_lenient(settings->path, "the file", settings->text, settings->size,
                                         e)))
            result = -1;
        else if (name_controls(other, &pieces, t), read_settings(t, other, &inner))
            result = tokenizer_name_file(settings->path, &inner, e);
        else
            t->pieces->first_only = json_is_false(json_object_get(other, "legacy"));
    }
    json_decref(other);
    free(pieces.piece);
    if (result == 0)
        return t;
    tokenizer_close(t);
    return NULL;
}
