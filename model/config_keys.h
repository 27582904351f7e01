/* What becomes of every key of a config.json: a reader asks for it, it can change no number, it is refused, or it is named as not
 * understood.
 *
 * Only families of the library whose format config.json is are looked at (struct family, `harmless`). */
#ifndef REACH_MODEL_CONFIG_KEYS_H
#define REACH_MODEL_CONFIG_KEYS_H

#include "model/family.h"

enum config_key {
    CONFIG_KEY_UNKNOWN,
    CONFIG_KEY_USED, /* the family's reader asked for it */
    CONFIG_KEY_HARMLESS, /* no reader asks for it, and no value of it changes the model's numbers */
    CONFIG_KEY_REFUSED /* refused by name unless it has the value that changes nothing */
};

/* Of a key, dotted below an object, after the family's reader has read `c`; the key need not be in it. */
enum config_key config_key_class(const struct family *family, const struct config *c, const char *key);
/* 1 if null says of the key what its absence says; a null elsewhere is refused. */
int config_key_nullable(const struct family *family, const char *key);

/* Before the family's reader: refuses what makes of the checkpoint another model, and an adapter beside it. */
int config_keys_refuse(const struct decoder *d, const struct family *family, struct error *e) MUST_USE;
/* After it: refuses a null that would be taken for absence, and lists in d->not_understood the keys that no one knows. */
int config_keys_check(struct decoder *d, const struct family *family, struct error *e) MUST_USE;

#endif
