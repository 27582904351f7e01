#include "tests/small_tokenizer.h"
#include "io/tokenizer/text.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/tokens.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tokenizer *small_tokenizer(const char *json, const char *settings, struct error *e)
{
    struct source s = {"config", settings, settings ? strlen(settings) : 0};
    return tokenizer_parse((struct source){"json", json, strlen(json)}, settings ? &s : NULL, e);
}
