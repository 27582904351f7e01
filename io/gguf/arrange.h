/* Tensors whose rows or numbers lie otherwise in GGUF than in the library. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_ARRANGE_H
#define REACH_IO_GGUF_ARRANGE_H

#include "io/gguf/architecture.h"
#include "io/tensors/store.h"

/* The logarithms of a recurrence's decays, in double and in memory of the store, from their
 * negatives, in the shape that the file has. */
int gguf_take_decays(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                     const struct gguf_tensor *from, const unsigned char *data,
                     struct error *e) MUST_USE;

/* The first half of a matrix of the library, a tensor of the file by `row`, and the second as that
 * matrix, in memory of the store: in their type if both have one type, else widened. */
int gguf_join_halves(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                     const struct name_row *row, const struct gguf_tensor *first,
                     const unsigned char *data, long block, struct error *e) MUST_USE;
/* Value heads by turns, as files of Qwen 3.5 have them, put together by key heads, in memory of the
 * store; columns of heads that are not whole blocks as F32. Other tensors are left alone. */
int gguf_take_turns(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                    const struct name_row *row, struct error *e) MUST_USE;
/* 1 if the file has the first half to the second half by `row`. */
int gguf_has_half(const struct gguf_model *m, const struct name_row *row, long block);

#endif
