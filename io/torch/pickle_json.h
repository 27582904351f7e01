/* The settings in a pickle as JSON. Private to io/torch. */
#ifndef REACH_IO_TORCH_PICKLE_JSON_H
#define REACH_IO_TORCH_PICKLE_JSON_H

#include "io/torch/pickle.h"

#include <jansson.h>

/* A dict of numbers, texts, lists and dicts; anything else becomes text that names its type, and so
 * does a number that is not finite. Depth and size are bounded. `what` names the dict in messages
 * about PATH. NULL on failure; the caller calls json_decref. */
json_t *pickle_to_json(const struct pickle_value *dict, const char *path, const char *what,
                       struct error *e) MUST_USE;

#endif
