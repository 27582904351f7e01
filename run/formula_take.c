/* Checks that formulas use the values of --set, --heads and --slopes. */
#include "run/formula_arguments.h"

#include <stdio.h>
#include <string.h>

int formula_set_names(const char *assignment, const char *name)
{
    size_t length = strlen(name), blank = strspn(assignment, " \t");

    assignment += blank;
    return strncmp(assignment, name, length) == 0 &&
           assignment[length + strspn(assignment + length, " \t")] == '=';
}

/* "NAME one of delta, k", "no formula has a parameter". */
static const char *list_parameters(char *out, size_t size, const struct formula_argument *all,
                                   int count)
{
    size_t at = (size_t)snprintf(out, size, "NAME one of ");
    int any = 0;

    for (int k = 0; k < count; k++)
        for (int b = 0; b < all[k].set.bias_count && !all[k].is_model; b++) {
            const struct formula *f = all[k].set.biases[b].formula;

            for (int q = 0; q < f->parameter_count; q++) {
                const char *name = f->parameters[q].name;
                int known = 0;

                for (const char *found = out + 12; any && !known && (found = strstr(found, name));
                     found++) /* a whole name */
                    known = found[-1] == ' ' &&
                            (found[strlen(name)] == ',' || !found[strlen(name)]);
                if (!known && at + strlen(name) + 3 < size)
                    at += (size_t)snprintf(out + at, size - at, "%s%s", any++ ? ", " : "", name);
            }
        }
    if (!any)
        snprintf(out, size, "and no formula has a parameter");
    return out;
}

int formula_argument_takes(const struct formula_argument *a, const char *assignment)
{
    for (int b = 0; b < a->set.bias_count && !a->is_model; b++)
        for (int q = 0; q < a->set.biases[b].formula->parameter_count; q++)
            if (formula_set_names(assignment, a->set.biases[b].formula->parameters[q].name))
                return 1;
    return 0;
}

/* The part of "NAME=VALUE" before the equals sign, without blanks. */
static size_t name_of(const char **name, const char *assignment)
{
    *name = assignment + strspn(assignment, " \t");
    return strcspn(*name, "= \t");
}

static int check_sets(const struct formula_argument *all, int count, const struct text_list *sets,
                      struct error *e)
{
    for (int i = 0; i < sets->count; i++) {
        char known[256];
        const char *name, *before;
        size_t length = name_of(&name, sets->item[i]);
        int k = 0;

        while (k < count && !formula_argument_takes(&all[k], sets->item[i]))
            k++;
        if (k == count)
            return fail(
                e, "--set: \"%s\" is not a parameter of these formulas (expected NAME=VALUE, %s)",
                sets->item[i], list_parameters(known, sizeof known, all, count));
        for (int j = 0; j < i; j++)
            if (name_of(&before, sets->item[j]) == length && strncmp(before, name, length) == 0)
                return fail(
                    e,
                    "--set: \"%s\" and \"%s\" set the same parameter (expected one value for it)",
                    sets->item[j], sets->item[i]);
    }
    return 0;
}

enum run_status formula_arguments_take(const struct formula_argument *all, int count,
                                       const struct formula_options *o, struct error *e)
{
    int formulas = 0, sloped = 0;

    if (check_sets(all, count, &o->sets, e) != 0)
        return RUN_USAGE;
    for (int k = 0; k < count; k++) {
        formulas |= !all[k].is_model;
        sloped |= all[k].sloped;
    }
    if (o->heads != HEADS_DEFAULT && !formulas) {
        fail(e,
             "--heads %ld: is for formulas and presets (expected one; a checkpoint has its own "
             "number)",
             o->heads);
        return RUN_USAGE;
    }
    if (o->press && !sloped) {
        fail(e, "--slopes press: no formula given has slopes of ALiBi to choose (expected alibi, "
                "or type1, type2, divergent_a or "
                "divergent_b without k)");
        return RUN_USAGE;
    }
    return RUN_DONE;
}
