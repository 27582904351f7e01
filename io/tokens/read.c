/* Token files of every format, recognized by their contents. */
#include "io/tokens/tokens.h"

#include "io/tokenizer/ids.h"
#include "io/tokens/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum token_format { FORMAT_NPY, FORMAT_INDEX, FORMAT_LLMC, FORMAT_HDF, FORMAT_UNKNOWN };

static enum token_format find_format(const unsigned char *start, size_t size)
{
    static const struct {
        const char *magic;
        size_t size;
        enum token_format format;
    } magics[] = {
        {"\x93NUMPY", 6, FORMAT_NPY},         {"MMIDIDX", 8, FORMAT_INDEX},
        {"TNTIDX\0", 8, FORMAT_INDEX},        {"\x88\xd8\x34\x01", 4, FORMAT_LLMC},
        {"\xa1\xd9\x34\x01", 4, FORMAT_LLMC}, {"\x89HDF\r\n\x1a\n", 8, FORMAT_HDF},
    };
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= magics[i].size && memcmp(start, magics[i].magic, magics[i].size) == 0)
            return magics[i].format;
    return FORMAT_UNKNOWN;
}

/* The index with its token file. */
static int read_indexed(struct ids *a, struct stored_tokens *s, struct input *index,
                        const char *file, struct error *e)
{
    size_t length = strlen(file);
    if (length < 5 || strcmp(file + length - 4, ".idx"))
        return fail(
            e,
            "%s: is an index of tokens (expected a name with .idx at its end, and .bin beside it)",
            input_name(index));
    char *path = strdup(file);
    if (!path)
        return fail_memory(e, (double)length + 1, file);
    memcpy(path + length - 4, ".bin", 4);
    struct input *data = input_open(path, e);
    int result = data ? indexed_read(a, s, index, data, e) : -1;
    input_close(data);
    free(path);
    return result;
}

/* Bare integers. */
static int read_raw(struct ids *a, struct stored_tokens *s, struct input *in, enum token_type type,
                    struct error *e)
{
    static const struct stored_tokens types[] = {
        [TOKENS_UINT8] = {.element_bytes = 1},
        [TOKENS_UINT16] = {.element_bytes = 2},
        [TOKENS_UINT32] = {.element_bytes = 4},
        [TOKENS_UINT64] = {.element_bytes = 8},
        [TOKENS_INT16] = {.element_bytes = 2, .is_signed = 1},
        [TOKENS_INT32] = {.element_bytes = 4, .is_signed = 1},
        [TOKENS_INT64] = {.element_bytes = 8, .is_signed = 1},
    };
    unsigned char start[INPUT_PEEK_MAX];
    size_t got;
    if (input_peek(in, start, sizeof start, &got, e))
        return -1;
    if (find_format(start, got) != FORMAT_UNKNOWN)
        return fail(e,
                    "%s: says itself of which type its token ids are (expected it without "
                    "--tokens-dtype, or bare integers)",
                    input_name(in));
    *s = types[type];
    return raw_read(a, s, in, e);
}

static int read_format(struct ids *a, struct stored_tokens *s, struct input *in, const char *file,
                       struct error *e)
{
    unsigned char start[INPUT_PEEK_MAX];
    size_t got;
    if (input_peek(in, start, sizeof start, &got, e))
        return -1;
    switch (find_format(start, got)) {
    case FORMAT_NPY: return npy_read(a, s, in, e);
    case FORMAT_LLMC: return llmc_tokens_read(a, s, in, e);
    case FORMAT_INDEX: return read_indexed(a, s, in, file, e);
    case FORMAT_HDF: return hdf_read(a, s, file, NULL, e);
    case FORMAT_UNKNOWN: break;
    }
    const char *other = input_other(start, got);
    if (other)
        return fail(e, "%s: is %s", input_name(in), other);
    return fail(e,
                "%s: is not a token file (expected .npy, .h5, the .idx of an indexed data set, or "
                "a token file of llm.c; --tokens-dtype reads bare integers)",
                input_name(in));
}

/* The parts of FILE:/NAME in HDF5, unless a file has that name; NULL: other. Caller frees. */
static char *hdf_part(const char *file, const char **inside)
{
    const char *colon = NULL;
    for (const char *at = file; (at = strstr(at, ":/")); at++)
        colon = at;
    if (!colon || access(file, F_OK) == 0)
        return NULL;
    *inside = colon + 1;
    return strndup(file, (size_t)(colon - file));
}

static int read_file(struct ids *a, struct stored_tokens *s, const char *file, enum token_type type,
                     struct error *e)
{
    const char *inside;
    char *hdf = type ? NULL : hdf_part(file, &inside);
    if (hdf) {
        int result = hdf_read(a, s, hdf, inside, e);
        free(hdf);
        return result;
    }
    struct input *in = input_open(file, e);
    int result = !in ? -1 : type ? read_raw(a, s, in, type, e) : read_format(a, s, in, file, e);
    input_close(in);
    return result;
}

int tokens_read_files(struct tokens *out, const char *const *files, int count, struct error *e)
{
    return tokens_read_raw(out, files, count, TOKENS_BY_CONTENT, e);
}

int tokens_read_raw(struct tokens *out, const char *const *files, int count, enum token_type type,
                    struct error *e)
{
    struct ids a = {0};
    *out = (struct tokens){0};
    if (count < 1)
        return fail(e, "tokens: no token file was given");
    for (int i = 0; i < count; i++) {
        struct stored_tokens s = {0};
        if (read_file(&a, &s, files[i], type, e))
            goto failed;
        size_t columns = s.rank == 2 ? s.shape[1] : 0;
        if (i > 0 && columns != out->columns) {
            fail(e,
                 "%s: has %zu columns, the file before it %zu (0: a stream; all files must agree)",
                 files[i], columns, out->columns);
            goto failed;
        }
        out->columns = columns;
        out->rows += columns ? s.shape[0] : 0;
    }
    ids_to_tokens(out, &a, files, count);
    return 0;
failed:
    free(a.id);
    *out = (struct tokens){0};
    return -1;
}
