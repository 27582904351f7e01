/* The journal of a run: its records of attention, and the first version, which had none. */
#include "io/results/journal.h"
#include "tests/journal_records.h"
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

/* ---- records of attention ---- */

enum {
    WORDS = 3,
    HEADER_BYTES = 64 + sizeof journal_settings - 1 + 8,
    SLOT_BYTES = 32 + 16 * WORDS + 8
};

static const struct journal_sizes with_attention = {.models = 2,
                                                    .values = POSITIONS,
                                                    .words = WORDS};

static struct journal_record sums_of(uint32_t model, uint64_t measured, uint64_t high[WORDS],
                                     uint64_t low[WORDS])
{
    for (uint64_t i = 0; i < WORDS; i++)
        high[i] = measured * 10 + i, low[i] = UINT64_MAX - measured - i;
    return (struct journal_record){.kind = JOURNAL_ATTENTION,
                                   .model = model,
                                   .attention = {.measured = measured,
                                                 .used = measured - 1,
                                                 .words = WORDS,
                                                 .high = high,
                                                 .low = low}};
}

static int keep(void *context, const struct journal_record *r)
{
    struct kept *kept = context;
    uint64_t high[WORDS], low[WORDS];
    if (r->kind == JOURNAL_SEGMENT) {
        kept->segments++;
        return 0;
    }
    sums_of(r->model, r->attention.measured, high, low);
    kept->wrong += r->model > 1 || r->attention.used != r->attention.measured - 1 ||
                   kept->segments || memcmp(high, r->attention.high, sizeof high) ||
                   memcmp(low, r->attention.low, sizeof low);
    kept->measured[r->model % 2] = r->attention.measured;
    kept->attention++;
    return 0;
}

static void append_sums(struct journal *j, uint32_t model, uint64_t measured)
{
    uint64_t high[WORDS], low[WORDS];
    struct journal_record r = sums_of(model, measured, high, low);
    struct error e = {""};
    assert_int_equal(journal_append(j, &r, &e), 0);
}

/* Two segments and, between them, sums of model 0 after 3 and 6 segments and of model 1 after 2, 4
 * and 5; the caller frees. */
static unsigned char *journal_with_attention(size_t *size)
{
    struct error e = {""};
    const char *path = scratch_path(scratch_folder, "attention.part");
    struct journal *j = journal_create(path, &with_attention, journal_settings, &e);
    assert_non_null(j);
    append_sums(j, 0, 3);
    append_records(j, 0, 1);
    append_sums(j, 1, 2);
    append_sums(j, 1, 4);
    append_sums(j, 0, 6);
    append_records(j, 1, 2);
    append_sums(j, 1, 5);
    assert_int_equal(journal_close(j, &e), 0);
    return scratch_read(path, size);
}

static struct kept resume_attention(const unsigned char *bytes, size_t size)
{
    struct error e = {""};
    struct kept kept = {0};
    struct journal *j = journal_resume(scratch_write(scratch_folder, "attention.part", bytes, size),
                                       &with_attention, journal_settings, keep, &kept,
                                       &records_found, &e);
    if (!j)
        fail_msg("%s", e.text);
    assert_int_equal(kept.wrong, 0);
    assert_int_equal(journal_close(j, &e), 0);
    return kept;
}

/* The newest sums of each model are passed on; where they are damaged, at any byte, the ones
 * before, and nothing else is lost. */
