/* The subset of YAML that GPT-NeoX uses for its settings: one document, a mapping, read as JSON
 * with the scalars of PyYAML's loader (YAML 1.1). Private to io/. */
#ifndef REACH_IO_TORCH_YAML_H
#define REACH_IO_TORCH_YAML_H

#include "io/error.h"

#include <jansson.h>

/* Parses `size` bytes. If a key is repeated in a mapping, the last one counts, as in PyYAML. true,
 * yes and on are true; a number with an exponent but without a point (1e-5) is text; so are dates
 * and numbers in base 60. Tags, anchors, keys that are not scalars and deep nesting are refused.
 * Caller calls json_decref. */
json_t *yaml_load_memory(const char *path, const char *text, size_t size, struct error *e) MUST_USE;

#endif
