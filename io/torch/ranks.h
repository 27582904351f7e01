/* Tensors of a model that several ranks share, joined in memory of the store. Private to
 * io/torch. */
#ifndef REACH_IO_TORCH_RANKS_H
#define REACH_IO_TORCH_RANKS_H

#include "io/tensors/store.h"

enum { RANKS_MAX = 64 };

/* One tensor with its counterparts in the other ranks. */
struct ranks {
    struct tensors *out; /* the store of whole tensors */
    const struct mapped *file; /* for messages */
    const struct tensor *parts[RANKS_MAX];
    size_t count;
    struct error *e;
};

/* 1 if all ranks hold the same bytes. */
int ranks_are_equal(const struct ranks *m);
/* What is the same in all ranks, taken from the first. */
int ranks_take_first(struct ranks *m) MUST_USE;
/* Joined along `axis`, each rank's part as `pieces` equal pieces that are joined one by one. */
int ranks_join(struct ranks *m, int axis, size_t pieces) MUST_USE;
/* sum over ranks / divisor, in double: exact for what is stored in fewer bits. */
int ranks_combine(struct ranks *m, double divisor) MUST_USE;

/* Adds to `out` every tensor of parts[0], as `one` makes it of those of the same name, type and
 * shape in all parts (finished stores, one for each rank). `of` is passed on. */
int ranks_merge(struct tensors *out, const struct mapped *file, struct tensors *const *parts,
                size_t count, int (*one)(struct ranks *m, const void *of), const void *of,
                struct error *e) MUST_USE;

#endif
