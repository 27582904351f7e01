/* What report_open finds in folders and tables, and what it refuses. */
#include "run/report.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *put(const char *name, const char *text)
{
    return scratch_write(scratch_folder, name, text, strlen(text));
}

static void test_kinds(void **state)
{
    const struct {
        const char *name, *text;
        enum report_kind kind;
    } cases[] = {
        {"a.csv", "model,position,distance,s,c,c_lo,c_hi\nx,1,0,1,1,1,1\n", REPORT_CURVES},
        {"b.csv", "# reach\nmodel,threshold,erf\n", REPORT_LADDER},
        {"c.csv", "model,protocol,nll\n", REPORT_PERPLEXITY},
        {"d.csv", "formula,verdict,trf_hi\n", REPORT_FIELDS},
        {"e.csv", "formula,head,distance,bias\n", REPORT_BIASES},
        {"i.csv", "formula,tokens,weight,beyond\n", REPORT_WEIGHTS},
        {"h.csv", "model,position,id,piece,norm,target_logprob\n", REPORT_EXPLANATIONS},
        {"f.csv", "t,y\n1,2\n", REPORT_TABLE},
        {"g.h5", "whatever", REPORT_ERF},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct report r;

        if (report_open(&r, put(cases[i].name, cases[i].text), &e) != 0)
            fail_msg("%s", e.text);
        assert_int_equal(r.kind, cases[i].kind);
        assert_int_equal(r.kind == REPORT_ERF, r.table.columns == 0);
        report_close(&r);
    }
}

/* A folder stands for its erf.h5, or its curve.csv. */
static void test_folder(void **state)
{
    char folder[512], path[600];
    struct error e = {""};
    struct report r;

    (void)state;
    snprintf(folder, sizeof folder, "%s", scratch_path(scratch_folder, "result"));
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/erf.h5", folder);
    assert_int_equal(report_open(&r, folder, &e), 0);
    assert_int_equal(r.kind, REPORT_ERF);
    assert_string_equal(r.path, path);
    report_close(&r);
    put("result/curve.csv", "model,position,distance,c\n");
    assert_int_equal(report_open(&r, folder, &e), 0);
    assert_int_equal(r.kind, REPORT_CURVES);
    report_close(&r);
    put("result/erf.h5", "x");
    assert_int_equal(report_open(&r, folder, &e), 0);
    assert_string_equal(r.path, path);
    report_close(&r);
}

static void test_refused(void **state)
{
    struct error e = {""};
    struct report r;

    (void)state;
    assert_int_equal(report_open(&r, scratch_path(scratch_folder, "nothing"), &e), -1);
    assert_int_equal(
        check_message("absent", &e,
                      "nothing: No such file|expected a folder of results, an erf.h5 or a CSV"),
        0);
    assert_int_equal(report_open(&r, put("broken.csv", "a,b\n1\n"), &e), -1);
    assert_int_equal(check_message("broken", &e, "broken.csv: line 2 has 1 fields"), 0);

    /* beside an unfinished run nobody can tell what results are of; tables of other verbs are */
    const char *part = put("erf.part", "");
    const char *const names[] = {"h.csv", "i.csv", "j.h5", "k.csv"},
                      *const texts[] = {"distance,c\n", "threshold,erf\n", "x", "protocol,nll\n"};
    for (int i = 0; i < 4; i++) {
        int refused = report_open(&r, put(names[i], texts[i]), &e) != 0;

        assert_int_equal(refused, i < 3);
        if (refused)
            assert_int_equal(check_message(names[i], &e, "holds an unfinished run"), 0);
        else
            report_close(&r);
    }
    assert_int_equal(report_open(&r, scratch_folder, &e), -1);
    assert_int_equal(unlink(part), 0);
}

static void test_cells(void **state)
{
    static const char *const names[] = {"n", "t"}, *const more[] = {"n", "absent"};
    struct error e = {""};
    struct report r;
    double value;
    int column[2];

    (void)state;
    assert_int_equal(report_open(&r, put("cells.csv", "t,n\na,3\nb,\nc,-1\nd,x\ne,nan\nf,inf\n"),
                                 &e),
                     0);
    assert_int_equal(report_columns(&r, more, 2, "this and that", column, &e), -1);
    assert_int_equal(check_message("absent", &e,
                                   "cells.csv: has no column absent (expected this and that)"),
                     0);
    assert_int_equal(report_columns(&r, names, 2, "this and that", column, &e), 0);
    assert_string_equal(report_cell(&r, 1, column[1]), "b");
    assert_string_equal(report_cell(&r, 1, -1), "");
    assert_int_equal(report_number(&r, 0, column[0], 0, 7, &value, &e), 0);
    assert_true(value == 3);
    assert_int_equal(report_number(&r, 1, column[0], 0, 7, &value, &e), 0);
    assert_true(value == 7);
    for (size_t row = 2; row < 6; row++) {
        assert_int_equal(report_number(&r, row, column[0], 0, 7, &value, &e), -1);
        assert_int_equal(check_message("number", &e,
                                       "cells.csv: row|as n (expected a number of at least 0)"),
                         0);
    }
    report_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
