/* NumPy's .npy files of integers as token ids. Format: numpy.lib.format, versions 1 to 3. */
#include "io/tokens/formats.h"

#include "io/element.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES_MAX = 1 << 20 };

/* -- the header: a Python dict of three entries -- */

struct cursor {
    const char *at; /* followed by a NUL */
    const char *file;
    struct stored_tokens *npy;
};

static void skip_space(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')
        c->at++;
}

/* Takes `wanted` if it comes next. */
static int take(struct cursor *c, const char *wanted)
{
    skip_space(c);
    size_t n = strlen(wanted);
    if (strncmp(c->at, wanted, n))
        return 0;
    c->at += n;
    return 1;
}

static int bad_header(struct cursor *c, const char *expected, struct error *e)
{
    return fail(e, "%s: the .npy header is malformed at '%.20s' (expected %s)", c->file, c->at,
                expected);
}

/* A quoted text without escapes. */
static int read_quoted(struct cursor *c, char *out, size_t size, struct error *e)
{
    skip_space(c);
    char quote = *c->at;
    if (quote != '\'' && quote != '"')
        return bad_header(c, "text in quotes", e);
    const char *end = strchr(c->at + 1, quote);
    if (!end || (size_t)(end - c->at) > size || memchr(c->at, '\\', (size_t)(end - c->at)))
        return bad_header(c, "a short text in quotes", e);
    size_t length = (size_t)(end - c->at) - 1;
    memcpy(out, c->at + 1, length);
    out[length] = '\0';
    c->at = end + 1;
    return 0;
}

/* '<i4' and the like. Types other than integers are refused by name. */
static int read_descr(struct cursor *c, struct error *e)
{
    skip_space(c);
    if (*c->at == '[' || *c->at == '(')
        return fail(e, "%s: holds a structured type (expected integers such as <i4)", c->file);
    char text[64];
    if (read_quoted(c, text, sizeof text, e))
        return -1;
    char order = text[0], kind = order ? text[1] : '\0';
    if (order == 'O' || kind == 'O')
        return fail(e, "%s: holds pickled Python objects, type %s (expected integers such as <i4)",
                    c->file, text);
    if (kind == 'f' || kind == 'c')
        return fail(e, "%s: holds floating-point numbers, type %s (expected integers such as <i4)",
                    c->file, text);
    int sized = text[0] && text[1] && strlen(text) == 3 && strchr("1248", text[2]) != NULL;
    if (!sized || (kind != 'i' && kind != 'u') || !strchr("<>|=", order) ||
        (order == '|' && text[2] != '1'))
        return fail(e,
                    "%s: holds the type '%s' (expected integers: |u1 |i1 <u2 <i2 <u4 <i4 <u8 <i8 "
                    "or the same with >)",
                    c->file, text);
    c->npy->element_bytes = (size_t)(text[2] - '0');
    c->npy->is_signed = kind == 'i';
    c->npy->big_endian = order == '>';
    return 0;
}

static int read_size(struct cursor *c, size_t *out, struct error *e)
{
    skip_space(c);
    if (!isdigit((unsigned char)*c->at))
        return bad_header(c, "a whole number of at least 0 in shape", e);
    *out = 0;
    for (; isdigit((unsigned char)*c->at); c->at++)
        if (size_multiply(out, *out, 10) || size_add(out, *out, (size_t)(*c->at - '0')))
            return fail(e, "%s: its shape overflows 64 bits", c->file);
    if (*c->at == 'L') /* Python 2's form of long integers */
        c->at++;
    return 0;
}

