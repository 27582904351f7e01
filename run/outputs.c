#include "run/outputs.h"

#include "run/bias/columns.h"
#include "run/fit/columns.h"
#include "run/ppl/columns.h"
#include "run/trf/columns.h"

const struct csv_layout *const outputs[] = {&ppl_csv, &ppl_targets_csv, &trf_csv, &fit_csv, &bias_csv};
const size_t output_count = sizeof outputs / sizeof *outputs;
