#include "tests/journal_records.h"
#include "io/results/journal.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char journal_settings[] = "length=6\nmodel=a 0123\nseed=0\n";

struct journal_record test_record(uint32_t k, double norm[POSITIONS])
{
    for (int i = 0; i < POSITIONS; i++)
        norm[i] = k + 0.1 * i;
    if (k == 1) {
        norm[0] = NAN;
        norm[1] = -INFINITY;
        norm[2] = 5e-324;
    }
    return (struct journal_record){.kind = JOURNAL_SEGMENT,
                                   .model = k % 2,
                                   .segment = {.target = k / 2,
                                               .segment = 100 + k,
                                               .status = (uint8_t)(1 + k % 2),
                                               .logprob = -0.3 * k,
                                               .values = norm}};
}

void append_records(struct journal *j, uint32_t first, uint32_t end)
{
    struct error e = {""};
    double norm[POSITIONS];
    for (uint32_t k = first; k < end; k++) {
        struct journal_record r = test_record(k, norm);
        assert_int_equal(journal_append(j, &r, &e), 0);
    }
}

struct journal_found records_found;
