#include "io/torch/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_HEADER = 30,
    CENTRAL_HEADER = 46,
    END_RECORD = 22,
    END64_LOCATOR = 20,
    END64_RECORD = 56,
    EXTRA_ZIP64 = 1,
    FLAG_ENCRYPTED = 1 | 1 << 6 | 1 << 13 /* with its stronger form and masked headers */
};

static uint16_t get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const unsigned char *p)
{
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* The archive being read. */
struct reader {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    size_t directory, directory_end; /* the central directory; records precede it */
    uint64_t count;
    struct error *e;
};

/* -- finding the directory -- */

/* The 64-bit end record, if its locator precedes the usual one at `end`. 1 found, 0 none, -1
 * error. */
static int read_end64(struct reader *r, size_t end, size_t *directory_size)
{
    if (end < END64_LOCATOR || get32(r->bytes + end - END64_LOCATOR) != 0x07064b50)
        return 0;
    size_t locator = end - END64_LOCATOR;
    uint64_t at = get64(r->bytes + locator + 8);
    if (at > locator || locator - at < END64_RECORD || get32(r->bytes + at) != 0x06064b50 ||
        get64(r->bytes + at + 4) != locator - at - 12)
        return fail(r->e,
                    "%s: is a damaged zip archive (the 64-bit end of its directory is not where "
                    "its locator says)",
                    r->path);
    const unsigned char *p = r->bytes + at;
    if (get32(p + 16) || get32(p + 20) || get32(r->bytes + locator + 4) ||
        get64(p + 24) != get64(p + 32))
        return fail(r->e, "%s: is one part of a zip archive in several (expected all of it)",
                    r->path);
    r->count = get64(p + 32);
    r->directory = get64(p + 48);
    r->directory_end = at;
    *directory_size = get64(p + 40);
    return 1;
}

static int find_directory(struct reader *r)
{
    size_t directory_size = 0;
    if (r->size < END_RECORD || get32(r->bytes + r->size - END_RECORD) != 0x06054b50)
        return fail(
            r->e, "%s: does not end as a zip archive does (it is cut off, or bytes follow its end)",
            r->path);
    size_t end = r->size - END_RECORD;
    const unsigned char *p = r->bytes + end;
    if (get16(p + 20))
        return fail(r->e, "%s: states a comment of %u bytes after its end (expected none)", r->path,
                    get16(p + 20));
    int found = read_end64(r, end, &directory_size);
    if (found < 0)
        return -1;
    if (!found) {
        if (get16(p + 4) || get16(p + 6) || get16(p + 8) != get16(p + 10))
            return fail(r->e, "%s: is one part of a zip archive in several (expected all of it)",
                        r->path);
        r->count = get16(p + 10);
        r->directory = get32(p + 16);
        r->directory_end = end;
        directory_size = get32(p + 12);
    }
    if (found && ((get32(p + 16) != 0xFFFFFFFF && get32(p + 16) != r->directory) ||
                  (get16(p + 10) != 0xFFFF && get16(p + 10) != r->count)))
        return fail(r->e, "%s: is a damaged zip archive (its two end records disagree)", r->path);
    if (r->directory > r->directory_end || r->directory_end - r->directory != directory_size)
        return fail(r->e,
                    "%s: is a damaged zip archive (its directory of %zu bytes at %zu does not end "
                    "at its end record at %zu)",
                    r->path, directory_size, r->directory, r->directory_end);
    if (r->count > directory_size / CENTRAL_HEADER)
        return fail(r->e, "%s: is a damaged zip archive (%llu records in a directory of %zu bytes)",
                    r->path, (unsigned long long)r->count, directory_size);
    return 0;
}

/* -- one record -- */

/* Sizes in a central header, for which 32 bits may be too few. */
struct wide {
    uint64_t unpacked, packed, header;
};

/* From the extra field's part 1, in order, takes each value that did not fit into the header. */
static int read_wide(struct wide *w, const unsigned char *extra, size_t length)
{
    uint64_t *values[3] = {&w->unpacked, &w->packed, &w->header};
    int needed = 0;
    for (int i = 0; i < 3; i++)
        needed += *values[i] == 0xFFFFFFFF;
    if (!needed)
        return 0;
    while (length >= 4) {
        size_t part = get16(extra + 2);
        if (part > length - 4)
            return -1;
        if (get16(extra) == EXTRA_ZIP64) {
            const unsigned char *p = extra + 4;
            for (int i = 0; i < 3; i++)
                if (*values[i] == 0xFFFFFFFF) {
                    if (part < 8)
                        return -1;
                    *values[i] = get64(p);
                    p += 8, part -= 8;
                }
            return 0;
        }
        extra += 4 + part, length -= 4 + part;
    }
    return -1;
}

/* Compares the local header with the directory and finds the data. */
static int read_local(struct reader *r, struct zip_record *record)
{
    int shown = record->name_length < 80 ? (int)record->name_length : 80;
    if (record->header > r->directory || r->directory - record->header < LOCAL_HEADER)
        return fail(r->e, "%s: record %.*s begins at byte %zu, outside the archive's data", r->path,
                    shown, record->name, record->header);
    const unsigned char *p = r->bytes + record->header;
    size_t room = r->directory - record->header - LOCAL_HEADER, name_length = get16(p + 26),
           extra_length = get16(p + 28);
    if (get32(p) != 0x04034b50 || name_length + extra_length > room ||
        name_length != record->name_length || memcmp(p + LOCAL_HEADER, record->name, name_length))
        return fail(
            r->e,
            "%s: record %.*s has another name, or none, in its own header than in the directory",
            r->path, shown, record->name);
    if (get16(p + 6) & FLAG_ENCRYPTED || get16(p + 8) != 0)
        return fail(
            r->e, "%s: record %.*s is packed or encrypted (expected it stored, as torch.save does)",
            r->path, shown, record->name);
    for (int i = 0; i < 2; i++) {
        uint32_t stated = get32(p + 18 + 4 * i);
        if (stated != 0 && stated != 0xFFFFFFFF && stated != record->size)
            return fail(r->e,
                        "%s: record %.*s has %u bytes by its own header and %zu by the directory",
                        r->path, shown, record->name, stated, record->size);
    }
    if (record->size > room - name_length - extra_length)
        return fail(r->e,
                    "%s: record %.*s claims %zu bytes, more than lie before the directory (the "
                    "file is cut off or damaged)",
                    r->path, shown, record->name, record->size);
    record->data = p + LOCAL_HEADER + name_length + extra_length;
    return 0;
}

/* Reads the central header at *at and moves past it. */
static int read_central(struct reader *r, struct zip_record *record, size_t *at)
{
    const unsigned char *p = r->bytes + *at;
    size_t room = r->directory_end - *at;
    if (room < CENTRAL_HEADER || get32(p) != 0x02014b50)
        return fail(r->e,
                    "%s: is a damaged zip archive (no record is described at byte %zu of the file)",
                    r->path, *at);
    size_t name_length = get16(p + 28), extra_length = get16(p + 30),
           comment_length = get16(p + 32);
    if (name_length + extra_length + comment_length > room - CENTRAL_HEADER)
        return fail(r->e,
                    "%s: is a damaged zip archive (the description at byte %zu of the file goes "
                    "beyond the directory)",
                    r->path, *at);
    struct wide w = {get32(p + 24), get32(p + 20), get32(p + 42)};
    record->name = (const char *)p + CENTRAL_HEADER;
    record->name_length = name_length;
    record->crc = get32(p + 16);
    int shown = name_length < 80 ? (int)name_length : 80;
    if (memchr(record->name, '\0', name_length))
        return fail(r->e, "%s: the name of record %.*s... holds a NUL character", r->path, shown,
                    record->name);
    if (get16(p + 8) & FLAG_ENCRYPTED)
        return fail(r->e, "%s: record %.*s is encrypted (expected it stored, as torch.save does)",
                    r->path, shown, record->name);
    if (get16(p + 10) != 0)
        return fail(
            r->e, "%s: record %.*s is packed by method %u (expected it stored, as torch.save does)",
            r->path, shown, record->name, get16(p + 10));
    if (read_wide(&w, p + CENTRAL_HEADER + name_length, extra_length))
        return fail(r->e, "%s: record %.*s lacks its 64-bit sizes", r->path, shown, record->name);
    if (w.packed != w.unpacked)
        return fail(r->e, "%s: record %.*s is stored in %llu bytes but has %llu", r->path, shown,
                    record->name, (unsigned long long)w.packed, (unsigned long long)w.unpacked);
    record->size = w.unpacked;
    record->header = w.header;
    *at += CENTRAL_HEADER + name_length + extra_length + comment_length;
    return read_local(r, record);
}

/* -- all records -- */

static int by_header(const void *a, const void *b)
{
    const struct zip_record *x = a, *y = b;
    return x->header < y->header ? -1 : x->header > y->header;
}

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_name(const void *a, const void *b)
{
    const struct zip_record *x = a, *y = b;
    return compare_names(x->name, x->name_length, y->name, y->name_length);
}

static int check_records(struct reader *r, struct zip *z)
{
    if (z->count)
        qsort(z->records, z->count, sizeof *z->records, by_header);
    for (size_t i = 1; i < z->count; i++) {
        const struct zip_record *one = &z->records[i - 1], *next = &z->records[i];
        if (one->data + one->size > r->bytes + next->header)
            return fail(r->e, "%s: records %.*s and %.*s overlap", r->path,
                        (int)(one->name_length < 80 ? one->name_length : 80), one->name,
                        (int)(next->name_length < 80 ? next->name_length : 80), next->name);
    }
    size_t first = z->count ? z->records[0].header : 0;
    if (z->count)
        qsort(z->records, z->count, sizeof *z->records, by_name);
    for (size_t i = 0; i < z->count; i++) {
        const struct zip_record *one = &z->records[i];
        if (i > 0 && by_name(one - 1, one) == 0)
            return fail(r->e, "%s: has two records %.*s (a duplicate name)", r->path,
                        (int)(one->name_length < 80 ? one->name_length : 80), one->name);
        if (one->header == first)
            z->first = one;
    }
    return 0;
}

int zip_open_memory(struct zip *out, const char *path, const unsigned char *bytes, size_t size,
                    struct error *e)
{
    struct reader r = {.path = path, .bytes = bytes, .size = size, .e = e};
    struct zip z = {.path = path};
    if (find_directory(&r))
        return -1;
    z.records = calloc(r.count ? (size_t)r.count : 1, sizeof *z.records);
    if (!z.records)
        return fail_memory(e, (double)r.count * sizeof *z.records, "the records of a zip archive");
    size_t at = r.directory;
    for (; z.count < r.count; z.count++)
        if (read_central(&r, &z.records[z.count], &at))
            goto failed;
    if (at != r.directory_end) {
        fail(e, "%s: is a damaged zip archive (%zu bytes of its directory describe nothing)", path,
             r.directory_end - at);
        goto failed;
    }
    if (check_records(&r, &z))
        goto failed;
    *out = z;
    return 0;
failed:
    zip_close(&z);
    return -1;
}

void zip_close(struct zip *z)
{
    free(z->records);
    *z = (struct zip){0};
}

const struct zip_record *zip_find(const struct zip *z, const char *name, size_t length)
{
    struct zip_record key = {.name = name, .name_length = length};
    return z->count ? bsearch(&key, z->records, z->count, sizeof key, by_name) : NULL;
}

int zip_check(const struct zip *z, const struct zip_record *record, struct error *e)
{
    if (record->crc == 0 || crc32_z(0, record->data, record->size) == record->crc)
        return 0;
    return fail(e, "%s: record %.*s is damaged (its checksum is another)", z->path,
                (int)(record->name_length < 80 ? record->name_length : 80), record->name);
}
