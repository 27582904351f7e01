#include "run/outputs.h"

#include "run/ppl/columns.h"

const struct csv_layout *const outputs[] = {&ppl_csv, &ppl_targets_csv};
const size_t output_count = sizeof outputs / sizeof *outputs;
