/* Records and settings of a journal, for tests. */
#ifndef REACH_TESTS_JOURNAL_RECORDS_H
#define REACH_TESTS_JOURNAL_RECORDS_H

#include "io/results/journal.h"
#include "tests/scratch.h"

#include <stddef.h>

enum { POSITIONS = 5, RECORDS = 4, RECORD_BYTES = 32 + 8 * POSITIONS + 8 };

/* Counts what is passed on, and keeps the measured segments of each model's attention, whose words
 * follow from them. */
struct kept {
    uint64_t measured[2];
    int attention, segments, wrong;
};

extern const char journal_settings[30];

/* Record k of the tests; the second has values that only an exact copy keeps. */
struct journal_record test_record(uint32_t k, double norm[POSITIONS]);

void append_records(struct journal *j, uint32_t first, uint32_t end);

extern struct journal_found records_found;

#endif
