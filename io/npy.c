/* NumPy's .npy files of integers as token ids. Format: numpy.lib.format, versions 1 to 3. */
#include "io/tokens.h"

#include "io/element.h"
#include "io/ids.h"
#include "io/input.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES_MAX = 1 << 20, PIECE_BYTES = 1 << 16 };

/* What a header says. */
struct npy {
    size_t element_bytes; /* 1, 2, 4, 8 */
    int is_signed, big_endian;
    int fortran_order;
    int rank; /* 1 or 2 */
    size_t shape[2];
    size_t count;
};

/* -- the header: a Python dict of three entries -- */

struct cursor {
    const char *at; /* NUL behind the text */
    const char *file;
    struct npy *npy;
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
    return fail(e, "%s: the .npy header is malformed at '%.20s' (expected %s)", c->file, c->at, expected);
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

/* '<i4' and its like. What is no integer is refused by name. */
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
        return fail(e, "%s: holds pickled Python objects, type %s (expected integers such as <i4)", c->file, text);
    if (kind == 'f' || kind == 'c')
        return fail(e, "%s: holds floating-point numbers, type %s (expected integers such as <i4)", c->file, text);
    int sized = text[0] && text[1] && strlen(text) == 3 && strchr("1248", text[2]) != NULL;
    if (!sized || (kind != 'i' && kind != 'u') || !strchr("<>|=", order) || (order == '|' && text[2] != '1'))
        return fail(e, "%s: holds the type '%s' (expected integers: |u1 |i1 <u2 <i2 <u4 <i4 <u8 <i8 or the same with >)", c->file, text);
    c->npy->element_bytes = (size_t)(text[2] - '0');
    c->npy->is_signed = kind == 'i';
    c->npy->big_endian = order == '>';
    return 0;
}

static int read_size(struct cursor *c, size_t *out, struct error *e)
{
    skip_space(c);
    if (!isdigit((unsigned char)*c->at))
        return bad_header(c, "a whole number from 0 up in shape", e);
    *out = 0;
    for (; isdigit((unsigned char)*c->at); c->at++)
        if (size_multiply(out, *out, 10) || size_add(out, *out, (size_t)(*c->at - '0')))
            return fail(e, "%s: its shape overflows 64 bits", c->file);
    if (*c->at == 'L') /* Python 2 wrote long integers so */
        c->at++;
    return 0;
}

static int read_shape(struct cursor *c, struct error *e)
{
    size_t size = 0;
    struct npy *n = c->npy;
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
        return fail(e, "%s: has %d dimensions (expected 1: a stream, or 2: one segment a row)", c->file, n->rank);
    if (n->rank == 1 && !comma)
        return bad_header(c, "a comma in a shape of one number", e);
    return 0;
}

static int read_order(struct cursor *c, struct error *e)
{
    c->npy->fortran_order = take(c, "True");
    return c->npy->fortran_order || take(c, "False") ? 0 : bad_header(c, "True or False for fortran_order", e);
}

static int parse_header(struct npy *npy, const char *text, const char *file, struct error *e)
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
            return fail(e, "%s: the .npy header has an unexpected key '%s' (expected descr, fortran_order, shape, once each)", file, key);
        if (!take(&c, ":"))
            return bad_header(&c, ":", e);
        if (entries[i].read(&c, e))
            return -1;
        comma = take(&c, ",");
    }
    skip_space(&c);
    if (*c.at)
        return bad_header(&c, "nothing behind }", e);
    for (int i = 0; i < 3; i++)
        if (!seen[i])
            return fail(e, "%s: the .npy header has no %s", file, entries[i].key);
    size_t bytes;
    if (size_multiply(&bytes, npy->count, npy->element_bytes))
        return fail(e, "%s: its shape overflows 64 bits", file);
    return 0;
}

/* Reads exactly `size` bytes of the header. */
static int read_exactly(struct input *in, void *out, size_t size, struct error *e)
{
    size_t got;
    if (input_read(in, out, size, &got, e))
        return -1;
    return got == size ? 0 : fail(e, "%s: ends within its header (expected a whole .npy file)", input_name(in));
}

static int read_header(struct npy *npy, struct input *in, struct error *e)
{
    unsigned char start[8], length[4] = {0};
    if (read_exactly(in, start, sizeof start, e))
        return -1;
    if (memcmp(start, "\x93NUMPY", 6))
        return fail(e, "%s: is no .npy file (expected it to begin with \\x93NUMPY)", input_name(in));
    if (start[6] < 1 || start[6] > 3)
        return fail(e, "%s: has .npy version %d.%d (expected 1, 2 or 3)", input_name(in), start[6], start[7]);
    if (read_exactly(in, length, start[6] == 1 ? 2 : 4, e))
        return -1;
    size_t bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (bytes > HEADER_BYTES_MAX)
        return fail(e, "%s: states a header of %zu bytes (expected at most %d)", input_name(in), bytes, HEADER_BYTES_MAX);
    char *text = malloc(bytes + 1);
    if (!text)
        return fail_memory(e, (double)bytes + 1, "a .npy header");
    int result = read_exactly(in, text, bytes, e);
    if (result == 0) {
        text[bytes] = '\0';
        result = strlen(text) == bytes ? parse_header(npy, text, input_name(in), e) : fail(e, "%s: a zero byte in its header", input_name(in));
    }
    free(text);
    return result;
}

