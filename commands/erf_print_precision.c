/* What `reach erf --check-precision` prints. */
#include "commands/erf.h"

#include "commands/table.h"

#include <math.h>
#include <string.h>

static void allowed_cell(struct table *t, double allowed)
{
    if (isfinite(allowed))
        table_cell(t, "%.0e", allowed);
    else
        table_cell(t, "%s", "-");
}

int erf_print_precision(const struct result *r, const struct deviation *deviations,
                        const struct machine_options *machine, struct error *e)
{
    struct precision_bounds allowed = precision_bounds(machine->dtype, machine->keep_bf16);
    struct table *t = table_create("lr1r2r3r4rr");
    char q[32];

    if (!t)
        return fail(e, "out of memory for the table");
    table_cell(t, "model");
    table_cell(t, "segments");
    table_cell(t, "s (relative)");
    table_cell(t, "c");
    table_cell(t, "log p");
    table_cell(t, "ERF(%s)", threshold_text(q, r->main_threshold));
    table_cell(t, "ERF outside");
    for (size_t i = 0; i < r->model_count; i++) {
        const struct deviation *d = &deviations[i];

        table_cell(t, "%s", r->models[i].name);
        table_cell(t, "%zu", d->segments);
        table_cell(t, "%.2g%s", d->s, d->s > allowed.s ? " !" : "");
        table_cell(t, "%.2g%s", d->c, d->c > allowed.c ? " !" : "");
        table_cell(t, "%.2g%s", d->logprob, d->logprob > allowed.logprob ? " !" : "");
        table_cell(t, "%zu", d->erf);
        table_cell(t, "%zu%s", d->outside, d->outside ? " !" : "");
    }
    table_cell(t, "allowed");
    table_cell(t, "%s", "");
    allowed_cell(t, allowed.s);
    allowed_cell(t, allowed.c);
    allowed_cell(t, allowed.logprob);
    table_cell(t, "%s", "");
    table_cell(t, "0");
    table_caption(t, "largest deviations from the float64 reference, segment by segment");
    table_note(t,
               "s where it is above 1e-6; ERF in tokens; !: above the limit; ERF outside: segments "
               "whose ERF is not between the reference's ERF(q - %.0e) and ERF(q + %.0e)",
               allowed.c, allowed.c);
    return table_show(t, e);
}
