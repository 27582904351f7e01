/* Files that torch.save wrote: the object as data, and its tensors as views of the file.
 *
 * Both forms, the zip archive and the older stream of pickles. Sources: pytorch
 * torch/serialization.py, torch/_utils.py, caffe2/serialize. As the file says, storages may be
 * shared, larger than tensors, or read with strides; every tensor is checked to be within its
 * storage. Private to io/. */
#ifndef REACH_IO_TORCH_TORCH_H
#define REACH_IO_TORCH_TORCH_H

#include "io/tensors/store.h"
#include "io/torch/pickle.h"
#include "io/torch/zip.h"

/* The place of a storage in the older form. */
struct torch_storage {
    const struct pickle_value *id;
    const unsigned char *data; /* NULL: not seen in the file */
};

struct torch_file {
    const char *path; /* borrowed, for messages */
    struct zip zip; /* no records in the older form */
    struct pickle pickle;
    struct torch_storage *storages; /* of the older form, sorted by key */
    size_t storage_count;
};

/* Reads the object in memory that must outlive the file and its tensors. PATH names it in messages.
 * 0, or -1 with nothing to close. */
int torch_open_memory(struct torch_file *out, const char *path, const unsigned char *bytes,
                      size_t size, struct error *e) MUST_USE;
void torch_close(struct torch_file *f);

/* 1 if the value is a tensor or parameter. */
int torch_is_tensor(const struct pickle_value *v);

/* The dict of tensors in the file: the object itself, or its member model, module or state_dict.
 * NULL on failure. A file that is a dict of tensors and names globals that no such file needs is
 * refused. */
const struct pickle_value *torch_state_dict(const struct torch_file *f, struct error *e) MUST_USE;

/* Adds every tensor of a dict to the store, `prefix` before its name. Anything else in the dict is
 * an error that names it. */
int torch_add_tensors(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                      const struct pickle_value *dict, const char *prefix,
                      struct error *e) MUST_USE;

/* Adds all tensors of the file's state dict. */
int torch_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
               struct error *e) MUST_USE;

#endif
