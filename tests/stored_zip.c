#include "tests/stored_zip.h"

#include <stdint.h>
#include <string.h>

static void put(unsigned char **at, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (unsigned char)(v >> 8 * i);
}

size_t stored_zip(unsigned char *out, const struct stored_record *records, size_t count, int wide)
{
    unsigned char *at = out;
    size_t offset[16];
    for (size_t i = 0; i < count; i++) {
        const struct stored_record *r = &records[i];
        offset[i] = (size_t)(at - out);
        put(&at, 4, 0x04034b50), put(&at, 2, 20), put(&at, 8, 0), put(&at, 4, 0);
        put(&at, 4, r->size), put(&at, 4, r->size), put(&at, 2, strlen(r->name)), put(&at, 2, 0);
        at = (unsigned char *)stpcpy((char *)at, r->name);
        memcpy(at, r->data, r->size);
        at += r->size;
    }
    size_t directory = (size_t)(at - out);
    for (size_t i = 0; i < count; i++) {
        const struct stored_record *r = &records[i];
        put(&at, 4, 0x02014b50), put(&at, 4, 20), put(&at, 8, 0), put(&at, 4, 0);
        put(&at, 4, r->size), put(&at, 4, r->size), put(&at, 2, strlen(r->name)), put(&at, 8, 0),
            put(&at, 4, 0), put(&at, 4, offset[i]);
        at = (unsigned char *)stpcpy((char *)at, r->name);
    }
    size_t end = (size_t)(at - out);
    if (wide) {
        put(&at, 4, 0x06064b50), put(&at, 8, 44), put(&at, 4, 45), put(&at, 8, 0),
            put(&at, 8, count), put(&at, 8, count);
        put(&at, 8, end - directory), put(&at, 8, directory);
        put(&at, 4, 0x07064b50), put(&at, 4, 0), put(&at, 8, end), put(&at, 4, 1);
    }
    put(&at, 4, 0x06054b50), put(&at, 4, 0), put(&at, 2, count), put(&at, 2, count),
        put(&at, 4, end - directory), put(&at, 4, directory), put(&at, 2, 0);
    return (size_t)(at - out);
}
