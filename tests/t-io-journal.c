/* The journal survives a kill at any byte, and goes on only under the same settings. */
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

static const struct journal_sizes sizes = {.models = 2, .values = POSITIONS};

/* Counts the records and compares them with test_record, `missing` of which from `gap` on are left
 * out; stops at `stop_at`. */
struct seen {
    uint32_t count, stop_at, gap, missing;
    int wrong;
};

static int look(void *context, const struct journal_record *r)
{
    struct seen *seen = context;
    double norm[POSITIONS];
    if (seen->missing && seen->count == seen->gap)
        seen->count += seen->missing;
    struct journal_record want = test_record(seen->count, norm);
    if (seen->count == seen->stop_at)
        return 1;
    const struct journal_segment *a = &r->segment, *b = &want.segment;
    seen->wrong += r->kind != want.kind || r->model != want.model || a->target != b->target ||
                   a->segment != b->segment || a->status != b->status || a->logprob != b->logprob ||
                   memcmp(a->values, norm, sizeof norm);
    seen->count++;
    return 0;
}

/* A journal of RECORDS records as bytes; caller frees. */
static unsigned char *whole_journal(size_t *size)
{
    struct error e = {""};
    const char *path = scratch_path(scratch_folder, "whole.part");
    struct journal *j = journal_create(path, &sizes, journal_settings, &e);
    assert_non_null(j);
    append_records(j, 0, RECORDS);
    assert_int_equal(journal_close(j, &e), 0);
    return scratch_read(path, size);
}

static struct journal *resume(const char *path, struct seen *seen, struct error *e)
{
    *seen = (struct seen){.stop_at = UINT32_MAX};
    struct journal *j = journal_resume(path, &sizes, journal_settings, look, seen, &records_found,
                                       e);
    assert_int_equal(records_found.absent, 0);
    return j;
}

static struct journal *resume_without(const char *path, uint32_t gap, uint32_t missing,
                                      struct seen *seen, struct error *e)
{
    *seen = (struct seen){.stop_at = UINT32_MAX, .gap = gap, .missing = missing};
    struct journal *j = journal_resume(path, &sizes, journal_settings, look, seen, &records_found,
                                       e);
    if (seen->count == gap)
        seen->count += missing; /* nothing came behind the gap */
    return j;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error e = {""};
    struct seen seen;
    size_t size, again;
    free(whole_journal(&size));
    const char *path = scratch_path(scratch_folder, "whole.part");
    struct journal *j = resume(path, &seen, &e);
    assert_non_null(j);
    assert_int_equal(seen.count, RECORDS);
    assert_int_equal(seen.wrong, 0);
    append_records(j, RECORDS, RECORDS + 1);
    assert_int_equal(journal_close(j, &e), 0);
    assert_non_null(j = resume(path, &seen, &e));
    assert_int_equal(seen.count, RECORDS + 1);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(journal_close(j, &e), 0);
    /* created anew: the old records are gone */
    assert_non_null(j = journal_create(path, &sizes, journal_settings, &e));
    assert_int_equal(journal_close(j, &e), 0);
    free(scratch_read(path, &again));
    assert_int_equal(again, size - RECORDS * RECORD_BYTES);
    assert_int_equal(journal_close(NULL, &e), 0);
    assert_int_equal(scratch_count(scratch_folder), 1);
}

/* Of segments and losses in turn, which look knows by their kind. */
static int look_at_both(void *context, const struct journal_record *r)
{
    uint32_t *count = context;
    const double *values = r->kind == JOURNAL_LOSSES ? r->losses.values : r->segment.values;
    double norm[POSITIONS];
    struct journal_record want = test_record(*count, norm);
    if (r->kind == JOURNAL_LOSSES) {
        assert_int_equal(*count % 2, 1);
        assert_int_equal(r->losses.first, 1000UL + *count);
        assert_int_equal(r->losses.count, POSITIONS - 1);
        norm[POSITIONS - 1] = 0; /* what is behind them */
    } else {
        assert_int_equal(*count % 2, 0);
        assert_int_equal(r->segment.segment, want.segment.segment);
    }
    assert_memory_equal(values, norm, sizeof norm);
    assert_int_equal(r->model, want.model);
    ++*count;
    return 0;
}

