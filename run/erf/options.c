#include "run/erf/options.h"

const char *const attribution_names[] = {[ATTRIBUTION_GRAD] = "grad",
                                         [ATTRIBUTION_INPUT] = "inputxgrad",
                                         [ATTRIBUTION_INTEGRATED] = "ig",
                                         [ATTRIBUTION_SMOOTH] = "smoothgrad",
                                         NULL};