/* -- the data -- */

/* One stored integer as a token id; -1 if it is none. `text` receives its decimal form for the message. */
static int32_t read_id(const unsigned char *p, const struct npy *n, char text[32])
{
    uint64_t value = 0;
    for (size_t b = 0; b < n->element_bytes; b++)
        value = value << 8 | p[n->big_endian ? b : n->element_bytes - 1 - b];
    if (n->is_signed) {
        unsigned unused = (unsigned)(64 - 8 * n->element_bytes);
        int64_t whole = (int64_t)(value << unused) >> unused; /* extends the sign */
        if (whole >= 0 && whole <= INT32_MAX)
            return (int32_t)whole;
        snprintf(text, 32, "%lld", (long long)whole);
    } else {
        if (value <= INT32_MAX)
            return (int32_t)value;
        snprintf(text, 32, "%llu", (unsigned long long)value);
    }
    return -1;
}

static int bad_id(const char *file, const struct npy *n, size_t index, const char *text, struct error *e)
{
    if (n->rank == 1)
        return fail(e, "%s: element %zu is %s (expected a token id from 0 to %d)", file, index, text, INT32_MAX);
    size_t row = n->fortran_order ? index % n->shape[0] : index / n->shape[1];
    size_t column = n->fortran_order ? index / n->shape[0] : index % n->shape[1];
    return fail(e, "%s: element [%zu, %zu] is %s (expected a token id from 0 to %d)", file, row, column, text, INT32_MAX);
}

/* Appends the elements in stored order. Memory grows with what is read, never by what the header claims. */
static int append_elements(struct ids *a, const struct npy *n, struct input *in, struct error *e)
{
    unsigned char piece[PIECE_BYTES];
    for (size_t done = 0; done < n->count;) {
        size_t most = PIECE_BYTES / n->element_bytes, left = n->count - done, got;
        size_t wanted = (left < most ? left : most) * n->element_bytes;
        if (input_read(in, piece, wanted, &got, e))
            return -1;
        if (got < wanted)
            return fail(e, "%s: ends after %zu of %zu elements", input_name(in), done + got / n->element_bytes, n->count);
        size_t here = wanted / n->element_bytes;
        if (ids_reserve(a, here, e))
            return -1;
        for (size_t i = 0; i < here; i++) {
            char text[32];
            int32_t id = read_id(piece + i * n->element_bytes, n, text);
            if (id < 0)
                return bad_id(input_name(in), n, done + i, text, e);
            a->id[a->count++] = id;
        }
        done += here;
    }
    size_t got;
    if (input_read(in, piece, 1, &got, e))
        return -1;
    return got == 0 ? 0 : fail(e, "%s: bytes lie behind the last element (expected %zu elements and the end)", input_name(in), n->count);
}

/* Column after column to row after row, of the last `count` ids. */
static int transpose(struct ids *a, const struct npy *n, struct error *e)
{
    size_t rows = n->shape[0], columns = n->shape[1];
    int32_t *by_column = malloc(n->count * sizeof *by_column), *by_row = a->id + (a->count - n->count);
    if (!by_column)
        return fail_memory(e, (double)n->count * sizeof *by_column, "a transposed table");
    memcpy(by_column, by_row, n->count * sizeof *by_column);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            by_row[r * columns + c] = by_column[c * rows + r];
    free(by_column);
    return 0;
}

/* Appends one file; the first one (out->rows and columns not set yet, `first`) decides between stream and table. */
static int append_file(struct tokens *out, struct ids *a, const char *file, int first, struct error *e)
{
    struct npy n = {0};
    struct input *in = input_open(file, e);
    if (!in)
        return -1;
    int result = -1;
    if (read_header(&n, in, e))
        goto end;
    if (n.count == 0) {
        fail(e, "%s: holds no tokens", input_name(in));
        goto end;
    }
    size_t columns = n.rank == 2 ? n.shape[1] : 0;
    if (!first && columns != out->columns) {
        fail(e, "%s: has %zu columns, the file before it %zu (0: a stream; all files must agree)", input_name(in), columns, out->columns);
        goto end;
    }
    if (append_elements(a, &n, in, e) || (n.rank == 2 && n.fortran_order && transpose(a, &n, e)))
        goto end;
    out->columns = columns;
    out->rows += n.rank == 2 ? n.shape[0] : 0;
    result = 0;
end:
    input_close(in);
    return result;
}

int tokens_read_npy(struct tokens *out, const char *const *files, int count, struct error *e)
{
    struct ids a = {0};
    *out = (struct tokens){0};
    if (count < 1)
        return fail(e, "tokens: no .npy file was given");
    for (int i = 0; i < count; i++)
        if (append_file(out, &a, files[i], i == 0, e)) {
            free(a.id);
            *out = (struct tokens){0};
            return -1;
        }
    ids_to_tokens(out, &a, files, count);
    return 0;
}
