/* The contents of a SentencePiece model, from any source, and its normalizer. Source:
 * google/sentencepiece, src/sentencepiece_model.proto, normalizer.cc, bpe_model.cc,
 * unigram_model.cc. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_PIECES_H
#define REACH_IO_TOKENIZER_PIECES_H

#include "io/tokenizer/added.h"
#include "io/tokenizer/charsmap.h"
#include "io/tokenizer/text.h"

enum piece_type {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN,
    PIECE_CONTROL,
    PIECE_USER,
    PIECE_UNUSED,
    PIECE_BYTE
};

struct piece {
    struct span text; /* borrowed */
    float score;
    enum piece_type type;
};

struct pieces {
    struct piece *piece; /* by id */
    size_t count, room;
    int is_unigram; /* else byte pair encoding */
    int byte_fallback;
    struct span charsmap, bos; /* borrowed */
    int prefix; /* a blank is added before the text (after it with `suffix`) */
    int suffix;
    int one_space; /* adjacent blanks become one, and those at the ends are removed */
    int marks; /* blanks become U+2581 */
    int controls; /* control, unknown and user-defined tokens are found first, as for GGUF files */
};

/* Reads tokenizer.model, in the format of protocol buffers; the caller frees p->piece, also after a
 * failure. Its texts are in the file's bytes. */
int pieces_parse(struct pieces *p, struct span file, struct error *e) MUST_USE;
int pieces_add(struct pieces *p, struct piece piece, struct error *e) MUST_USE;

/* The normalizer of such a model. Zeroed: nothing changes. */
struct piece_normalizer {
    struct charsmap map;
    struct added_tokens kept; /* user-defined tokens stay as they are */
    int prefix, suffix, one_space, marks;
    int first_only; /* the prefix goes only before the start of a text, not after found tokens */
    int later; /* the next part is not the start */
};
/* Appends the normal form; stops once `out` has more than `limit` bytes. */
int piece_normalize(struct piece_normalizer *n, struct buffer *out, struct span text, size_t limit,
                    struct error *e) MUST_USE;
void piece_normalizer_free(struct piece_normalizer *n);

#endif
