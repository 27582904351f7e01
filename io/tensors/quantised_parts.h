/* A quantised matrix and its other tensors, while they are joined. Private to this folder. */
#ifndef REACH_IO_TENSORS_QUANTISED_PARTS_H
#define REACH_IO_TENSORS_QUANTISED_PARTS_H

#include "io/formats/json.h"
#include "io/scaled.h"
#include "io/tensors/store.h"

struct join {
    struct tensors *tensors;
    struct config *config;
    struct scaled *made; /* of this matrix, then of the next */
    struct tensor *matrix;
    size_t bytes; /* of all its parts */
    struct error *e;
};

/* The forms: FP8 with scales of blocks; a byte or four bits as bitsandbytes writes them, the four
 * bits described by a tensor; MXFP4, where `end` is the end of the codes' name. */
int quantised_join_fp8(struct join *j) MUST_USE;
int quantised_join_int8(struct join *j) MUST_USE;
int quantised_join_mxfp4(struct join *j, const char *end) MUST_USE;
int quantised_join_4bit(struct join *j, struct tensor *description, enum element type) MUST_USE;

/* The file of a tensor, for messages. */
const char *part_path(const struct tensor *t);
int part_is(const struct tensor *t, const char *type);
/* Elements are adjacent, row after row. */
int part_is_dense(const struct tensor *t);
size_t blocks_of(size_t elements, size_t block);
int text_ends_with(const char *text, const char *end);

/* The tensor named by the first `length` bytes of `stem` and `suffix`; NULL if there is none. */
struct tensor *part_beside(const struct join *j, const char *stem, size_t length,
                           const char *suffix);
/* Makes a tensor a part of the matrix. It must not be part of anything else, and its elements must
 * be adjacent. */
int part_take(struct join *j, struct tensor *t) MUST_USE;
/* The same for a required part, named by the first `length` bytes of the matrix' name and a suffix,
 * with `count` elements of that type. */
int part_take_named(const unsigned char **data, struct join *j, size_t length, const char *suffix,
                    const char *type, size_t count) MUST_USE;
/* Refuses scales below `least` or not finite. */
int part_check_scales(const struct join *j, size_t count, float least,
                      const char *expected) MUST_USE;
/* Gives the matrix that type and shape, and the contents of `made`. */
void part_become(struct join *j, enum element type, int rank, const size_t *shape, size_t count);

#endif
