/* Token files of llm.c: 256 int32 (magic, version, number of tokens, zeros), then the tokens; all
 * little-endian. */
#include "io/tokens/formats.h"

#include <stdint.h>

enum {
    HEADER_WORDS = 256,
    MAGIC_U16 = 20240520,
    VERSION_U16 = 1,
    MAGIC_U32 = 20240801,
    VERSION_U32 = 7
};

static uint32_t word(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int llmc_tokens_read(struct ids *a, struct stored_tokens *s, struct input *in, struct error *e)
{
    unsigned char header[4 * HEADER_WORDS];
    if (stored_header(in, header, sizeof header, e))
        return -1;
    uint32_t magic = word(header), version = word(header + 4), count = word(header + 8);
    int wide = magic == MAGIC_U32;
    if (magic != MAGIC_U16 && !wide)
        return fail(e, "%s: is not a token file of llm.c (its first number is %u)", input_name(in),
                    magic);
    if (version != (wide ? VERSION_U32 : VERSION_U16))
        return fail(e, "%s: has version %u (expected %d)", input_name(in), version,
                    wide ? VERSION_U32 : VERSION_U16);
    if (count > INT32_MAX)
        return fail(e, "%s: states %d tokens (expected at least 1)", input_name(in),
                    (int32_t)count);
    *s = (struct stored_tokens){.element_bytes = wide ? 4 : 2,
                                .rank = 1,
                                .shape = {count},
                                .count = count};
    return stored_read(a, s, in, e);
}
