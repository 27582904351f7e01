/* Zip archives of stored records, made by hand for tests. */
#ifndef REACH_TESTS_STORED_ZIP_H
#define REACH_TESTS_STORED_ZIP_H

#include <stddef.h>

struct stored_record {
    const char *name;
    const void *data;
    size_t size;
};

/* Writes an archive of at most 16 records, without checksums, to `out` (room enough is the caller's
 * care); returns its size. `wide` adds the 64-bit end record and its locator (76 bytes), as
 * torch.save does. */
size_t stored_zip(unsigned char *out, const struct stored_record *records, size_t count, int wide);

#endif