static void test_losses(void **state)
{
    (void)state;
    struct error e = {""};
    double norm[POSITIONS];
    uint32_t count = 0;
    const char *path = scratch_path(scratch_folder, "losses.part");
    struct journal *j = journal_create(path, &sizes, journal_settings, &e);
    assert_non_null(j);
    for (uint32_t k = 0; k < RECORDS; k++) {
        struct journal_record r = test_record(k, norm);
        if (k % 2)
            r = (struct journal_record){.kind = JOURNAL_LOSSES,
                                        .model = r.model,
                                        .losses = {1000 + k, POSITIONS - 1, norm}};
        assert_int_equal(journal_append(j, &r, &e), 0);
    }
    assert_int_equal(journal_close(j, &e), 0);
    assert_non_null(j = journal_resume(path, &sizes, journal_settings, look_at_both, &count,
                                       &records_found, &e));
    assert_int_equal(count, RECORDS);
    assert_int_equal(records_found.damaged, 0);
    assert_int_equal(journal_close(j, &e), 0);
}

/* Killed at every byte of the last record: what was whole is kept, and going on gives the same
 * file. */
static void test_torn(void **state)
{
    (void)state;
    size_t size, now;
    struct error e = {""};
    struct seen seen;
    unsigned char *good = whole_journal(&size);
    for (size_t cut = size - RECORD_BYTES; cut <= size; cut++) {
        uint32_t kept = (uint32_t)(RECORDS - (size - cut + RECORD_BYTES - 1) / RECORD_BYTES);
        const char *path = scratch_write(scratch_folder, "torn.part", good, cut);
        struct journal *j = resume(path, &seen, &e);
        assert_non_null(j);
        assert_int_equal(seen.count, kept);
        assert_int_equal(seen.wrong, 0);
        append_records(j, kept, RECORDS);
        assert_int_equal(journal_close(j, &e), 0);
        unsigned char *bytes = scratch_read(path, &now);
        assert_int_equal(now, size);
        assert_memory_equal(bytes, good, size);
        free(bytes);
    }
    free(good);
}

/* A changed byte in record k, or zeros as a power cut leaves them: that record is passed over, and
 * cut off where it is the last. All others are kept. */
static void test_damaged(void **state)
{
    (void)state;
    size_t size, now;
    struct error e = {""};
    struct seen seen;
    unsigned char *good = whole_journal(&size), *bad = malloc(size);
    for (size_t at = 0; at < RECORDS * RECORD_BYTES; at += 7) {
        uint32_t k = (uint32_t)(at / RECORD_BYTES);
        size_t start = size - RECORDS * RECORD_BYTES;
        memcpy(bad, good, size);
        if (at % 5)
            bad[start + at] ^= (unsigned char)(1 << at % 8);
        else
            memset(bad + start + k * RECORD_BYTES, 0, RECORD_BYTES);
        const char *path = scratch_write(scratch_folder, "bad.part", bad, size);
        struct journal *j = resume_without(path, k, 1, &seen, &e);
        assert_non_null(j);
        assert_int_equal(seen.count, RECORDS);
        assert_int_equal(seen.wrong, 0);
        assert_int_equal(records_found.records, RECORDS - 1);
        assert_int_equal(records_found.damaged, 1);
        assert_int_equal(records_found.torn, 0);
        append_records(j, k, k + 1);
        assert_int_equal(journal_close(j, &e), 0);
        free(scratch_read(path, &now));
        assert_int_equal(now, k == RECORDS - 1 ? size : size + RECORD_BYTES);
    }
    /* several at the end, and half a record behind them, are cut off together */
    memcpy(bad, good, size);
    memset(bad + size - 2 * RECORD_BYTES, 0, 2 * RECORD_BYTES);
    const char *path = scratch_write(scratch_folder, "bad.part", bad, size - 3);
    struct journal *j = resume_without(path, RECORDS - 2, 2, &seen, &e);
    assert_non_null(j);
    assert_int_equal(records_found.records, RECORDS - 2);
    assert_int_equal(records_found.damaged, 1);
    assert_int_equal(records_found.torn, RECORD_BYTES - 3);
    append_records(j, RECORDS - 2, RECORDS);
    assert_int_equal(journal_close(j, &e), 0);
    unsigned char *bytes = scratch_read(path, &now);
    assert_int_equal(now, size);
    assert_memory_equal(bytes, good, size);
    free(bytes);
    free(good);
    free(bad);
}

