/* Checkpoints of several models, of which the language model is read: that of text among images or
 * sound. */
#ifndef REACH_MODEL_OUTER_H
#define REACH_MODEL_OUTER_H

#include "model/family.h"

/* A model_type whose language model has a type of its own. */
struct outer {
    const char *type;
    const char *inner; /* of its language model, unless the configuration says another */
    const char *within; /* the part of the checkpoint that holds it, with its own configuration and
                           names ("thinker"); NULL: none */
    int blocks; /* 1: files that transformers saved call its layers blocks */
    int flat; /* 1: older files have the keys of the language model among their own */
    const char *leaves_out, *instead; /* a key of the language model that the code of this type
                                         leaves out, and the value in JSON that changes nothing;
                                         NULL: none */
    const char *about; /* what is to be said of text in it; NULL: nothing */
};

/* Counted from 0; NULL after the last. */
const struct outer *outer_at(int i);

/* If the checkpoint is of such a type: d->outer, and the configuration of its language model in
 * place of its own, with what only the outer one says and with defaults that text_config leaves
 * out. */
int outer_enter(struct decoder *d, struct error *e) MUST_USE;
/* Gives the tensors of the language model the names that they would have without the others, and
 * marks those of the others (struct tensor, beside). */
int outer_rename(struct decoder *d, const struct family *family, struct error *e) MUST_USE;

#endif
