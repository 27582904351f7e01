#include "run/outputs/outputs.h"

#include "run/bias/bias.h"
#include "run/erf/write.h"
#include "run/explain/explain.h"
#include "run/fit/fit.h"
#include "run/ppl/columns.h"
#include "run/ppl/ppl.h"
#include "run/trf/trf.h"

/* What the verbs write, and the file of an option. */
static const struct results_file per_token = {.layout = &ppl_targets_csv};
static const struct results_file *const named[] = {&per_token, NULL};
static const struct results_file *const *const lists[] = {erf_files,    ppl_files, named,
                                                          trf_files,    fit_files, bias_files,
                                                          explain_files};

const struct csv_layout *output_at(size_t i)
{
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (const struct results_file *const *f = lists[k]; *f; f++)
            if ((*f)->layout && i-- == 0)
                return (*f)->layout;
    return NULL;
}
