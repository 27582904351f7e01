/* How every key of a config.json is handled: a reader asks for it, it cannot change a number, it is
 * refused, or it is reported as not understood.
 *
 * Only families of the library that defines config.json are checked (struct family, `harmless`). */
#ifndef REACH_MODEL_CONFIG_KEYS_H
#define REACH_MODEL_CONFIG_KEYS_H

#include "model/family.h"

enum config_key {
    CONFIG_KEY_UNKNOWN,
    CONFIG_KEY_USED, /* the family's reader asked for it */
    CONFIG_KEY_HARMLESS, /* not read, and no value of it changes the model's numbers */
    CONFIG_KEY_REFUSED /* refused by name unless it has its neutral value */
};

/* For a dotted key, after the family's reader has read `c`; it may be absent. */
enum config_key config_key_class(const struct family *family, const struct config *c,
                                 const char *key);
/* 1 if null means the same as absence for the key; otherwise null is refused. */
int config_key_nullable(const struct family *family, const char *key);

/* Before the family's reader: refuses keys of another kind of model, and an adapter beside it. */
int config_keys_refuse(const struct decoder *d, const struct family *family,
                       struct error *e) MUST_USE;
/* After it: refuses nulls taken for absence, and lists unknown keys in d->not_understood. */
int config_keys_check(struct decoder *d, const struct family *family, struct error *e) MUST_USE;

#endif
