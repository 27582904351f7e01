/* The journal DIR/erf.part: what a run has measured so far, so that a killed run can be resumed.
 *
 * Header: magic, format version, digest of models and settings, sizes, then a readable text of the
 * settings (to name what differs), checksum. Each record has a kind and a checksum, so that a
 * damaged one does not affect the others. Records of segments and of losses all have one size and
 * are appended; torn or damaged ones at the end are cut off when the journal is opened. Records of
 * attention hold growing sums: the last two of each model are kept between header and segments, and
 * the older one is overwritten. */
#ifndef REACH_IO_RESULTS_JOURNAL_H
#define REACH_IO_RESULTS_JOURNAL_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct journal;

enum journal_kind { JOURNAL_SEGMENT = 1, JOURNAL_ATTENTION = 2, JOURNAL_LOSSES = 3 };

/* The contents of a record of each kind. */
struct journal_segment {
    uint32_t target, segment; /* indices */
    uint8_t status;
    double logprob;
    const double *values; /* [values]: norms, and other measurements of a segment */
};
struct journal_attention {
    uint64_t measured, used; /* segments in the sums, and the usable ones among them */
    size_t words; /* at most the journal's, the largest of all models; when read, equal to it */
    const uint64_t *high, *low; /* [words] each */
};

/* Consecutive numbers of what a run measures in addition to its segments
 * (run/validate/validate.h). */
struct journal_losses {
    uint64_t first, count; /* count at most `values` */
    const double *values; /* [count]; when read, [values] */
};

struct journal_record {
    enum journal_kind kind;
    uint32_t model;
    union {
        struct journal_segment segment;
        struct journal_attention attention;
        struct journal_losses losses;
    };
};

/* Of all records of a journal. */
struct journal_sizes {
    size_t models, values;
    size_t words; /* 0: no attention is stored */
};

/* What journal_resume found. */
struct journal_found {
    int absent; /* 1: there is no journal */
    size_t records; /* passed to the caller */
    size_t damaged; /* skipped: wrong checksum */
    size_t torn; /* bytes of an incompletely written record */
};

/* Creates a new journal at PATH. `settings` is `key=value` lines that name everything results
 * depend on. */
struct journal *journal_create(const char *path, const struct journal_sizes *sizes,
                               const char *settings, struct error *e) MUST_USE;
/* Opens PATH to resume. Other settings are an error naming the first key that differs, with both
 * values. Valid records are passed to `each`: the newest record of attention of every model, then
 * segments and losses in file order (the record's pointers are valid during the call; a nonzero
 * return ends with -1). NULL on failure, and if there is no journal. */
struct journal *journal_resume(const char *path, const struct journal_sizes *sizes,
                               const char *settings,
                               int (*each)(void *context, const struct journal_record *r),
                               void *context, struct journal_found *found,
                               struct error *e) MUST_USE;
/* Stores one record with a single write. Segments and losses are synced to disk at most once a
 * second and on close, attention at once. */
int journal_append(struct journal *j, const struct journal_record *r, struct error *e) MUST_USE;
int journal_close(struct journal *j, struct error *e) MUST_USE;

#endif
