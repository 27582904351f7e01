/* `reach erf` with layers, targets and attention, interrupted or killed at any record: --resume
 * gives the bytes of a run that was not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/erf_fields_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- interruption ---- */

static const struct {
    const char *options;
    size_t values; /* of a record of the journal */
} runs[] = {
    {"--layer all --target-position 40 --attention", LAYERS *N},
    {"--attribution ig", N + 2},
    {"--attribution smoothgrad", N},
};

/* The reference set takes one segment at a time, so that there is always a next one to be killed
 * in. */
static void line_of(char line[512], size_t i, const char *options, const char *folder,
                    const char *more)
{
    snprintf(line, 512,
             "erf window %s --text text --length 64 --segments %d --stride 64 --dtype f64 "
             "--bootstrap 10 --quiet %s -o %s %s",
             i == 0 ? "none" : "", i == 0 ? 30 : 3, options, folder, more);
}

static void run_line(char line[512], size_t i, const char *folder, const char *more)
{
    line_of(line, i, runs[i].options, folder, more);
}

/* The journal as it is now; the caller frees. */
static unsigned char *journal_of(const char *folder, size_t *size)
{
    *size = 0;
    return (unsigned char *)slurp(at("%s/erf.part", folder), size);
}

static size_t number_at(const unsigned char *bytes, size_t offset)
{
    uint64_t value;

    memcpy(&value, bytes + offset, sizeof value);
    return (size_t)value;
}

/* See io/results/journal.c: the header says where the records of segments begin, and how long its
 * settings are, behind which and their checksum the records of attention stand. */
enum { HEADER = 64, BEGIN_AT = 48, SETTINGS_AT = 56 };

/* Segments that the journal holds; those of attention in its first record of that; 0 without a
 * journal. */
static size_t count_records(const char *folder, size_t values, size_t *attention)
{
    size_t size, begin, slots, count;
    unsigned char *journal = journal_of(folder, &size);

    *attention = 0;
    if (!journal || size < HEADER) {
        free(journal);
        return 0;
    }
    begin = number_at(journal, BEGIN_AT);
    slots = HEADER + number_at(journal, SETTINGS_AT) + 8;
    if (slots < begin && size >= begin)
        *attention = number_at(journal, slots + 8);
    count = size < begin ? 0 : (size - begin) / ((values + 5) * sizeof(double));
    free(journal);
    return count;
}

struct mark {
    size_t values, records;
    int attention;
    const char *folder;
};

static int is_marked(const void *of)
{
    const struct mark *m = of;
    size_t measured;

    return count_records(m->folder, m->values, &measured) >= m->records &&
           (!m->attention || measured);
}

/* Run i, sent `number` once so many records of segments are there, and (`attention`) one of
 * attention. */
static struct outcome interrupted(size_t i, const char *folder, int number, size_t records,
                                  int attention)
{
    char line[512];

    run_line(line, i, folder, "");
    return run_until(line, folder, number, is_marked,
                     &(struct mark){runs[i].values, records, attention, folder});
}

static void assert_same_runs(const char *a, const char *b, int with_attention)
{
    static const char *const names[] = {"erf.h5",    "curve.csv",     "summary.csv",
                                        "erf.gp",    "attention.csv", "attention.gp",
                                        "layers.gp", "targets.gp"};

    for (size_t i = 0; i < (with_attention ? sizeof names / sizeof *names : 4); i++)
        assert_same_file(at("%s/%s", a, names[i]), at("%s/%s", b, names[i]));
    assert_false(exists(at("%s/erf.part", b)));
}

static void interrupted_runs_go_on(void **state)
{
    static const char *const others[] = {"--layer 1 --target-position 40 --attention",
                                         "--attribution ig --seed 1", ""};
    static const char *const differs[] = {"layer is all there", "seed",
                                          "attribution is smoothgrad there"};
    char line[512], whole[16], stopped[16];

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct outcome o;

        snprintf(whole, sizeof whole, "whole-%zu", i);
        snprintf(stopped, sizeof stopped, "stopped-%zu", i);
        run_line(line, i, whole, "");
        succeed("%s", line);
        o = interrupted(i, stopped, SIGKILL, i == 0 ? 5 : 1, 0);
        assert_int_equal(o.status, -SIGKILL);
        outcome_free(&o);
        line_of(line, i, others[i], stopped, "--resume");
        expect(line, 1, differs[i]);
        run_line(line, i, stopped, "--resume --threads 1");
        succeed("%s", line);
        assert_same_runs(whole, stopped, i == 0);
    }
}

/* Asked to stop while attention is summed: the sums are kept, and go on to the same bytes. */
static void interrupted_attention_goes_on(void **state)
{
    char line[512];
    const char *kept;
    struct outcome o;
    size_t measured;

    (void)state;
    o = interrupted(0, "stopped-late", SIGINT, 2 * 2 * 30, 1);
    kept = strstr(o.err, "interrupted; ");
    if (o.status != 1 || !kept || !strstr(o.err, " of 180 runs are kept (continue with --resume)"))
        fail_msg("exit %d: %s", o.status, o.err);
    assert_true(atoi(kept + 13) >= 150);
    outcome_free(&o);
    count_records("stopped-late", runs[0].values, &measured);
    assert_int_equal(measured, 30);
    run_line(line, 0, "stopped-late", "--resume");
    succeed("%s", line);
    assert_same_runs("whole-0", "stopped-late", 1);
}

/* Killed while the attention of the second model is summed: that of the first is kept. Damaged, it
 * is summed again, and nothing else of the journal is lost. */
static void killed_attention_goes_on(void **state)
{
    char line[512], byte;
    struct outcome o = interrupted(0, "killed-late", SIGKILL, 2 * 2 * 30, 1);
    size_t size, measured, records = count_records("killed-late", runs[0].values, &measured);
    unsigned char *journal = journal_of("killed-late", &size);
    int file;

    (void)state;
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    assert_int_equal(records, 2 * 2 * 30);
    assert_int_equal(measured, 30);
    snprintf(line, sizeof line, "cp -r '%s/killed-late' '%s/damaged-late'", base, base);
    assert_int_equal(system(line), 0);
    run_line(line, 0, "killed-late", "--resume --threads 1");
    succeed("%s", line);
    assert_same_runs("whole-0", "killed-late", 1);

    file = open(at("damaged-late/erf.part"), O_RDWR);
    byte = (char)(journal[HEADER + number_at(journal, SETTINGS_AT) + 8 + 100] ^ 4);
    assert_true(
        file >= 0 &&
        pwrite(file, &byte, 1, (off_t)(HEADER + number_at(journal, SETTINGS_AT) + 8 + 100)) == 1);
    close(file);
    run_line(line, 0, "damaged-late", "--resume");
    o = finish(start(line, NULL));
    if (o.status != 0 ||
        !strstr(o.err, "damaged-late/erf.part: 1 of 121 records is skipped: its checksum is wrong"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_runs("whole-0", "damaged-late", 1);
    free(journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_runs_go_on),
        cmocka_unit_test(interrupted_attention_goes_on),
        cmocka_unit_test(killed_attention_goes_on),
    };

    return cmocka_run_group_tests_name("fields", tests, erf_fields_inputs, program_close);
}
