/* What a store holds. Private to this folder. */
#ifndef REACH_IO_TENSORS_TENSORS_PARTS_H
#define REACH_IO_TENSORS_TENSORS_PARTS_H

#include "io/system/watch.h"
#include "io/tensors/store.h"

enum { NOTES_MAX = 1024 };

struct slot {
    struct tensor tensor; /* first, so that a tensor handed out is its entry */
    const struct mapped *file;
};

/* Memory of the store. */
struct owned {
    void *memory;
    size_t bytes;
};

struct tensors {
    char *path;
    struct mapped **files; /* each allocated separately: entries point to them */
    size_t file_count;
    struct watch watch; /* of these, and of all others that describe the model */
    struct slot *entries; /* sorted by name once the store is finished */
    size_t entry_count, entry_capacity;
    struct owned *owned;
    size_t owned_count;
    size_t stated; /* bytes of all tensors by the index; valid if is_stated */
    int is_stated;
    char notes[NOTES_MAX], assumed[NOTES_MAX];
    const struct stored_type *supposed; /* NULL: the tensors are there */
    void *names; /* of supposed tensors: a tree (supposed.c) */
};

/* Orders entries by their names. */
int entry_order(const void *a, const void *b);
/* Room for one more in `owned`. */
int owned_room(struct tensors *t, const char *what, struct error *e) MUST_USE;
/* Frees the names of supposed tensors. */
void supposed_free(struct tensors *t);

#endif
