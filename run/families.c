#include "run/families.h"

#include "io/checkpoint/checkpoint.h"
#include "model/catalogue.h"
#include "model/outer.h"

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
    const struct outer *o;
    int k = 0;
    while ((o = outer_at(k)) && (!family_of_type(o->inner) || i-- > 0))
        k++;
    if (!o)
        return 0;
    out->type = o->type;
    snprintf(out->positions, sizeof out->positions, "as its language model");
    snprintf(out->notes, sizeof out->notes, "with text alone");
    return 1;
}

int refused_type_at(const char **type, const char **why, int i)
{
    struct refusal r;
    if (!refusal_at(&r, i))
        return 0;
    *type = r.type, *why = r.why;
    return 1;
}
