#include "io/csv.h"
#include "run/attention/attention.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>

int attention_write(const struct erf_run *r, const char *path, struct atomic_file *out, struct error *e)
{
    char *command = NULL;
    struct csv *csv = NULL;

    if (asprintf(&command, "command: %s", r->command) < 0) {
        command = NULL;
        fail(e, "%s: out of memory", path);
    }
    if (command) {
        const char *comments[] = {
            "reach " REACH_VERSION, command,
            "units: layer and head from 1; attention_erf, trf, trf_length in tokens: the smallest windows that hold a share "
            "above 1 - epsilon of the attention (its mean over segments and the queries of their second half, by distance), of "
            "the series of exp(bias), and of its first L-1 terms; trf: an upper end where it is no exact integer",
            NULL};

        csv = csv_create(path, comments, "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict,segments,excluded", e);
    }
    free(command);
    if (!csv)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        for (int l = 0; l < m->decoder->layers; l++)
            for (int h = 0; h < m->decoder->heads; h++)
                for (size_t q = r->options->threshold_count; q-- > 0;) {
                    const struct attention_row *row = attention_row(r, m, l, h, q);
                    char epsilon[32];

                    erf_epsilon_text(epsilon, r->options->thresholds[q]);
                    csv_text(csv, m->argument->name);
                    csv_whole(csv, l + 1);
                    csv_whole(csv, h + 1);
                    csv_text(csv, epsilon);
                    csv_whole(csv, (long long)row->erf);
                    csv_text(csv, row->trf);
                    if (row->trf_length)
                        csv_whole(csv, (long long)row->trf_length);
                    else
                        csv_text(csv, "");
                    csv_text(csv, row->verdict);
                    csv_whole(csv, (long long)m->attention.measured);
                    csv_whole(csv, (long long)(m->attention.measured - m->attention.used));
                    csv_end_row(csv);
                }
    }
    return csv_stage(csv, out, e);
}
