/* Experts as in the files of the library, for writing a folder from a GGUF file. */
#include "io/gguf/split.h"

#include <stdio.h>
#include <string.h>

/* The names of one expert's matrices, below those of the layer. */
static const struct {
    const char *model_type, *gate, *up,
        *down; /* with %zu for its number; NULL: stacked in another order */
} names[] = {
    {"mixtral", "block_sparse_moe.experts.%zu.w1.", "block_sparse_moe.experts.%zu.w3.",
     "block_sparse_moe.experts.%zu.w2."},
    {"lfm2_moe", "feed_forward.experts.%zu.w1.", "feed_forward.experts.%zu.w3.",
     "feed_forward.experts.%zu.w2."},
    {"jamba", "feed_forward.experts.%zu.gate_proj.", "feed_forward.experts.%zu.up_proj.",
     "feed_forward.experts.%zu.down_proj."},
    {"nemotron_h", NULL, "mixer.experts.%zu.up_proj.", "mixer.experts.%zu.down_proj."},
    {"granitemoe", NULL, NULL, NULL},
    {"granitemoeshared", NULL, NULL, NULL},
    {"granitemoehybrid", NULL, NULL, NULL},
    {"gpt_oss", NULL, NULL, NULL},
    {"llama4_text", NULL, NULL, NULL},
    {NULL, "mlp.experts.%zu.gate_proj.", "mlp.experts.%zu.up_proj.", "mlp.experts.%zu.down_proj."},
};

/* If the tensor holds a matrix of every expert: their names, and the parts around; else NULL. */
static const char *part_of(const char *name, size_t row, size_t *before, const char **behind)
{
    const char *const stacked[] = {"mlp.experts.gate_exps.", "mlp.experts.up_exps.",
                                   "mlp.experts.down_exps."},
                      *const apart[] = {names[row].gate, names[row].up, names[row].down};
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(name, stacked[i]);
        if (at) {
            *before = (size_t)(at - name), *behind = at + strlen(stacked[i]);
            return apart[i] ? apart[i] : "";
        }
    }
    return NULL;
}

/* Adds one expert's matrix, without copying it. */
static int add_expert(struct tensors *t, const struct tensor *all, size_t number, const char *name,
                      struct error *e)
{
    const struct mapped *file = store_file(all);
    struct tensor stacked = *all,
                  *one = store_add(t, file, name, strlen(name), e); /* may move the tensors */
    if (!one ||
        store_shape(one, stacked.stored, stacked.rank - 1, stacked.shape + 1, file->path, e))
        return -1;
    one->data = (const unsigned char *)stacked.data + number * (stacked.bytes / stacked.shape[0]);
    return 0;
}

int gguf_split_experts(struct tensors *t, const char *model_type, struct error *e)
{
    size_t row = 0, count = tensors_count(t), before, found = 0;
    const char *behind, *format;
    while (names[row].model_type && strcmp(names[row].model_type, model_type) != 0)
        row++;
    for (size_t i = 0; i < count; i++) {
        const struct tensor *all = tensors_at(t, i);
        char part[128], name[1200];
        if (!(format = part_of(all->name, row, &before, &behind)))
            continue;
        if (!*format)
            return fail(e,
                        "%s: the experts of a %s model are not written: its library has them in "
                        "another order (expected the model's "
                        "own folder)",
                        tensors_path(t), model_type);
        if (all->rank < 2 || all->shape[0] == 0)
            return fail(e, "%s: tensor %s has %d dimensions (expected one of experts)",
                        tensors_path(t), all->name, all->rank);
        for (size_t k = 0; k < all->shape[0]; k++) {
            snprintf(part, sizeof part, format, k);
            snprintf(name, sizeof name, "%.*s%s%s", (int)before, all->name, part, behind);
            if (add_expert(t, all, k, name, e))
                return -1;
            all = tensors_at(t, i);
            part_of(all->name, row, &before, &behind);
        }
        tensors_at(t, i)->companion = 1;
        found++;
    }
    if (!found)
        return 0;
    store_drop_companions(t);
    return store_finish(t, e);
}