/* Any damage to the header is an error, and the file is left alone. */
static void test_damaged_header(void **state)
{
    (void)state;
    size_t size, now;
    struct error e = {""};
    struct seen seen;
    unsigned char *good = whole_journal(&size);
    size_t header = size - RECORDS * RECORD_BYTES;
    for (size_t at = 0; at < header; at++) {
        good[at] ^= 0x81;
        const char *path = scratch_write(scratch_folder, "bad.part", good, size);
        good[at] ^= 0x81;
        assert_null(resume(path, &seen, &e));
        assert_int_equal(check_message("header", &e, "bad.part: "), 0);
        free(scratch_read(path, &now));
        assert_int_equal(now, size);
        assert_null(resume(scratch_write(scratch_folder, "bad.part", good, at), &seen, &e));
        assert_int_equal(check_message("cut header", &e, "bad.part: |start again"), 0);
    }
    free(good);
}

static void test_settings(void **state)
{
    (void)state;
    size_t size;
    free(whole_journal(&size));
    const struct {
        const char *what, *settings;
        size_t positions;
        const char *words;
    } cases[] = {
        {"value", "length=7\nmodel=a 0123\nseed=0\n", POSITIONS,
         "length is 6 there, 7 in this run"},
        {"later value", "length=6\nmodel=a 0123\nseed=12\n", POSITIONS,
         "seed is 0 there, 12 in this run"},
        {"longer value", "length=6\nmodel=a 01234\nseed=0\n", POSITIONS,
         "model is a 0123 there, a 01234 in this run"},
        {"new key", "length=6\nmodel=a 0123\nseed=0\nbos=1\n", POSITIONS,
         "bos is nothing there, 1 in this run"},
        {"missing key", "length=6\nmodel=a 0123\n", POSITIONS,
         "seed is 0 there, nothing in this run"},
        {"key with the same beginning", "length=6\nmodel=a 0123\nseed0=0\n", POSITIONS,
         "seed0 is nothing there, 0 in this run"},
        {"none", "", POSITIONS, "length is 6 there, nothing in this run"},
        {"order", "model=a 0123\nlength=6\nseed=0\n", POSITIONS, "same settings in another order"},
        {"positions", journal_settings, POSITIONS + 1,
         "records of 5 values and 0 words (expected 6 and 0)"},
    };
    const char *path = scratch_path(scratch_folder, "whole.part");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct seen seen = {.stop_at = UINT32_MAX};
        assert_null(
            journal_resume(path, &(struct journal_sizes){.models = 2, .values = cases[i].positions},
                           cases[i].settings, look, &seen, &records_found, &e));
        assert_int_equal(records_found.absent, 0);
        assert_int_equal(seen.count, 0);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
    /* a record of another run that was put behind this header does not pass */
    struct error e = {""};
    struct seen seen;
    struct journal *j = journal_create(scratch_path(scratch_folder, "other.part"), &sizes,
                                       "length=6\nmodel=b 9999\nseed=0\n", &e);
    append_records(j, 0, RECORDS);
    assert_int_equal(journal_close(j, &e), 0);
    size_t other_size;
    unsigned char *ours = scratch_read(path, &size),
                  *theirs = scratch_read(scratch_path(scratch_folder, "other.part"), &other_size);
    assert_int_equal(size, other_size);
    memcpy(ours + size - RECORD_BYTES, theirs + size - RECORD_BYTES, RECORD_BYTES);
    assert_non_null(j = resume(scratch_write(scratch_folder, "mixed.part", ours, size), &seen, &e));
    assert_int_equal(seen.count, RECORDS - 1);
    assert_int_equal(journal_close(j, &e), 0);
    free(ours);
    free(theirs);
}

