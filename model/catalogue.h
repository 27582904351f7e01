/* What reach reads, and what it does not and why: for people. */
#ifndef REACH_MODEL_CATALOGUE_H
#define REACH_MODEL_CATALOGUE_H

#include "model/family.h"

/* A model_type that is refused by name. */
struct refusal {
    const char *type, *why;
};

/* Counted from 0; returns 0 after the last. */
int refusal_at(struct refusal *out, int i);
/* Why a model_type is not read; NULL: it is read, or unknown. */
const char *refusal_of(const char *type);

/* A family's positions and other particular features. */
struct family_facts {
    char positions[96], notes[200];
};
void family_facts(struct family_facts *out, const struct family *f);

#endif