static void test_attention(void **state)
{
    (void)state;
    static const int newest[4] = {0, 1, 1, 0}; /* slots: 3, 6 of model 0; 5, 4 of model 1 */
    size_t size;
    unsigned char *good = journal_with_attention(&size);
    struct kept kept = resume_attention(good, size);
    assert_int_equal(size, HEADER_BYTES + 4 * SLOT_BYTES + 2 * RECORD_BYTES);
    assert_true(kept.attention == 2 && kept.segments == 2 && kept.measured[0] == 6 &&
                kept.measured[1] == 5);
    assert_true(records_found.records == 4 && records_found.damaged == 0);
    for (size_t at = 0; at < 4 * SLOT_BYTES; at += 5) {
        size_t slot = at / SLOT_BYTES;
        int is_newest = slot < 2 ? newest[slot] : slot == 2;
        unsigned char *byte = good + HEADER_BYTES + at;
        *byte ^= 0x21;
        kept = resume_attention(good, size);
        *byte ^= 0x21;
        assert_true(kept.attention == 2 && kept.segments == 2 && records_found.damaged == 1);
        assert_int_equal(kept.measured[0], slot < 2 && is_newest ? 3 : 6);
        assert_int_equal(kept.measured[1], slot >= 2 && is_newest ? 4 : 5);
    }
    /* both of a model: it begins anew; zeros, as a power cut leaves them: as if nothing had been
     * written */
    good[HEADER_BYTES + 40] ^= 1, good[HEADER_BYTES + SLOT_BYTES + 40] ^= 1;
    kept = resume_attention(good, size);
    assert_true(kept.attention == 1 && kept.segments == 2 && kept.measured[0] == 0 &&
                kept.measured[1] == 5);
    assert_int_equal(records_found.damaged, 2);
    memset(good + HEADER_BYTES, 0, 2 * SLOT_BYTES);
    kept = resume_attention(good, size);
    assert_true(kept.attention == 1 && kept.measured[1] == 5 && records_found.damaged == 0);
    free(good);
}

/* Going on writes over the older or the damaged sums, never over the newest that are whole. */
static void test_attention_goes_on(void **state)
{
    (void)state;
    for (int damaged = -1; damaged < 4; damaged++) {
        struct error e = {""};
        struct kept kept = {0};
        size_t size;
        unsigned char *bytes = journal_with_attention(&size);
        if (damaged >= 0)
            bytes[HEADER_BYTES + (size_t)damaged * SLOT_BYTES + 33] ^= 8;
        struct journal *j =
            journal_resume(scratch_write(scratch_folder, "attention.part", bytes, size),
                           &with_attention, journal_settings, keep, &kept, &records_found, &e);
        assert_non_null(j);
        append_sums(j, 0, 7);
        append_sums(j, 1, 8);
        assert_int_equal(journal_close(j, &e), 0);
        free(bytes);
        bytes = scratch_read(scratch_path(scratch_folder, "attention.part"), &size);
        struct kept after = resume_attention(bytes, size);
        assert_true(after.measured[0] == 7 && after.measured[1] == 8 && records_found.damaged == 0);
        for (size_t slot = 0; slot < 4;
             slot++) { /* without what was just written: what was passed on before */
            uint64_t measured;
            memcpy(&measured, bytes + HEADER_BYTES + slot * SLOT_BYTES + 8, sizeof measured);
            if (measured == 7 || measured == 8)
                memset(bytes + HEADER_BYTES + slot * SLOT_BYTES, 0, SLOT_BYTES);
        }
        after = resume_attention(bytes, size);
        assert_true(after.measured[0] == kept.measured[0] && after.measured[1] == kept.measured[1]);
        free(bytes);
    }
}

/* A journal of reach 0.1.0 is refused by name, and left alone. */
static void test_first_version(void **state)
{
    (void)state;
    unsigned char old[48 + 26 + 8 + 80] = "reachrun\1";
    struct error e = {""};
    struct kept kept = {0};
    size_t size;
    const char *path = scratch_write(scratch_folder, "old.part", old, sizeof old);
    assert_null(
        journal_resume(path, &with_attention, journal_settings, keep, &kept, &records_found, &e));
    assert_int_equal(
        check_message("version 1", &e,
                      "old.part: is the journal of a run of reach 0.1.0 (expected that version"),
        0);
    assert_int_equal(records_found.absent, 0);
    free(scratch_read(path, &size));
    assert_int_equal(size, sizeof old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_goes_on),
        cmocka_unit_test(test_first_version),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