static int read_shape(struct cursor *c, struct error *e)
{
    size_t size = 0;
    struct stored_tokens *n = c->npy;
    if (!take(c, "("))
        return bad_header(c, "shape as (..)", e);
    n->rank = 0;
    n->count = 1;
    int comma = 1;
    while (!take(c, ")")) {
        if (!comma)
            return bad_header(c, ", or ) in shape", e);
        if (read_size(c, &size, e))
            return -1;
        if (n->rank < 2)
            n->shape[n->rank] = size;
        n->rank++;
        if (size_multiply(&n->count, n->count, size))
            return fail(e, "%s: its shape overflows 64 bits", c->file);
        comma = take(c, ",");
    }
    if (n->rank < 1 || n->rank > 2)
        return fail(e, "%s: has %d dimensions (expected 1: a stream, or 2: one segment a row)",
                    c->file, n->rank);
    if (n->rank == 1 && !comma)
        return bad_header(c, "a comma in a shape of one number", e);
    return 0;
}

static int read_order(struct cursor *c, struct error *e)
{
    c->npy->fortran_order = take(c, "True");
    return c->npy->fortran_order || take(c, "False")
               ? 0
               : bad_header(c, "True or False for fortran_order", e);
}

static int parse_header(struct stored_tokens *npy, const char *text, const char *file,
                        struct error *e)
{
    static const struct {
        const char *key;
        int (*read)(struct cursor *c, struct error *e);
    } entries[3] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    struct cursor c = {text, file, npy};
    int seen[3] = {0};
    if (!take(&c, "{"))
        return bad_header(&c, "{", e);
    for (int comma = 1; !take(&c, "}");) {
        char key[32];
        int i = 0;
        if (!comma)
            return bad_header(&c, ", or }", e);
        if (read_quoted(&c, key, sizeof key, e))
            return -1;
        while (i < 3 && strcmp(key, entries[i].key))
            i++;
        if (i == 3 || seen[i]++)
            return fail(e,
                        "%s: the .npy header has an unexpected key '%s' (expected descr, "
                        "fortran_order, shape, once each)",
                        file, key);
        if (!take(&c, ":"))
            return bad_header(&c, ":", e);
        if (entries[i].read(&c, e))
            return -1;
        comma = take(&c, ",");
    }
    skip_space(&c);
    if (*c.at)
        return bad_header(&c, "nothing after }", e);
    for (int i = 0; i < 3; i++)
        if (!seen[i])
            return fail(e, "%s: the .npy header has no %s", file, entries[i].key);
    size_t bytes;
    if (size_multiply(&bytes, npy->count, npy->element_bytes))
        return fail(e, "%s: its shape overflows 64 bits", file);
    return 0;
}

static int read_header(struct stored_tokens *npy, struct input *in, struct error *e)
{
    unsigned char start[8], length[4] = {0};
    if (stored_header(in, start, sizeof start, e))
        return -1;
    if (memcmp(start, "\x93NUMPY", 6))
        return fail(e, "%s: is not a .npy file (expected it to begin with \\x93NUMPY)",
                    input_name(in));
    if (start[6] < 1 || start[6] > 3)
        return fail(e, "%s: has .npy version %d.%d (expected 1, 2 or 3)", input_name(in), start[6],
                    start[7]);
    if (stored_header(in, length, start[6] == 1 ? 2 : 4, e))
        return -1;
    size_t bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
                   (size_t)length[3] << 24;
    if (bytes > HEADER_BYTES_MAX)
        return fail(e, "%s: states a header of %zu bytes (expected at most %d)", input_name(in),
                    bytes, HEADER_BYTES_MAX);
    char *text = malloc(bytes + 1);
    if (!text)
        return fail_memory(e, (double)bytes + 1, "a .npy header");
    int result = stored_header(in, text, bytes, e);
    if (result == 0) {
        text[bytes] = '\0';
        result = strlen(text) == bytes ? parse_header(npy, text, input_name(in), e)
                                       : fail(e, "%s: a zero byte in its header", input_name(in));
    }
    free(text);
    return result;
}

int npy_read(struct ids *a, struct stored_tokens *s, struct input *in, struct error *e)
{
    return read_header(s, in, e) ? -1 : stored_read(a, s, in, e);
}
