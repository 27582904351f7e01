/* A quantised matrix and its other tensors, while they are joined. Private to this folder. */
#ifndef REACH_IO_TENSORS_QUANTISED_PARTS_H
#define REACH_IO_TENSORS_QUANTISED_PARTS_H

#include "io/bytes.h"
#include "io/formats/json.h"
#include "io/scaled.h"
#include "io/tensors/store.h"

/* How quantization_config describes matrices. */
struct scheme {
    enum scheme_codes { CODES_FLOAT, CODES_BYTES, CODES_PACKED } codes;
    enum scheme_blocks { BLOCKS_ALL, BLOCKS_ROWS, BLOCKS_GROUPS, BLOCKS_GRID } blocks;
    unsigned bits;
    size_t size[2]; /* of a block; a group's size is the second, 0: all columns */
    int has_zeros, middle;
    int is_permuted; /* groups are of columns in another order, which a tensor holds */
};
enum { SCHEMES_MOST = 16 };

struct join {
    struct tensors *tensors;
    struct config *config;
    struct scheme schemes[SCHEMES_MOST];
    int scheme_count;
    struct scaled *made; /* of this matrix, then of the next */
    struct tensor *matrix;
    size_t bytes; /* of all its parts */
    struct error *e;
};

/* One for each method: if the tensor is a quantised matrix, joins it with its parts; 1 if it is
 * not. */
int quantised_join_fp8(struct join *j) MUST_USE;
int quantised_join_bitsandbytes(struct join *j) MUST_USE;
int quantised_join_mxfp4(struct join *j) MUST_USE;
int quantised_join_compressed(struct join *j) MUST_USE;
int quantised_join_gptq(struct join *j) MUST_USE;
int quantised_join_awq(struct join *j) MUST_USE;
/* Before the first matrix: reads the schemes. */
int quantised_read_compressed(struct join *j) MUST_USE;
int quantised_read_gptq(struct join *j) MUST_USE;
int quantised_read_awq(struct join *j) MUST_USE;

/* The file of a tensor, for messages. */
const char *part_path(const struct tensor *t);
int part_is(const struct tensor *t, const char *type);
/* Elements are adjacent, row after row. */
int part_is_dense(const struct tensor *t);
static inline long part_int32(const unsigned char *data, size_t index)
{
    return (int32_t)load32(data + 4 * index);
}
static inline long part_int64(const unsigned char *data, size_t index)
{
    return (int64_t)load64(data + 8 * index);
}
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
/* The same for a matrix of that shape. */
int part_take_matrix(const unsigned char **data, struct join *j, size_t length, const char *suffix,
                     const char *type, size_t rows, size_t columns) MUST_USE;
/* Takes floats of any type, or powers of two, as the scales of `made`. */
int part_take_scales(struct join *j, struct tensor *scales) MUST_USE;
/* Fails if the store has a tensor named by the first `length` bytes of the matrix' name and
 * `suffix`, which is what the matrix will be called. */
int part_name_is_free(const struct join *j, size_t length, const char *suffix) MUST_USE;
/* Refuses scales below `least` or not finite. */
int part_check_scales(const struct join *j, size_t count, float least,
                      const char *expected) MUST_USE;
/* Gives the matrix that type and shape, and the contents of `made`. */
void part_become(struct join *j, enum element type, int rank, const size_t *shape, size_t count);

#endif
