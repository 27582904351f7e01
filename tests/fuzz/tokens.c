/* Targets: text and token files, and the tokenizers between them. */
#include "tests/fuzz/fuzz.h"

#include "io/tokenizer/parts.h"
#include "io/tokens/formats.h"
#include "io/tokens/records.h"

#include <stdlib.h>
#include <string.h>

/* Every id that was read is one. */
static int ids_end(struct ids *a, const struct stored_tokens *s, int result, const struct error *e)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->id[i] < 0)
            abort();
    if (result ? !e->text[0] : a->count != s->count)
        abort();
    free(a->id);
    return result == 0;
}

static struct input *memory(const uint8_t *data, size_t size, struct error *e)
{
    struct input *in = input_memory(data, size, "fuzz", e);
    if (!in)
        abort();
    return in;
}

int fuzz_npy(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct ids a = {0};
    struct stored_tokens s = {0};
    struct input *in = memory(data, size, &e);
    int result = npy_read(&a, &s, in, &e);
    input_close(in);
    return ids_end(&a, &s, result, &e);
}

/* The first byte is the type. */
int fuzz_raw_tokens(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct ids a = {0};
    size_t width = size ? (size_t)1 << (data[0] & 3) : 1;
    struct stored_tokens s = {.element_bytes = width, .is_signed = size && data[0] & 4};
    struct input *in = memory(data + (size > 0), size - (size > 0), &e);
    int result = raw_read(&a, &s, in, &e);
    input_close(in);
    return ids_end(&a, &s, result, &e);
}

int fuzz_llmc_tokens(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct ids a = {0};
    struct stored_tokens s = {0};
    struct input *in = memory(data, size, &e);
    int result = llmc_tokens_read(&a, &s, in, &e);
    input_close(in);
    return ids_end(&a, &s, result, &e);
}

int fuzz_indexed(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct ids a = {0};
    struct stored_tokens s = {0};
    struct fuzz_part parts[2];
    fuzz_split(parts, 2, data, size);
    struct input *index = memory(parts[0].data, parts[0].size, &e),
                 *tokens = memory(parts[1].data, parts[1].size, &e);
    int result = indexed_read(&a, &s, index, tokens, &e);
    input_close(index);
    input_close(tokens);
    return ids_end(&a, &s, result, &e);
}

int fuzz_hdf_tokens(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct ids a = {0};
    struct stored_tokens s = {0};
    int result = hdf_read(&a, &s, fuzz_write("input", data, size), NULL, &e);
    return ids_end(&a, &s, result, &e);
}

int fuzz_records(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct records r = {0};
    struct input *in = memory(data, size, &e);
    int result = records_read(&r, in, "text", 0, &e);
    for (size_t i = 0; i < r.count; i++)
        if (r.end[i] > r.text.size || (i && r.end[i] < r.end[i - 1]))
            abort();
    if (result && !e.text[0])
        abort();
    input_close(in);
    records_free(&r);
    return result == 0;
}

int fuzz_gzip(const uint8_t *data, size_t size)
{
    enum { BYTES_MAX = 4 << 20 };
    struct error e = {""};
    static unsigned char piece[10000];
    size_t got = 1, all = 0;
    struct input *in = input_memory(data, size, "fuzz", &e);
    if (!in)
        return 0;
    int result = input_peek(in, piece, INPUT_PEEK_MAX, &got, &e);
    while (result == 0 && got && all < BYTES_MAX) {
        result = input_read(in, piece, 1 + all % sizeof piece, &got, &e);
        all += got;
    }
    input_close(in);
    return result == 0;
}

/* -- tokenizers -- */

/* Encodes the text twice, which must give the same ids: the second time its words are remembered.
 */
static int encode_twice(struct tokenizer *t, const struct fuzz_part *text, struct error *e)
{
    struct ids a = {0}, b = {0};
    int result = tokenizer_encode(t, &a, text->data, text->size, e),
        again = tokenizer_encode(t, &b, text->data, text->size, e);
    if (result != again ||
        (result == 0 &&
         (a.count != b.count || (a.count && memcmp(a.id, b.id, a.count * sizeof *a.id)))))
        abort();
    for (size_t i = 0; i < a.count; i++)
        if (a.id[i] < 0)
            abort();
    if (tokenizer_bos(t) < -1)
        abort();
    free(a.id);
    free(b.id);
    return result;
}

static struct source source_of(const struct fuzz_part *part)
{
    return (struct source){"fuzz", (const char *)part->data, part->size};
}

