/* Normalizers of tokenizer files, the first step on the text. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_NORMALIZE_H
#define REACH_IO_TOKENIZER_NORMALIZE_H

#include "io/tokenizer/pattern.h"
#include "io/tokenizer/text.h"

struct piece_normalizer;

enum normal_kind {
    NORMAL_NFC,
    NORMAL_NFD,
    NORMAL_NFKC,
    NORMAL_NFKD,
    NORMAL_LOWERCASE,
    NORMAL_PREPEND,
    NORMAL_REPLACE,
    NORMAL_STRIP,
    NORMAL_ACCENTS,
    NORMAL_MAP,
    NORMAL_PIECES
};

struct normal_step {
    enum normal_kind kind;
    struct pattern *pattern; /* of NORMAL_REPLACE */
    struct buffer content; /* the inserted text, of NORMAL_PREPEND and NORMAL_REPLACE */
    struct buffer made; /* its result */
    struct piece_normalizer *pieces; /* of NORMAL_PIECES, and the map of NORMAL_MAP */
    int left, right; /* of NORMAL_STRIP: removes white space there */
    int32_t *characters; /* scratch of the Unicode forms, [character_room] */
    size_t character_room;
    size_t limit; /* bytes that `made` may have */
};

enum { NORMAL_STEPS_MAX = 32 };

struct normalizer {
    struct normal_step step[NORMAL_STEPS_MAX];
    int count;
};

/* The text after all steps: `text` itself if there are none, else memory of the normalizer, valid
 * until the next call. Text that grows to more than EXPANSION_MAX times its size is an error: no
 * published normalizer does that to any text, and repeated replacements could fill memory. */
enum { EXPANSION_MAX = 64 };
int normalize(struct normalizer *n, struct span *out, struct span text, struct error *e) MUST_USE;
void normalizer_free(struct normalizer *n);

#endif
