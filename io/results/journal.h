/* The journal DIR/erf.part: what a run has measured so far, so that a killed run goes on where it was.
 *
 * Header: magic, format version, digest of models and settings, sizes, then a readable text of the settings (for naming what
 * differs), checksum. Records have a kind, and a checksum each, so that a damaged one costs no other. Those of segments and of
 * losses are all of one size and appended; what is torn or damaged at the end is cut off when the journal is opened. Those of
 * attention hold sums that grow: of each model the last two are kept between header and segments, and the older one is written
 * over. */
#ifndef REACH_IO_RESULTS_JOURNAL_H
#define REACH_IO_RESULTS_JOURNAL_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct journal;

enum journal_kind { JOURNAL_SEGMENT = 1, JOURNAL_ATTENTION = 2, JOURNAL_LOSSES = 3 };

/* What a record of each kind holds. */
struct journal_segment {
    uint32_t target, segment; /* indices */
    uint8_t status;
    double logprob;
    const double *values; /* [values]: norms, and what else is measured of a segment */
};
struct journal_attention {
    uint64_t measured, used; /* segments in the sums, and those of them that are usable */
    size_t words; /* at most those of the journal, which are the most of all models; when read, those */
    const uint64_t *high, *low; /* [words] each */
};

/* Numbers that stand one behind the other in what a run measures beside its segments (run/validate/validate.h). */
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
    size_t words; /* 0: no attention is kept */
};

/* What journal_resume came upon. */
struct journal_found {
    int absent; /* 1: there is no journal */
    size_t records; /* that were passed on */
    size_t damaged; /* passed over: their checksum is wrong */
    size_t torn; /* bytes of a record that was not written to its end */
};

/* Creates PATH anew. `settings` is `key=value` lines that name everything results depend on. */
struct journal *journal_create(const char *path, const struct journal_sizes *sizes, const char *settings,
                               struct error *e) MUST_USE;
/* Opens PATH to go on. Other settings are an error naming the first key that differs, with both values. Valid records are passed
 * to `each`: of attention the newest of every model, then segments and losses in file order (what a record points to lives during
 * the call; a nonzero return ends with -1). NULL on failure, and if there is no journal. */
struct journal *journal_resume(const char *path, const struct journal_sizes *sizes, const char *settings,
                               int (*each)(void *context, const struct journal_record *r), void *context,
                               struct journal_found *found, struct error *e) MUST_USE;
/* Keeps one record with a single write. Segments and losses are synced to disk at most once a second and on close, attention
 * at once. */
int journal_append(struct journal *j, const struct journal_record *r, struct error *e) MUST_USE;
int journal_close(struct journal *j, struct error *e) MUST_USE;

#endif
