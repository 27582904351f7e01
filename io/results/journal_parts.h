/* The layout of a journal on disk. Private to this folder. */
#ifndef REACH_IO_RESULTS_JOURNAL_PARTS_H
#define REACH_IO_RESULTS_JOURNAL_PARTS_H

#include "io/bytes.h"
#include "io/results/journal.h"

#include <string.h>

/* On disk, all little-endian:
 *   header         magic[8] version[4] zero[4] digest[8] models[8] values[8] words[8] begin[8]
 *                  settings_bytes[8] settings[settings_bytes] checksum[8]
 *   slots          two records of attention for each model, one model after the other, zeros if not
 *                  written yet; no slots if words = 0
 *   from `begin`   records of segments and of losses, one after the other
 *   record         kind[4] model[4] head[24] payload checksum[8]
 *   of a segment   head target[4] segment[4] status[1] zero[7] logprob[8]
 *                  payload values[8 values]
 *   of losses      head first[8] count[8] zero[8]
 *                  payload values[8 values], zeros from `count` on
 *   of attention   head measured[8] used[8] zero[8]
 *                  payload high[8 words] low[8 words]
 * digest is XXH3-64 of the settings; checksums are XXH3-64 of all bytes before them in the header
 * or record, for records seeded with the digest, so that a record of another run is never accepted.
 * Version 1, of reach 0.1.0, had only records of segments, and attention in another file. */
enum {
    VERSION = 2,
    FIXED_BYTES = 64,
    RECORD_HEAD_BYTES = 32,
    CHECKSUM_BYTES = 8,
    SLOTS = 2,
    SETTINGS_BYTES_MAX = 16 << 20
};

struct journal {
    char *path;
    int descriptor;
    struct journal_sizes sizes;
    size_t segment_bytes, attention_bytes; /* of a record */
    size_t slots, begin; /* offsets */
    uint64_t digest;
    unsigned char *record; /* [the larger of the two] the record being written or read */
    unsigned char *next_slot; /* [models] the slot to write next */
    size_t size; /* bytes of the file that are whole */
    double synced; /* when, in seconds; of the monotonic clock */
};

static inline void put32(unsigned char *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void put64(unsigned char *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* journal_record.c: bytes of a record of this kind. */
size_t journal_bytes_of(const struct journal *j, enum journal_kind kind);
/* Assembles the record in j->record. */
void journal_pack(struct journal *j, const struct journal_record *r);
/* Parses the record of this kind in j->record, where JOURNAL_SEGMENT stands for losses too; -1: it
 * is damaged. */
int journal_unpack(const struct journal *j, enum journal_kind kind, struct journal_record *r);

/* journal_header.c: the header of a new journal; the caller frees. NULL only if memory runs out. */
unsigned char *journal_build_header(const struct journal *j, const char *settings, size_t *bytes);
/* Reads and checks the header of the open descriptor, and sets j->size. */
int journal_check_header(struct journal *j, size_t file_bytes, const char *settings,
                         struct error *e) MUST_USE;

#endif
