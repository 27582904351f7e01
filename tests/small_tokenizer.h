/* Small tokenizers as JSON, for tests. */
#ifndef REACH_TESTS_SMALL_TOKENIZER_H
#define REACH_TESTS_SMALL_TOKENIZER_H

#include "io/tokenizer/text.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/tokens.h"
#include "tests/scratch.h"

#include <stddef.h>

#define MODEL(members) "\"model\":{\"type\":\"BPE\"," members "}"

#define ABC \
    "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\" \":3,\"<s>\":4,\"c\":5,\"abc\":6},\"merges\":[\"a " \
    "b\",[\"ab\",\"c\"]]"

#define TEMPLATE(single, special) \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" single \
    "],\"special_tokens\":{" special "}}"

#define SPECIAL(name) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":0}}"

#define SEQUENCE "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"

#define S_IDS(ids) "\"<s>\":{\"id\":\"<s>\",\"ids\":[" ids "],\"tokens\":[\"<s>\"]}"

#define SPLITTER(text) "{" MODEL(ABC) ",\"pre_tokenizer\":" text "}"

struct tokenizer *small_tokenizer(const char *json, const char *settings, struct error *e);

#endif
