#include "run/families.h"

#include "io/checkpoint/checkpoint.h"
#include "model/catalogue.h"

#include <stdio.h>
#include <string.h>

int known_type_at(struct known_type *out, int i)
{
    const struct family *f;
    *out = (struct known_type){.type = "", .gguf = ""};
    for (int k = 0; (f = family_at(k)); k++) {
        int types = 0;
        while (types < 4 && f->model_types[types])
            types++;
        if (i >= (types ? types : 1)) {
            i -= types ? types : 1;
            continue;
        }
        struct family_facts facts;
        family_facts(&facts, f);
        memcpy(out->positions, facts.positions, sizeof facts.positions);
        memcpy(out->notes, facts.notes, sizeof facts.notes);
        if (types) {
            out->type = f->model_types[i];
            out->gguf = checkpoint_gguf_name(out->type);
        }
        return 1;
    }
    if (i > 0 && !family_outer_type(i - 1)) /* the earlier ones exist */
        return 0;
    if (!(out->type = family_outer_type(i)))
        return 0;
    snprintf(out->positions, sizeof out->positions, "as its text_config");
    snprintf(out->notes, sizeof out->notes, "only the language model");
    return 1;
}

int refused_type_at(const char **type, const char **why, int i)
{
    const struct refusal *r = refusal_at(i);
    if (!r)
        return 0;
    *type = r->type, *why = r->why;
    return 1;
}
