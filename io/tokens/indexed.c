/* Indexed data sets. MMIDIDX (Megatron, GPT-NeoX, KERPLE), after 9 bytes of magic: u64 version 1,
 * u8 type, u64 sequences n, u64 documents d; int32 sizes[n], int64 pointers[n] (bytes), int64
 * documents[d]. TNTIDX (fairseq, older Megatron), after 8: u64 version 1, type, element size, n, s,
 * d; int64 dimensions[n + 1], offsets[n + 1] (elements), sizes[s], documents[d]. All little-endian.
 * The tokens are in a separate file without a header. The sequences are one stream, in the order of
 * the index; they must be consecutive and fill the file. */
#include "io/tokens/formats.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>

static const char mmididx[9] = "MMIDIDX\0", tntidx[8] = "TNTIDX\0";

struct index {
    struct input *in;
    uint64_t sequences, documents;
    struct ids sizes; /* elements of each sequence */
    uint64_t total; /* of all */
    struct stored_tokens *tokens;
};

static int read_number(struct index *x, uint64_t *out, size_t bytes, struct error *e)
{
    unsigned char raw[8];
    if (stored_header(x->in, raw, bytes, e))
        return -1;
    *out = 0;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | raw[i];
    return 0;
}

static int read_type(struct index *x, uint64_t code, struct error *e)
{
    static const struct {
        size_t bytes;
        int is_signed;
    } types[] = {
        [1] = {1, 0}, [2] = {1, 1}, [3] = {2, 1}, [4] = {4, 1}, [5] = {8, 1}, [8] = {2, 0}};
    if (code == 6 || code == 7)
        return fail(e, "%s: holds floating-point numbers, type code %d (expected integers)",
                    input_name(x->in), (int)code);
    if (code >= sizeof types / sizeof *types || types[code].bytes == 0)
        return fail(e, "%s: has the type code %llu (expected 1, 2, 3, 4, 5 or 8)",
                    input_name(x->in), (unsigned long long)code);
    *x->tokens = (struct stored_tokens){.element_bytes = types[code].bytes,
                                        .is_signed = types[code].is_signed,
                                        .rank = 1};
    return 0;
}

static int check_version(struct index *x, struct error *e)
{
    uint64_t version;
    if (read_number(x, &version, 8, e))
        return -1;
    return version == 1 ? 0
                        : fail(e, "%s: has version %llu (expected 1)", input_name(x->in),
                               (unsigned long long)version);
}

static int add_size(struct index *x, uint64_t size, struct error *e)
{
    size_t at = x->sizes.count;
    if (size > INT32_MAX)
        return fail(e, "%s: sequence %zu states %lld tokens (expected 0 to %d)", input_name(x->in),
                    at, (long long)size, INT32_MAX);
    if (ids_reserve(&x->sizes, 1, e))
        return -1;
    x->sizes.id[x->sizes.count++] = (int32_t)size;
    x->total += size;
    return 0;
}

static int bad_place(struct index *x, const char *what, uint64_t sequence, uint64_t found,
                     uint64_t expected, struct error *e)
{
    return fail(e, "%s: %s of sequence %llu is %lld (expected %llu: sequences one after the other)",
                input_name(x->in), what, (unsigned long long)sequence, (long long)found,
                (unsigned long long)expected);
}

/* Where documents begin: sequences from 0 up. */
static int check_documents(struct index *x, struct error *e)
{
    uint64_t before = 0, document;
    unsigned char more;
    size_t got;
    for (uint64_t i = 0; i < x->documents; i++) {
        if (read_number(x, &document, 8, e))
            return -1;
        if (document > x->sequences || document < before || (i == 0 && document != 0))
            return fail(e,
                        "%s: document %llu begins at sequence %lld (expected 0 for the first, then "
                        "ascending, at most %llu)",
                        input_name(x->in), (unsigned long long)i, (long long)document,
                        (unsigned long long)x->sequences);
        before = document;
    }
    if (input_read(x->in, &more, 1, &got, e))
        return -1;
    return got == 0 ? 0
                    : fail(e, "%s: bytes follow the last document (expected the end)",
                           input_name(x->in));
}

static int read_mmididx(struct index *x, struct error *e)
{
    uint64_t code, number, place = 0;
    if (check_version(x, e) || read_number(x, &code, 1, e) || read_type(x, code, e) ||
        read_number(x, &x->sequences, 8, e) || read_number(x, &x->documents, 8, e))
        return -1;
    for (uint64_t i = 0; i < x->sequences; i++)
        if (read_number(x, &number, 4, e) || add_size(x, number, e))
            return -1;
    for (uint64_t i = 0; i < x->sequences; i++) {
        if (read_number(x, &number, 8, e))
            return -1;
        if (number != place)
            return bad_place(x, "the place", i, number, place, e);
        place += (uint64_t)x->sizes.id[i] * x->tokens->element_bytes;
    }
    return check_documents(x, e);
}

static int read_tntidx(struct index *x, struct error *e)
{
    uint64_t code, bytes, sizes, number, offset = 0;
    if (check_version(x, e) || read_number(x, &code, 8, e) || read_type(x, code, e) ||
        read_number(x, &bytes, 8, e) || read_number(x, &x->sequences, 8, e) ||
        read_number(x, &sizes, 8, e) || read_number(x, &x->documents, 8, e))
        return -1;
    if (bytes != x->tokens->element_bytes)
        return fail(e, "%s: has elements of %llu bytes (expected %zu for the type code %llu)",
                    input_name(x->in), (unsigned long long)bytes, x->tokens->element_bytes,
                    (unsigned long long)code);
    if (sizes != x->sequences)
        return fail(e, "%s: has %llu sizes for %llu sequences (expected one each)",
                    input_name(x->in), (unsigned long long)sizes, (unsigned long long)x->sequences);
    for (uint64_t i = 0; i <= x->sequences; i++) {
        if (read_number(x, &number, 8, e))
            return -1;
        if (number != i)
            return bad_place(x, "the first dimension", i, number, i, e);
    }
    for (uint64_t i = 0; i <= x->sequences; i++) {
        if (read_number(x, &number, 8, e))
            return -1;
        if (i == 0 ? number != 0 : number < offset)
            return bad_place(x, "the place", i, number, offset, e);
        if (i > 0 && add_size(x, number - offset, e))
            return -1;
        offset = number;
    }
    for (uint64_t i = 0; i < x->sequences; i++) {
        if (read_number(x, &number, 8, e))
            return -1;
        if (number != (uint64_t)x->sizes.id[i])
            return bad_place(x, "the size", i, number, (uint64_t)x->sizes.id[i], e);
    }
    return check_documents(x, e);
}

int indexed_read(struct ids *a, struct stored_tokens *s, struct input *index, struct input *data,
                 struct error *e)
{
    struct index x = {.in = index, .tokens = s};
    char magic[sizeof mmididx];
    int result = -1;
    if (stored_header(index, magic, sizeof tntidx, e))
        return -1;
    if (memcmp(magic, tntidx, sizeof tntidx) == 0)
        result = read_tntidx(&x, e);
    else if (stored_header(index, magic + sizeof tntidx, sizeof mmididx - sizeof tntidx, e))
        result = -1;
    else if (memcmp(magic, mmididx, sizeof mmididx) == 0)
        result = read_mmididx(&x, e);
    else
        fail(e, "%s: is not an index of tokens (expected it to begin with MMIDIDX or TNTIDX)",
             input_name(index));
    free(x.sizes.id);
    if (result)
        return -1;
    s->count = s->shape[0] = (size_t)x.total;
    return stored_read(a, s, data, e);
}
