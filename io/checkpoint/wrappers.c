#include "io/checkpoint/wrappers.h"

#include <string.h>

/* Cuts every "PART." between dots out of the name; returns how many. */
static int cut(struct tensor *t, const char *part)
{
    size_t length = strlen(part);
    int count = 0;
    for (char *at = (char *)t->name; at;) {
        if (strncmp(at, part, length) == 0 && at[length] == '.') {
            memmove(at, at + length + 1, strlen(at + length + 1) + 1);
            count++;
        } else if ((at = strchr(at, '.'))) {
            at++;
        }
    }
    return count;
}

/* 1 if all names begin with it. */
static int all_begin(struct tensors *t, const char *begin)
{
    size_t length = strlen(begin), count = tensors_count(t);
    for (size_t i = 0; i < count; i++)
        if (strncmp(tensors_at(t, i)->name, begin, length))
            return 0;
    return count > 0;
}

/* 1 if all names begin with "model." and continue like those of a model with a head. */
static int is_member(struct tensors *t)
{
    static const char *const whole[] = {"model.", "transformer.", "gpt_neox.", "lm_head.",
                                        "embed_out."};
    if (!all_begin(t, "model."))
        return 0;
    for (size_t i = 0; i < tensors_count(t); i++)
        for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
            if (strncmp(tensors_at(t, i)->name + strlen("model."), whole[k], strlen(whole[k])) == 0)
                return 1;
    return 0;
}

/* Cuts BEGIN from all names. */
static void cut_begin(struct tensors *t, const char *begin)
{
    for (size_t i = 0; i < tensors_count(t); i++)
        store_rename(tensors_at(t, i), tensors_at(t, i)->name + strlen(begin));
}

int wrappers_remove(struct tensors *t, struct error *e)
{
    static const char *const anywhere[] = {"_orig_mod", "_fsdp_wrapped_module",
                                           "_checkpoint_wrapped_module"};
    int found = 0;
    for (size_t k = 0; k < sizeof anywhere / sizeof *anywhere; k++) {
        int cuts = 0;
        for (size_t i = 0; i < tensors_count(t); i++)
            cuts += cut(tensors_at(t, i), anywhere[k]);
        if (cuts)
            store_note(t, "names of tensors are read without their part %s", anywhere[k]);
        found |= cuts;
    }
    while (all_begin(t, "module.") || is_member(t)) {
        const char *begin = all_begin(t, "module.") ? "module." : "model.";
        store_note(t, "names of tensors are read without the %s that all of them begin with",
                   begin);
        cut_begin(t, begin);
        found = 1;
    }
    return found ? store_finish(t, e) : 0;
}
