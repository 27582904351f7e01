/* What results depend on, as names and values: written by the table of options, kept by journals and results. */
#ifndef REACH_RUN_SETTINGS_H
#define REACH_RUN_SETTINGS_H

#include "io/error.h"

#include <stddef.h>

struct setting {
    const char *name; /* borrowed: the option's name */
    char *value; /* as the option is written; empty where it was not given and has no default */
};

/* Zeroed: none. */
struct settings {
    struct setting *item; /* in the order of the table */
    size_t count;
};

/* Takes over `value`, also when it fails; NULL is a failure of memory before. */
int settings_add(struct settings *s, const char *name, char *value, struct error *e) MUST_USE;
/* The value, or NULL. */
const char *settings_find(const struct settings *s, const char *name);
void settings_free(struct settings *s);

#endif
