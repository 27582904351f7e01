/* The header of the journal, and the setting that differs from a run's. */
#include "io/results/journal_parts.h"
#include "io/system/file.h"

#include <stdlib.h>
#include <xxhash.h>

static const char magic[8] = "reachrun";

unsigned char *journal_build_header(const struct journal *j, const char *settings, size_t *bytes)
{
    size_t length = strlen(settings);
    *bytes = FIXED_BYTES + length + CHECKSUM_BYTES;
    unsigned char *h = calloc(1, *bytes);
    if (!h)
        return NULL;
    memcpy(h, magic, sizeof magic);
    put32(h + 8, VERSION);
    put64(h + 16, j->digest);
    put64(h + 24, j->sizes.models);
    put64(h + 32, j->sizes.values);
    put64(h + 40, j->sizes.words);
    put64(h + 48, j->begin);
    put64(h + 56, length);
    memcpy(h + FIXED_BYTES, settings, length);
    put64(h + FIXED_BYTES + length, XXH3_64bits(h, FIXED_BYTES + length));
    return h;
}

/* The line of a text with the key of `line` ("key=value"), or NULL. Lengths without newlines. */
static const char *find_key(const char *text, const char *line, size_t *length)
{
    size_t key = strcspn(line, "=\n");
    for (const char *at = text; *at;) {
        *length = strcspn(at, "\n");
        if (strcspn(at, "=\n") == key && memcmp(at, line, key) == 0)
            return at;
        at += *length + (at[*length] == '\n');
    }
    return NULL;
}

/* The value after "key=" of a line of `length` bytes, cut to fit into a message. */
static const char *value_of(const char *line, size_t length, char out[160])
{
    if (!line)
        return "nothing";
    size_t key = strcspn(line, "=\n"), skip = key < length ? key + 1 : key, n = length - skip;
    n = n < 159 ? n : 159;
    memcpy(out, line + skip, n);
    out[n] = '\0';
    return out;
}

/* Both texts are NUL-terminated. Names the first key of `a` whose value in `b` differs; `swapped`:
 * b is this run's. */
static int name_difference(const char *path, const char *a, const char *b, int swapped,
                           struct error *e)
{
    for (const char *line = a; *line;) {
        size_t length = strcspn(line, "\n"), other_length = 0;
        const char *other = find_key(b, line, &other_length);
        if (!other || other_length != length || memcmp(other, line, length)) {
            char here[160], there[160];
            const char *value = value_of(line, length, here),
                       *other_value = value_of(other, other_length, there);
            return fail(e,
                        "%s: was begun with other settings: %.*s is %s there, %s in this run "
                        "(expected the same)",
                        path, (int)strcspn(line, "=\n"), line, swapped ? value : other_value,
                        swapped ? other_value : value);
        }
        line += length + (line[length] == '\n');
    }
    return 0;
}

int journal_check_header(struct journal *j, size_t file_bytes, const char *settings,
                         struct error *e)
{
    unsigned char fixed[FIXED_BYTES], *whole = NULL;
    if (file_bytes < FIXED_BYTES + CHECKSUM_BYTES)
        return fail(e, "%s: is not a journal of reach (%zu bytes; remove it to start again)",
                    j->path, file_bytes);
    if (file_read_at(j->descriptor, j->path, fixed, sizeof fixed, 0, e))
        return -1;
    if (memcmp(fixed, magic, sizeof magic))
        return fail(e, "%s: is not a journal of reach (remove it to start again)", j->path);
    if (load32(fixed + 8) == 1)
        return fail(e,
                    "%s: is the journal of a run of reach 0.1.0 (expected that version to continue "
                    "it, or --force without "
                    "--resume to start again)",
                    j->path);
    if (load32(fixed + 8) != VERSION)
        return fail(e, "%s: is a journal of version %u (expected %d; remove it to start again)",
                    j->path, load32(fixed + 8), VERSION);
    uint64_t length = load64(fixed + 56);
    if (length > SETTINGS_BYTES_MAX || length > file_bytes - FIXED_BYTES - CHECKSUM_BYTES)
        return fail(e, "%s: its header is damaged (remove it to start again)", j->path);
    size_t bytes = FIXED_BYTES + (size_t)length;
    if (!(whole = malloc(bytes + CHECKSUM_BYTES)))
        return fail_memory(e, (double)bytes, "the journal's header");
    int result = file_read_at(j->descriptor, j->path, whole, bytes + CHECKSUM_BYTES, 0, e);
    if (result)
        goto end;
    if (load64(whole + bytes) != XXH3_64bits(whole, bytes)) {
        result = fail(e, "%s: its header is damaged (remove it to start again)", j->path);
        goto end;
    }
    whole[bytes] = '\0'; /* the checksum's place, no longer needed */
    const char *theirs = (const char *)whole + FIXED_BYTES;
    if (strlen(settings) != length || memcmp(settings, theirs, (size_t)length)) {
        result =
            name_difference(j->path, settings, theirs, 0, e) ||
                    name_difference(j->path, theirs, settings, 1, e)
                ? -1
                : fail(e,
                       "%s: was begun with the same settings in another order (expected the same)",
                       j->path);
        goto end;
    }
    if (load64(whole + 24) != j->sizes.models || load64(whole + 32) != j->sizes.values ||
        load64(whole + 40) != j->sizes.words || load64(whole + 48) != j->begin)
        result = fail(e, "%s: has records of %llu values and %llu words (expected %zu and %zu)",
                      j->path, (unsigned long long)load64(whole + 32),
                      (unsigned long long)load64(whole + 40), j->sizes.values, j->sizes.words);
    else if (file_bytes < j->begin)
        result = fail(e, "%s: its header is damaged (remove it to start again)", j->path);
    j->size = j->begin;
end:
    free(whole);
    return result;
}
