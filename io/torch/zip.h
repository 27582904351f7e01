/* Zip archives with uncompressed records, as torch.save writes them: finds where each record is in
 * memory.
 *
 * Format: PKWARE APPNOTE, 4.3; caffe2/serialize/inline_container.cc of PyTorch. Only the central
 * directory has the sizes (local headers may leave them 0), and only the local header gives the
 * start of the data. Private to io/. */
#ifndef REACH_IO_TORCH_ZIP_H
#define REACH_IO_TORCH_ZIP_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct zip_record {
    const char *name; /* name_length bytes in the archive, without a NUL at the end */
    size_t name_length;
    const unsigned char *data;
    size_t size;
    uint32_t crc; /* 0: not given */
    size_t header; /* offset of the local header */
};

struct zip {
    const char *path; /* borrowed, for messages */
    struct zip_record *records; /* sorted by name */
    size_t count;
    const struct zip_record *first; /* the record with the first header */
};

/* Finds the records of an archive in memory, which must outlive the zip. Refused: compressed or
 * encrypted records, records that overlap or lie outside, duplicate names, local and central
 * headers that disagree, bytes after the end. PATH names the archive in messages. 0, or -1 with
 * nothing to close. */
int zip_open_memory(struct zip *out, const char *path, const unsigned char *bytes, size_t size,
                    struct error *e) MUST_USE;
void zip_close(struct zip *z);

/* The record of that name, or NULL. */
const struct zip_record *zip_find(const struct zip *z, const char *name, size_t length);

/* Compares the record's bytes with its checksum, if it has one. For records small enough to read
 * now. */
int zip_check(const struct zip *z, const struct zip_record *record, struct error *e) MUST_USE;

#endif