static void test_absent_and_stopped(void **state)
{
    (void)state;
    struct error e = {""};
    struct seen seen = {.stop_at = 2};
    size_t size;
    assert_null(journal_resume(scratch_path(scratch_folder, "absent.part"), &sizes,
                               journal_settings, look, &seen, &records_found, &e));
    assert_int_equal(records_found.absent, 1);
    free(whole_journal(&size));
    assert_null(journal_resume(scratch_path(scratch_folder, "whole.part"), &sizes, journal_settings,
                               look, &seen, &records_found, &e));
    assert_int_equal(records_found.absent, 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(check_message("stopped", &e, "model 0, target 1, segment 102 does not fit"),
                     0);
    assert_null(
        journal_resume(scratch_folder, &sizes, journal_settings, look, &seen, &records_found, &e));
    assert_int_equal(records_found.absent, 0);
    assert_int_equal(check_message("folder", &e, "cannot be opened: Is a directory"), 0);
    assert_null(
        journal_create(scratch_path(scratch_folder, "no/x.part"), &sizes, journal_settings, &e));
    assert_int_equal(check_message("no folder", &e, "x.part: cannot be written"), 0);
    assert_null(journal_create(scratch_path(scratch_folder, "x.part"),
                               &(struct journal_sizes){.models = 2, .values = SIZE_MAX / 4},
                               journal_settings, &e));
    assert_int_equal(check_message("overflow", &e, "out of memory"), 0);
}

/* A record that does not fit on the disk is an error, and leaves the journal as it was before. */
static void test_full_disk(void **state)
{
    (void)state;
    struct error e = {""};
    struct seen seen;
    size_t size, now;
    free(whole_journal(&size));
    const char *path = scratch_path(scratch_folder, "whole.part");
    struct journal *j = resume(path, &seen, &e);
    double norm[POSITIONS];
    struct journal_record r = test_record(RECORDS, norm);
    scratch_limit(size + RECORD_BYTES / 2);
    int result = journal_append(j, &r, &e);
    scratch_unlimit();
    assert_int_equal(result, -1);
    assert_int_equal(check_message("full disk", &e,
                                   "whole.part: cannot be written: File too large"),
                     0);
    free(scratch_read(path, &now));
    assert_int_equal(now, size);
    append_records(j, RECORDS, RECORDS + 1); /* there is room again */
    assert_int_equal(journal_close(j, &e), 0);
    assert_non_null(j = resume(path, &seen, &e));
    assert_int_equal(seen.count, RECORDS + 1);
    assert_int_equal(journal_close(j, &e), 0);
}

/* ---- records of attention ---- */

/* A journal whose name goes is told with the next record, not when all is measured. */
static void test_removed(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct error e = {""};
        double norm[POSITIONS];
        const char *folder = scratch_path(scratch_folder, "place"),
                   *path = scratch_path(scratch_folder, "place/gone.part"),
                   *other = scratch_path(scratch_folder, "elsewhere");
        struct journal_record r = test_record(1, norm);
        assert_int_equal(mkdir(folder, 0777), 0);
        struct journal *j = journal_create(path, &sizes, journal_settings, &e);
        assert_non_null(j);
        append_records(j, 0, 1);
        if (how == 0)
            assert_true(unlink(path) == 0 && rmdir(folder) == 0);
        else if (how == 1)
            assert_int_equal(rename(folder, other), 0);
        else
            assert_true(unlink(path) == 0 && close(open(path, O_WRONLY | O_CREAT, 0666)) == 0);
        assert_int_equal(journal_append(j, &r, &e), -1);
        assert_int_equal(check_message("gone", &e,
                                       how == 2 ? "gone.part: was replaced"
                                                : "gone.part: was removed or renamed"),
                         0);
        assert_int_equal(journal_close(j, &e), 0);
        unlink(scratch_path(scratch_folder, "elsewhere/gone.part"));
        rmdir(other);
        unlink(path);
        rmdir(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_damaged_header),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_absent_and_stopped),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_removed),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
