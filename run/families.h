/* The model types that are supported, and those refused by name. */
#ifndef REACH_RUN_FAMILIES_H
#define REACH_RUN_FAMILIES_H

struct known_type {
    const char *type; /* model_type of config.json; "" for our own layout */
    const char *gguf; /* general.architecture of GGUF files; "": not read from GGUF */
    char positions[96], notes[200];
};

/* Counted from 0; 0 after the last. */
int known_type_at(struct known_type *out, int i);
int refused_type_at(const char **type, const char **why, int i);

#endif
