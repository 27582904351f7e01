/* Names and values of what results depend on: written by the table of options, stored in journals
 * and results. */
#ifndef REACH_RUN_SETTINGS_H
#define REACH_RUN_SETTINGS_H

#include "io/error.h"

#include <stddef.h>

struct setting {
    const char *name; /* borrowed: the option's name */
    char *value; /* as the option is written; empty if not given and without a default */
};

/* Zeroed: none. */
struct settings {
    struct setting *item; /* in the order of the table */
    size_t count;
};

/* Takes over `value`, also on failure; NULL counts as an earlier failure of memory. */
int settings_add(struct settings *s, const char *name, char *value, struct error *e) MUST_USE;
/* The value, or NULL. */
const char *settings_find(const struct settings *s, const char *name);
void settings_free(struct settings *s);

#endif
