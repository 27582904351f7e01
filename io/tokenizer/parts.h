/* The parts of a tokenizer, for its readers. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_PARTS_H
#define REACH_IO_TOKENIZER_PARTS_H

#include "io/tokenizer/added.h"
#include "io/tokenizer/bpe.h"
#include "io/tokenizer/normalize.h"
#include "io/tokenizer/pieces.h"
#include "io/tokenizer/split.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokenizer/unigram.h"

#include <jansson.h>

/* Patterns shared by several readers. */
#define PATTERN_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define PATTERN_REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define PATTERN_QWEN2 PATTERN_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" PATTERN_REST

struct tokenizer {
    /* Text goes through these in turn. */
    struct added_tokens verbatim; /* found in the text as it is */
    struct normalizer normalizer;
    struct added_tokens normalized; /* found in the normalized text, by their own normalized form */
    struct splitter splitter;
    struct bpe bpe; /* its vocabulary is the tokenizer's, whatever the model */
    struct unigram unigram;

    struct map added; /* contents of the added tokens to their ids */
    int bos, adds_bos;
    int64_t next_added; /* the id for an added token that no file numbers */
    int numbers_added; /* ... and that others must have */
    struct piece_normalizer *pieces; /* for a model of SentencePiece, borrowed; else NULL */

    /* During tokenizer_encode. */
    struct ids *out;
    const char *text; /* what is encoded */
    const char *normal; /* the current normalized part */
    int first; /* the part is the start of the text */
    size_t before, part; /* bytes of the text before the part, and in it */
    size_t seen; /* bytes of the part's words */
    size_t told; /* bytes of the text last reported */
    double scale; /* converts these to bytes of text */
    int (*step)(void *context, size_t done, struct error *e);
    void *context;
};

/* An empty tokenizer with room for that many merges; NULL with *e. */
struct tokenizer *tokenizer_create(size_t merges, struct error *e) MUST_USE;
/* The tokens and ids of a vocab.json, or of the vocabulary in tokenizer.json. */
int tokenizer_read_vocabulary(struct tokenizer *t, json_t *vocabulary, struct error *e) MUST_USE;
/* A reader's message, preceded by the file. */
int tokenizer_name_file(const char *path, const struct error *inner, struct error *e);

/* An added token that is found in the text, or in its normalized form. Its id is the vocabulary's,
 * else `id`; if both exist and differ: an error. */
int tokenizer_add(struct tokenizer *t, struct span content, struct added_token token,
                  int is_normalized, struct error *e) MUST_USE;
/* The id of a token, added or not; -1: not found. */
int tokenizer_find(const struct tokenizer *t, struct span content);

/* Builds the tokenizer of a SentencePiece model, except its beginning-of-text token. */
int tokenizer_add_pieces(struct tokenizer *t, const struct pieces *p, struct error *e) MUST_USE;
/* Call it when all parts are set. */
void tokenizer_finish(struct tokenizer *t);

/* Readers: fill the part of `t` from its object in tokenizer.json. Messages do not name the file.
 */
int read_normalizer(struct tokenizer *t, const json_t *object, int depth, struct error *e) MUST_USE;
int read_splitter(struct tokenizer *t, const json_t *object, int depth, struct error *e) MUST_USE;
int read_post_processor(struct tokenizer *t, const json_t *object, int depth,
                        struct error *e) MUST_USE;
/* beside.c: joins the files beside a tokenizer into one object shaped like tokenizer_config.json,
 * with the class that AutoTokenizer would use, and with model_type and vocab_size of the model;
 * absent files have no text. `params`: Meta's params.json. The functions below read
 * its added tokens and beginning-of-text token; that token alone; and, with vocab.json and
 * merges.txt, also how the class splits text. */
struct beside {
    struct source settings, added, special, config, params;
};
json_t *settings_join(const struct beside *b, struct error *e) MUST_USE;
int read_settings(struct tokenizer *t, json_t *settings, struct error *e) MUST_USE;
int read_bos(struct tokenizer *t, const json_t *settings, struct error *e) MUST_USE;
int read_class(struct tokenizer *t, json_t *settings, struct error *e) MUST_USE;
/* The text of a token, which is a string, or an object with content; NULL: neither. */
const json_t *content_of(const json_t *token);
int read_added_flags(const json_t *object, struct added_token *token, int *is_normalized,
                     struct error *e) MUST_USE;
/* GPT-2's splitting into words, without its prefix: ByteLevel of tokenizer.json. */
int add_byte_level(struct tokenizer *t, int prefix_space, int use_regex, struct error *e) MUST_USE;

/* tiktoken.c: 1 if the text begins like a vocabulary of tiktoken. */
int tiktoken_recognize(struct span text);

/* tables.c: vocab and merges of the model in the text of tokenizer.json. tables_find returns 1, or
 * 0 if the text does not have exactly these two, or looks wrong; tables_rest writes the text
 * without their contents; tables_read fails, with a brief message, unless it is certain to read
 * what Jansson would. */
struct tables {
    struct span vocabulary, merges; /* between the brackets; borrowed */
    const struct gguf *gguf; /* unless NULL, the tables are in this file instead */
    size_t tokens, merge_count;
};
int tables_find(struct tables *t, struct span text);
int tables_rest(struct buffer *out, const struct tables *t, struct span text,
                struct error *e) MUST_USE;
int tables_read(struct tokenizer *t, const struct tables *tables, struct error *e) MUST_USE;
/* A merge written as two tokens with a blank between them; skips a version line. */
int tokenizer_merge(struct tokenizer *t, struct span line, struct error *e) MUST_USE;

/* Members of an object: absent and null count as `fallback`. */
int member_flag(const json_t *object, const char *key, int fallback, int *out,
                struct error *e) MUST_USE;
/* A required text. */
int member_text(const json_t *object, const char *key, struct span *out, struct error *e) MUST_USE;
/* The member, or NULL when it is absent or null. */
json_t *member(const json_t *object, const char *key);
struct span text_of(const json_t *string);

/* Calls the reader for the object's type; an unknown type is refused as a KIND of that name. */
struct part_reader {
    const char *type;
    int (*read)(struct tokenizer *t, const json_t *object, int depth, struct error *e);
};
int read_part(struct tokenizer *t, const struct part_reader *readers, size_t count,
              const char *kind, const json_t *object, int depth, struct error *e) MUST_USE;
/* The same for each object of a list, one level deeper. */
int read_parts(struct tokenizer *t, const struct part_reader *readers, size_t count,
               const char *kind, const json_t *list, int depth, struct error *e) MUST_USE;

#endif