static int tokenizer_end(struct tokenizer *t, const struct fuzz_part *text, struct error *e)
{
    int result = t ? encode_twice(t, text, e) : -1;
    if (result && !e->text[0])
        abort();
    tokenizer_close(t);
    return result == 0;
}

/* The same tokenizer.json with "model" spelt otherwise: all of it goes to Jansson then, which must
 * find the same tokenizer. */
static void check_tables(const struct tokenizer *t, struct source json,
                         const struct source *settings)
{
    static const char key[] = "\"model\"", spelt[] = "\"mod\\u0065l\"";
    char *text = malloc(2 * json.size + 1), *end = text;
    struct error e;
    for (size_t at = 0; at < json.size; at++)
        if (json.size - at >= sizeof key - 1 && memcmp(json.text + at, key, sizeof key - 1) == 0) {
            end = mempcpy(end, spelt, sizeof spelt - 1);
            at += sizeof key - 2;
        } else {
            *end++ = json.text[at];
        }
    struct tokenizer *other =
        tokenizer_parse((struct source){json.path, text, (size_t)(end - text)}, settings, &e);
    if (!t != !other ||
        (t && (t->bpe.vocabulary.count != other->bpe.vocabulary.count ||
               t->bpe.merge_count != other->bpe.merge_count ||
               (t->bpe.merge_count && memcmp(t->bpe.merged, other->bpe.merged,
                                             t->bpe.merge_count * sizeof *t->bpe.merged)))))
        abort();
    tokenizer_close(other);
    free(text);
}

/* tokenizer.json, a text, and (if there is a third part) tokenizer_config.json. */
int fuzz_tokenizer(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct fuzz_part parts[3];
    size_t count = fuzz_split(parts, 3, data, size);
    struct source json = source_of(&parts[0]), settings = source_of(&parts[2]);
    struct tokenizer *t = tokenizer_parse(json, count > 2 ? &settings : NULL, &e);
    check_tables(t, json, count > 2 ? &settings : NULL);
    return tokenizer_end(t, &parts[1], &e);
}

/* vocab.json, merges.txt, a text, and (if there is a fourth part) tokenizer_config.json. */
int fuzz_merges(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct fuzz_part parts[4];
    size_t count = fuzz_split(parts, 4, data, size);
    struct source settings = source_of(&parts[3]);
    return tokenizer_end(tokenizer_parse_merges(source_of(&parts[0]), source_of(&parts[1]),
                                                count > 3 ? &settings : NULL, &e),
                         &parts[2], &e);
}

/* tokenizer.model, a text, and (if there is a third part) tokenizer_config.json. */
int fuzz_pieces(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct fuzz_part parts[3];
    size_t count = fuzz_split(parts, 3, data, size);
    struct source settings = source_of(&parts[2]);
    return tokenizer_end(tokenizer_parse_pieces(source_of(&parts[0]), count > 2 ? &settings : NULL,
                                                &e),
                         &parts[1], &e);
}

/* A vocabulary of tiktoken, a text, and (if there is a third part) tokenizer_config.json. */
int fuzz_ranks(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct fuzz_part parts[3];
    size_t count = fuzz_split(parts, 3, data, size);
    struct source settings = source_of(&parts[2]);
    return tokenizer_end(tokenizer_parse_ranks(source_of(&parts[0]), count > 2 ? &settings : NULL,
                                               &e),
                         &parts[1], &e);
}

/* A precompiled_charsmap, and a text of which every place is looked up. */
int fuzz_charsmap(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct fuzz_part parts[2];
    struct charsmap m = {0};
    struct buffer text = {0};
    fuzz_split(parts, 2, data, size);
    int result = charsmap_read(&m, (struct span){(const char *)parts[0].data, parts[0].size}, &e) ||
                 utf8_repair(&text, (struct span){(const char *)parts[1].data, parts[1].size}, &e);
    for (size_t at = 0, bytes; result == 0 && at < text.size; at += bytes) {
        struct span rest = {text.text + at, text.size - at}, normal;
        size_t longest = charsmap_longest(&m, rest, &normal);
        if (longest > rest.size || (longest && utf8_sound(normal) != normal.size) ||
            (longest && utf8_sound(rest) != rest.size))
            abort();
        size_t shortest = charsmap_shortest(&m, rest, &normal);
        if (shortest > longest || !shortest != !longest ||
            (shortest && utf8_sound(normal) != normal.size))
            abort();
        character_at(rest.text, &bytes);
    }
    if (result && !e.text[0])
        abort();
    charsmap_free(&m);
    buffer_free(&text);
    return result == 0;
}
