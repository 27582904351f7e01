#include "run/outputs/outputs.h"

#include "run/attention/csv.h"
#include "run/bias/columns.h"
#include "run/erf/csv.h"
#include "run/explain/columns.h"
#include "run/fit/columns.h"
#include "run/ppl/columns.h"
#include "run/trf/columns.h"
#include "run/validate/write.h"

const struct csv_layout *const outputs[] = {&curve_csv,       &summary_csv, &attention_csv,
                                            &validation_csv,  &ppl_csv,     &gain_csv,
                                            &ppl_targets_csv, &trf_csv,     &rotary_csv,
                                            &fit_csv,         &bias_csv,    &explain_csv,
                                            &units_csv};
const size_t output_count = sizeof outputs / sizeof *outputs;
