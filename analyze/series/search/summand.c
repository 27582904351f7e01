/* What is summed, what is proved of it, and what the search knows. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>

struct summand *summand_new(const struct formula *formula, const struct formula_point *at,
                            const fmpz_t shift, const struct summand *other,
                            struct formula_error *e)
{
    struct summand *f = calloc(1, sizeof *f);
    if (!f) {
        formula_refuse(e, 0, "out of memory");
        return NULL;
    }
    f->references = 1;
    f->budget = (struct budget){.seconds = INFINITY, .end = INFINITY};
    proof_init(&f->proof, &f->problem);
    if (problem_init(&f->problem, formula, at, shift, other ? &other->problem : NULL, &f->budget,
                     e) == 0)
        return f;
    summand_release(f);
    return NULL;
}

void summand_release(struct summand *f)
{
    if (!f || --f->references > 0)
        return;
    proof_clear(&f->proof);
    problem_clear(&f->problem);
    free(f);
}
