/* The journal DIR/erf.part: finished segments of a run, appended one record each, so that a killed run goes on where it was.
 *
 * Header: magic, format version, digest of models and settings, record size, then a readable text of the settings (for naming
 * what differs), checksum. Record: model index, segment index, status, log p, norms, checksum. All records are of one size, so a
 * damaged one costs no other. What is torn or damaged at the end is cut off when the journal is opened. */
#ifndef REACH_IO_JOURNAL_H
#define REACH_IO_JOURNAL_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct journal;

struct journal_record {
    uint32_t model, segment;
    uint8_t status;
    double logprob;
    const double *norm; /* [positions] */
};

/* What journal_resume came upon. */
struct journal_found {
    int absent; /* 1: there is no journal */
    size_t records; /* that were passed on */
    size_t damaged; /* passed over: their checksum is wrong */
    size_t torn; /* bytes of a record that was not written to its end */
};

/* Creates PATH anew for records of `positions` norms. `settings` is `key=value` lines that name everything results depend on. */
struct journal *journal_create(const char *path, size_t positions, const char *settings, struct error *e) MUST_USE;
/* Opens PATH to go on. Other settings are an error naming the first key that differs, with both values. Valid records are passed
 * to `each` in file order (its norm pointer lives during the call; a nonzero return ends with -1). NULL on failure, and if there
 * is no journal. */
struct journal *journal_resume(const char *path, size_t positions, const char *settings,
                               int (*each)(void *context, const struct journal_record *r), void *context,
                               struct journal_found *found, struct error *e) MUST_USE;
/* Appends one record with a single write. Synced to disk at most once a second and on close. */
int journal_append(struct journal *j, const struct journal_record *r, struct error *e) MUST_USE;
int journal_close(struct journal *j, struct error *e) MUST_USE;

#endif
