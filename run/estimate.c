#include "run/estimate.h"

#include "io/system/spill.h"
#include "run/kernels.h"

#include <stdio.h>
#include <string.h>

int run_try_scratch(const char *folder, struct error *e)
{
    struct spill *s = folder ? spill_open(folder, 0, "inputs of layers", e) : NULL;

    spill_close(s);
    return s || !folder ? 0 : -1;
}

int run_estimate(struct run_estimate *out, const struct decoder *d, long length,
                 const struct machine_options *machine, struct error *e)
{
    struct engine_request options = {.kind = REQUEST_GRADIENT,
                                     .positions = (int)length - 1,
                                     .memory = machine->memory};
    struct kernels *k = kernels_open(machine->dtype, e);
    int rc = 0;

    *out = (struct run_estimate){0};
    /* norms are doubles in the journal; erf.h5, written before the journal is removed, has them in
     * float32 with f32, beside ids of 4 bytes */
    out->record_bytes = (double)(length - 1) * (8 + (strcmp(machine->dtype, "f64") == 0 ? 8 : 4)) +
                        4.0 * (double)length;
    run_keep(&options.gradient, machine);
    if (!k)
        return -1;
    snprintf(out->kernels, sizeof out->kernels, "%s", k->name);
    out->refused = decoder_limit(d) > 0 && length - 1 > decoder_limit(d);
    if (!out->refused && (rc = engine_estimate(&out->plan, k, d, &options, e)) != 0)
        out->plan = (struct memory_plan){0};
    if (!out->refused && rc == 0) {
        struct engine_rates rates;
        rc = engine_rates(&rates, k, d, (int)length - 1, e);
        if (rc == 0)
            out->seconds = engine_seconds(&rates, out->plan.flops, out->plan.attention_flops,
                                          out->plan.recurrence_flops);
    }
    k->close(k);
    return rc;
}
