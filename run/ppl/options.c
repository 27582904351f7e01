#include "run/ppl/options.h"

#include <stddef.h>

const char *const protocol_names[] = {"last", "nonoverlapping", "sliding", "cached", NULL};
